"""However many rows there are, a page asks the database the same number of questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.pages_history import let_run, write_history
from gpulayer_site.access.rows import Who
from gpulayer_site.access.table import PAGES
from scheduler.memory import forget
from scheduler.models import Job, JobState, Reservation
from scheduler.services.passes import run_pass
from tests import factories
from tests.factories import a_job, a_reservation, a_user, a_worker
from workers.models import Worker

FEW = 3
HX = {"HX-Request": "true"}
NOT_PAGES = {
    "jobs/<slug:job_id>/edited": "the form, asked for with one of the changes that the job's page offers",
    "jobs/<slug:job_id>/outputs/<int:number>": "one file",
    "workers/<str:name>/accept": "only for a worker that reads less than it had",
    "jobs/<slug:job_id>/act/extend": "only for a hold",
    "jobs/<slug:job_id>/devices": "only for a hold",
}
"""Addresses that are left out here, and why."""


@dataclass(frozen=True, slots=True)
class Site:
    """Names of what there is, by which pages are asked for."""

    waiting: str
    running: str
    over: str
    worker: str
    reservation: int
    person: int
    team: int

    def paths(self) -> Mapping[str, tuple[str, ...]]:
        """Route -> addresses."""
        busy = f"/jobs/{self.running}"
        waits = f"/jobs/{self.waiting}"
        host = f"/workers/{self.worker}"
        states = (f"/jobs?state={state}" for state in ("queued", "running", "ended", "all"))
        one = {act: (f"{host}/{act}",) for act in ("retire", "labels", "limits", "drain", "undrain")}
        many = {act: (f"/fleet/{act}?worker={self.worker}",) for act in ("retire", "labels", "drain", "undrain")}
        return {
            "": ("/",),
            "audit": ("/audit", "/audit?q=queued"),
            "profile": ("/profile",),
            "profile/password": ("/profile/password",),
            "people": ("/people", "/people?q=a"),
            "people/new": ("/people/new",),
            "people/<int:pk>": (f"/people/{self.person}",),
            "teams": ("/teams",),
            "teams/<int:pk>": (f"/teams/{self.team}",),
            "search": ("/search?q=w",),
            "shortcuts": ("/shortcuts",),
            "why-not": (f"/why-not?job={self.waiting}&worker={self.worker}", "/why-not"),
            "jobs": ("/jobs", *states, "/jobs?q=w1"),
            "jobs/new/check": ("/jobs/new/check",),
            "jobs/new": ("/jobs/new", "/jobs/new?as=yaml", f"/jobs/new?like={self.over}"),
            "jobs/<slug:job_id>": (busy, waits, f"/jobs/{self.over}"),
            "jobs/<slug:job_id>/live": (f"{busy}/live", f"{waits}/live"),
            "jobs/<slug:job_id>/placement": (f"{waits}/placement",),
            "jobs/<slug:job_id>/candidates": (f"{waits}/candidates?v=all", f"{busy}/candidates"),
            "jobs/<slug:job_id>/candidates.csv": (f"{waits}/candidates.csv",),
            "jobs/<slug:job_id>/candidates.json": (f"{waits}/candidates.json",),
            "jobs/<slug:job_id>/candidates/<path:worker>": (f"{waits}/candidates/{self.worker}",),
            "jobs/<slug:job_id>/timeline": (f"{waits}/timeline",),
            "jobs/<slug:job_id>/tasks": (f"{busy}/tasks",),
            "jobs/<slug:job_id>/use": (f"{busy}/use",),
            "jobs/<slug:job_id>/why": (f"{waits}/why",),
            "jobs/<slug:job_id>/checks": (f"{waits}/checks",),
            "jobs/<slug:job_id>/changes": (f"{waits}/changes",),
            "jobs/<slug:job_id>/why-not/<path:worker>": (f"{waits}/why-not/{self.worker}",),
            "jobs/<slug:job_id>/spec": (f"{waits}/spec",),
            "jobs/<slug:job_id>/outputs": (f"{busy}/outputs",),
            "jobs/<slug:job_id>/log": (f"{busy}/log",),
            "jobs/<slug:job_id>/log.txt": (f"{busy}/log.txt",),
            "jobs/<slug:job_id>/cancel": (f"{waits}/cancel",),
            "jobs/<slug:job_id>/act/<slug:key>": (f"/jobs/{self.over}/act/retry",),
            "workers": ("/workers", "/workers?q=A100", "/workers?state=online&tier=local"),
            r"^workers/(?P<name>[^\x00-\x1f\x7f]+)$": (host,),
            "workers/<str:name>/act/<slug:key>": (f"{host}/act/revoke",),
            **{f"workers/<str:name>/{act}": paths for act, paths in one.items()},
            **{f"fleet/{act}": paths for act, paths in many.items()},
            "workers/<str:name>/not-here": (f"{host}/not-here",),
            "notices": ("/notices",),
            "enrolment": ("/enrolment",),
            "reservations": ("/reservations", "/reservations?state=all&range=week"),
            "reservations/new": ("/reservations/new", f"/reservations/new?worker={self.worker}"),
            "reservations/<int:pk>/change": (f"/reservations/{self.reservation}/change",),
            "reservations/<int:pk>/end": (f"/reservations/{self.reservation}/end",),
        }  # fmt: skip


@pytest.fixture
def admin(db: None, monkeypatch: pytest.MonkeyPatch) -> Client:
    """An administrator's browser; what factories make is of now."""
    monkeypatch.setattr(factories, "NOW", timezone.now())
    client = Client()
    client.force_login(a_user("ada", staff=True, teams=("vision",)))
    return client


