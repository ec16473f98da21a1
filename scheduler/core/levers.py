"""What would let jobs start that do not: one running job ended, one label set, one more worker of some kind.

Likely ones are picked by counting; what is said of each is found by deciding the queue anew with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from scheduler.core.availability import Setting
from scheduler.core.decision import Verdict
from scheduler.core.edits import with_placement, without
from scheduler.core.engine import Engine
from scheduler.core.evaluation import availability_reasons, compatibility_reasons
from scheduler.core.fleet import Fleet, TaskLoad, WorkerFacts, WorkerView
from scheduler.core.grouping import gpus_of
from scheduler.core.questions import devices_of
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.schedule import run_pass
from scheduler.core.spec import QueueEntry

MOST_ASKED = 2_000
MOST_SHAPES = 100
MOST_TRIED = 6
MOST_WORKERS = 50
MOST_NAMED = 5
_HELD = frozenset((Code.SLOTS, Code.CPU_IN_USE, Code.MEMORY_IN_USE, Code.DISK_IN_USE, Code.GPU_IN_USE))
"""What running tasks hold."""


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
    """Some of them, the first in the queue."""
    workers: tuple[str, ...]
    """Where the job runs; some of those that would get the label; a worker like the further one."""


@dataclass(frozen=True, slots=True)
class _Shape:
    """Jobs that ask for the same: the first of them, and how many there are."""

    scene: Scene
    jobs: int


def levers(entries: Sequence[QueueEntry], fleet: Fleet) -> tuple[tuple[Lever, ...], int]:
    """The most useful ones of each kind, and how many jobs were asked; `entries` are those that don't start there."""
    asked = entries[:MOST_ASKED]
    engine = Engine()
    shapes = list(_shapes(asked, fleet, engine))
    queue = [replace(entry, submitted_at=None) for entry in asked]
    found = [*_releases(shapes, queue, fleet, engine), *_labels(shapes, queue, fleet), *_workers(shapes, queue, fleet)]
    useful = [lever for lever in found if lever.starts]
    return tuple(sorted(useful, key=lambda lever: (-lever.starts, lever.kind, lever.subject))), len(asked)


def _shapes(entries: Iterable[QueueEntry], fleet: Fleet, engine: Engine) -> Iterator[_Shape]:
    """The commonest shapes of jobs, by everything of a job that a decision may look at."""
    counts: Counter[Hashable] = Counter()
    first: dict[Hashable, QueueEntry] = {}
    for entry in entries:
        key: Hashable = (entry.spec.asked, entry.holders, entry.failed_on)
        counts[key] += 1
        first.setdefault(key, entry)
    for common, jobs in counts.most_common(MOST_SHAPES):
        yield _Shape(Scene(first[common], fleet, engine=engine), jobs)


def _with(fleet: Iterable[WorkerView], queue: Sequence[QueueEntry], engine: Engine | None = None) -> list[str]:
    """The jobs that start on this fleet."""
    return [result.entry.job_id for result in run_pass(queue, fleet, engine=engine) if result.decision.assignments]


def _lever(kind: Kind, subject: str, started: Sequence[str], workers: Iterable[str]) -> Lever:
    return Lever(
        kind=kind, subject=subject, starts=len(started), jobs=tuple(started[:MOST_NAMED]),
        workers=tuple(workers)[:MOST_NAMED],
    )  # fmt: skip


def _releases(shapes: Sequence[_Shape], queue: Sequence[QueueEntry], fleet: Fleet, engine: Engine) -> Iterator[Lever]:
    hopes: Counter[str] = Counter()
    for shape in shapes:
        for job_id in set(_would_do(shape.scene)):
            hopes[job_id] += shape.jobs
    for job_id, _ in hopes.most_common(MOST_TRIED):
        left = [_released(view, job_id) for view in fleet.workers]
        where = [view.id for view in fleet.workers if any(task.job_id == job_id for task in view.tasks)]
        yield _lever(Kind.RELEASE, job_id, _with(left, queue, engine), where)


