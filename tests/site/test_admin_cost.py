"""Every list and form of the administration reads a bounded number of rows, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models.sql import compiler
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from gpulayer_site.accounts.models import ApiToken, SignInCode, UnixAccount
from scheduler.models import Attempt, Bundle, Decision, DeviceHold, Job, OutputFile, Reservation, SchedulingPass, Task
from tests.factories import NOW, a_job, a_user, a_worker, later
from workers.admin_parts import ForOperators
from workers.models import Credential, Device, EnrolmentToken, Event, Label, Notice, TrailSeal, Worker, WorkerFacts

pytestmark = pytest.mark.django_db

MANY = 130
"""Rows of everything, and below one row of what things belong to: more than any page shows."""
MOST_ROWS, MOST_QUERIES = 160, 16
ONE = ("FenceCounter", "Upkeep", "Watch", "PassLease")
"""Of these there is one row."""


@pytest.fixture
def administrator(client: Client) -> Client:
    client.force_login(a_user("ada", staff=True))
    return client


@pytest.fixture
def fleet() -> Worker:
    """Workers, and what belongs to one of them."""
    worker = a_worker("a")
    facts = worker.facts
    assert facts is not None
    Worker.objects.bulk_create(
        Worker(name=f"w{n}", origin="local", state_since=NOW, created_at=NOW, simulated=True) for n in range(MANY)
    )
    Label.objects.bulk_create(Label(worker=worker, key=f"k{n}", value="v") for n in range(MANY))
    Device.objects.bulk_create(Device(worker=worker, index=n + 10, uuid=f"u{n}") for n in range(MANY))
    WorkerFacts.objects.bulk_create(
        WorkerFacts(worker=worker, number=n + 2, document=facts.document, digest=str(n), created_at=NOW)
        for n in range(MANY)
    )
    Credential.objects.bulk_create(Credential(hash=f"c{n}", prefix="glw_abcd", created_at=NOW) for n in range(MANY))
    Worker.objects.filter(simulated=True).update(credential=Credential.objects.earliest("pk"))
    Notice.objects.bulk_create(Notice(text=f"notice {n}", created_at=NOW, ended_at=NOW) for n in range(MANY))
    EnrolmentToken.objects.bulk_create(
        EnrolmentToken(hash=f"e{n}", prefix="gle_abcd", expires_at=NOW, created_at=NOW) for n in range(MANY)
    )
    return worker


@pytest.fixture
def people() -> User:
    """People, and what belongs to one of them."""
    mira, team = a_user("mira"), Group.objects.create(name="vision")
    User.objects.bulk_create(User(username=f"u{n}") for n in range(MANY))
    several = list(User.objects.filter(username__startswith="u"))
    type(mira.person).objects.bulk_create(type(mira.person)(user=user) for user in several)
    team.user_set.add(*several)
    Group.objects.bulk_create(Group(name=f"team {n}") for n in range(MANY))
    mira.groups.set(Group.objects.all())
    ApiToken.objects.bulk_create(
        ApiToken(user=mira, hash=f"t{n}", prefix="glu_abcd", created_at=NOW) for n in range(MANY)
    )
    SignInCode.objects.bulk_create(
        SignInCode(user=mira, hash=f"s{n}", created_at=NOW, expires_at=NOW) for n in range(MANY)
    )
    UnixAccount.objects.bulk_create(UnixAccount(user=user, name="x") for user in several)
    return mira


@pytest.fixture
def work(fleet: Worker, people: User) -> Job:
    """Jobs, and what came of one of them."""
    job = a_job(owner=people)
    Job.objects.bulk_create(
        Job(job_id=f"j-{10_000 + n}", owner=people, name="n", spec={}, submitted_at=NOW, state_since=NOW)
        for n in range(MANY)
    )
    over = {"state": "failed", "active": False, "created_at": NOW, "ended_at": NOW}
    Attempt.objects.bulk_create(Attempt(job=job, number=n + 1, fence=n + 1, **over) for n in range(MANY))
    attempt = Attempt.objects.get(number=MANY)
    ended = {"state": "failed", "state_since": NOW, "finished_at": NOW, "released_at": NOW}
    others = Worker.objects.filter(simulated=True)
    Task.objects.bulk_create(Task(attempt=attempt, rank=n, worker=each, **ended) for n, each in enumerate(others))
    task = Task.objects.get(rank=0)
    devices = Device.objects.filter(worker=fleet)
    DeviceHold.objects.bulk_create(
        DeviceHold(task=task, device=device, worker=fleet, released_at=NOW) for device in devices
    )
    OutputFile.objects.bulk_create(OutputFile(task=task, path=f"{n}", size=1, created_at=NOW) for n in range(MANY))
    Bundle.objects.bulk_create(
        Bundle(owner=people, sha256=f"{n:064}", size=1, created_at=NOW, used_at=NOW) for n in range(MANY)
    )
    passes(job)
    Reservation.objects.bulk_create(
        Reservation(
            worker=fleet, holder=f"user:u{n}", created_at=NOW, starts_at=later(days=n), ends_at=later(days=n, hours=1)
        )
        for n in range(MANY)
    )
    Event.objects.bulk_create(
        Event(at=NOW + timedelta(seconds=n), actor="user:mira", subject_kind="job", subject=job.job_id, verb=f"v{n}")
        for n in range(MANY)
    )
    TrailSeal.objects.bulk_create(
        TrailSeal(first=n + 1, last=n + 1, events=1, digest=str(n), previous=str(n - 1), sealed_at=NOW)
        for n in range(MANY)
    )
    return job


def passes(job: Job) -> None:
    SchedulingPass.objects.bulk_create(
        SchedulingPass(
            number=n + 1, epoch=1, holder="h", started_at=NOW, confirmed_at=NOW, queue_digest="", view_digest="",
            view=b"", placements=b"",
        )
        for n in range(MANY)
    )  # fmt: skip
    said = {"outcome": "waiting", "kept": "change", "fingerprint": "f", "digest": "d", "summary": {}, "position": 1}
    Decision.objects.bulk_create(
        Decision(job=job, pass_row=row, made_at=NOW, seen_at=NOW, **said) for row in SchedulingPass.objects.all()
    )


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[int, int]]]:
    """How many queries were made meanwhile, and how many rows came back."""
    rows = 0
    original = compiler.cursor_iter

    def counting(*args: Any, **kwargs: Any) -> Iterator[Any]:
        nonlocal rows
        for piece in original(*args, **kwargs):
            rows += len(piece)
            yield piece

    with monkeypatch.context() as patch, CaptureQueriesContext(connection) as queries:
        patch.setattr(compiler, "cursor_iter", counting)
        yield lambda: (len(queries), rows)


def pages_of(model: Any) -> Iterator[str]:
    """Every page of a model: its list, also searched; the form of the row that most belongs to, and the empty one."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    changes = reverse(f"{name}_changelist")
    yield changes
    yield f"{changes}?all="
    yield f"{changes}?_facets=True"
    if admin.site._registry[model].search_fields:
        yield f"{changes}?q=a"
    row = model.objects.order_by("pk" if model is not Attempt else "-number").first()
    if row is not None:
        yield reverse(f"{name}_change", args=[row.pk])
        yield reverse(f"{name}_history", args=[row.pk])
    if model in (Label, Reservation, UnixAccount):
        yield reverse(f"{name}_add")


