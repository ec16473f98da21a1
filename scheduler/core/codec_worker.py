"""`WorkerView` -> the document from which it can be read again; what is unknown is left out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from scheduler.core.fleet import (
    DEFAULT_NOTICE_SECONDS,
    RESERVED_FOR,
    DeviceView,
    EnvironmentView,
    TaskLoad,
    TorchBuild,
    Window,
    WorkerFacts,
    WorkerView,
)
from scheduler.core.quantities import cores_document, size_document

Document = dict[str, Any]


def instant_text(moment: datetime | None) -> str | None:
    """An instant in UTC as ISO 8601."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def worker_to_document(view: WorkerView) -> Document:
    """Facts, state and load; `parse_worker` makes the same view of it again."""
    states = [name for name, so in (("draining", view.draining), ("unhealthy", view.unhealthy)) if so]
    states = states if view.online else ["offline", *states]
    return facts_to_document(view.facts) | _known(
        state=states[0] if len(states) == 1 else states or "online",
        state_note=view.state_note or None,
        state_since=instant_text(view.state_since),
        tasks=[_task(task) for task in view.tasks] or None,
        seen_at=instant_text(view.at),
    )


def facts_to_document(facts: WorkerFacts) -> Document:
    """Facts alone; `parse_worker_facts` makes the same of it again."""
    environments = dict(facts.environments)
    default = environments.pop("default", EnvironmentView())
    reservation = {} if facts.reserved_for is None else {RESERVED_FOR: facts.reserved_for}
    return _known(
        id=facts.id,
        origin=str(facts.origin),
        provider=facts.provider,
        region=facts.region,
        labels=(dict(facts.labels) | reservation) or None,
        reserved_until=instant_text(facts.reserved_until),
        os=facts.os,
        os_version=facts.os_version,
        arch=facts.arch,
        cpu_cores=None if facts.cpu_millicores is None else cores_document(facts.cpu_millicores),
        memory=_size(facts.memory_bytes),
        disk=_size(facts.disk_bytes),
        driver=facts.driver,
        advertise_address=facts.advertise_address,
        max_concurrent_tasks=facts.max_concurrent_tasks,
        foreign_allowance=_size(facts.foreign_allowance_bytes),
        **_environment(default),
        environments={name: _environment(other) for name, other in environments.items()} or None,
        devices=None if facts.devices is None else [_device(device) for device in facts.devices],
        simulated=facts.simulated or None,
        upcoming=[_window(window) for window in facts.upcoming] or None,
    )


def _known(**fields: object) -> Document:
    return {name: value for name, value in fields.items() if value is not None}


def _size(size: int | None) -> str | None:
    return None if size is None else size_document(size)


def _names(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _environment(environment: EnvironmentView) -> Document:
    return _known(
        python=environment.python,
        frameworks=None if environment.frameworks is None else dict(environment.frameworks),
        torch_build=_torch_build(environment.torch_build),
        launchers=_names(environment.launchers),
        comm_backends=_names(environment.comm_backends),
    )


def _torch_build(build: TorchBuild | None) -> Document | None:
    return None if build is None else _known(cuda=build.cuda, hip=build.hip, archs=_names(build.archs))


def _device(device: DeviceView) -> Document:
    return _known(
        index=device.index,
        uuid=device.uuid,
        model=device.model,
        kind=device.kind and str(device.kind),
        memory=_size(device.memory_bytes),
        memory_kind=device.memory_kind and str(device.memory_kind),
        compute_capability=device.compute_capability,
        mig=device.mig,
        health=None if device.healthy is None else "ok" if device.healthy else "unhealthy",
        health_note=device.health_note or None,
        foreign_memory=_size(device.foreign_memory_bytes),
        reserved_for=device.reserved_for,
        reserved_until=instant_text(device.reserved_until),
    )


def _window(window: Window) -> Document:
    return _known(
        reserved_for=window.holder,
        starts_at=instant_text(window.starts_at),
        ends_at=instant_text(window.ends_at),
        devices=list(window.devices) or None,
        notice_s=None if window.notice_s == DEFAULT_NOTICE_SECONDS else window.notice_s,
    )


def _task(task: TaskLoad) -> Document:
    return _known(
        job_id=task.job_id,
        devices=list(task.devices),
        cpu_cores=cores_document(task.cpu_millicores),
        memory=size_document(task.memory_bytes),
        disk=size_document(task.disk_bytes),
    )
