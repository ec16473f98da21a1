"""Pausing and resuming: only what waits, once, whoever asks at the same time."""

from __future__ import annotations

from contextlib import suppress
from threading import Barrier, Thread

import pytest
from django.db import connection

from scheduler.models import Event, Job
from scheduler.services.jobs import cancel_job
from scheduler.services.pausing import pause_job, resume_job
from tests.factories import NOW, a_job, a_pass, a_worker, changed, held, later, placed, states
from workers.refusals import Refused


def moves(job: Job) -> list[tuple[str, str, str]]:
    found = Event.objects.filter(subject=job.job_id, verb="state").order_by("pk")
    return [(event.before, event.after, event.actor) for event in found]


@pytest.mark.django_db
class TestPausing:
    def test_a_paused_job_is_left_alone_by_passes_and_says_who_paused_it(self):
        a_worker("a")
        job = pause_job(job=a_job(), actor="user:ada", now=NOW)
        a_pass()
        assert (states(job), held()) == (["paused"], 0)
        assert (job.paused_code, job.paused_text, job.in_short()) == ("person", "paused by ada", "paused by ada")

    def test_a_resumed_job_is_placed_again_and_says_nothing_of_it(self):
        a_worker("a")
        job = pause_job(job=a_job(), actor="user:ada", now=NOW)
        job = resume_job(job=job, actor="user:mira", now=later(seconds=5))
        a_pass(later(seconds=6))
        assert placed(job) == [("a", [0])]
        assert (job.paused_code, job.paused_text, job.in_short()) == ("", "", "")

    def test_a_resumed_job_has_its_old_place_in_the_queue(self):
        a_worker("a")
        first = pause_job(job=a_job(), actor="user:ada", now=NOW)
        second = a_job()
        resume_job(job=first, actor="user:ada", now=later(seconds=5))
        a_pass(later(seconds=6))
        assert states(first, second) == ["assigned", "queued"]

    def test_twice_is_as_good_as_once(self):
        job = a_job()
        pause_job(job=job, actor="user:ada", now=NOW)
        again = pause_job(job=job, actor="user:mira", now=later(seconds=1))
        assert again.paused_text == "paused by ada"
        resume_job(job=job, actor="user:ada", now=later(seconds=2))
        resume_job(job=job, actor="user:ada", now=later(seconds=3))
        assert moves(job) == [("queued", "paused", "user:ada"), ("paused", "queued", "user:ada")]

    @pytest.mark.parametrize("state", ["assigned", "running", "succeeded", "failed", "cancelled", "timed_out"])
    @pytest.mark.parametrize("act", [pause_job, resume_job])
    def test_what_does_not_wait_is_refused_in_words_and_stays(self, state, act):
        over = {"finished_at": NOW} if state not in ("assigned", "running") else {}
        job = changed(a_job(), state=state, **over)
        with pytest.raises(Refused, match="only a job that waits in the queue") as refused:
            act(job=job, actor="user:ada", now=NOW)
        assert refused.value.code == "not_waiting"
        assert states(job) == [state]

    @pytest.mark.parametrize(
        ("code", "text", "short"),
        [
            ("person", "paused by ada", "paused by ada"),
            ("poison", "two agents died while they ran it", "paused: agents died running it"),
            ("declined", "five workers declined it in a row", "paused: declined too often"),
            ("", "", "paused"),
        ],
    )
    def test_why_it_is_paused_has_a_short_answer(self, code, text, short):
        assert Job(state="paused", paused_code=code, paused_text=text).in_short() == short


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_", range(3))
def test_pause_resume_cancel_and_passes_at_once_leave_every_job_whole(round_):
    """Each move is made by one of them: the trail of every job is one unbroken line."""
    a_worker("a", gpus="4xA100")
    jobs = [a_job() for _ in range(8)]
    acts = [pause_job, resume_job, pause_job, cancel_job, resume_job]
    start, failures = Barrier(len(acts) + 1), []

    def all_jobs(act):
        start.wait()
        try:
            for job in jobs if acts.index(act) % 2 else reversed(jobs):
                with suppress(Refused):
                    act(job=job, actor="user:ada", now=later(seconds=1))
        except Exception as error:
            failures.append(error)
        finally:
            connection.close()

    def passes():
        start.wait()
        for second in range(3):
            a_pass(later(seconds=second))
        connection.close()

    threads = [Thread(target=all_jobs, args=(act,)) for act in acts] + [Thread(target=passes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    for job in jobs:
        job.refresh_from_db()
        assert job.state == "cancelled"
        line = ["queued", *(after for _, after, _ in moves(job))]
        assert [before for before, _, _ in moves(job)] == line[:-1]
    assert held() == 0
