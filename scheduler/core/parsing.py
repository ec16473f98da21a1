"""Documents -> values, every mistake told at once. The one door for job, queue and worker documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from scheduler.core.fleet import WorkerFacts, WorkerView
from scheduler.core.holders import HOLDER, holder
from scheduler.core.parsing_job import MOST_ENTRIES, MOST_WORKERS, name_line, only_version, read_job
from scheduler.core.parsing_worker import read_facts, read_worker
from scheduler.core.quantities import as_decimal
from scheduler.core.readers import checked, instant, line, list_of
from scheduler.core.reading import At, Section, Sink
from scheduler.core.spec import JobSpec, QueueEntry

T = TypeVar("T")

_holders = list_of(checked(line(what="holders", longest=300), holder, HOLDER), most=MOST_ENTRIES)
_QUEUE_FIELDS = ("version", "job_id", "submitted_at", "holders", "failed_on", "spec")


def parse_job(document: object, *, path: str = "") -> JobSpec:
    """A job document as a spec; raises `DocumentError`. `path` says where in a larger document it stands."""
    return _parsed(document, read_job, path)


def parse_queue_entry(document: object, *, position: int) -> QueueEntry:
    """An entry of a queue, or a bare job document, which gets the id `j-<position>`; raises `DocumentError`."""
    return _parsed(document, lambda found, at: _read_entry(found, at, position), "")


def parse_worker(document: object) -> WorkerView:
    """A worker document as facts, state and load; raises `DocumentError`."""
    return _parsed(document, read_worker, "")


def parse_worker_facts(document: object) -> WorkerFacts:
    """A worker document without `state`, `state_since` and `tasks` as facts; raises `DocumentError`."""
    return _parsed(document, read_facts, "")


def _parsed(document: object, read: Callable[[object, At], T | None], path: str) -> T:
    sink = Sink()
    value = read(document, At(sink, path))
    if sink.count or value is None:
        raise sink.error()
    return value


def _read_entry(document: object, at: At, position: int) -> QueueEntry | None:
    if isinstance(document, dict) and "spec" not in document and "job_id" not in document:
        spec = read_job(document, at)
        return QueueEntry(job_id=f"j-{position}", spec=spec) if spec else None
    entry = Section(document, at, _QUEUE_FIELDS)
    entry.read("version", only_version)
    spec = entry.require("spec", read_job, "a job")
    job_id = entry.read_or("job_id", name_line, f"j-{position}")
    submitted_at = _submission(entry.get("submitted_at"), at.below("submitted_at"))
    holders = entry.read("holders", _holders) or ()
    failed_on = entry.read("failed_on", list_of(name_line, most=MOST_WORKERS)) or ()
    if spec is None:
        return None
    return QueueEntry(job_id=job_id, spec=spec, submitted_at=submitted_at, holders=holders, failed_on=failed_on)


def _submission(value: object, at: At) -> str | float | None:
    """A number as it stands; an instant in UTC and at full length, so that text compares as time does."""
    if value is None:
        return None
    if isinstance(value, int | float) and as_decimal(value) is not None:
        return value
    moment = instant(value, at)
    return None if moment is None else moment.isoformat(timespec="microseconds")
