"""What would become of a job that is not submitted: decided by the same engine over what the latest pass saw.

Nothing is written. The view is made once and shared by all who ask; a decision over it costs milliseconds, also for ten
thousand workers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from time import perf_counter
from typing import Any

from django.db.models import QuerySet

from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.engine import Engine
from scheduler.core.explain import Answer, FunnelStage, funnel, note_sentence
from scheduler.core.fleet import Fleet, WorkerView
from scheduler.core.near_misses import Cause, NearMiss, causes, near_misses, within_the_targets
from scheduler.core.questions import environments_of
from scheduler.core.relax import relaxations
from scheduler.core.relax_gang import gang_versions
from scheduler.core.relaxed import Relaxation
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec, Origin, QueueEntry
from scheduler.core.why_words import gang_sentence, relaxations_lead
from scheduler.core.words import Clock
from scheduler.core.would import would
from scheduler.memory import once, remembered, trim
from scheduler.models import Event, Job, JobState, PassState, SchedulingPass
from scheduler.queue import holders_of
from scheduler.services.ledger import placements_of, view_key
from scheduler.services.rollups import left_by
from scheduler.services.seen_fleet import seen_by
from scheduler.services.visibility import told_to
from scheduler.snapshot import take_fleet

NOT_A_JOB = "new"
"""Stands for the id that a job gets when it is submitted."""
NOBODYS = QueueEntry(job_id=NOT_A_JOB, spec=JobSpec(name=NOT_A_JOB, command=("true",), target=Origin.LOCAL))
MOST_KEPT = 1
MOST_CAUSES = 6

FRESH = timedelta(seconds=5)
"""For so long the fleet of now is not looked at again."""

Key = tuple[object, frozenset[str]]
NOW: Key = ("now", frozenset())


@dataclass(frozen=True, slots=True)
class View:
    """A fleet as somebody saw it, ready to be asked about any job."""

    scene: Scene
    engine: Engine
    seen_at: datetime
    pass_number: int | None
    """None: no pass saw it; it was looked at for this."""

    @classmethod
    def of(cls, fleet: Fleet, seen_at: datetime, pass_number: int | None) -> View:
        """Of a fleet whose facts are those of the view before, the engine has nothing new to learn."""
        before = next(iter(_views.values()), None)
        engine = before.engine if before else Engine()
        return cls(Scene(NOBODYS, fleet, engine=engine), engine, seen_at, pass_number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The answer, and everything that is shown beside it."""

    pass_number: int | None
    seen_at: datetime
    outcome: Outcome
    answer: Answer
    funnel: tuple[FunnelStage, ...]
    places: tuple[tuple[WorkerView, tuple[int, ...]], ...]
    """The workers that it would get, as this user may see them, and the devices there."""
    causes: tuple[Cause, ...]
    near_misses: tuple[NearMiss, ...]
    edits: tuple[Relaxation, ...]
    edits_lead: str
    gang: tuple[str, ...]
    notes: tuple[str, ...]
    took_ms: int


@dataclass(frozen=True, slots=True)
class Known:
    """What a form offers to choose from, counted over the same fleet."""

    targets: Mapping[str, int]
    """Workers by origin."""
    environments: Mapping[str, Mapping[str, int]]
    """By the name of an environment, the workers of each origin that have it."""


_views: OrderedDict[Key, View] = remembered(OrderedDict())
_one_at_a_time = Lock()


def latest_view(now: datetime) -> View:
    """What the latest complete pass saw, less what it gave, while there is a queue to look at; else the fleet of now.

    Where nobody waits no pass is recorded, and the latest one may have seen what is long gone.
    """
    row = _complete().first()
    with _one_at_a_time:
        somebody_waits = Job.objects.filter(state=JobState.QUEUED).exists()
        return _of_pass(row) if row and somebody_waits else _of_now(now)


def view_mark() -> str:
    """Says whether a view may have changed since: another pass, or something that happened. Two queries."""
    number = _complete().values_list("number", flat=True).first()
    event = Event.objects.order_by("-pk").values_list("pk", flat=True).first()
    return f"{number or 0}-{event or 0}"


