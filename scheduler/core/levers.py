"""What would let jobs start that do not: one running job ended, one label set, one more worker of some kind.

Likely ones are picked by counting; what is said of each is found by deciding the queue anew with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import islice

from scheduler.core.bits import each
from scheduler.core.board import Freed
from scheduler.core.decision import Verdict
from scheduler.core.device_board import mask_of
from scheduler.core.edits import with_placement, without
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet, WorkerFacts, WorkerView
from scheduler.core.grouping import gpus_of
from scheduler.core.matching import held_devices
from scheduler.core.questions import devices_of
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.spec import QueueEntry
from scheduler.core.stages import stage
from scheduler.core.trials import Turn, starting, turns

MOST_ASKED = 2_000
MOST_SHAPES = 100
MOST_TRIED = 6
MOST_WORKERS = 50
MOST_NAMED = 5
_COUNTED = frozenset((
    Code.SLOTS, Code.CPU_IN_USE, Code.MEMORY_IN_USE, Code.DISK_IN_USE,
    Code.GPU_UNHEALTHY, Code.GPU_RESERVED, Code.GPU_RESERVED_FROM, Code.GPU_NOT_RESERVED,
    Code.GPU_FOREIGN, Code.GPU_IN_USE,
))  # fmt: skip
"""What stands against a job only while tasks hold too much: with enough devices free, the broken ones don't matter."""


class Kind(StrEnum):
    """What would have to happen."""

    RELEASE = "release"
    LABEL = "label"
    WORKER = "worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One thing, and how many jobs would start by it."""

    kind: Kind
    subject: str
    """The running job; the label as key=value; the GPUs of the further worker."""
    starts: int
    jobs: tuple[str, ...]
    """Those, the first in the queue first."""
    workers: tuple[str, ...]
    """Where the job runs; some of those that would get the label; a worker like the further one."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Jobs that ask for the same: the first of them, and how many there are."""

    kind: int
    scene: Scene
    jobs: int


@dataclass(frozen=True, slots=True)
class _Trial:
    """The jobs, and what they are decided anew on: those of the others that matter, and the better ones."""

    shapes: Sequence[_Shape]
    queue: Sequence[Turn]
    fleet: Fleet
    others: Mapping[str, WorkerView]
    engine: Engine

    def starting(self, better: Iterable[WorkerView], queue: Sequence[Turn] | None = None) -> list[str]:
        """The jobs that start once these workers are as they are here."""
        changed = {view.id: view for view in better}
        views = {**self.others, **changed}.values()
        return starting(self.queue if queue is None else queue, views, self.engine, better=changed)


def levers(
    entries: Sequence[QueueEntry], fleet: Fleet, *, engine: Engine | None = None
) -> tuple[tuple[Lever, ...], int]:
    """The most useful ones of each kind, and how many jobs were asked; `entries` are those that don't start there."""
    asked = entries[:MOST_ASKED]
    if not asked:
        return (), 0
    engine = engine or Engine()
    scene = Scene(asked[0], fleet, engine=engine)
    queue = turns((replace(entry, submitted_at=None) for entry in asked), scene.census)
    shapes = list(_shapes(queue, scene))
    others = stage(queue, scene)
    trial = _Trial(shapes, queue, fleet, {view.id: view for view in others}, engine.beside())
    found = [*_releases(trial), *_labels(trial), *_workers(trial)]
    useful = [lever for lever in found if lever.starts]
    return tuple(sorted(useful, key=lambda lever: (-lever.starts, lever.kind, lever.subject))), len(asked)


def _shapes(queue: Sequence[Turn], scene: Scene) -> Iterator[_Shape]:
    """The commonest shapes of jobs."""
    first: dict[int, QueueEntry] = {}
    for turn in queue:
        first.setdefault(turn.kind, turn.entry)
    for kind, jobs in Counter(turn.kind for turn in queue).most_common(MOST_SHAPES):
        yield _Shape(kind, scene.beside(first[kind]), jobs)


def _lever(kind: Kind, subject: str, started: Sequence[str], workers: Iterable[str]) -> Lever:
    return Lever(
        kind=kind, subject=subject, starts=len(started), jobs=tuple(started),
        workers=tuple(workers)[:MOST_NAMED],
    )  # fmt: skip


def _releases(trial: _Trial) -> Iterator[Lever]:
    hopes: Counter[str] = Counter()
    ends = cache(lambda rank: tuple(_ends(trial.shapes[0].scene.board.views[rank])))
    for shape in trial.shapes:
        for job_id in dict.fromkeys(_would_do(shape.scene, ends)):
            hopes[job_id] += shape.jobs
    likely = [job_id for job_id, _ in hopes.most_common(MOST_TRIED)]
    holding: dict[str, list[WorkerView]] = {job_id: [] for job_id in likely}
    for view in trial.fleet.workers:
        for job_id in {task.job_id for task in view.tasks} & holding.keys():
            holding[job_id].append(view)
    for job_id, views in holding.items():
        started = trial.starting(_released(view, job_id) for view in views)
        yield _lever(Kind.RELEASE, job_id, started, [view.id for view in views])


