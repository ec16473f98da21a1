"""The list of jobs: what its rows say, what it is narrowed by, and what its tabs count."""

from __future__ import annotations

import re

import pytest

from scheduler.models import Attempt, DeviceHold, Job, Task
from tests.factories import a_job, a_pass, a_user, a_worker, changed, later
from tests.pages.conftest import many_jobs
from tests.pages.test_lists import names, text

pytestmark = pytest.mark.django_db


class TestNarrowing:
    def test_jobs_by_what_keeps_them_waiting(self, page, mira):
        a_worker("w1", gpus="1xT4")
        busy, waits = a_job(owner=mira), a_job(owner=mira)
        never, too = a_job(owner=mira, gpus=8), a_job(owner=mira, gpus=4)
        a_pass()
        html = text(page, "/jobs")
        assert re.findall(
            r'<option value="([^"]+)"[^>]*>([^<]+)', html.partition('id="rs"')[2].partition("</select>")[0]
        ) == [
            ("never", "Never fits"),
            ("gpu_count", "Never fits: number of GPUs"),
            ("slots", "Task slots taken"),
        ]
        assert names(text(page, "/jobs?reason=never")) == [never.job_id, too.job_id]
        assert names(text(page, "/jobs?reason=gpu_count")) == [never.job_id, too.job_id]
        assert names(text(page, "/jobs?reason=slots")) == [waits.job_id]
        assert busy.job_id not in names(text(page, "/jobs?reason=slots"))

    def test_an_empty_list_names_the_filter_that_hides_most(self, page, mira):
        for place in range(3):
            a_job(owner=mira, name=f"sweep-{place}")
        a_job(owner=a_user("jonas"), name="other")
        html = text(page, "/jobs?state=all&q=sweep&owner=jonas")
        assert "3 jobs match without the owner." in html
        assert 'href="/jobs?q=sweep&amp;state=all"' in html
        assert "1 job matches without the words." in text(page, "/jobs?state=all&q=nothing&owner=jonas")

    def test_the_oldest_come_first_where_that_is_asked_for(self, page, mira):
        many_jobs(30, mira)
        first = text(page, "/jobs?state=all&sort=oldest")
        assert names(first)[:2] == ["j-1", "j-2"]
        onward = re.search(r'rel="next" href="([^"]+)"', first)
        assert onward
        assert names(text(page, onward[1].replace("&amp;", "&"))) == [f"j-{place}" for place in range(26, 31)]


class TestRows:
    def test_a_job_whose_host_is_silent_says_so_and_has_a_tab(self, page, mira):
        a_worker("w1")
        job = a_job(owner=mira)
        a_pass()
        task = Task.objects.get()
        changed(job, state="running", started_at=later())
        changed(task, state="unknown")
        html = text(page, "/jobs?state=contact")
        assert names(html) == [job.job_id]
        assert "Contact lost" in html
        assert re.search(r"w1 silent since \d\d:\d\d:\d\d; keeps its devices", html)

    def test_one_that_waits_again_says_which_try(self, page, mira):
        a_worker("w1")
        job = a_job(owner=mira, retries={"max": 2, "on": ["failed"]})
        a_pass()
        changed(Task.objects.get(), state="failed", finished_at=later(), released_at=later())
        changed(Attempt.objects.get(), state="failed", active=False, ended_at=later())
        changed(job, state="queued")
        assert "Waiting, try 2 of 3" in text(page, "/jobs")

    def test_a_gang_says_on_how_many_more_workers_it_is(self, page, mira):
        for name in ("w1", "w2", "w3"):
            a_worker(name)
        a_job(owner=mira, distributed={"num_workers": 3, "procs_per_worker": 1})
        a_pass()
        assert "and 2 more" in text(page, "/jobs")

    def test_one_whose_devices_are_idle_for_long_says_so(self, page, mira):
        a_worker("w1", gpus="2xA100")
        job = a_job(owner=mira, gpus=2)
        a_pass()
        changed(job, state="running", started_at=later())
        holds = DeviceHold.objects.order_by("pk")
        changed(holds[0], idle_since=later(seconds=-2400))
        assert "held but idle" not in text(page, "/jobs")
        changed(holds[1], idle_since=later(seconds=-2460))
        assert "held but idle 40 min" in text(page, "/jobs")

    def test_a_signal_has_its_name(self, page, mira):
        a_worker("w1")
        job = a_job(owner=mira)
        a_pass()
        changed(Task.objects.get(), signal=9)
        changed(job, state="failed", failure_code="signal", finished_at=later(), started_at=later())
        assert "SIGKILL" in text(page, "/jobs?state=ended")

    def test_every_row_can_be_told_from_the_others_while_they_change(self, page, mira):
        many_jobs(3, mira)
        assert re.findall(r'<tr role="row" id="([^"]+)"', text(page, "/jobs")) == ["j-1", "j-2", "j-3"]


@pytest.mark.parametrize("state", ["recent", "queued", "running", "held", "contact", "ended", "all"])
def test_each_tab_counts_what_it_shows(page, mira, state):
    many_jobs(4, mira)
    changed(Job.objects.get(job_id="j-2"), state="succeeded", finished_at=later())
    changed(Job.objects.get(job_id="j-3"), state="running", started_at=later(), hold_until=later(seconds=60))
    html = text(page, f"/jobs?state={state}")
    count = re.search(r'aria-current="true">[^<]+<span class="n">(\d+)<', html)
    assert count
    assert (
        int(count[1])
        == len(names(html))
        == {"recent": 4, "queued": 2, "running": 1, "held": 1, "contact": 0, "ended": 1, "all": 4}[state]
    )
