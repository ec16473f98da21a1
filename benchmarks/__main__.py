"""`python -m benchmarks`: figures of generated fleets of several sizes, or of one given as documents."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from benchmarks import fleets
from benchmarks.measure import Figures, differing, measure, timed
from scheduler.core.fleet import Fleet
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.offline import Given, WrongDocumentsError, read_given

SIZES = ((1_000, 1_000, 20), (1_000, 10_000, 20), (10_000, 10_000, 20), (10_000, 10_000, 2_000))
"""Workers, jobs, shapes of jobs."""
COMPARED = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a decision is not that of the plain rule, 2 for documents that are wrong."""
    options = _options(arguments)
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} CPUs, {platform.machine()}; processor time of one thread"
    )
    try:
        return _trace(options) if options.trace else _generated(options)
    except WrongDocumentsError as error:
        print(error, file=sys.stderr)
        return 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--trace", type=Path, help="a folder with workers.jsonl and jobs.jsonl")
    parser.add_argument("--size", type=_size, action="append", help="WORKERS,JOBS,SHAPES, generated; repeatable")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compared", type=int, default=COMPARED, help="decisions compared with the plain rule")
    return parser.parse_args(arguments)


def _size(text: str) -> tuple[int, int, int]:
    workers, jobs, shapes = (int(number) for number in text.split(","))
    if min(workers, jobs, shapes) < 1:
        raise ValueError("sizes count from 1")
    return workers, jobs, shapes


def _trace(options: argparse.Namespace) -> int:
    seconds, given = timed(lambda: read_given(options.trace / "workers.jsonl", options.trace / "jobs.jsonl"))
    print(f"\n{options.trace}, read in {seconds:.1f} s")
    return _report(given, options)[1]


def _generated(options: argparse.Namespace) -> int:
    sizes, known, failed = options.size or SIZES, [], 0
    for workers, jobs, shapes in sizes:
        print(f"\ngenerated, {shapes:,} shapes of job")
        figures, wrong = _report(_given(workers, jobs, shapes, options.seed), options)
        failed |= wrong
        known.append(figures)
    for before, after in pairwise(known):
        more = (after.workers + after.jobs) / (before.workers + before.jobs)
        print(f"\n{_name(before)} -> {_name(after)}:")
        print(f"  {more:.1f} times as much, in {after.decide / before.decide:.1f} times the time")
    return failed


def _given(workers: int, jobs: int, shapes: int, seed: int) -> Given:
    fleet = tuple(parse_worker(document) for document in fleets.workers(workers, seed))
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
        ("peak memory beyond the documents", f"{figures.memory / 1e6:.0f} MB"),
    ]


def _name(figures: Figures) -> str:
    return f"{figures.workers:,} workers, {figures.jobs:,} jobs"


if __name__ == "__main__":
    sys.exit(main())
