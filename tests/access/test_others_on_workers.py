"""Where others' jobs are hidden, no sentence about a worker or a reservation names one, in no page and no call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from scheduler.core.codec import decision_from_document, decision_to_document
from scheduler.core.fleet import Fleet
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.core.schedule import schedule
from scheduler.services.reservations import end_reservation
from scheduler.services.reservations_over import end_the_outlived
from scheduler.services.seen_decisions import recorded_for
from scheduler.services.strays import Stray, record
from tests.access.callers import bearer, token
from tests.factories import a_job, a_pass, a_reservation, a_worker, changed
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


def test_a_decision_is_replayed_without_naming_others_and_comes_to_the_same(hidden: Any) -> None:
    def replayed(user: Any) -> tuple[list[str], dict[str, Any]]:
        answer = bearer(token(user)).get(f"/api/v1/jobs/{hidden.own.job_id}/replay", {"today": "true"}).json()
        fleets = (answer["workers"], answer["today"])
        return [task["job_id"] for fleet in fleets for worker in fleet for task in worker["tasks"]], answer

    told, answer = replayed(hidden.jonas)
    whole, kept = replayed(hidden.ada)
    assert (told, whole) == (["another team's job"] * 2, [hidden.job.job_id] * 2)
    entry, fleet = parse_queue_entry(answer["entry"], position=1), map(parse_worker, answer["workers"])
    again = schedule(entry, Fleet(tuple(fleet)), entry.job_id)
    assert decision_to_document(again) == answer["decision"]
    assert again.fingerprint == decision_from_document(kept["decision"]).fingerprint


def test_when_anothers_job_ends_at_the_latest_is_not_told(hidden: Any) -> None:
    task = hidden.job.attempts.get().tasks.get()
    changed(task, started_at=timezone.now())
    changed(hidden.job, spec={**hidden.job.spec, "timeout_s": 3600}, state="running")

    def in_the_way(user: Any) -> dict[str, Any]:
        why = bearer(token(user)).get(f"/api/v1/jobs/{hidden.own.job_id}/why", {"part": "blockers"}).json()
        return dict(why["why"]["blockers"])

    told, whole = in_the_way(hidden.jonas), in_the_way(hidden.ada)
    assert (told["total"], told["earliest"], told["ending"]) == (1, None, [])
    assert told["workers"][0]["obstacles"][0]["holders"] == ["another team's job"]
    assert whole["earliest"]
    assert whole["ending"] == [hidden.job.job_id]


def test_what_a_job_is_called_decides_nothing(hidden: Any) -> None:
    """Of any fleet: with every other job's name taken out, each candidate has the verdict and reasons that it had."""
    for place in range(4):
        a_worker(f"m{place}", gpus="2xA100", seen=timezone.now())
    for gpus in (1, 2, 1, 2, 1):
        a_job(owner=hidden.mira, gpus=gpus, at=timezone.now())
    a_pass(timezone.now())
    own = a_job(owner=hidden.jonas, gpus=2, at=timezone.now())
    a_pass(timezone.now())
    told, kept = recorded_for(hidden.jonas, own), recorded_for(hidden.ada, own)
    assert told is not None
    assert kept is not None
    assert kept.fleet != told.fleet
    assert told.decision.fingerprint == kept.decision.fingerprint
