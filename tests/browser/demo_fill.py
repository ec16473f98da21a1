"""Fills a running installation with people, jobs and what operators did.

`python -m tests.browser.demo_fill HOST` does it to the installation of this environment's data folder, on which
`gpulayer up` and a simulation of `tests.browser.demo.fleet()` run; HOST is the worker that really runs jobs.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")
django.setup()

from django.utils import timezone  # noqa: E402 - Django has been set up by then

from gpulayer_site.accounts.people import create_person  # noqa: E402
from gpulayer_site.accounts.teams import create_team  # noqa: E402
from scheduler.models import DeviceHold, Job  # noqa: E402
from scheduler.services.jobs import submit_job  # noqa: E402
from scheduler.services.reservations import reserve  # noqa: E402
from tests.browser import demo  # noqa: E402
from workers.models import Worker  # noqa: E402
from workers.roles import Role  # noqa: E402
from workers.services.intent import drain  # noqa: E402
from workers.services.notices import post_notice  # noqa: E402


def fill(host: str) -> None:
    """People, jobs that run, wait and have ended, and what operators did; some minutes. `host` really runs some."""
    chance = random.Random(7)
    people = _people(timezone.now())
    _submit(people, (dict(spec) for spec in demo.history()))
    _wait("ended", lambda: _count("succeeded") + _count("failed") >= len(list(demo.history())) * 9 // 10)
    _backdate(chance, timezone.now())
    _submit(people, demo.large())
    _submit(people, demo.small(chance))
    _wait("running", lambda: _count("queued") == 0, seconds=120)
    _operators(timezone.now())
    _submit(people, demo.waiting())
    _submit(people, demo.real(host))
    _wait("decided", lambda: not _undecided(), seconds=120)


def _people(now: datetime) -> dict[str, Any]:
    teams = {name: create_team(name=name, actor="console", now=now) for name in ("nlp", "vision")}
    who = (("mira", Role.SUBMITTER, "nlp"), ("lin", Role.SUBMITTER, "vision"), ("ilse", Role.OPERATOR, "vision"))
    return {
        name: create_person(username=name, role=role, teams=[teams[team]], actor="console", now=now)[0]
        for name, role, team in who
    }


def _submit(people: dict[str, Any], documents: Iterator[dict[str, Any]]) -> None:
    for document in documents:
        owner = people[document.pop("owner")]
        submit_job(document=document, owner=owner, now=timezone.now())


def _count(state: str) -> int:
    return Job.objects.filter(state=state).count()


def _undecided() -> bool:
    return Job.objects.filter(state="queued", decision__isnull=True).exists()


def _wait(what: str, done: Callable[[], bool], *, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(2)
    print(f"{what}: {'done' if done() else 'not all of them'}", flush=True)


def _backdate(chance: random.Random, now: datetime) -> None:
    """Spread what has ended over the last day, more of it by day than by night, as it is where people work."""
    hours = [2, 2, 1, 1, 1, 1, 2, 4, 7, 9, 10, 9, 8, 9, 10, 9, 8, 6, 5, 4, 3, 3, 2, 2]
    for job in Job.objects.filter(finished_at__isnull=False):
        ago = chance.choices(range(24), [hours[(now.hour - back) % 24] for back in range(24)])[0]
        ended = now - timedelta(hours=ago, minutes=chance.randint(1, 59))
        ran, waited = timedelta(minutes=chance.randint(3, 90)), timedelta(seconds=chance.randint(1, 1500))
        job.submitted_at, job.started_at = ended - ran - waited, ended - ran
        job.finished_at = job.state_since = ended
        job.save(update_fields=["submitted_at", "started_at", "finished_at", "state_since"])


def _operators(now: datetime) -> None:
    cards = Worker.objects.filter(name__startswith="dgx-").order_by("name")
    held = DeviceHold.objects.values("device__worker_id")
    busy, idle = list(cards.filter(id__in=held)[:3]), list(cards.exclude(id__in=held)[:3])
    for worker, holder, hours in zip((*busy[:2], *idle[:2]), ("team:vision", "user:mira", "user:mira", "team:nlp"),
                                     (4, 20, 30, 6), strict=False):  # fmt: skip
        reserve(worker=worker, holder=holder, starts_at=now, ends_at=now + timedelta(hours=hours), actor="user:ilse",
                now=now, note="demo")  # fmt: skip
    for worker in idle[2:3]:
        reserve(worker=worker, holder="team:vision", devices=(0, 1, 2, 3), starts_at=now + timedelta(hours=3),
                ends_at=now + timedelta(hours=8), actor="user:ilse", now=now)  # fmt: skip
    for worker in busy[2:3]:
        drain(name=worker.name, actor="user:ilse", now=now, note="fan replacement")
    post_notice(text="Rack 12 is switched off on Saturday from 08:00 to 10:00.", actor="user:ilse", now=now)


if __name__ == "__main__":
    fill(sys.argv[1])
