"""`python -m benchmarks.pages_data`: what the pages are measured over, made in the database of the environment.

A fleet of hosts of several sizes, a long history as rows, and work that real passes of the product's own place: most
of it runs, some waits, some can never run. Decisions, views and the trail are what the services wrote.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import fleets
from benchmarks.installation import set_up

if TYPE_CHECKING:
    from benchmarks.replay import Replay

Document = dict[str, Any]

GPUS_OF_A_HOST = (8, 4, 2, 8, 1, 4, 8, 2, 0, 1)
SCARCE = (8, 9, 10, 11, 17)
"""Shapes that ask for much: more of them come than the fleet has room for, so that some wait."""
USUAL = tuple(range(7)) + tuple(range(12, 17))
NEVER = 19
PEOPLE = (("ada", "operator", ()), ("mira", "submitter", ("vision",)), ("noor", "submitter", ("vision", "speech")))
ROUNDS, APART = 6, timedelta(minutes=10)
"""After the fleet is full some jobs end and others start, so many times, so far apart."""
A_TURN = 40


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is of everything."""

    workers: int = 10_000
    over: int = 41_000
    running: int = 8_000
    waiting: int = 1_000
    reservations: int = 80


QUICK = Size(workers=300, over=900, running=250, waiting=60, reservations=12)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make it all, telling what is being made."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages_data", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    set_up(again=True)
    make(QUICK if options.quick else Size(), options.seed)
    return 0


def make(size: Size, seed: int) -> None:
    """Everything, as of now."""
    from django.utils import timezone

    from benchmarks.pages_history import remember_decisions, write_history
    from benchmarks.replay import Replay

    now = timezone.now()
    people = _people(now)
    replay = Replay(
        [*_fleet(size.workers, seed)], [*fleets.jobs(1, 1, seed)], waiting=size.waiting, seed=seed,
        now=now - ROUNDS * APART - timedelta(hours=2),
    )  # fmt: skip
    _say(f"{size.workers:,} workers")
    write_history(size.over, people, until=replay.now, seed=seed)
    _say(f"{size.over:,} jobs that are over")
    dice = Random(seed)
    _fill(replay, size, people, dice)
    _reserve(size.reservations, people, now)
    for _ in range(ROUNDS):
        _turn(replay, people, dice)
    _settle(replay, size.waiting)
    remember_decisions()
    _say("decisions of what is over")


def _people(now: datetime) -> list[Any]:
    from gpulayer_site.accounts.people import create_person
    from gpulayer_site.accounts.services import administrator
    from gpulayer_site.accounts.teams import create_team
    from workers.roles import Role

    administrator()
    teams = {name: create_team(name=name, actor="bench", now=now) for name in ("vision", "speech")}
    made = []
    for name, role, of in PEOPLE:
        user, _ = create_person(
            username=name, role=Role(role), teams=[teams[team] for team in of], actor="bench", now=now
        )
        user.person.must_change_password = False
        user.person.save()
        made.append(user)
    return made


def _fleet(count: int, seed: int) -> Iterator[Document]:
    """Hosts with none to eight devices."""
    for document in fleets.workers(count, seed):
        place = int(document["id"][1:]) // 3 % len(GPUS_OF_A_HOST)
        yield {**document, "devices": document["devices"][: GPUS_OF_A_HOST[place]]}


def _fill(replay: Replay, size: Size, people: Sequence[Any], dice: Random) -> None:
    """What asks for much comes first, in such numbers that some of it waits; then the usual fills the rest."""
    scarce = size.waiting * 2
    _submit(replay, SCARCE, scarce, people, dice)
    _submit(replay, (NEVER,), max(3, size.waiting // 30), people, dice)
    _pass(replay)
    while (missing := size.running - _running()) > size.running // 20:
        _submit(replay, USUAL, missing, people, dice)
        before = _running()
        _pass(replay)
        if _running() - before < missing // 2:
            break
    while (missing := size.waiting - _waiting()) > 0:
        _submit(replay, SCARCE, missing + size.waiting // 10, people, dice)
        _pass(replay)
    _say(f"{_running():,} running, {_waiting():,} waiting")


def _turn(replay: Replay, people: Sequence[Any], dice: Random) -> None:
    """Some jobs end, others come, and a pass looks at it."""
    from benchmarks.pages_history import end_some

    replay.wait(seconds=APART.total_seconds())
    end_some(min(A_TURN, _running() // 20), dice, replay.now)
    _submit(replay, USUAL, A_TURN // 2, people, dice)
    _pass(replay)


def _submit(replay: Replay, shapes: Sequence[int], count: int, people: Sequence[Any], dice: Random) -> None:
    """So many jobs of these shapes, of everybody in turn; some that have a time limit, some that hold."""
    for number, owner in enumerate(people):
        some = [_spec(dice.choice(shapes), dice) for _ in range(count // len(people) + (number < count % len(people)))]
        replay.submit_as(owner, owner.groups.first(), some)


def _spec(shape: int, dice: Random) -> Document:
    base = fleets.SHAPES[shape]
    spec = {"name": f"train-{dice.randrange(10_000)}", "command": ["sleep", "60"], "target": "local"} | base
    return spec | ({"timeout_s": 3600 * dice.randrange(1, 72)} if dice.random() < 0.5 else {})


def _pass(replay: Replay) -> None:
    from benchmarks.pages_history import let_run

    replay.wait()
    replay.decide(keep_never=True)
    let_run(replay.now)
    _say(f"a pass: {_running():,} run, {_waiting():,} wait; {replay.phases[-1]}")


def _settle(replay: Replay, waiting: int) -> None:
    """The newest of those that wait beyond their number are taken back, and everything is read once more."""
    from django.db.models import F
    from django.utils import timezone

    from scheduler.models import Job, JobState
    from scheduler.services.jobs import cancel_job
    from workers.models import Device

    now = timezone.now()
    for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk")[waiting:]:
        cancel_job(job=job, actor="user:mira", now=now)
    Device.objects.update(utilisation=F("id") % 101, memory_used=(F("id") % 15) * 10**9, read_at=now)
    replay.wait(seconds=max(2.0, (now - replay.now).total_seconds()))
    _pass(replay)


def _reserve(count: int, people: Sequence[Any], now: datetime) -> None:
    """Whole workers and single devices, in force and to come, for people and teams."""
    from scheduler.services.reservations import reserve
    from workers.models import Worker

    holders = cycle(("team:vision", "user:mira", "team:speech"))
    workers = Worker.objects.filter(devices__index=0).order_by("-name")[:count]
    for number, worker in enumerate(workers):
        starts = now + timedelta(minutes=15 * (number - count // 4))
        reserve(
            worker=worker, holder=next(holders), devices=(0,) if number % 2 else (), starts_at=starts,
            ends_at=starts + timedelta(hours=4 + number % 20), actor="user:ada", now=min(starts, now),
            created_by=people[0],
        )  # fmt: skip
    _say(f"{count:,} reservations")


def _running() -> int:
    from scheduler.models import Attempt

    return Attempt.objects.filter(active=True).count()


def _waiting() -> int:
    from scheduler.models import Job, JobState

    return Job.objects.filter(state=JobState.QUEUED).count()


def _say(text: str) -> None:
    print(f"  made: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
