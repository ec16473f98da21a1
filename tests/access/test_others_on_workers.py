"""Where others' jobs are hidden, no sentence about a worker or a reservation names one, in no page and no call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from scheduler.services.reservations import end_reservation
from scheduler.services.reservations_over import end_the_outlived
from scheduler.services.strays import Stray, record
from tests.access.callers import bearer, token
from tests.factories import a_reservation, a_worker
from workers.models import Worker
from workers.services.trust import note_failures

pytestmark = pytest.mark.django_db


def reserved_later(hidden: Any) -> None:
    now = timezone.now()
    for devices, ahead in (((), 1), ((0,), 5)):
        span = {"starts_at": now + timedelta(hours=ahead), "ends_at": now + timedelta(hours=ahead + 1)}
        a_reservation(Worker.objects.get(name="w1"), f"job:{hidden.job.job_id}", devices=devices, **span)


def failed_there(hidden: Any) -> None:
    note_failures(
        Worker.objects.get().pk, [hidden.job.job_id, hidden.over.job_id], actor="scheduler", now=timezone.now()
    )


def strayed(hidden: Any) -> None:
    worker = a_worker("w2", gpus="2xA100", seen=timezone.now())
    task = hidden.job.attempts.get().tasks.get()
    type(task).objects.filter(pk=task.pk).update(worker=worker)
    assert record(worker.pk, [Stray(device=1, pid=7, task=task.pk)], now=timezone.now()) == 1


def outlived(hidden: Any) -> None:
    a_reservation(Worker.objects.get(name="w1"), f"job:{hidden.over.job_id}")
    end_the_outlived(timezone.now())


def ended_for_it(hidden: Any) -> None:
    kept = a_reservation(Worker.objects.get(name="w1"), "user:jonas")
    cause = f"ended for job:{hidden.job.job_id}"
    end_reservation(reservation=kept, actor="user:ada", now=timezone.now(), cause=cause)


def read_by(user: Any, hidden: Any, names: list[str]) -> dict[str, str]:
    """Every page and call about workers and reservations."""
    calls = bearer(token(user))
    pages = ["/workers", "/reservations", *(f"/workers/{name}" for name in names)]
    found = {path: hidden.get(user, path, **({"state": "all"} if "reserv" in path else {})) for path in pages}
    queries: dict[str, dict[str, str]] = {"workers": {}, "reservations": {"state": "all"}}
    queries |= {f"workers/{name}": {} for name in names}
    found |= {path: calls.get(f"/api/v1/{path}", query) for path, query in queries.items()}
    assert {answer.status_code for answer in found.values()} == {200}
    return {path: answer.content.decode() for path, answer in found.items()}


@pytest.mark.parametrize("make", [reserved_later, failed_there, strayed, outlived, ended_for_it])
def test_no_sentence_names_another_teams_job(hidden: Any, make: Callable[[Any], None]) -> None:
    make(hidden)
    names = list(Worker.objects.values_list("name", flat=True))
    theirs = re.compile(rf"\b({'|'.join(job.job_id for job in (hidden.job, hidden.over, hidden.later))})\b")
    told = read_by(hidden.jonas, hidden, names)
    assert [path for path, text in told.items() if theirs.search(text)] == []
    assert any("another team" in text for text in told.values())
    for user in (hidden.noa, hidden.ada):
        assert any(theirs.search(text) for text in read_by(user, hidden, names).values())


def test_a_reservation_of_ones_own_job_to_come_is_told_whole(hidden: Any) -> None:
    now = timezone.now()
    holder = f"job:{hidden.own.job_id}"
    a_reservation(Worker.objects.get(), holder, starts_at=now + timedelta(hours=1))
    document = json.loads(bearer(token(hidden.jonas)).get("/api/v1/workers/w1").content)["document"]
    assert [window["reserved_for"] for window in document["upcoming"]] == [holder]


def test_a_decision_is_replayed_on_the_fleet_as_it_is_now_without_naming_others(hidden: Any) -> None:
    def now_on_w1(user: Any) -> list[str]:
        answer = bearer(token(user)).get(f"/api/v1/jobs/{hidden.own.job_id}/replay", {"today": "true"}).json()
        (worker,) = answer["today"]
        return [task["job_id"] for task in worker["tasks"]]

    assert now_on_w1(hidden.jonas) == ["another team's job"]
    assert now_on_w1(hidden.ada) == [hidden.job.job_id]