def grow(start: int, end: int) -> None:
    """Workers, jobs in every state, reservations, people and teams, until there are so many of each."""
    now = timezone.now()
    for number in range(start, end):
        worker = a_worker(f"w{number:03d}", gpus="2xA100", seen=now, labels={"zone": f"z{number % 5}"})
        owner = a_user(f"person-{number}", teams=(f"team-{number}",))
        a_job(owner=owner, gpus=1, name=f"runs-{number}", at=now)
        a_job(owner=owner, gpus=2 if number % 2 else 16, name=f"waits-{number}", at=now)
        a_reservation(worker, "team:vision", devices=(1,), starts_at=now + timedelta(hours=2))
    write_history(end - start, [a_user("person-0", teams=("team-0",))], until=now, seed=start)
    assert run_pass(now=timezone.now(), holder="test")
    let_run(timezone.now())


def site() -> Site:
    """The first of each."""
    jobs = Job.objects.order_by("pk")
    running = jobs.filter(state=JobState.RUNNING).earliest("pk")
    return Site(
        waiting=jobs.filter(state=JobState.QUEUED).earliest("pk").job_id, running=running.job_id,
        over=jobs.filter(state=JobState.SUCCEEDED).earliest("pk").job_id, worker=Worker.objects.earliest("pk").name,
        reservation=Reservation.objects.earliest("pk").pk, person=running.owner_id,
        team=running.owner.groups.get().pk,
    )  # fmt: skip


def asked(client: Client, there: Site) -> dict[str, int]:
    """Address -> how many questions its page asks when nothing of it is remembered; fragments beside the pages."""
    found, missing = {}, []
    for path in (path for paths in there.paths().values() for path in paths):
        for headers in ({}, HX):
            forget()
            with CaptureQueriesContext(connection) as queries:
                response = client.get(path, headers=headers)
            if response.status_code >= 400:
                missing.append((path, response.status_code))
            found[f"{'fragment of ' if headers else ''}{path}"] = len(queries)
    assert missing == []
    return found


def test_every_page_is_asked_for_here() -> None:
    """A new page comes with an address here, or with a reason why not."""
    pages = {
        row.route for row in PAGES.all
        if "GET" in row.each_method and row.who is not Who.ANYONE and not row.route.startswith(("admin", "api", "^api"))
    }  # fmt: skip
    there = Site("j-1", "j-1", "j-1", "w", 1, 1, 1)
    assert pages - NOT_PAGES.keys() == set(there.paths())


@pytest.mark.parametrize("many", [20, pytest.param(300, marks=pytest.mark.soak)])
def test_three_rows_and_many_cost_the_same_number_of_queries(admin: Client, many: int) -> None:
    grow(0, 1)
    grow(1, FEW)  # by a second pass, so that decisions have changed
    there = site()
    asked(admin, there)  # what a process learns only once
    few = asked(admin, there)
    grow(FEW, many)
    then = asked(admin, there)
    more = {path: (few[path], count) for path, count in then.items() if count > few[path]}
    assert more == {}, "(queries with 3 rows, with many)"