def test_no_page_reads_more_than_it_shows(administrator: Client, work: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    administrator.get("/admin/")
    dear = []
    for model in admin.site._registry:
        assert model.objects.count() >= MANY or model.__name__ in ONE, f"no test rows of {model.__name__}"
        for page in pages_of(model):
            with counted(monkeypatch) as cost:
                answer = administrator.get(page)
            queries, rows = cost()
            if answer.status_code not in (200, 302) or queries > MOST_QUERIES or rows > MOST_ROWS:
                dear.append(f"{page}: {answer.status_code}, {queries} queries, {rows} rows")
    assert not dear, "\n".join(dear)


def test_no_choice_lists_everything(administrator: Client, work: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    for app, model, field in (
        ("scheduler", "reservation", "worker"), ("workers", "label", "worker"), ("accounts", "unixaccount", "user"),
    ):  # fmt: skip
        asked = {"app_label": app, "model_name": model, "field_name": field, "term": ""}
        with counted(monkeypatch) as cost:
            assert len(administrator.get(reverse("admin:autocomplete"), asked).json()["results"]) == 20
        queries, rows = cost()
        assert (queries <= 8, rows <= 40) == (True, True), (app, model, queries, rows)


def test_every_list_is_one_of_ours_and_counts_no_further_than_anybody_leafs(work: Job) -> None:
    for model, registered in admin.site._registry.items():
        assert isinstance(registered, ForOperators), model
        assert registered.show_full_result_count is False
        paginator = registered.get_paginator(None, model.objects.order_by("pk"), 50)
        with CaptureQueriesContext(connection) as queries:
            assert paginator.count <= MANY * 3
        assert "LIMIT" in queries[0]["sql"], model


def test_the_index_reads_next_to_nothing(administrator: Client, work: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as cost:
        assert administrator.get("/admin/").status_code == 200
    assert cost()[1] <= 20


def test_nothing_is_done_with_rows_that_nobody_looked_at(administrator: Client, work: Job) -> None:
    form = {"action": "cancel_chosen", "_selected_action": [work.pk], "select_across": "1"}
    answer = administrator.post(reverse("admin:scheduler_job_changelist"), form, follow=True)
    assert "choose the rows on the page" in answer.content.decode()
    assert not Job.objects.filter(state="cancelled").exists()