def _would_do(scene: Scene) -> Iterator[str]:
    """The running jobs whose end alone would free a worker, or for a gang a further one."""
    shape = scene.standing.shape
    setting = Setting(closed=shape.closed, avoided=scene.standing.avoided)
    for (verdict, codes), bits in scene.parts().items():
        if verdict is Verdict.UNAVAILABLE and _HELD.issuperset(codes):
            for view in scene.views(bits)[:MOST_WORKERS]:
                for job_id in dict.fromkeys(task.job_id for task in view.tasks if _frees_enough(scene, view, task)):
                    if not availability_reasons(scene.entry, _released(view, job_id), setting):
                        yield job_id


def _frees_enough(scene: Scene, view: WorkerView, task: TaskLoad) -> bool:
    """Whether with its devices there could be as many as the job needs; said sooner than by asking every check."""
    held = sum(len(one.devices) for one in view.tasks) - len(task.devices)
    return len(view.facts.devices or ()) - held >= scene.entry.spec.resources.gpus


def _released(view: WorkerView, job_id: str) -> WorkerView:
    tasks = tuple(task for task in view.tasks if task.job_id != job_id)
    return view if len(tasks) == len(view.tasks) else replace(view, tasks=tasks)


def _labels(shapes: Sequence[_Shape], queue: Sequence[QueueEntry], fleet: Fleet) -> Iterator[Lever]:
    hopes: Counter[tuple[str, str]] = Counter()
    lacking: dict[tuple[str, str], set[str]] = {}
    for shape in shapes:
        scene, placement = shape.scene, shape.scene.entry.spec.placement
        for label in placement.worker_labels[:MOST_TRIED]:
            other = with_placement(scene.entry.spec, worker_labels=without(placement.worker_labels, label[0]))
            only = scene.stand(other).eligible & ~scene.standing.compatible
            if only:
                hopes[label] += shape.jobs
                lacking.setdefault(label, set()).update(scene.named(only))
    for (key, value), _ in hopes.most_common(MOST_TRIED):
        those = lacking[key, value]
        changed = [_labelled(view, key, value) if view.id in those else view for view in fleet.workers]
        yield _lever(Kind.LABEL, f"{key}={value}", _with(changed, queue), sorted(those))


def _labelled(view: WorkerView, key: str, value: str) -> WorkerView:
    labels = tuple(sorted({**dict(view.facts.labels), key: value}.items()))
    return replace(view, facts=replace(view.facts, labels=labels))


def _workers(shapes: Sequence[_Shape], queue: Sequence[QueueEntry], fleet: Fleet) -> Iterator[Lever]:
    if not shapes:
        return
    scene = shapes[0].scene
    hopes: Counter[str] = Counter()
    kinds = {gpus_of(facts): facts for facts in reversed(scene.samples(devices_of, scene.census.everyone))}
    for kind, facts in kinds.items():
        further = _further(facts, fleet)
        hopes[kind] = sum(
            shape.jobs for shape in shapes if not compatibility_reasons(shape.scene.entry, further)
        )  # fmt: skip
    for kind, hope in hopes.most_common(MOST_TRIED):
        if hope:
            started = _with((*fleet.workers, _further(kinds[kind], fleet)), queue)
            yield _lever(Kind.WORKER, kind, started, [kinds[kind].id])


def _further(facts: WorkerFacts, fleet: Fleet) -> WorkerView:
    """One more worker like this one, with nothing on it and nothing wrong with it."""
    devices = tuple(
        replace(device, healthy=True, health_note="", foreign_memory_bytes=0, reserved_for=None, reserved_until=None)
        for device in facts.devices or ()
    )
    taken, id = {view.id for view in fleet.workers}, f"{facts.id}-more"
    while id in taken:
        id += "+"
    return WorkerView(
        facts=replace(
            facts, id=id, reserved_for=None, reserved_until=None, devices=facts.devices and devices
        )
    )  # fmt: skip
