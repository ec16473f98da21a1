"""What would become of a job that is not submitted: decided by the same engine over what the latest pass saw.

Nothing is written. The view is made once for each pass that somebody asks about; a decision over it costs
milliseconds, also for ten thousand workers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from time import perf_counter
from typing import Any

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
from scheduler.core.spec import JobSpec, QueueEntry
from scheduler.core.why_words import gang_sentence, relaxations_lead
from scheduler.core.words import Clock
from scheduler.core.would import would
from scheduler.memory import remembered, trim
from scheduler.models import Job, JobState, PassState, SchedulingPass
from scheduler.queue import holders_of
from scheduler.services.ledger import placements_of, view_key
from scheduler.services.rollups import left_by
from scheduler.services.seen_fleet import seen_by
from scheduler.services.visibility import told_to

NOT_A_JOB = "new"
"""Stands for the id that a job gets when it is submitted."""
MOST_KEPT = 2
MOST_CAUSES = 6

Key = tuple[object, frozenset[str]]


@dataclass(frozen=True, slots=True)
class View:
    """The fleet after the latest complete pass, and the engine that knows it."""

    pass_: SchedulingPass
    fleet: Fleet
    engine: Engine

    def scene(self, entry: QueueEntry) -> Scene:
        """This job at the end of that pass."""
        return Scene(entry, self.fleet, engine=self.engine)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The answer, and everything that is shown beside it."""

    pass_number: int
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


def latest_view() -> View | None:
    """What the latest complete pass saw, less what it gave; None before the first. Two queries, once it is known."""
    row = SchedulingPass.objects.filter(state=PassState.COMPLETE).order_by("-number").first()
    if row is None:
        return None
    waiting = _still_waiting(row)
    key = (view_key(row), waiting)
    with _one_at_a_time:
        found = _views.get(key)
        if found is None:
            known = next(reversed(_views.values()), None)
            engine = known.engine.beside() if known else Engine()
            found = _views[key] = View(row, left_by(row, set(waiting)), engine)
            trim(_views, MOST_KEPT)
    return replace(found, pass_=row)


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
        decision = view.engine.begin(view.fleet.workers).decide(entry)
        scene = view.scene(entry)
        found, checks = relaxations(scene), within_the_targets(scene)
        seen_at, placed = view.pass_.confirmed_at, decision.outcome is Outcome.PLACED
        ends_at = seen_at + timedelta(seconds=spec.hold_s) if spec.hold_s else None
        never = decision.outcome is Outcome.UNSCHEDULABLE
        return Preview(
            pass_number=view.pass_.number,
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
        census = view.engine.begin(view.fleet.workers).census
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
