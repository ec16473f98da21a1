"""A job document -> `JobSpec`."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.core.parsing_run import check_together, files_hash, hold_seconds, read_retries
from scheduler.core.quantities import parse_cores, parse_size
from scheduler.core.readers import (
    checked,
    converted,
    free_text,
    line,
    list_of,
    one_of,
    pairs_of,
    truth,
    whole,
)
from scheduler.core.reading import At, Reader, Section, can_be_stored, quoted
from scheduler.core.spec import (
    Accelerator,
    Distributed,
    FallbackWhen,
    JobSpec,
    MemoryKind,
    OnUnschedulable,
    Origin,
    Placement,
    Policy,
    Resources,
    Retries,
    Runtime,
)
from scheduler.core.versions import capability_specifier, normalised_name, parse_specifier

LONGEST_NAME = 253
MOST_ENTRIES = 1_000
MOST_ARGUMENTS = 4_096
LONGEST_ARGUMENT = 131_071
MOST_WORKERS = 10_000
MOST_GPUS = 4_096
LONGEST_TIMEOUT = 10 * 366 * 24 * 3600
COMMAND = 'a list of arguments, such as ["python", "train.py"]'
SIZE = 'a size: a number of GB, or text with its own unit such as "64GiB"'
CORES = "a number of cores from 0, with at most three decimals"
SPECIFIER = 'a version specifier such as ">=2.5,<3" or "==3.11.*"'
RESERVED = "GPULAYER_"
SET_BY_THE_AGENT = frozenset(
    {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}
    | {"ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"}
)
PER_DEVICE = ("accelerator", "gpu_models", "gpu_memory_gb", "gpu_memory_kind", "compute_capability")

name_line = line(what="names", longest=LONGEST_NAME)
labels = pairs_of(
    line(what="label keys", longest=LONGEST_NAME),
    line(what="label values", longest=LONGEST_NAME, empty=True),
    most=MOST_ENTRIES,
)
needed_size = converted(lambda value: parse_size(value, at_least=True), SIZE)
cores = converted(parse_cores, CORES)
_version_text = line(what="versions", longest=500, empty=True)
_specifier = checked(_version_text, lambda text: text if parse_specifier(text) is not None else None, SPECIFIER)
distribution = checked(line(what="names", longest=LONGEST_NAME), normalised_name, "a distribution's name such as torch")
_capability = checked(
    _version_text, capability_specifier, 'a compute capability such as "8.0", or a specifier such as ">=8.0,<10"'
)
_FIELDS = (
    "version", "name", "command", "files", "workdir", "env", "secrets", "target", "fallback_targets", "fallback_when",
    "on_unschedulable", "policy", "placement", "resources", "runtime", "distributed", "retries", "timeout_s", "hold_s",
)  # fmt: skip


def read_job(document: object, at: At) -> JobSpec | None:
    """The job as read; None, with everything that is wrong noted at its place, where it is wrong."""
    before = at.sink.count
    job = Section(document, at, _FIELDS)
    job.read("version", only_version)
    name = job.require("name", name_line, "a name")
    command = () if "hold_s" in job else job.require("command", _command, COMMAND)
    target = job.require("target", one_of(Origin), "local, remote or cloud")
    env = job.read("env", _variables) or ()
    secrets = job.read("secrets", _secrets) or ()
    _no_variable_twice(env, secrets, at)
    check_together(job)
    resources = job.read_or("resources", _resources, Resources())
    spec = JobSpec(
        name=name or "",
        command=command or (),
        target=target or Origin.LOCAL,
        files=job.read("files", files_hash),
        workdir=job.read("workdir", _workdir),
        env=env,
        secrets=secrets,
        fallback_targets=_fallback_targets(job, target),
        fallback_when=job.read_or("fallback_when", one_of(FallbackWhen), FallbackWhen.UNAVAILABLE),
        on_unschedulable=job.read_or("on_unschedulable", one_of(OnUnschedulable), OnUnschedulable.QUEUE),
        policy=job.read_or("policy", one_of(Policy), Policy.FIRST_FIT),
        placement=job.read_or("placement", _placement, Placement()),
        resources=resources,
        runtime=job.read_or("runtime", _runtime, Runtime()),
        distributed=job.read("distributed", _distributed(resources.gpus)),
        retries=job.read_or("retries", read_retries, Retries()),
        timeout_s=job.read("timeout_s", whole(1, LONGEST_TIMEOUT)),
        hold_s=job.read("hold_s", hold_seconds),
    )
    return spec if at.sink.count == before else None


def only_version(value: object, at: At) -> int | None:
    """A reader of a document's `version`, of which there is only 1 so far."""
    if value == 1 and not isinstance(value, bool):
        return 1
    at.wrong(value, "1, the only version of this document so far")
    return None


def _command(value: object, at: At) -> tuple[str, ...] | None:
    if isinstance(value, str):
        at.wrong(value, 'a list of arguments; for a shell line say ["sh", "-c", "…"]')
        return None
    command = list_of(free_text(what="arguments", longest=LONGEST_ARGUMENT), least=1, most=MOST_ARGUMENTS)(value, at)
    if command and isinstance(value, list | tuple) and value[0] == "":
        at.below(0).wrong("", "a program to run")
    return command


def _workdir(value: object, at: At) -> str | None:
    path = free_text(what="paths", longest=4_096)(value, at)
    if path is not None and not path.startswith("/"):
        at.wrong(value, "an absolute path on the worker, or leave it out for a private directory")
        return None
    return path


