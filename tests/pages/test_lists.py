"""The lists of jobs and workers: empty, small and long, live, filtered, and as cheap for a thousand rows as for ten."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduler.models import Attempt, Job, Task
from tests.factories import a_job, a_pass, a_user, a_worker, changed, later
from tests.pages.conftest import many_jobs, many_workers
from workers.models import Worker

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def text(client: Client, url: str, **headers: str) -> str:
    answer = client.get(url, headers=headers)
    assert answer.status_code == 200, url
    return answer.content.decode()


def queries(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(
        connection,
    ) as context:
        assert client.get(url).status_code == 200
    return len(context)


def names(html: str) -> list[str]:
    return re.findall(r'<a class="mono" href="/jobs/(j-\d+)"', html) or re.findall(
        r'class="w"><a href="/workers/([^"]+)"', html
    )


@pytest.mark.parametrize(
    ("url", "empty"),
    [
        ("/jobs", "No job yet"),
        ("/workers", "No worker yet"),
        ("/jobs?state=all&q=x", "No job matches"),
    ],
)
def test_an_empty_list_says_what_to_do(page, url, empty):
    assert empty in text(page, url)


def test_where_jobs_ended_long_ago_none_is_recent(page, mira):
    changed(a_job(owner=mira), state="cancelled", state_since=later(seconds=-7200), finished_at=later(seconds=-7200))
    assert "No job is waiting or running" in text(page, "/jobs")


def test_a_cancelled_job_says_so_without_alarm_and_not_what_it_waited_for(page, mira):
    job = a_job(owner=mira, gpus=8)
    a_worker("w1", gpus="1xT4")
    a_pass()
    changed(job, state="cancelled", finished_at=later(seconds=1))
    html = text(page, "/jobs")
    assert '<td role="cell" class="sm wide">cancelled before it started</td>' in html


def test_the_system_of_a_worker_reads_as_a_name_and_a_version(page):
    a_worker("w1", facts={"os_version": "12"})
    assert "linux, version 12" in text(page, "/workers/w1")


@pytest.mark.parametrize(("number", "where"), [(10, "1–10 of 10"), (1_200, "1–25 of 1,200")])
def test_jobs_by_number(page, mira, number, where):
    many_jobs(number, mira)
    assert where in text(page, "/jobs")


@pytest.mark.parametrize(("number", "where"), [(10, "1–10 of 10"), (1_200, "1–25 of 1,200")])
def test_workers_by_number(page, number, where):
    many_workers(number)
    assert where in text(page, "/workers")


@pytest.mark.parametrize("url", ["/jobs", "/jobs?state=all", "/workers", "/workers?q=zone%3Da", "/jobs?q=job&owner=me"])
def test_a_page_costs_the_same_queries_for_ten_rows_as_for_a_hundred(page, mira, url):
    many_jobs(10, mira)
    many_workers(10)
    few = queries(page, url)
    many = Client()
    many.force_login(mira)
    Job.objects.all().delete()
    Worker.objects.update(facts=None, liveness="enrolled")
    Worker.objects.all().delete()
    many_jobs(100, mira)
    many_workers(100)
    assert queries(many, url) == few


@pytest.mark.parametrize("url", ["/jobs?state=all", "/jobs?state=recent", "/workers?"])
def test_following_next_shows_every_row_once_and_previous_leads_back(page, mira, url):
    many_jobs(60, mira)
    many_workers(60)
    seen, html = [], text(page, url)
    while True:
        seen.append(names(html))
        onward = re.search(r'rel="next" href="([^"]+)"', html)
        if not onward:
            break
        html = text(page, onward[1].replace("&amp;", "&"))
    assert [len(rows) for rows in seen] == [25, 25, 10]
    assert len({row for rows in seen for row in rows}) == 60
    back = re.search(r'rel="prev" href="([^"]+)"', html)
    assert back
    assert names(text(page, back[1].replace("&amp;", "&"))) == seen[1]


class TestLive:
    def test_htmx_gets_the_rows_alone(self, page):
        a_worker("w1")
        assert "<html" not in text(page, "/workers", **HTMX)

    def test_nothing_new_is_304_without_a_body(self, page):
        a_worker("w1", heartbeat_seconds=3600)
        first = page.get("/workers", headers=HTMX)
        again = page.get("/workers", headers={**HTMX, "HX-PTag": first.headers["HX-PTag"]})
        assert (again.status_code, again.content) == (304, b"")

    def test_the_page_itself_carries_the_tag_that_its_first_look_sends(self, page):
        a_worker("w1", heartbeat_seconds=3600)
        tag = re.search(r'hx-ptag="(\w+)"', text(page, "/workers"))
        assert tag
        assert page.get("/workers", headers={**HTMX, "HX-PTag": tag[1]}).status_code == 304

    def test_a_change_is_shown(self, page):
        worker = a_worker("w1", heartbeat_seconds=3600)
        first = page.get("/workers", headers=HTMX)
        changed(worker, intent="draining")
        again = page.get("/workers", headers={**HTMX, "HX-PTag": first.headers["HX-PTag"]})
        assert again.status_code == 200
        assert "Draining" in again.content.decode()
        changed(worker, intent="drained")
        assert ">Drained<" in re.sub(r"\s*([<>])\s*", r"\1", text(page, "/workers", **HTMX))

    def test_the_counts_of_the_tabs_change_with_the_rows(self, page, mira):
        many_jobs(3, mira)
        html = text(page, "/jobs", **HTMX)
        assert 'id="state-tabs"' in html
        assert "hx-swap-oob" in html


class TestFilters:
    def test_jobs_by_owner_words_and_worker(self, page, mira):
        a_worker("w1", gpus="2xA100")
        mine = a_job(name="mine", owner=mira)
        a_job(name="of-jonas", owner=a_user("jonas"), gpus=8)
        a_pass(at=a_worker("w2").created_at)
        assert names(text(page, "/jobs?owner=me")) == names(text(page, "/jobs?q=mine")) == [mine.job_id]
        assert len(names(text(page, "/jobs?q=w1"))) == 1
        assert len(names(text(page, "/jobs?state=queued"))) == 1

    def test_workers_by_state_tier_model_and_label(self, page):
        a_worker("w1", gpus="1xT4", labels={"zone": "a"})
        a_worker("w2", gpus="1xH100", origin="cloud", intent="draining")
        assert names(text(page, "/workers?state=draining")) == ["w2"]
        assert names(text(page, "/workers?tier=local")) == ["w1"]
        assert names(text(page, "/workers?q=h100")) == ["w2"]
        assert names(text(page, "/workers?q=zone%3Da")) == ["w1"]

    @pytest.mark.parametrize(
        "query", ["state=bogus", "after=%00", "before=zzz", "after=%F0%9F%92%A9", "q=%25_%27%22%3Cb%3E", "tier=moon"]
    )
    @pytest.mark.parametrize("url", ["/jobs", "/workers"])
    def test_nonsense_in_the_address_is_no_error(self, page, mira, url, query):
        many_jobs(2, mira)
        many_workers(2)
        assert page.get(f"{url}?{query}").status_code == 200

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
