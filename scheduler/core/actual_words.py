"""What one worker has of each thing that a check asks for, in a few words: the column "actual"."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scheduler.core.availability import charges, free_cpu, free_disk, free_memory, slots_of
from scheduler.core.builds import builds_asked
from scheduler.core.capability_matrix import described
from scheduler.core.capability_software import environment_of, torch_of
from scheduler.core.fleet import EnvironmentView, WorkerView
from scheduler.core.matching import free_devices, is_its_own, is_whole, qualifying, windows_ahead
from scheduler.core.quantities import cores, size
from scheduler.core.reasons import Code
from scheduler.core.spec import QueueEntry
from scheduler.core.words import Clock, counted, devices, holder, in_utc, listed, names, value

Actual = Callable[[QueueEntry, WorkerView], str]
UNKNOWN_VALUE = "unknown"


def actual(code: Code, entry: QueueEntry, worker: WorkerView, *, clock: Clock = in_utc) -> str:
    """What the worker has; `unknown` where it does not say."""
    if code in (Code.RESERVED, Code.RESERVED_UNTIL):
        return _reservation(worker, clock)
    if code is Code.RESERVED_FROM:
        return _ahead(entry, worker, clock)
    found = _ACTUAL.get(code)
    return "" if found is None else found(entry, worker)


def _reservation(worker: WorkerView, clock: Clock) -> str:
    facts = worker.facts
    if facts.reserved_for is None:
        return "not reserved"
    end = f" until {clock(facts.reserved_until)}" if facts.reserved_until else ", with no end"
    return f"reserved for {holder(facts.reserved_for)}{end}"


def _ahead(entry: QueueEntry, worker: WorkerView, clock: Clock) -> str:
    """The first reservation for somebody else that is to begin."""
    first = next(iter(windows_ahead(entry, worker)), None)
    if first is None:
        return "no reservation for others ahead"
    return f"reserved for {holder(first.holder)} from {clock(first.starts_at)}"


def _own(entry: QueueEntry, worker: WorkerView) -> str:
    if is_its_own(entry, worker.facts.reserved_for):
        return "reserved for it"
    own = tuple(device.index for device in worker.facts.devices or () if is_its_own(entry, device.reserved_for))
    return f"{devices(own)} reserved for it" if own else "not reserved for it"


def _fact(name: str) -> Actual:
    return lambda entry, worker: getattr(worker.facts, name) or UNKNOWN_VALUE


def _amount(read: Callable[[WorkerView], int | None], shown: Callable[[int], str]) -> Actual:
    def say(entry: QueueEntry, worker: WorkerView) -> str:
        amount = read(worker)
        return UNKNOWN_VALUE if amount is None else shown(amount)

    return say


def _left(read: Callable[[WorkerView], int | None], shown: Callable[[int], str]) -> Actual:
    return _amount(read, lambda amount: f"{shown(max(0, amount))} left")


def _labels(entry: QueueEntry, worker: WorkerView) -> str:
    has = dict(worker.facts.labels)
    wanted = [key for key, _ in entry.spec.placement.worker_labels]
    return names(f"{key}={value(has[key])}" if key in has else f"no {key}" for key in wanted)


def _environment(entry: QueueEntry, worker: WorkerView) -> str:
    return names(name for name, _ in worker.facts.environments)


def _in_environment(read: Callable[[EnvironmentView, QueueEntry], str]) -> Actual:
    def say(entry: QueueEntry, worker: WorkerView) -> str:
        name = entry.spec.runtime.environment
        environment = environment_of(worker.facts, name)
        return f"no {name} to ask" if environment is None else read(environment, entry)

    return say


def _frameworks(environment: EnvironmentView, entry: QueueEntry) -> str:
    if environment.frameworks is None:
        return UNKNOWN_VALUE
    has = dict(environment.frameworks)
    wanted = [name for name, _ in entry.spec.runtime.frameworks]
    return names(f"{name} {has[name] or UNKNOWN_VALUE}" if name in has else f"no {name}" for name in wanted)


def _torch(entry: QueueEntry, worker: WorkerView) -> str:
    return torch_of(worker.facts, entry.spec.runtime.environment) or UNKNOWN_VALUE


def _combination(entry: QueueEntry, worker: WorkerView) -> str:
    """`linux x86_64, torch 2.6.0+cu124, driver 550.54.15`, as far as it is asked."""
    facts, builds = worker.facts, builds_asked(entry.spec, worker.facts)
    platform = f"{facts.os or 'unknown OS'} {facts.arch or 'of unknown architecture'}"
    driver = [f"driver {facts.driver or UNKNOWN_VALUE}"] if builds else []
    return ", ".join([platform, *map(described, builds), *driver])


def _address(entry: QueueEntry, worker: WorkerView) -> str:
    return worker.facts.advertise_address or UNKNOWN_VALUE


def _count(entry: QueueEntry, worker: WorkerView) -> str:
    return UNKNOWN_VALUE if worker.facts.devices is None else f"{len(worker.facts.devices):,}"


def _whole(entry: QueueEntry, worker: WorkerView) -> str:
    found = worker.facts.devices or ()
    return f"{sum(map(is_whole, found)):,} of {len(found):,}"


def _of_devices(name: str, shown: Callable[[object], str] = str) -> Actual:
    """The different values of the whole devices, each with its count where there are several."""

    def say(entry: QueueEntry, worker: WorkerView) -> str:
        values = [getattr(device, name) for device in worker.facts.devices or () if is_whole(device)]
        texts = [UNKNOWN_VALUE if found is None else shown(found) for found in values]
        return _tally(texts) or "no whole device"

    return say


def _tally(texts: list[str]) -> str:
    each = dict.fromkeys(texts)
    return texts[0] if len(each) == 1 else names(f"{texts.count(text):,} × {text}" for text in each)


def _together(entry: QueueEntry, worker: WorkerView) -> str:
    found = qualifying(entry.spec, worker.facts)
    return (
        f"{counted(len(found), 'device')} of {len(worker.facts.devices or ()):,} {'do' if len(found) != 1 else 'does'}"
    )


def _state(is_so: Callable[[WorkerView], bool], so: str, not_so: str) -> Actual:
    def say(entry: QueueEntry, worker: WorkerView) -> str:
        note = f" ({worker.state_note})" if worker.state_note and not is_so(worker) else ""
        return so if is_so(worker) else f"{not_so}{note}"

    return say


def _slots(entry: QueueEntry, worker: WorkerView) -> str:
    return f"{len(worker.tasks):,} of {slots_of(worker):,} taken"


def _charged(code: Code, so: str) -> Actual:
    """Devices that qualify and that this cause takes away."""

    def say(entry: QueueEntry, worker: WorkerView) -> str:
        found = charges(entry, worker).get(code) or []
        if not found:
            return f"none {so}"
        taken = f"{devices(tuple(device.index for device in found))} {so}"
        return f"{taken}; {len(free_devices(entry, worker)):,} of {len(worker.facts.devices or ()):,} free"

    return say


def _names(several: Iterable[str] | None) -> str:
    return UNKNOWN_VALUE if several is None else listed(tuple(several))


_ACTUAL: dict[Code, Actual] = {
    Code.TARGET: _fact("origin"),
    Code.PROVIDER: _fact("provider"),
    Code.REGION: _fact("region"),
    Code.NOT_PINNED: lambda entry, worker: worker.id,
    Code.LABEL: _labels,
    Code.OS: _fact("os"),
    Code.ARCH: _fact("arch"),
    Code.CPU_CORES: _amount(lambda worker: worker.facts.cpu_millicores, cores),
    Code.MEMORY: _amount(lambda worker: worker.facts.memory_bytes, size),
    Code.DISK: _amount(lambda worker: worker.facts.disk_bytes, size),
    Code.ENVIRONMENT: _environment,
    Code.PYTHON: _in_environment(lambda environment, entry: environment.python or UNKNOWN_VALUE),
    Code.FRAMEWORK: _in_environment(_frameworks),
    Code.SUPPORT_MATRIX: _combination,
    Code.GPU_COUNT: _count,
    Code.GPU_MIG: _whole,
    Code.GPU_ACCELERATOR: _of_devices("kind"),
    Code.GPU_MODEL: _of_devices("model"),
    Code.GPU_MEMORY: _of_devices("memory_bytes", lambda found: size(int(str(found)))),
    Code.GPU_MEMORY_KIND: _of_devices("memory_kind"),
    Code.GPU_COMPUTE_CAPABILITY: _of_devices("compute_capability"),
    Code.GPU_COMBINATION: _together,
    Code.DIST_LAUNCHER: _in_environment(lambda environment, entry: _names(environment.launchers)),
    Code.DIST_BACKEND: _in_environment(lambda environment, entry: _names(environment.comm_backends)),
    Code.DIST_TORCH: _torch,
    Code.DIST_ADDRESS: _address,
    Code.DIST_PROCS: _amount(lambda worker: worker.facts.cpu_millicores, lambda found: f"{cores(found)} cores"),
    Code.OFFLINE: _state(lambda worker: worker.online, "online", "offline"),
    Code.DRAINING: _state(lambda worker: not worker.draining, "takes new jobs", "draining"),
    Code.UNHEALTHY: _state(lambda worker: not worker.unhealthy, "healthy", "unhealthy"),
    Code.NOT_RESERVED: _own,
    Code.FAILED_HERE: lambda entry, worker: "failed here" if worker.id in entry.failed_on else "did not fail here",
    Code.SLOTS: _slots,
    Code.TIER_CLOSED: _fact("origin"),
    Code.CPU_IN_USE: _left(free_cpu, cores),
    Code.MEMORY_IN_USE: _left(free_memory, size),
    Code.DISK_IN_USE: _left(free_disk, size),
    Code.GPU_UNHEALTHY: _charged(Code.GPU_UNHEALTHY, "unhealthy"),
    Code.GPU_RESERVED: _charged(Code.GPU_RESERVED, "reserved"),
    Code.GPU_RESERVED_FROM: _charged(Code.GPU_RESERVED_FROM, "reserved soon"),
    Code.GPU_NOT_RESERVED: _charged(Code.GPU_NOT_RESERVED, "not reserved for it"),
    Code.GPU_FOREIGN: _charged(Code.GPU_FOREIGN, "used outside gpulayer"),
    Code.GPU_IN_USE: _charged(Code.GPU_IN_USE, "in use by other tasks"),
}
