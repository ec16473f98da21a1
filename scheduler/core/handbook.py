"""What each code means, what its fields hold and what can be done about it; `docs/reasons.md` is made of this."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.reasons import Code


@dataclass(frozen=True, slots=True)
class Page:
    """One code explained, in sentences."""

    meaning: str
    required: str
    """What the field `required` holds."""
    actual: str
    """What the field `actual` holds."""
    remedy: str
    further: str = ""
    """What further fields hold."""


_EACH = "`have` of `of` devices meet it, `devices` lists those that do not"
_TAKEN = "`have` of `of` devices are left; `devices` lists those taken by this cause"
_GANG = "`tier`, `torch` (a version as reported, or null), `compatible`, `free` and `needed` workers"

HANDBOOK: dict[Code, Page] = {
    Code.TARGET: Page(
        "The worker's origin is neither the job's target nor one of its fallbacks.",
        "the origins allowed, in order", "the worker's origin",
        "Add the origin to `fallback_targets`, if the job may run there.",
    ),
    Code.PROVIDER: Page(
        "The worker is at another provider, or does not say at which.",
        "the provider asked for", "the worker's provider",
        "Drop `placement.provider`, or have the worker report its provider.",
    ),
    Code.REGION: Page(
        "The worker is in another region, or does not say in which.",
        "the region asked for", "the worker's region",
        "Drop `placement.region`, or have the worker report its region.",
    ),
    Code.NOT_PINNED: Page(
        "The job names the workers it may run on, and this is none of them.",
        "the workers named", "nothing",
        "Add the worker to `placement.worker_ids`, or leave that field out.",
    ),
    Code.LABEL: Page(
        "A label that the job wants is absent or has another value. Letter case counts.",
        "the value wanted", "the worker's value, null where the label is absent",
        "Correct `placement.worker_labels`, or have an operator set the label on the worker.",
        "`subject` is the label's key",
    ),
    Code.RESERVED: Page(
        "The worker is set aside, with no end, for somebody who is not a holder of this job.",
        "nothing", "the holder",
        "Ask an operator to end the reservation or to give it an end.",
        "`holders` names the holder in full: `job:…`, `user:…` or `team:…`",
    ),
    Code.OS: Page(
        "The worker runs another operating system, or does not say which.",
        "the system asked for", "the worker's system",
        "Drop `resources.os`, or choose the system that the workers run.",
    ),
    Code.ARCH: Page(
        "The worker's processors are of another architecture, or it does not say of which.",
        "the architecture asked for", "the worker's architecture",
        "Drop `resources.arch`, or choose the architecture that the workers have.",
    ),
    Code.CPU_CORES: Page(
        "The worker has fewer CPU cores in all, or does not say how many.",
        "thousandths of a core", "thousandths of a core",
        "Ask for fewer `resources.cpu_cores`; `enough_at` is the most that would fit here.",
        "`enough_at`, thousandths of a core",
    ),
    Code.MEMORY: Page(
        "The worker has less RAM in all, or does not say how much.", "bytes", "bytes",
        "Ask for less `resources.memory_gb`; `enough_at` is the most that would fit here.", "`enough_at`, bytes",
    ),
    Code.DISK: Page(
        "The worker has less disk for jobs in all, or does not say how much.", "bytes", "bytes",
        "Ask for less `resources.disk_gb`; `enough_at` is the most that would fit here.", "`enough_at`, bytes",
    ),
    Code.ENVIRONMENT: Page(
        "The worker has no Python environment of that name.",
        "the name asked for", "the names that it has",
        "Correct `runtime.environment`, or give the worker's agent that environment with `--env NAME=PYTHON`.",
        "`subject` is the name asked for",
    ),
    Code.PYTHON: Page(
        "The environment's Python does not satisfy the specifier, or its version is unknown.",
        "the specifier", "the version",
        "Loosen `runtime.python`, or name an environment with another Python.",
    ),
    Code.FRAMEWORK: Page(
        "A framework is not installed in the environment, or in a version that does not satisfy the specifier.",
        "the specifier", "the version, null where it is not installed",
        "Loosen the specifier, name another environment, or install the framework there.",
        "`subject` is the framework's name",
    ),
    Code.SUPPORT_MATRIX: Page(
        "The worker's platform, driver, Python, build of a framework and devices are not known to work together. Asked"
        " of jobs that want GPUs: of the platform always, of the build where the job names the framework or is"
        " distributed. `gpulayer matrix` lists what is supported.",
        "what would be supported, by `matter`: the kind of device, a range of Python, a driver, a number of devices",
        "what is there: the platform, the kind of build, Python, the driver, the capabilities that have no code",
        "Use the build, driver or Python that the reason names, or an environment that has it.",
        "`matter` is `platform`, `build`, `python`, `driver`, `code` or `ptx` (the driver cannot compile the code);"
        " `subject` is the build, `row` the row of the matrix that says so, `enough_at` what would do, `have` of `of`"
        " devices are served, `devices` lists the others",
    ),
    Code.GPU_COUNT: Page(
        "The worker has fewer devices than the job asks for, whatever they are.",
        "the number asked for", "the number there is, null where none were reported",
        "Ask for fewer `resources.gpus`.", "`have` and `of` repeat the number there is",
    ),
    Code.GPU_MIG: Page(
        "Enough devices, but too few whole ones: partitioned (MIG) devices are not given out.",
        "the number asked for", "the number of whole devices",
        "Ask for fewer `resources.gpus`, or have MIG turned off on the worker.",
        "`have` of `of` devices are whole, `devices` lists the partitioned ones",
    ),
    Code.GPU_ACCELERATOR: Page(
        "Too few whole devices are of the kind asked for.",
        "the kind", "the kinds there are", "Drop or change `resources.accelerator`.", _EACH,
    ),
    Code.GPU_MODEL: Page(
        "Too few whole devices are of a model asked for. Only `*` and `?` are special; letter case is ignored.",
        "the patterns", "the models there are", "Add the models to `resources.gpu_models`.", _EACH,
    ),
    Code.GPU_MEMORY: Page(
        "Too few whole devices have that much memory, or say how much they have. 1 GB is 10^9 bytes.",
        "bytes", "the most bytes that one device has",
        "Ask for less `resources.gpu_memory_gb`; at `enough_at` enough devices of this worker would have it.",
        f"{_EACH}; `enough_at`, bytes",
    ),
    Code.GPU_MEMORY_KIND: Page(
        "Too few whole devices have memory of that kind.",
        "the kind", "the kinds there are", "Drop `resources.gpu_memory_kind`.", _EACH,
    ),
    Code.GPU_COMPUTE_CAPABILITY: Page(
        "Too few whole devices have a compute capability that satisfies the specifier. Only CUDA devices have one.",
        "the specifier", "the capabilities there are", "Loosen `resources.compute_capability`.",
        f"{_EACH}; `subject` names the kinds of device that have none",
    ),
    Code.GPU_COMBINATION: Page(
        "Each requirement alone is met by enough devices, but not all of them by the same devices of one kind.",
        "the number asked for", "the kind of each whole device",
        "Drop one of the per-device requirements, or ask for fewer devices.",
        "`have` of `of` devices meet everything together; `subject` is a build that has no code for some of the others",
    ),
    Code.DIST_LAUNCHER: Page(
        "The environment does not have the launcher of a distributed job.",
        "the launcher", "the launchers there are", "Change `distributed.launcher`, or name another environment.",
    ),
    Code.DIST_BACKEND: Page(
        "The environment's torch does not have the communication backend of a distributed job.",
        "the backend", "the backends there are", "Change `distributed.comm_backend`, or name another environment.",
    ),
    Code.DIST_TORCH: Page(
        "torch is missing or of an unknown version, but all workers of a gang must have the same.",
        "nothing", "the version as reported", "Name an environment that has torch.", "`subject` is `torch`",
    ),
    Code.DIST_ADDRESS: Page(
        "The worker has no address at which the other workers of a gang could reach it.",
        "nothing", "nothing", "Start the worker's agent with an advertised address.",
    ),
    Code.DIST_PROCS: Page(
        "The worker has fewer CPU cores than the job starts processes on each worker.",
        "thousandths of a core", "thousandths of a core", "Ask for fewer `distributed.procs_per_worker`.",
        "`enough_at`, thousandths of a core",
    ),
    Code.OFFLINE: Page(
        "The worker is not in contact with the server.",
        "nothing", "nothing", "Look after the host and its agent; it comes back by itself.", "`since`, an instant",
    ),
    Code.DRAINING: Page(
        "The worker takes no new jobs; what runs there goes on.",
        "nothing", "the operator's note, if any", "Wait, or ask an operator to end the drain.", "`since`, an instant",
    ),
    Code.UNHEALTHY: Page(
        "The worker as a whole was found unhealthy.",
        "nothing", "the note, if any", "Look after the host.", "`since`, an instant",
    ),
    Code.RESERVED_UNTIL: Page(
        "The worker is set aside, until an instant, for somebody who is not a holder of this job.",
        "nothing", "the holder", "Wait until then, or ask an operator to end the reservation.",
        "`holders` names the holder in full, `until` is the instant",
    ),
    Code.RESERVED_FROM: Page(
        "The worker is to be set aside for somebody else, and the job may still run then: its time limit is longer than"
        " the time until the start, or it has none and notice has been given.",
        "the job's time limit in seconds, null where it has none", "the holder",
        "Give the job a `timeout_s` of at most `enough_at` seconds, wait until the reservation has ended, or ask an"
        " operator to end it.",
        "`holders` names the holder in full, `since` is when it begins, `until` when it ends; `enough_at` is the"
        " longest limit in seconds with which the job is over before",
    ),
    Code.NOT_RESERVED: Page(
        "The job waits for its own reservation (`placement.reserved_only`), and neither the worker nor a device of it"
        " is reserved for one of the job's holders now.",
        "true", "nothing",
        "Wait for the reservation to begin, have a worker reserved for the job, its owner or team, or drop"
        " `placement.reserved_only`.",
        "`since` is when a reservation of its own begins here",
    ),
    Code.FAILED_HERE: Page(
        "An attempt of this job failed on this worker, and another compatible worker exists.",
        "nothing", "nothing", "Nothing: the job is tried elsewhere.",
    ),
    Code.SLOTS: Page(
        "The worker runs as many tasks as it takes at once.",
        "the slots that it would need", "the slots that it has",
        "Wait, or have `max_concurrent_tasks` of the worker raised.",
        "`holders` lists the jobs; `have` of `of` devices are free",
    ),
    Code.TIER_CLOSED: Page(
        "An earlier target could run the job later, and with `fallback_when: incompatible` that keeps this one closed.",
        "the job's `fallback_when`", "the worker's origin",
        "Say `fallback_when: unavailable` to let the job run here as soon as an earlier target has no room.",
    ),
    Code.CPU_IN_USE: Page(
        "Other tasks were promised so many cores that too few are left.",
        "thousandths of a core", "thousandths of a core that are left", "Wait, or ask for fewer cores.",
        "`holders` lists the jobs, `enough_at` is what is left",
    ),
    Code.MEMORY_IN_USE: Page(
        "Other tasks were promised so much RAM that too little is left.",
        "bytes", "bytes that are left", "Wait, or ask for less RAM.",
        "`holders` lists the jobs, `enough_at` is what is left",
    ),
    Code.DISK_IN_USE: Page(
        "Other tasks were promised so much disk that too little is left.",
        "bytes", "bytes that are left", "Wait, or ask for less disk.",
        "`holders` lists the jobs, `enough_at` is what is left",
    ),
    Code.GPU_UNHEALTHY: Page(
        "Too few qualifying devices are free, and these are unhealthy.",
        "the number asked for", "the number left", "Look after the devices.", f"{_TAKEN}; `subject`, what was noted",
    ),
    Code.GPU_RESERVED: Page(
        "Too few qualifying devices are free, and these are set aside for somebody else.",
        "the number asked for", "the number left", "Wait, or ask an operator to end the reservation.",
        f"{_TAKEN}; `holders` names for whom, `until` when the first ends",
    ),
    Code.GPU_RESERVED_FROM: Page(
        "Too few qualifying devices are free, and these are to be set aside for somebody else while the job may still"
        " run.",
        "the number asked for", "the number left",
        "Give the job a `timeout_s` of at most `enough_at` seconds, wait until the reservation has ended, or ask an"
        " operator to end it.",
        f"{_TAKEN}; `holders` names for whom, `since` when the first begins, `until` when the first ends; `enough_at`"
        " is the longest limit in seconds with which enough of them could be had before",
    ),
    Code.GPU_NOT_RESERVED: Page(
        "The job waits for its own reservation (`placement.reserved_only`); too few of the devices that are reserved"
        " for one of its holders are free, and these are not.",
        "the number asked for", "the number left",
        "Wait for its own devices, have more of them reserved, or drop `placement.reserved_only`.", _TAKEN,
    ),
    Code.GPU_FOREIGN: Page(
        "Too few qualifying devices are free, and on these a process outside gpulayer holds memory.",
        "the number asked for", "the number left", "Find that process on the host; the worker's page shows it.",
        _TAKEN,
    ),
    Code.GPU_IN_USE: Page(
        "Too few qualifying devices are free, and these are in use by other tasks.",
        "the number asked for", "the number left", "Wait, or ask for fewer devices.",
        f"{_TAKEN}; `holders` lists the jobs",
    ),
    Code.GANG_TOO_FEW: Page(
        "The target has fewer compatible workers than the gang needs.",
        "nothing", "nothing", "Ask for fewer `distributed.num_workers`, or loosen what is asked of each.", _GANG,
    ),
    Code.GANG_TORCH_MIX: Page(
        "Enough workers are compatible, but not enough of them have the same torch version, build part included.",
        "nothing", "nothing", "Have the same torch installed on more workers, or name another environment.", _GANG,
    ),
    Code.GANG_NOT_FREE: Page(
        "Enough workers of one torch version are compatible, but not all are free at once.",
        "nothing", "nothing", "Wait: a gang starts complete or not at all, and holds nothing while it waits.", _GANG,
    ),
}  # fmt: skip
