"""The lists of jobs and workers: empty, small and long, live, filtered, and as cheap for a thousand rows as for ten."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scheduler.models import Job
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