def _would_do(scene: Scene, ends: Callable[[int], Iterable[tuple[str, Freed]]]) -> Iterator[str]:
    """The running jobs whose end alone would free a worker, or for a gang a further one.

    Where nothing else stands against the job, only what is left has to be counted.
    """
    asked, board, request = scene.entry.spec.resources, scene.board, scene.standing.shape.request
    for (verdict, codes), workers in scene.parts().items():
        if verdict is Verdict.UNAVAILABLE and _COUNTED.issuperset(codes):
            for rank in islice(each(workers), MOST_WORKERS):
                for job_id, freed in ends(rank):
                    if board.may_hold(asked, rank, freed) and (
                        request is None or board.devices.has_enough(request, rank, freed.devices)
                    ):
                        yield job_id


def _ends(view: WorkerView) -> Iterator[tuple[str, Freed]]:
    """For each job on a worker, what its end would leave free."""
    for job_id in dict.fromkeys(task.job_id for task in view.tasks):
        ending = [task for task in view.tasks if task.job_id == job_id]
        others = held_devices(_released(view, job_id))
        yield (
            job_id,
            Freed(
                slots=len(ending),
                cpu_millicores=sum(task.cpu_millicores for task in ending),
                memory_bytes=sum(task.memory_bytes for task in ending),
                disk_bytes=sum(task.disk_bytes for task in ending),
                devices=mask_of({index for task in ending for index in task.devices} - others),
            ),
        )


def _released(view: WorkerView, job_id: str) -> WorkerView:
    tasks = tuple(task for task in view.tasks if task.job_id != job_id)
    return view if len(tasks) == len(view.tasks) else replace(view, tasks=tasks)


def _labels(trial: _Trial) -> Iterator[Lever]:
    hopes: Counter[tuple[str, str]] = Counter()
    lacking: dict[tuple[str, str], set[str]] = {}
    for shape in trial.shapes:
        scene, placement = shape.scene, shape.scene.entry.spec.placement
        for label in placement.worker_labels[:MOST_TRIED]:
            other = with_placement(scene.entry.spec, worker_labels=without(placement.worker_labels, label[0]))
            only = scene.stand(other).eligible & ~scene.standing.compatible
            if only:
                hopes[label] += shape.jobs
                lacking.setdefault(label, set()).update(scene.named(only))
    for label, _ in hopes.most_common(MOST_TRIED):
        those = lacking[label]
        changed = (_labelled(view, *label) for view in trial.fleet.workers if view.id in those)
        asking = [turn for turn in trial.queue if label in turn.entry.spec.placement.worker_labels]
        yield _lever(Kind.LABEL, "=".join(label), trial.starting(changed, asking), sorted(those))


def _labelled(view: WorkerView, key: str, value: str) -> WorkerView:
    labels = tuple(sorted({**dict(view.facts.labels), key: value}.items()))
    return replace(view, facts=replace(view.facts, labels=labels))


def _workers(trial: _Trial) -> Iterator[Lever]:
    shapes, queue, scene = trial.shapes, trial.queue, trial.shapes[0].scene
    kinds = {gpus_of(facts): facts for facts in reversed(scene.samples(devices_of, scene.census.everyone))}
    taken = set(scene.census.roster.ids)
    further = {kind: _further(facts, taken) for kind, facts in kinds.items()}
    theirs = Scene(scene.entry, further.values(), engine=trial.engine)
    able = {turn.kind: turn.entry for turn in reversed(queue)}
    fits = {kind: theirs.compatible_with(entry) for kind, entry in able.items()}
    hopes = {
        kind: sum(shape.jobs for shape in shapes if fits[shape.kind] & theirs.ranked([view.id]))
        for kind, view in further.items()
    }
    for kind, hope in Counter(hopes).most_common(MOST_TRIED):
        if not hope:
            break
        view = further[kind]
        fitting = [turn for turn in queue if fits[turn.kind] & theirs.ranked([view.id])]
        yield _lever(Kind.WORKER, kind, trial.starting([view], fitting), [kinds[kind].id])


def _further(facts: WorkerFacts, taken: Container[str]) -> WorkerView:
    """One more worker like this one, with nothing on it and nothing wrong with it."""
    devices = tuple(
        replace(device, healthy=True, health_note="", foreign_memory_bytes=0, reserved_for=None, reserved_until=None)
        for device in facts.devices or ()
    )
    id = f"{facts.id}-more"
    while id in taken:
        id += "+"
    return WorkerView(
        facts=replace(
            facts, id=id, reserved_for=None, reserved_until=None, devices=facts.devices and devices, upcoming=()
        )
    )  # fmt: skip
