"""How fast the core decides whole queues and single jobs, in how much memory, and how both grow with the fleet."""

from __future__ import annotations

import argparse
from itertools import pairwise
from operator import itemgetter

from benchmarks import fleets
from benchmarks.measure import Figures, differing, measure, timed
from scheduler.core.fleet import Fleet
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.offline import Given, read_given


def report(options: argparse.Namespace) -> int:
    """Print the figures of the trace, if there is one, and of generated fleets; 1 where the plain rule says otherwise.

    Raises `WrongDocumentsError` for a trace that cannot be read.
    """
    print("\ndeciding, in the processor time of one thread")
    return max(_trace(options) if options.trace else 0, _generated(options))


def _trace(options: argparse.Namespace) -> int:
    seconds, given = timed(lambda: read_given(options.trace / "workers.jsonl", options.trace / "jobs.jsonl"))
    print(f"\n{options.trace}, read in {seconds:.1f} s")
    return _report(given, options)[1]


def _generated(options: argparse.Namespace) -> int:
    known, failed = [], 0
    for workers, jobs, shapes in options.size:
        print(f"\ngenerated, {shapes:,} shapes of job")
        figures, wrong = _report(_given(workers, jobs, shapes, options.seed), options)
        failed |= wrong
        known.append((shapes, figures))
    for (shapes, before), (others, after) in pairwise(known):
        if shapes != others:
            continue
        print(f"\n{shapes:,} shapes, {_name(before)} -> {_name(after)}:")
        print("\n".join(f"  {line}" for line in _growth(before, after)))
    return failed


def _given(workers: int, jobs: int, shapes: int, seed: int) -> Given:
    # As a snapshot makes its views: sorted. Values that lie in memory in another order than they are read in take a
    # fifth longer at 10,000 workers and two fifths at 50,000, because the processor has to wait for them.
    documents_by_id = sorted(fleets.workers(workers, seed), key=itemgetter("id"))
    fleet = tuple(parse_worker(document) for document in documents_by_id)
    documents = enumerate(fleets.jobs(jobs, shapes, seed))
    return Given(Fleet(fleet), tuple(parse_queue_entry(document, position=place) for place, document in documents))


def _report(given: Given, options: argparse.Namespace) -> tuple[Figures, int]:
    figures = measure(given.fleet.workers, given.queue)
    for label, value in _lines(figures):
        print(f"  {label:<44}{value:>16}")
    wrong = differing(given.fleet.workers, given.queue, sample=options.compared)
    compared = min(options.compared, figures.jobs)
    print(f"  {'the same as by the plain rule, candidates and all':<50}{compared - len(wrong)} of {compared}")
    return figures, int(bool(wrong))


def _lines(figures: Figures) -> list[tuple[str, str]]:
    return [
        ("workers", f"{figures.workers:,}"),
        ("jobs", f"{figures.jobs:,}"),
        ("placed", f"{figures.placed:,}"),
        ("the whole queue", f"{figures.decide:.3f} s"),
        ("decisions a second", f"{figures.rate:,.0f}"),
        ("the whole queue, the fleet known", f"{figures.decide_again:.3f} s"),
        ("one decision, grouped", f"{figures.one_cold * 1000:.1f} ms"),
        ("one decision, grouped, the fleet known", f"{figures.one_warm * 1000:.1f} ms"),
        ("groups and fingerprint of a decision", f"{figures.groups * 1000:.2f} ms"),
        ("all candidates of a decision", f"{figures.candidates * 1000:.0f} ms"),
        ("relaxations of a job, the slowest of some", f"{figures.relaxations * 1000:.0f} ms"),
        ("everything behind its decision", f"{figures.explained * 1000:.0f} ms"),
        ("peak memory beyond the documents", f"{figures.memory / 1e6:.0f} MB"),
    ]


def _growth(before: Figures, after: Figures) -> list[str]:
    """How much longer more of it takes, and how much of that the machine's memory makes: caches hold less of more."""
    more = (after.workers + after.jobs) / (before.workers + before.jobs)
    return [
        f"{more:.1f} times as much, in {after.decide / before.decide:.1f} times the time",
        f"the fleet known, in {after.decide_again / before.decide_again:.1f} times the time",
        f"a plain loop over the same workers, devices and jobs: {after.touch / before.touch:.1f} times the time",
    ]


def _name(figures: Figures) -> str:
    return f"{figures.workers:,} workers, {figures.jobs:,} jobs"
