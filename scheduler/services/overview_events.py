"""What happened lately in the whole installation, in a sentence each, as far as somebody may read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Q

from scheduler.models import Event, Job, Task
from scheduler.services.visibility import ids_in, seen_by, sees_all, without_others
from workers.devices import ranges
from workers.moments import duration

MOST_SHOWN = 8
MOST_READ = 80
"""Events that are looked at to find those to show: much of what happens at once is told in one sentence."""
_STATES = ("running", "succeeded", "failed", "timed_out", "cancelled", "paused")
_TOLD = (
    Q(subject_kind="job", verb="state", after__in=_STATES)
    | Q(subject_kind="worker", verb__in=("liveness", "intent", "health", "device health"))
    | Q(subject_kind="reservation", verb__in=("created", "changed", "ended"))
)
_LOOKS: Mapping[str, tuple[str, str]] = {
    "running": ("run", "player-play"), "succeeded": ("ok", "circle-check"), "failed": ("never", "circle-x"),
    "timed_out": ("never", "hourglass"), "cancelled": ("none", "player-stop"), "paused": ("none", "player-pause"),
    "online": ("ok", "circle-check"), "suspect": ("never", "plug-connected-x"), "lost": ("never", "plug-connected-x"),
    "draining": ("wait", "droplet"), "drained": ("wait", "droplet"), "active": ("ok", "circle-check"),
    "unhealthy": ("never", "alert-triangle"), "ok": ("ok", "circle-check"),
}  # fmt: skip
_WORKER_WORDS = {
    "suspect": "offline: no heartbeat", "lost": "offline for long: what ran there counts as lost", "online": "online",
    "active": "takes jobs again", "draining": "draining", "drained": "drained", "unhealthy": "unhealthy",
    "ok": "healthy",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """One or several events in a sentence that begins with who it is about."""

    at: datetime
    tone: str
    icon: str
    kind: str
    """`job`, `worker`, or what leads nowhere."""
    subject: str
    more: int
    """How many others the same happened to right then."""
    words: str


@dataclass(frozen=True, slots=True)
class _Run:
    """What is said of a job beside its state."""

    where: str
    ran: str


def lately(user: Any) -> list[Told]:
    """The latest of them, the newest first. At most four queries."""
    events = list(Event.objects.filter(_TOLD).order_by("-pk")[:MOST_READ])
    named = {event.subject for event in events if event.subject_kind == "job"}
    named |= {job_id for event in events for job_id in ids_in(_beside(event))}
    seen = named if sees_all(user) else set(seen_by(user).filter(job_id__in=named).values_list("job_id", flat=True))
    events = [event for event in events if event.subject_kind != "job" or event.subject in seen]
    runs = _runs([event.subject for event in events if event.subject_kind == "job"])
    found: list[Told] = []
    for event in events:
        told = _told(event, without_others(_words(event, runs), seen))
        if found and told.kind == found[-1].kind == "worker" and told.words == found[-1].words:
            found[-1] = replace(found[-1], more=found[-1].more + 1)
        elif len(found) == MOST_SHOWN:
            break
        else:
            found.append(told)
    return found


def _told(event: Event, words: str) -> Told:
    tone, icon = _LOOKS.get(event.after, ("rsv", "bookmark"))
    subject = "" if event.subject_kind == "reservation" else event.subject
    return Told(event.at, tone, icon, event.subject_kind, subject, 0, words)


def _words(event: Event, runs: Mapping[str, _Run]) -> str:
    if event.subject_kind == "job":
        return _of_job(event, runs.get(event.subject))
    if event.subject_kind == "reservation":
        said = {"created": "reserved", "changed": "reservation changed", "ended": "reservation ended"}[event.verb]
        return ": ".join(filter(None, (said, event.after or event.before))) + _by(event)
    if event.verb == "device health":
        return f"device {event.detail.get('device')} {_WORKER_WORDS.get(event.after, event.after)}{_because(event)}"
    return f"{_WORKER_WORDS.get(event.after, event.after)}{_because(event)}{_by(event)}"


def _of_job(event: Event, run: _Run | None) -> str:
    if event.after == "running":
        return f"started{f' on {run.where}' if run and run.where else ''}"
    after = f" after {run.ran}" if run and run.ran else ""
    return f"{event.after.replace('_', ' ')}{after}{_by(event)}"


def _beside(event: Event) -> str:
    return " ".join((event.after, event.before, event.cause))


def _because(event: Event) -> str:
    return f": {event.cause}" if event.cause and not event.cause.startswith(("pass ", "task ")) else ""


def _by(event: Event) -> str:
    return f", by {event.actor.partition(':')[2]}" if event.actor.startswith("user:") else ""


def _runs(jobs: Sequence[str]) -> Mapping[str, _Run]:
    """Where each of these jobs runs or ran, and for how long. Two queries."""
    if not jobs:
        return {}
    places: dict[str, list[str]] = {}
    tasks = Task.objects.filter(attempt__job__job_id__in=jobs).order_by("-attempt", "rank")
    for job_id, worker, devices in tasks.values_list("attempt__job__job_id", "worker__name", "devices"):
        held = f", device{'s' if len(devices) > 1 else ''} {ranges(devices)}" if devices else ""
        places.setdefault(job_id, []).append(f"{worker}{held}")
    times = Job.objects.filter(job_id__in=jobs).values_list("job_id", "started_at", "finished_at")
    return {job_id: _Run(_where(places.get(job_id, ())), _length(start, end)) for job_id, start, end in times}


def _where(places: Sequence[str]) -> str:
    return f"{places[0]} and {len(places) - 1} more" if len(places) > 1 else "".join(places)


def _length(start: datetime | None, end: datetime | None) -> str:
    return duration((end - start).total_seconds(), coarse=True) if start and end else ""
