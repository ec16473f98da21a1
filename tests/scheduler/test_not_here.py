"""Why waiting jobs are not on one worker is what their kept decisions say of that worker."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest

from scheduler.core.sentences import sentence
from scheduler.core.why_not import COULD_TAKE_IT
from scheduler.core.words import in_utc
from scheduler.models import Job
from scheduler.services.not_here import MOST_CAUSES, MOST_NAMED, not_here
from scheduler.services.recorded import recorded
from tests.factories import NOW, a_job, a_pass, a_reservation, a_user, a_worker, changed

pytestmark = pytest.mark.django_db


def a_fleet(chance: random.Random) -> list[str]:
    """Eight workers of all kinds and states."""
    names = []
    for place in range(8):
        state = chance.choice([{}, {}, {}, {"intent": "draining"}, {"liveness": "lost"}, {"health": "unhealthy"}])
        worker = a_worker(
            f"w{place}", gpus=chance.choice(["1xA100", "2xA100", "4xT4", "8xH100"]),
            origin=chance.choice(["local", "local", "cloud"]), labels={"zone": chance.choice("ab")}, **state,
        )  # fmt: skip
        if chance.random() < 0.3:
            a_reservation(worker, "team:vision", ends_at=NOW + timedelta(hours=3))
        names.append(worker.name)
    return names


def some_jobs(chance: random.Random, number: int) -> None:
    for _ in range(number):
        further = chance.choice(
            [{}, {"fallback_targets": ["cloud"]}, {"fallback_targets": ["cloud"], "fallback_when": "unavailable"}]
        )
        a_job(
            gpus=chance.choice([1, 2, 4, 8, 16]), **further,
            resources=chance.choice([{}, {"gpu_memory_gb": 40}, {"cpu_cores": 12}]),
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_each_job_is_counted_by_the_first_reason_that_its_decision_has_of_this_worker(seed: int) -> None:
    chance, user = random.Random(seed), a_user("mira")
    names = a_fleet(chance)
    some_jobs(chance, 6)
    a_pass()
    some_jobs(chance, 10)
    a_pass(NOW + timedelta(seconds=5))
    waiting = list(Job.objects.filter(state="queued").order_by("pk"))
    assert waiting
    for name in names:
        expected: dict[str, list[str]] = {}
        for job in waiting:
            kept = recorded(job)
            assert kept is not None
            reasons = kept.decision.candidate(name).reasons
            expected.setdefault(sentence(reasons[0]) if reasons else COULD_TAKE_IT, []).append(job.job_id)
        found = not_here(name, user=user, clock=in_utc)
        assert found is not None
        assert found.waiting == len(waiting)
        told = {cause.text: (cause.jobs, cause.first) for cause in found.causes}
        assert told == {text: (len(ids), tuple(ids[:MOST_NAMED])) for text, ids in expected.items()}


def test_only_so_many_sentences_the_commonest_first_and_the_rest_counted() -> None:
    a_worker("w1", gpus="1xT4")
    for gpus in range(2, 16):
        a_job(gpus=gpus)
    a_job(gpus=9)
    a_pass()
    found = not_here("w1", user=a_user("mira"), clock=in_utc)
    assert found is not None
    assert [cause.jobs for cause in found.causes] == [2, *[1] * (MOST_CAUSES - 1)]
    assert found.more == 15 - MOST_CAUSES - 1


def test_a_worker_that_no_pass_saw() -> None:
    a_worker("w1")
    assert not_here("w1", user=a_user("mira"), clock=in_utc) is None
    a_job(gpus=2)
    a_pass()
    assert not_here("w1", user=a_user("mira"), clock=in_utc) is not None
    changed(a_worker("w2"), created_at=NOW)
    assert not_here("w2", user=a_user("mira"), clock=in_utc) is None
