"""A worker document -> facts, state and load. What a worker leaves out, or says as null or "", is unknown."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from scheduler.core.fleet import RESERVED_FOR, TaskLoad, WorkerFacts, WorkerView
from scheduler.core.holders import HOLDER, holder
from scheduler.core.parsing_device import MOST_DEVICES, device_index, fact, had_size, read_devices
from scheduler.core.parsing_environment import ENVIRONMENT_FIELDS, environments
from scheduler.core.parsing_job import cores, labels, name_line, needed_size, only_version
from scheduler.core.parsing_window import read_windows
from scheduler.core.readers import instant, list_of, one_of, truth, whole
from scheduler.core.reading import At, Section
from scheduler.core.spec import Origin

MOST_TASKS = 100_000
FACT_FIELDS = (
    "version", "id", "origin", "provider", "region", "labels", "reserved_until", "os", "os_version", "arch",
    "cpu_cores", "memory", "disk", "driver", "advertise_address", "max_concurrent_tasks", "foreign_allowance",
    *ENVIRONMENT_FIELDS, "environments", "devices", "simulated", "upcoming",
)  # fmt: skip
STATE_FIELDS = ("state", "state_since", "state_note", "tasks", "seen_at")
_text, _version = fact("names"), fact("versions")


class State(StrEnum):
    """What a worker's state may be; several at once, except online beside offline."""

    ONLINE = "online"
    OFFLINE = "offline"
    DRAINING = "draining"
    UNHEALTHY = "unhealthy"


def read_facts(document: object, at: At) -> WorkerFacts | None:
    """Facts alone; None where there is a problem, which is noted."""
    before = at.sink.count
    facts = _facts(Section(document, at, FACT_FIELDS))
    return facts if at.sink.count == before else None


def read_worker(document: object, at: At) -> WorkerView | None:
    """Facts, state and load; None where there is a problem, which is noted."""
    before = at.sink.count
    section = Section(document, at, (*FACT_FIELDS, *STATE_FIELDS))
    states = section.read("state", _states) or ()
    view = WorkerView(
        facts=_facts(section),
        online=State.OFFLINE not in states,
        draining=State.DRAINING in states,
        unhealthy=State.UNHEALTHY in states,
        state_note=section.read_or("state_note", _text, ""),
        state_since=section.read("state_since", instant),
        tasks=section.read("tasks", list_of(_task, most=MOST_TASKS)) or (),
        at=section.read("seen_at", instant),
    )
    return view if at.sink.count == before else None


def _facts(section: Section) -> WorkerFacts:
    section.read("version", only_version)
    own_labels = section.read("labels", labels) or ()
    reserved_for, reserved_until = _reservation(section, dict(own_labels))
    return WorkerFacts(
        id=section.require("id", name_line, "the worker's stable name") or "",
        origin=section.require("origin", one_of(Origin), "local, remote or cloud") or Origin.LOCAL,
        provider=section.read("provider", _text),
        region=section.read("region", _text),
        os=section.read("os", _text),
        os_version=section.read("os_version", _version),
        arch=section.read("arch", _text),
        cpu_millicores=section.read("cpu_cores", cores),
        memory_bytes=section.read("memory", had_size),
        disk_bytes=section.read("disk", had_size),
        driver=section.read("driver", _version),
        advertise_address=section.read("advertise_address", _text),
        max_concurrent_tasks=section.read("max_concurrent_tasks", whole(0, MOST_TASKS)),
        foreign_allowance_bytes=section.read("foreign_allowance", had_size),
        environments=environments(section),
        labels=tuple(pair for pair in own_labels if pair[0] != RESERVED_FOR),
        reserved_for=reserved_for,
        reserved_until=reserved_until,
        devices=section.read("devices", read_devices),
        simulated=section.read_or("simulated", truth, False),
        upcoming=section.read("upcoming", read_windows) or (),
    )


def _reservation(section: Section, own_labels: dict[str, str]) -> tuple[str | None, datetime | None]:
    """The holder that the system's label names, in full, and until when; an end alone reserves nothing."""
    until = section.read("reserved_until", instant)
    label = own_labels.get(RESERVED_FOR)
    if label is None:
        return None, None
    reserved_for = holder(label)
    if reserved_for is None:
        section.at.below("labels").below(RESERVED_FOR).wrong(label, HOLDER)
    return reserved_for, until


def _states(value: object, at: At) -> tuple[State, ...] | None:
    if not isinstance(value, list | tuple):
        state = one_of(State)(value, at)
        return None if state is None else (state,)
    states = list_of(one_of(State), least=1, most=len(State), distinct=True)(value, at)
    if states and State.ONLINE in states and State.OFFLINE in states:
        at.note("online and offline", "one of the two")
    return states


def _task(value: object, at: At) -> TaskLoad:
    task = Section(value, at, ("job_id", "devices", "cpu_cores", "memory", "disk"))
    return TaskLoad(
        job_id=task.require("job_id", name_line, "the job that it belongs to") or "",
        devices=tuple(sorted(task.read("devices", list_of(device_index, most=MOST_DEVICES, distinct=True)) or ())),
        cpu_millicores=task.read_or("cpu_cores", cores, 0),
        memory_bytes=task.read_or("memory", needed_size, 0),
        disk_bytes=task.read_or("disk", needed_size, 0),
    )
