"""Figures of one fleet and queue, and the proof that what is measured is the rule."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from time import process_time
from typing import TypeVar

from scheduler.core import rule
from scheduler.core.decision import SchedulingDecision
from scheduler.core.devices import load_of
from scheduler.core.engine import Engine
from scheduler.core.fleet import Fleet as Whole
from scheduler.core.fleet import WorkerView
from scheduler.core.relax import relaxations
from scheduler.core.rollup import left_over
from scheduler.core.scene import Scene
from scheduler.core.schedule import PassResult, run_pass, schedule
from scheduler.core.spec import QueueEntry
from scheduler.core.why import Grounds, why
from scheduler.memory import no_search_for_cycles

T = TypeVar("T")
Fleet = Sequence[WorkerView]
Queue = Sequence[QueueEntry]
EXPLAINED = 20
"""Jobs that are explained in full."""
TIMES = 3
"""How often a queue is decided: the least counts, since other work on the machine only ever adds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Times in seconds of one processor, memory in bytes."""

    workers: int
    jobs: int
    placed: int
    decide: float
    """The whole queue, beginning with nothing but the parsed documents; the least of three."""
    decide_again: float
    """The same with an engine that has seen the fleet before."""
    touch: float
    """A plain loop that reads a few values of every worker, device and job, and keeps them: the machine's memory."""
    one_cold: float
    """One decision and its groups, beginning with nothing."""
    one_warm: float
    groups: float
    """The groups and fingerprint of one decision of the pass, on average."""
    candidates: float
    """Every candidate of one decision with all its reasons."""
    relaxations: float
    """What one job could ask for instead, the slowest of some, on the fleet after the pass; the fleet known."""
    explained: float
    """Everything there is to say of that job's decision."""
    memory: int
    """The most that the pass held at once, beyond the documents; all decisions are kept."""

    @property
    def rate(self) -> float:
        """Decisions a second."""
        return self.jobs / self.decide


def measure(fleet: Fleet, queue: Queue, *, sample: int = 200) -> Figures:
    """Decide the queue a few times over and look at some of the decisions."""
    engine = Engine()
    decide = min(_deciding(queue, fleet, Engine())[0] for _ in range(TIMES - 1))
    first, results = _deciding(queue, fleet, engine)
    decide = min(decide, first)
    decide_again = min(_deciding(queue, fleet, engine)[0] for _ in range(TIMES))
    touch = min(_touching(fleet, queue) for _ in range(TIMES * TIMES))
    some = Random(0).sample(results, min(sample, len(results)))
    groups, _ = timed(lambda: [result.decision.fingerprint for result in some])
    candidates, _ = timed(lambda: results[len(results) // 2].decision.candidates)
    one, alone = queue[len(queue) // 2], Engine()
    one_cold = min(_deciding_one(one, fleet, Engine()) for _ in range(TIMES))
    one_warm = min(_deciding_one(one, fleet, alone) for _ in range(1 + TIMES))
    relaxed, explained = _explaining(fleet, results, some[:EXPLAINED], engine)
    return Figures(
        workers=len(fleet), jobs=len(queue), placed=sum(bool(result.decision.assignments) for result in results),
        decide=decide, decide_again=decide_again, touch=touch, one_cold=one_cold, one_warm=one_warm,
        groups=groups / len(some), candidates=candidates, relaxations=relaxed, explained=explained,
        memory=peak_memory(lambda: list(run_pass(queue, fleet))),
    )  # fmt: skip


def _deciding(queue: Queue, fleet: Fleet, engine: Engine) -> tuple[float, list[PassResult]]:
    """A whole pass as the scheduler runs it."""
    gc.collect()
    with no_search_for_cycles():
        return timed(lambda: list(run_pass(queue, fleet, engine=engine)))


def _deciding_one(one: QueueEntry, fleet: Fleet, engine: Engine) -> float:
    gc.collect()
    with no_search_for_cycles():
        return timed(lambda: schedule(one, fleet, one.job_id, engine=engine).groups())[0]


def _touching(fleet: Fleet, queue: Queue) -> float:
    """How long it takes to look at what is decided about, with nothing decided: what grows of it is due to memory."""
    gc.collect()
    with no_search_for_cycles():
        return timed(lambda: ([_of_worker(view) for view in fleet], [_of_job(entry) for entry in queue]))[0]


def _of_worker(view: WorkerView) -> tuple[object, ...]:
    facts = view.facts
    memory = sum([device.memory_bytes or 0 for device in facts.devices or ()])
    return (facts.id, facts.origin, facts.cpu_millicores, facts.memory_bytes, memory, view.online, len(view.tasks))


def _of_job(entry: QueueEntry) -> tuple[object, ...]:
    spec, asked, placement = entry.spec, entry.spec.resources, entry.spec.placement
    runtime = spec.runtime.frameworks
    return (entry.job_id, spec.policy, asked.gpus, asked.cpu_millicores, asked.gpu_models, placement.region, runtime)


def _explaining(
    fleet: Fleet, results: Sequence[PassResult], some: Sequence[PassResult], engine: Engine
) -> tuple[float, float]:
    """How long the slowest of some jobs takes to relax, and to explain altogether, after everything was given away."""
    left = left_over(Whole(tuple(fleet)), ((result.entry, result.decision) for result in results))
    slowest = (0.0, 0.0)
    for result in some:
        scene = Scene(result.entry, left, engine=engine)
        decision = schedule(result.entry, left, result.entry.job_id)
        relaxing, _ = timed(partial(relaxations, scene))
        explaining, _ = timed(partial(_explain, result, left, decision, engine))
        slowest = (max(slowest[0], relaxing), max(slowest[1], explaining))
    return slowest


def _explain(result: PassResult, left: Whole, decision: SchedulingDecision, engine: Engine) -> None:
    why(Grounds(scene=Scene(result.entry, left, engine=engine), decision=decision))


def differing(fleet: Fleet, queue: Queue, *, sample: int) -> list[str]:
    """Of some jobs drawn by lot, those whose decision is not the plain rule's to the last figure."""
    results = list(run_pass(queue, fleet))
    drawn = {result.position for result in Random(0).sample(results, min(sample, len(results)))}
    now = {worker.id: worker for worker in fleet}
    wrong = []
    for result in results:
        if result.position in drawn and not _is_the_rules(result, now.values()):
            wrong.append(result.entry.job_id)
        for place in result.decision.assignments:
            now[place.worker] = now[place.worker].holding(load_of(result.entry, place.devices))
    return wrong


def _is_the_rules(result: PassResult, fleet: Iterable[WorkerView]) -> bool:
    plain = rule.decide(result.entry, fleet)
    return plain == result.decision and plain.fingerprint == result.decision.fingerprint


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """How long it takes one processor, and what comes of it."""
    begin = process_time()
    answer = work()
    return process_time() - begin, answer


def peak_memory(work: Callable[[], object]) -> int:
    """The most bytes held at once while it goes on."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