def _complete() -> QuerySet[SchedulingPass]:
    return SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number")


def _of_pass(row: SchedulingPass) -> View:
    waiting = _still_waiting(row)
    key = (view_key(row), waiting)

    def make() -> View:
        return View.of(left_by(row, set(waiting)), row.confirmed_at, row.number)

    return replace(once(_views, key, MOST_KEPT, make), seen_at=row.confirmed_at)


def _of_now(now: datetime) -> View:
    found = _views.get(NOW)
    if found is None or not timedelta(0) <= now - found.seen_at < FRESH:
        found = _views[NOW] = View.of(take_fleet(now=now).fleet(), now, None)
        trim(_views, MOST_KEPT)
    return found


def _still_waiting(row: SchedulingPass) -> frozenset[str]:
    """Jobs that were to get a place and got none: what was meant for them is free."""
    given = [planned.job_id for planned in placements_of(row)]
    if not given:
        return frozenset()
    queued = Job.objects.filter(state=JobState.QUEUED, job_id__in=given)
    return frozenset(queued.values_list("job_id", flat=True))


def preview(spec: JobSpec, view: View, *, user: Any, team: str, clock: Clock) -> Preview:
    """What would become of this job of this user and team, submitted at this moment."""
    began = perf_counter()
    entry = _entry(spec, user, team)
    with _one_at_a_time:
        scene = view.scene.beside(entry)
        decision = scene.decided()
        found, checks = relaxations(scene), within_the_targets(scene)
        seen_at, placed = view.seen_at, decision.outcome is Outcome.PLACED
        ends_at = seen_at + timedelta(seconds=spec.hold_s) if spec.hold_s else None
        never = decision.outcome is Outcome.UNSCHEDULABLE
        return Preview(
            pass_number=view.pass_number,
            seen_at=seen_at,
            outcome=decision.outcome,
            answer=_told(would(entry, decision, ends_at=ends_at, clock=clock), user),
            funnel=funnel(entry, decision)[:-1],
            places=_places(decision, scene, user),
            causes=() if placed else tuple(causes(checks, never=never))[:MOST_CAUSES],
            near_misses=near_misses(spec, checks),
            edits=tuple(sorted((*found.alone, *found.together), key=lambda one: not one.starts)),
            edits_lead=relaxations_lead(found),
            gang=() if placed else tuple(gang_sentence(version) for version in gang_versions(scene)),
            notes=tuple(note_sentence(note) for note in decision.notes),
            took_ms=round((perf_counter() - began) * 1000),
        )


def known(view: View) -> Known:
    """Targets and environments with the number of their workers."""
    with _one_at_a_time:
        census = view.scene.census
        origins = {str(origin): bits for origin, bits in census.origins.items()}
        environments: dict[str, dict[str, int]] = {}
        for number, members in census.classes(environments_of).items():
            for name, _ in census.sample(environments_of, number).environments:
                counts = environments.setdefault(name, {})
                for origin, bits in origins.items():
                    counts[origin] = counts.get(origin, 0) + (bits & members).bit_count()
        return Known({origin: bits.bit_count() for origin, bits in origins.items()}, environments)


def _entry(spec: JobSpec, user: Any, team: str) -> QueueEntry:
    """As the queue would have it; without values that no decision looks at."""
    teams = [team] if team else list(user.groups.values_list("name", flat=True))
    bare = replace(spec, env=(), secrets=())
    return QueueEntry(job_id=NOT_A_JOB, spec=bare, holders=holders_of(user.get_username(), teams))


def _told(said: Answer, user: Any) -> Answer:
    """The answer as this user may read it: others' hidden jobs are not named."""
    lead, *more = told_to(user, "\0".join((said.lead, *said.more))).split("\0")
    return Answer(said.state, lead, tuple(more))


def _places(
    decision: SchedulingDecision, scene: Scene, user: Any
) -> tuple[tuple[WorkerView, tuple[int, ...]], ...]:  # fmt: skip
    given = {place.worker: place.devices for place in decision.assignments}
    views = seen_by(user, [scene.view(worker) for worker in given])
    return tuple((view, given[view.id]) for view in views)
