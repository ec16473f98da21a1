"""How each device of a worker looks on a page: one box, one word for its state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from scheduler.core.fleet import DEFAULT_FOREIGN_ALLOWANCE_BYTES, DeviceView, WorkerView


@dataclass(frozen=True, slots=True)
class DeviceBox:
    """One device as drawn: its index, its look (a CSS suffix) and the same in words."""

    index: int
    look: str
    words: str
    holder: str = ""
    """The job on it, where there is one."""
    view: DeviceView | None = None


def device_boxes(worker: WorkerView, selected: Collection[int] = ()) -> tuple[DeviceBox, ...]:
    """Every device of a worker in the order of its indices; free means that it could be given out."""
    held = _holders(worker)
    return tuple(
        DeviceBox(device.index, *_state(worker, device, held, selected), held.get(device.index, ""), device)
        for device in worker.facts.devices or ()
    )


def free_count(boxes: Collection[DeviceBox]) -> int:
    """How many of them could be given out."""
    return sum(box.look == "free" for box in boxes)


def ranges(indices: Iterable[int]) -> str:
    """Ascending indices in few letters: `0–3, 6`."""
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def devices_words(indices: Collection[int]) -> str:
    """`device 3`, `devices 0–3, 6`."""
    return f"device{'s'[: len(indices) > 1]} {ranges(indices)}"


def summary(worker: WorkerView) -> str:
    """`8 × H100 80GB HBM3`, or each model with its number; the maker that most share is left out."""
    return ", ".join(models(worker))


def models(worker: WorkerView) -> tuple[str, ...]:
    """The same, each model by itself."""
    devices = worker.facts.devices
    if devices is None:
        return ("GPUs unknown",)
    counted: dict[str, int] = {}
    for device in devices:
        model = (device.model or "unknown model").removeprefix("NVIDIA ")
        counted[model] = counted.get(model, 0) + 1
    return tuple(f"{number} × {model}" for model, number in counted.items()) or ("no GPU",)


def _holders(worker: WorkerView) -> Mapping[int, str]:
    return {index: task.job_id for task in worker.tasks for index in task.devices}


def _state(
    worker: WorkerView, device: DeviceView, held: Mapping[int, str], selected: Collection[int]
) -> tuple[str, str]:
    if device.index in selected:
        return "sel", "selected"
    if device.healthy is False:
        return "bad", f"unhealthy ({device.health_note})" if device.health_note else "unhealthy"
    if device.index in held:
        return "use", f"in use by {held[device.index]}"
    if closed := _takes_no_jobs(worker):
        return "off", closed
    if reserved := device.reserved_for or worker.facts.reserved_for:
        until = device.reserved_until if device.reserved_for else worker.facts.reserved_until
        return "rsv", f"reserved for {reserved}{_until(until)}"
    if _used_outside(worker, device):
        return "frn", "used outside gpulayer"
    return "free", "free"


def _takes_no_jobs(worker: WorkerView) -> str:
    """Why none of its devices can be given out; empty where they can."""
    if not worker.online:
        return "offline"
    if worker.draining:
        return "draining"
    return "the worker is unhealthy" if worker.unhealthy else ""


def _until(until: datetime | None) -> str:
    return f" until {until:%Y-%m-%d %H:%M} UTC" if until else ""


def _used_outside(worker: WorkerView, device: DeviceView) -> bool:
    allowance = worker.facts.foreign_allowance_bytes
    limit = DEFAULT_FOREIGN_ALLOWANCE_BYTES if allowance is None else allowance
    return (device.foreign_memory_bytes or 0) > limit
