"""`python -m benchmarks.pages`: how long the server works on every page, what it asks the database, what goes over the
wire, and what pages cost that are left open.

Ten thousand workers and fifty thousand jobs in a PostgreSQL of its own, unless another database is named.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.installation import NotEmptyError, installed

COUNT, FEW = 60, 12


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where one is over its budget, 2 for a database that is in use."""
    options = _options(arguments)
    try:
        with _database(options) as url, installed(url, again=options.again) as folder:
            if not options.again:
                made = [sys.executable, "-m", "benchmarks.pages_data", *(["--quick"] if options.quick else [])]
                subprocess.run(made, check=True)
            return _measured(options, folder)
    except NotEmptyError as error:
        print(error, file=sys.stderr)
        return 2


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--database", help="URL of an empty database, or of one to measure again")
    parser.add_argument("--again", action="store_true", help="measure what an earlier run made in --database")
    parser.add_argument("--quick", action="store_true", help="small, in SQLite")
    parser.add_argument("--count", type=int, help=f"requests of every kind; else {COUNT}, or {FEW} with --quick")
    parser.add_argument("--only", action="append", help="kinds of request; repeatable")
    parser.add_argument("--pages", type=int, default=200, help="that are left open; 0: none")
    parser.add_argument("--seconds", type=float, default=30, help="that they are left open for")
    return parser.parse_args(arguments)


@contextmanager
def _database(options: argparse.Namespace) -> Iterator[str | None]:
    """Where the data is: as told, else in a PostgreSQL for this run; None: in SQLite."""
    from tests.postgres import cluster, why_not

    if options.database or options.quick:
        yield options.database
    elif problem := why_not():
        print(f"Measured over SQLite: {problem}", flush=True)
        yield None
    else:
        with tempfile.TemporaryDirectory(prefix="gpulayer-bench-") as folder, cluster(Path(folder)) as url:
            yield url


def _measured(options: argparse.Namespace, folder: Path) -> int:
    from django.core.management import call_command

    from benchmarks import pages_asked, pages_pass, pages_polling, pages_timing, pages_weights

    call_command("collectstatic", interactive=False, verbosity=0)
    over, client = pages_pass.report(), pages_polling.signed_in()
    print(f"\nthe server's own time, in ms, of {_what_there_is()}\n{pages_timing.HEAD}", flush=True)
    for asked in pages_asked.everything(options.count or (FEW if options.quick else COUNT)):
        if options.only and asked.name not in options.only:
            continue
        pages_pass.go_on()
        figures = pages_timing.measured(client, asked)
        print(figures.line, flush=True)
        over += figures.is_over
    over += pages_weights.report(client)
    if options.pages:
        over += pages_polling.report(folder, options.pages, options.seconds)
    return int(over > 0)


def _what_there_is() -> str:
    from django.db import connection

    from scheduler.models import Attempt, Job, JobState
    from workers.models import Worker

    jobs, waiting = Job.objects.count(), Job.objects.filter(state=JobState.QUEUED).count()
    running = Attempt.objects.filter(active=True).count()
    return (
        f"{Worker.objects.count():,} workers and {jobs:,} jobs ({running:,} running, {waiting:,} waiting) in "
        f"{connection.vendor}"
    )


if __name__ == "__main__":
    sys.exit(main())
