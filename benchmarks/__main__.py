"""`python -m benchmarks`: how fast jobs are decided and start, what is stored of it, and what pages cost.

Generated fleets and queues; before these a trace, where one is given as a folder of documents.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import deciding
from scheduler.offline import WrongDocumentsError

WORKERS = (1_000, 10_000, 50_000)
SHAPES = (20, 2_000)
SIZES = tuple((workers, workers, shapes) for shapes in SHAPES for workers in WORKERS)
"""Workers, jobs, shapes of jobs: the queue grows with the fleet, so that of all sizes the same part is placed."""
QUICK = tuple((workers, workers, shapes) for shapes in (20, 200) for workers in (300, 1_000))
STORED = (None, 10_000)
"""Workers of the fleets whose decisions are stored; None: as many as the trace has, or a thousand."""
QUICKLY = ("--starts", "200", "--waiting", "100")
FEW_LOGS = ("--megabytes", "50", "--lines", "20000")
FEW_STARTS = ("--jobs", "50")
FEW_ROWS = ("--quick", "--pages", "40", "--seconds", "10")
COMPARED = 5
PARTS = ("deciding", "storing", "logs", "starting", "pages")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a decision is not that of the plain rule, 2 for documents that are wrong."""
    options = _options(arguments)
    parts = options.part or PARTS
    print(f"Python {platform.python_version()}, {os.cpu_count()} CPUs, {platform.machine()}", flush=True)
    try:
        failed = deciding.report(options) if "deciding" in parts else 0
    except WrongDocumentsError as error:
        print(error, file=sys.stderr)
        return 2
    failed = max(failed, _storing(options) if "storing" in parts else 0)
    failed = max(failed, _whole("logs", FEW_LOGS, options) if "logs" in parts else 0)
    failed = max(failed, _whole("starting", FEW_STARTS, options) if "starting" in parts else 0)
    return max(failed, _whole("pages", FEW_ROWS, options) if "pages" in parts else 0)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--trace", type=Path, help="a folder with workers.jsonl and jobs.jsonl")
    parser.add_argument("--size", type=_size, action="append", help="WORKERS,JOBS,SHAPES, generated; repeatable")
    parser.add_argument("--part", choices=PARTS, action="append", help="only this one")
    parser.add_argument(
        "--quick", action="store_true", help="small fleets and few jobs: some minutes instead of an hour or more"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compared", type=int, default=COMPARED, help="decisions compared with the plain rule")
    options = parser.parse_args(arguments)
    options.size = options.size or (QUICK if options.quick else SIZES)
    return options


def _size(text: str) -> tuple[int, int, int]:
    workers, jobs, shapes = (int(number) for number in text.split(","))
    if min(workers, jobs, shapes) < 1:
        raise ValueError("sizes count from 1")
    return workers, jobs, shapes


def _storing(options: argparse.Namespace) -> int:
    """Each fleet in a process of its own, which has a database of its own. Returns the worst exit code."""
    given = ["--seed", str(options.seed), *(("--trace", str(options.trace)) if options.trace else ())]
    fleets = STORED[:1] if options.quick else STORED
    codes = []
    for workers in fleets:
        size = ["--workers", str(workers)] if workers else []
        command = [sys.executable, "-m", "benchmarks.storing", *given, *size, *(QUICKLY if options.quick else ())]
        codes.append(subprocess.run(command, check=False).returncode)
    return max(codes)


def _whole(part: str, few: Sequence[str], options: argparse.Namespace) -> int:
    """A whole installation, in a process of its own: what it starts needs more than the decisions do."""
    command = [sys.executable, "-m", f"benchmarks.{part}", *(few if options.quick else ())]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
