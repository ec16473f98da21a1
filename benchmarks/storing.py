"""`python -m benchmarks.storing`: what the database keeps of a busy fleet's decisions, and what its passes cost.

A fleet is filled, so many jobs are kept waiting, and then jobs end and others start. Counted is what came since the
fleet was full: the rows of passes and decisions with their indexes; and the facts of all workers, which they share.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from benchmarks import fleets
from benchmarks.installation import NotEmptyError, installed

if TYPE_CHECKING:
    from benchmarks.replay import Replay

Document = dict[str, Any]

LOOKED_AT = 40
"""Passes of a replay in which a few decisions are written down in full, to be compared at the end."""
PASSES, DECISIONS, FACTS = "scheduler_schedulingpass", "scheduler_decision", "workers_workerfacts"
MILLION = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Sizes in bytes, times in seconds; everything since the fleet was full, but for the facts."""

    workers: int
    running: int
    passes: int
    starts: int
    finishes: int
    made: int
    """Decisions that passes made: one for every job that waited."""
    kept: int
    """Decisions that got a row of their own, which says from now on what was decided then."""
    pass_bytes: int
    decision_bytes: int
    facts_bytes: int
    finishing: int
    """Jobs that ended between two passes."""
    half: float
    """Bytes a kept decision after half of the starts."""
    same: int
    compared: int
    phases: dict[str, tuple[float, float]]
    """Of one pass: on average, and the longest."""
    columns: dict[str, float]
    seconds: float
    memory: int
    """The most that the process held."""

    @property
    def each(self) -> float:
        """Bytes a kept decision, with everything that it shares with others."""
        return (self.pass_bytes + self.decision_bytes + self.facts_bytes) / max(1, self.kept)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a decision did not come back as it was made, 2 for a database that is in use."""
    options = _options(arguments)
    try:
        with installed(options.database):
            figures = _measured(options)
    except NotEmptyError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"\nstored of {options.waiting:,} jobs that wait while others start and finish")
    for label, value in _lines(figures):
        print(f"  {label:<58}{value:>22}")
    return int(figures.same < figures.compared)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storing", description=__doc__)
    parser.add_argument("--trace", type=Path, help="a folder with workers.jsonl and jobs.jsonl; else a generated fleet")
    parser.add_argument("--workers", type=int, help="so many: a trace's fleet is taken several times over")
    parser.add_argument("--shapes", type=int, default=20, help="of the jobs of a generated queue")
    parser.add_argument("--waiting", type=int, default=500, help="jobs that wait at every pass")
    parser.add_argument("--starts", type=int, default=10_000, help="go on until so many jobs started and finished")
    parser.add_argument("--lasting", type=int, default=600, help="passes that a job outlasts on average")
    parser.add_argument("--database", help="URL of an empty database; else SQLite in a folder of its own")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(arguments)


def _measured(options: argparse.Namespace) -> Figures:
    from benchmarks.replay import Replay
    from benchmarks.sizes import table_sizes
    from benchmarks.witness import Witness

    workers, jobs = _documents(options)
    replay, witness = Replay(workers, jobs, waiting=options.waiting, seed=options.seed), Witness(options.seed)
    replay.fill()
    full, running, began = _kept(), replay.running, perf_counter()
    before, half, steps = table_sizes(), 0.0, 0
    finishing = max(1, running // options.lasting)
    often = max(1, options.starts // finishing // LOOKED_AT)
    while min(replay.starts, replay.finishes) < options.starts:
        replay.turn_over(finishing=finishing)
        now = replay.wait()
        looked = witness.look(now, count=4) if steps % often == 0 else {}
        witness.remember(replay.decide(), looked)
        steps += 1
        if not half and replay.starts >= options.starts / 2:
            half = _grown(before) / max(1, _kept() - full)
    seconds, (same, compared) = perf_counter() - began, witness.verdict()
    sizes = table_sizes()
    return Figures(
        workers=len(workers), running=running, passes=steps, finishing=finishing,
        starts=replay.starts, finishes=replay.finishes, made=replay.made, kept=_kept() - full,
        pass_bytes=sizes[PASSES] - before[PASSES], decision_bytes=sizes[DECISIONS] - before[DECISIONS],
        facts_bytes=sizes[FACTS], half=half, same=same, compared=compared,
        phases=_phases(replay), columns=_columns(), seconds=seconds,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )  # fmt: skip


def _documents(options: argparse.Namespace) -> tuple[list[Document], list[Document]]:
    if not options.trace:
        count = options.workers or 1_000
        generated = fleets.jobs(max(10_000, options.shapes), options.shapes, options.seed)
        return list(fleets.workers(count, options.seed)), list(generated)
    workers, jobs = (_read(options.trace / name) for name in ("workers.jsonl", "jobs.jsonl"))
    count = options.workers or len(workers)
    return [_again(workers, number) for number in range(count)], jobs


def _read(path: Path) -> list[Document]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _again(workers: Sequence[Document], number: int) -> Document:
    """The worker of this number, where the fleet begins anew at its end under other names."""
    turn, place = divmod(number, len(workers))
    return workers[place] | ({"id": f"{workers[place]['id']}-{turn}"} if turn else {})


def _kept() -> int:
    from scheduler.models import Decision

    return Decision.objects.count()


def _grown(before: Any) -> int:
    from benchmarks.sizes import table_sizes

    sizes = table_sizes()
    return sizes[FACTS] + sum(sizes[table] - before[table] for table in (PASSES, DECISIONS))


def _phases(replay: Replay) -> dict[str, tuple[float, float]]:
    names = dict.fromkeys(name for phases in replay.phases for name in phases.seconds)
    taken = {name: [phases.seconds.get(name, 0.0) for phases in replay.phases] for name in names}
    taken["a whole pass"] = [sum(phases.seconds.values()) for phases in replay.phases]
    return {name: (sum(seconds) / len(seconds), max(seconds)) for name, seconds in taken.items()}


def _columns() -> dict[str, float]:
    from benchmarks.sizes import column_sizes

    return {
        **{f"decision's {name}": size for name, size in column_sizes(DECISIONS, ["summary"]).items()},
        **{f"pass's {name}": size for name, size in column_sizes(PASSES, ["view", "placements"]).items()},
    }


def _lines(figures: Figures) -> list[tuple[str, str]]:
    return [
        ("workers, each a candidate of every decision", f"{figures.workers:,}"),
        ("jobs running", f"{figures.running:,}"),
        ("started, finished", f"{figures.starts:,}, {figures.finishes:,}"),
        ("passes, two seconds apart", f"{figures.passes:,}"),
        ("jobs that end between two of them", f"{figures.finishing:,}"),
        ("decisions made", f"{figures.made:,}"),
        ("decisions kept", f"{figures.kept:,}"),
        ("bytes of kept decisions", f"{figures.decision_bytes / MILLION:.2f} MB"),
        ("bytes of passes: views and placements", f"{figures.pass_bytes / MILLION:.2f} MB"),
        ("bytes of facts, of the whole fleet", f"{figures.facts_bytes / MILLION:.2f} MB"),
        ("all of these for each decision kept", f"{figures.each:,.0f} bytes"),
        ("without the facts", f"{(figures.pass_bytes + figures.decision_bytes) / max(1, figures.kept):,.0f} bytes"),
        ("all of these after half of the starts", f"{figures.half:,.0f} bytes"),
        ("for each decision made", f"{figures.each * figures.kept / max(1, figures.made):,.0f} bytes"),
        *((f"average {column}", f"{size:,.0f} bytes") for column, size in figures.columns.items()),
        *(
            (f"{name}: on average, at most", f"{1000 * usual:,.0f}, {1000 * most:,.0f} ms")
            for name, (usual, most) in figures.phases.items()
        ),
        ("all of it", f"{figures.seconds:,.0f} s"),
        ("peak memory of the process", f"{figures.memory / MILLION:,.0f} MB"),
        ("kept decisions the same again, byte for byte", f"{figures.same:,} of {figures.compared:,}"),
    ]


if __name__ == "__main__":
    sys.exit(main())