def _variable_name(value: object, at: At) -> str | None:
    name = line(what="variable names", longest=LONGEST_NAME)(value, at)
    if name is None:
        return None
    if "=" in name:
        at.wrong(value, "a variable's name, which has no =")
    elif name in SET_BY_THE_AGENT:
        at.note("a variable that says which devices a task sees", "nothing here: the agent sets it to what was given")
    elif name.startswith(RESERVED):
        at.note(f"{quoted(name)}, a name that is the agent's to set", f"a name that does not begin with {RESERVED}")
    else:
        return name
    return None


_variables = pairs_of(
    _variable_name, free_text(what="environment values", longest=LONGEST_ARGUMENT), most=MOST_ENTRIES
)  # fmt: skip


def _secret(value: object, at: At) -> str | None:
    """Text, of which no complaint shows a letter."""
    if isinstance(value, str) and len(value) <= LONGEST_ARGUMENT and can_be_stored(value):
        return value
    at.note("a value, which is not shown", f"text in quotes without NUL, at most {LONGEST_ARGUMENT:,} characters")
    return None


def _secrets(value: object, at: At) -> tuple[tuple[str, str], ...] | None:
    if isinstance(value, Mapping):
        return pairs_of(_variable_name, _secret, most=MOST_ENTRIES)(value, at)
    at.note("a value, which is not shown", "a mapping of names to text")
    return None


def _no_variable_twice(env: tuple[tuple[str, str], ...], secrets: tuple[tuple[str, str], ...], at: At) -> None:
    for name in sorted(dict(env).keys() & dict(secrets).keys()):
        at.below("secrets").below(name).note("a variable that env sets too", "it in one of the two")


def _fallback_targets(job: Section, target: Origin | None) -> tuple[Origin, ...]:
    targets = job.read("fallback_targets", list_of(one_of(Origin), most=len(Origin), distinct=True)) or ()
    if target in targets:
        job.at.below("fallback_targets").note(f"{quoted(target)}, the target itself", "other origins, in their order")
    return targets


def _placement(value: object, at: At) -> Placement:
    placement = Section(value, at, ("provider", "region", "worker_ids", "worker_labels", "reserved_only"))
    return Placement(
        provider=placement.read("provider", name_line),
        region=placement.read("region", name_line),
        worker_ids=placement.read("worker_ids", list_of(name_line, most=MOST_WORKERS, distinct=True)) or (),
        worker_labels=placement.read("worker_labels", labels) or (),
        reserved_only=placement.read_or("reserved_only", truth, False),
    )


def _resources(value: object, at: At) -> Resources:
    asked = Section(value, at, ("os", "arch", "cpu_cores", "memory_gb", "disk_gb", "gpus", *PER_DEVICE))
    models = asked.read("gpu_models", list_of(name_line, most=MOST_ENTRIES, distinct=True)) or ()
    stated = [name for name in PER_DEVICE if name in asked and (name != "gpu_models" or models)]
    if stated and asked.get("gpus") is None:
        at.below("gpus").note(f"nothing beside {', '.join(stated)}", "a number of devices: say gpus: 1")
    resources = Resources(
        os=asked.read("os", name_line),
        arch=asked.read("arch", name_line),
        cpu_millicores=asked.read("cpu_cores", cores),
        memory_bytes=asked.read("memory_gb", needed_size),
        disk_bytes=asked.read("disk_gb", needed_size),
        gpus=asked.read_or("gpus", whole(0, MOST_GPUS), 0),
        accelerator=asked.read("accelerator", one_of(Accelerator)),
        gpu_models=models,
        gpu_memory_bytes=asked.read("gpu_memory_gb", needed_size),
        gpu_memory_kind=asked.read("gpu_memory_kind", one_of(MemoryKind)),
        compute_capability=asked.read("compute_capability", _capability),
    )
    return resources if resources.gpus else _without_devices(resources)


def _without_devices(resources: Resources) -> Resources:
    """With `gpus: 0` nothing is asked of devices, so that equal requirements are equal values."""
    return Resources(
        os=resources.os,
        arch=resources.arch,
        cpu_millicores=resources.cpu_millicores,
        memory_bytes=resources.memory_bytes,
        disk_bytes=resources.disk_bytes,
    )


def _runtime(value: object, at: At) -> Runtime:
    runtime = Section(value, at, ("environment", "python", "frameworks"))
    environment = runtime.read("environment", name_line)
    return Runtime(
        environment=environment or "default",
        environment_stated=environment is not None,
        python=runtime.read("python", _specifier),
        frameworks=runtime.read("frameworks", pairs_of(distribution, _specifier, most=MOST_ENTRIES)) or (),
    )


def _distributed(gpus: int) -> Reader[Distributed]:
    def read(value: object, at: At) -> Distributed:
        gang = Section(value, at, ("num_workers", "procs_per_worker", "launcher", "comm_backend"))
        return Distributed(
            num_workers=gang.require("num_workers", whole(1, MOST_WORKERS), "how many workers, at least 1") or 1,
            procs_per_worker=gang.read_or("procs_per_worker", whole(1, MOST_WORKERS), gpus or 1),
            launcher=gang.read("launcher", name_line),
            comm_backend=gang.read("comm_backend", name_line),
        )

    return read
