"""What a job's page shows around its candidates: targets, gang, order, history, tasks, its run and its document."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.models import Decision, Job, Task
from scheduler.services.machines import move_attempt, move_job, move_task
from tests.factories import a_job, a_pass, a_user, a_worker, changed
from tests.pages.conftest import many_workers
from tests.pages.test_lists import HTMX, text
from tests.pages.test_why import panels, plain
from workers.models import Device

pytestmark = pytest.mark.django_db


def a_pass_at(**amount: float) -> None:
    """A pass so much later than now."""
    a_pass(at=timezone.now() + timedelta(**amount))


def running(job: Job) -> Job:
    """Its tasks run, as their agents said."""
    at = timezone.now()
    for task in Task.objects.filter(attempt__job=job):
        assert move_task(task, "claimed", frm="assigned", actor="test", now=at, claimed_at=at)
        assert move_task(task, "running", frm="claimed", actor="test", now=at, started_at=at, pid=4711, workdir="/data")
        attempt = task.attempt
    assert move_attempt(attempt, "running", frm="assigned", actor="test", now=at)
    job.refresh_from_db()
    assert move_job(job, "running", frm="assigned", actor="test", now=at, started_at=at)
    job.refresh_from_db()
    return job


@pytest.fixture
def waits(mira) -> Job:
    """A job that waited for one worker, and whose reasons changed twice since: its worker went, and came back busy."""
    worker = a_worker("w1", gpus="2xA100", heartbeat_seconds=3600)
    a_job(owner=mira)
    job = a_job(owner=mira, gpus=2)
    a_pass_at()
    changed(worker, intent="draining", version=5)
    a_pass_at(seconds=90)
    changed(worker, intent="active", version=6)
    a_pass_at(seconds=200)
    job.refresh_from_db()
    return job


class TestTheTargets:
    def test_of_one_are_shown_with_what_is_free(self, page, waits):
        html = plain(text(page, f"/jobs/{waits.job_id}"))
        assert "1. Local 0 free of 1 that fits; no fallback" in html

    def test_of_several_say_what_opens_the_next(self, page, mira):
        a_worker("w1", gpus="1xT4")
        job = a_job(owner=mira, fallback_targets=["cloud"], resources={"gpu_memory_gb": 40})
        a_pass_at()
        assert "2. Cloud, fallback when unavailable" in plain(text(page, f"/jobs/{job.job_id}"))


class TestTheFacts:
    def test_tell_what_was_asked_for(self, page, mira):
        many = {"num_workers": 2, "procs_per_worker": 1, "launcher": "torchrun", "comm_backend": "nccl"}
        job = a_job(
            owner=mira, distributed=many, timeout_s=7200, retries={"max": 1, "on": ["failed"]},
            placement={"worker_labels": {"zone": "a"}}, runtime={"frameworks": {"torch": ">=2.5"}},
        )  # fmt: skip
        a_pass_at()
        html = plain(text(page, f"/jobs/{job.job_id}"))
        for fact in (
            "Distributed torchrun, nccl, 1 process per worker", "Time limit 2 h", "Retries 1, on failed",
            "Label zone=a", "Environment default, torch &gt;=2.5",
        ):  # fmt: skip
            assert fact in html, fact


class TestFewWorkers:
    def test_have_no_funnel_and_stand_before_every_check(self, page, waits):
        html = text(page, f"/jobs/{waits.job_id}")
        assert not [title for title in panels(html) if "workers became" in title]
        assert html.index('id="candidates"') < html.index('id="checks"')

    def test_of_nine_there_is_one(self, page, mira):
        many_workers(9)
        job = a_job(owner=mira, gpus=8)
        a_pass_at()
        html = text(page, f"/jobs/{job.job_id}")
        assert "How 9 workers became 0" in panels(html)
        assert html.index('id="checks"') < html.index('id="candidates"')


class TestHowItChanged:
    def test_newest_first_with_passes_numbers_and_what_each_decision_was_near_to(self, page, waits):
        html = plain(text(page, f"/jobs/{waits.job_id}"))
        history = html[html.index("How the decision changed") :]
        assert history.index("Pass 3") < history.index("Pass 2") < history.index("Pass 1") < history.index("Submitted")
        assert "best is 1 of 2 devices free on one worker" in history
        assert "1 of 1 in the target can run it, 0 free now" in history
        assert "Submitted by mira: target local, no fallback" in history

    @pytest.mark.parametrize(
        ("said", "when"), [({}, "unavailable"), ({"fallback_when": "incompatible"}, "incompatible")]
    )
    def test_says_when_it_falls_back_as_the_answer_does(self, page, mira, said, when):
        a_worker("w1", gpus="1xA100")
        job = a_job(owner=mira, gpus=9, fallback_targets=["remote"], **said)
        a_pass_at()
        html = plain(text(page, f"/jobs/{job.job_id}"))
        assert f"Remote, fallback when {when}" in html
        assert f"Submitted by mira: target local, fallback remote when {when}" in html

    def test_counts_the_passes_that_decided_the_same(self, page, mira):
        a_worker("w1", gpus="1xA100", heartbeat_seconds=3600)
        a_job(owner=mira)
        job = a_job(owner=mira)
        a_pass_at()
        for more in (60, 120):
            a_job(owner=mira)
            a_pass_at(seconds=more)
        assert "confirmed by the next 2 passes" in plain(text(page, f"/jobs/{job.job_id}"))

    def test_says_what_set_a_change_off(self, page, waits):
        keys = [row.pk for row in Decision.objects.filter(job=waits)]
        url = f"/jobs/{waits.job_id}/timeline?of="
        assert f'hx-get="{url}{keys[0]}"' in text(page, f"/jobs/{waits.job_id}")
        assert "Set off by: it takes new jobs again; 1 candidate changed" in text(page, f"{url}{keys[0]}", **HTMX)
        assert "Set off by: draining since" in text(page, f"{url}{keys[1]}", **HTMX)
        assert "Set off by" not in text(page, f"{url}{keys[2]}", **HTMX)
        assert "Set off by" not in text(page, f"{url}999999", **HTMX)

    def test_has_a_chart_of_what_was_free_that_says_itself_in_words(self, page, waits):
        html = text(page, f"/jobs/{waits.job_id}")
        (label,) = re.findall(r'<svg class="spark wide"[^>]*aria-label="([^"]+)"', html)
        assert label.startswith("Most free devices on any one worker that fits: between 0 and 1 since")
        assert label.endswith("1 at the last decision; the job needs 2")

    def test_counts_all_passes_that_looked_at_it(self, page, waits):
        assert re.search(r"3 passes in \d", text(page, f"/jobs/{waits.job_id}"))

    def test_ends_with_a_cancellation_before_its_start(self, page, waits):
        page.post(f"/jobs/{waits.job_id}/act/cancel")
        assert "cancelled before it started" in plain(text(page, f"/jobs/{waits.job_id}/timeline")).lower()

    def test_has_no_chart_for_a_job_that_needs_no_device(self, page, mira):
        job = a_job(owner=mira, gpus=0)
        a_pass_at()
        assert "spark wide" not in text(page, f"/jobs/{job.job_id}")

    def test_goes_on_on_a_page_of_its_own(self, page, waits):
        newest = Decision.objects.filter(job=waits).latest("pk")
        html = plain(text(page, f"/jobs/{waits.job_id}/timeline?before={newest.pk}"))
        assert "Pass 2" in html
        assert "Pass 3:" not in html
        assert page.get(f"/jobs/{waits.job_id}/timeline?before=x").status_code == 200

    def test_tells_of_attempts_and_their_ends(self, page, mira):
        a_worker("w1", gpus="2xA100")
        job = a_job(owner=mira, gpus=2)
        a_pass_at()
        running(job)
        assert "Task started on w1, devices 0 and 1" in plain(text(page, f"/jobs/{job.job_id}"))


class TestAnEarlierDecision:
    def test_is_shown_as_it_was_at_an_address_of_its_own(self, page, waits):
        first = Decision.objects.filter(job=waits).earliest("pk")
        html = text(page, f"/jobs/{waits.job_id}?d={first.pk}")
        assert "everything below is of then" in html
        then = plain(html[html.index("answer s-wait then") : html.index('id="whys"')])
        assert "Waiting: only w1 can run this job" in then
        assert "The decision after" in then
        assert "The decision before" not in then

    def test_is_not_spoken_of_where_the_latest_is_read(self, page, waits):
        assert "is of then" not in text(page, f"/jobs/{waits.job_id}")
        assert "is of then" not in text(page, f"/jobs/{waits.job_id}?d={waits.decision_id}")


class TestTheDifference:
    def test_shows_steps_side_by_side_and_what_each_candidate_was_and_is(self, page, waits):
        newest, middle, first = Decision.objects.filter(job=waits)
        html = plain(text(page, f"/jobs/{waits.job_id}/changes?earlier={first.pk}&later={middle.pk}"))
        assert "Still waiting" in html
        assert "Pass 1 Pass 2 Change workers known 1 1 –" in html
        assert "needs 2 GPUs, 1 of 2" in html
        assert "draining since" in html
        assert "1 of 1 candidates changed" in html
        assert newest.pk

    def test_from_the_first_has_an_address(self, page, waits):
        first = Decision.objects.filter(job=waits).earliest("pk")
        html = text(page, f"/jobs/{waits.job_id}/changes?earlier=first")
        assert f'<option value="{first.pk}" selected>' in html
        assert f"/jobs/{waits.job_id}/changes?earlier=first" in text(page, f"/jobs/{waits.job_id}")

    @pytest.mark.parametrize(("kind", "shown"), [("all", 1), ("verdict", 0), ("reasons", 1), ("bogus", 1)])
    def test_can_be_narrowed_to_verdicts_or_reasons(self, page, waits, kind, shown):
        html = text(page, f"/jobs/{waits.job_id}/changes?changed={kind}")
        assert len(re.findall(r'scope="row" class="w"', html)) == shown


class TestTasks:
    def gang(self, mira) -> Job:
        for name in ("w1", "w2"):
            a_worker(name, gpus="2xA100")
        job = a_job(
            owner=mira, gpus=1, distributed={"num_workers": 2}, retries={"max": 1, "on": ["failed"]}
        )  # fmt: skip
        a_pass_at()
        return running(job)

    def test_are_shown_by_rank_with_their_devices_and_torch(self, page, mira):
        job = self.gang(mira)
        html = text(page, f"/jobs/{job.job_id}/tasks")
        assert "2 ranks, all with torch 2.6.0+cu124" in html
        assert "rank 0 on w1 is the master" in html
        assert html.count('aria-label="Devices: 0 selected; 1 free"') == 2
        assert f'href="/jobs/{job.job_id}/log?attempt=1&amp;rank=1"' in html
        assert 'Tasks <span class="n">2</span>' in html

    def test_name_the_one_that_failed(self, page, mira):
        job = self.gang(mira)
        at = timezone.now()
        bad = Task.objects.get(rank=1)
        assert move_task(bad, "failed", frm="running", actor="test", now=at, finished_at=at, exit_code=3,
                         failure_code="exit_code", failure_text="out of memory")  # fmt: skip
        html = plain(text(page, f"/jobs/{job.job_id}/tasks"))
        assert "exit code 3: out of memory" in html
        assert "Rank 1 on w2 failed with exit code 3, so the other rank was ended." in html
        assert "Retries: 1 time at most, on failed" in html

    def test_of_a_job_that_was_not_placed_there_is_none(self, page, waits):
        assert "No task yet" in text(page, f"/jobs/{waits.job_id}/tasks")


class TestBesideTheLog:
    @pytest.fixture
    def runs(self, mira) -> Job:
        a_worker("w1", gpus="2xA100")
        job = a_job(owner=mira, gpus=2, timeout_s=3600)
        a_pass_at()
        Device.objects.update(utilisation=97, memory_used=61_200_000_000, read_at=timezone.now())
        return running(job)

    def test_stand_its_devices_with_their_use(self, page, runs):
        html = plain(text(page, f"/jobs/{runs.job_id}/log"))
        assert "Its devices now" in html
        assert "97 % 61.2 GB of 85.9 GB" in html

    def test_they_are_asked_for_again_and_are_304_while_nothing_changes(self, page, runs):
        html = text(page, f"/jobs/{runs.job_id}/log")
        (url, tag) = re.findall(r'id="use" hx-get="([^"]+)"[^>]*hx-ptag="([^"]+)"', html)[0]
        url = url.replace("&amp;", "&")
        assert page.get(url, headers={**HTMX, "HX-PTag": tag}).status_code == 304
        Device.objects.filter(index=0).update(utilisation=3)
        assert "3 %" in text(page, url, **HTMX)
        assert page.get(url).headers["Location"] == f"/jobs/{runs.job_id}/log"

    def test_stands_the_run(self, page, runs):
        html = plain(text(page, f"/jobs/{runs.job_id}/log"))
        for line in (
            "attempt 1 of 1", "(time limit 1 h), also without the server", "Working directory /data", "pid 4711",
            "Python 3.11.9, environment default", "CUDA_VISIBLE_DEVICES=GPU-w1-0,GPU-w1-1",
        ):  # fmt: skip
            assert line in html, line

    def test_a_host_out_of_contact_is_named_in_the_answer(self, page, runs):
        task = Task.objects.get()
        assert move_task(task, "unknown", frm="running", actor="test", now=timezone.now())
        html = plain(text(page, f"/jobs/{runs.job_id}/log"))
        assert "Contact lost since" in html
        assert "with w1 ; the job may still be running there." in html
        assert "Its devices, last known" in html
        assert "Last heartbeat" in html


class TestTheDocument:
    def test_marks_the_defaults_that_it_leaves_out(self, page, mira):
        job = a_job(owner=mira, policy="most_free_memory", resources={"memory_gb": 16})
        html = re.sub(r"<[^>]+>", "", text(page, f"/jobs/{job.job_id}/spec"))
        assert re.search(r"on_unschedulable: queue +# default", html)
        assert re.search(r"  environment: default +# default", html)
        assert re.search(r"  memory_gb: 16 +# host RAM\n", html)
        assert re.search(r"policy: most_free_memory\n", html)

    def test_says_which_values_it_keeps_to_itself(self, page):
        theirs = a_job(owner=a_user("jonas"), env={"HF_TOKEN": "s3cret"})
        html = plain(text(page, f"/jobs/{theirs.job_id}/spec"))
        assert "HF_TOKEN seen by its owner and operators" in html


def test_the_pages_of_a_job_ask_the_database_no_more_for_more_workers(page, waits):
    """Three and three hundred."""
    counts: dict[str, set[int]] = {}
    for more in (3, 300):
        for number in range(more):
            a_worker(f"m{more}-{number}", gpus="1xT4", heartbeat_seconds=3600)
        a_pass_at(minutes=more)
        for tail in ("", "/tasks", "/changes", "/timeline", "/spec", "/log"):
            url = f"/jobs/{waits.job_id}{tail}"
            text(page, url)
            with CaptureQueriesContext(connection) as asked:
                text(page, url)
            counts.setdefault(tail, set()).add(len(asked))
    assert all(len(numbers) == 1 for numbers in counts.values()), counts
    assert max(max(numbers) for numbers in counts.values()) <= 30
