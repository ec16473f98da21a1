"""The pages of one job: the answer, the funnel, every candidate beside its reasons."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.models import Job
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed, later
from tests.pages.conftest import many_workers
from tests.pages.test_lists import HTMX, text
from workers.moments import minute

pytestmark = pytest.mark.django_db


def workers_shown(html: str) -> list[str]:
    return re.findall(r'class="w"><a href="/workers/([^"]+)"', html)


def decided(job: Job) -> Job:
    a_pass(at=timezone.now())
    job.refresh_from_db()
    return job


class TestTheAnswer:
    def test_before_the_first_pass(self, page, mira):
        job = a_job(owner=mira)
        html = text(page, f"/jobs/{job.job_id}")
        assert "Not decided yet" in html
        assert f'hx-get="/jobs/{job.job_id}/placement"' in html
        assert page.get(f"/jobs/{job.job_id}/placement", headers=HTMX).status_code == 304

    def test_then_the_page_fills_itself(self, page, mira):
        a_worker("w1")
        job = decided(a_job(owner=mira))
        html = text(page, f"/jobs/{job.job_id}/placement", **HTMX)
        assert "Candidates" in html
        assert 'hx-trigger="every 1s"' not in html.split("Candidates")[0]

    def test_of_a_placed_job_names_worker_and_devices(self, page, mira):
        a_worker("w1", gpus="4xA100")
        job = decided(a_job(owner=mira, gpus=2))
        assert 'on <a href="/workers/w1">w1</a>, devices 0 and 1' in text(page, f"/jobs/{job.job_id}")

    def test_of_a_waiting_job_names_the_obstacle(self, page, mira):
        a_worker("w1", gpus="1xA100")
        a_job(owner=mira)
        job = decided(a_job(owner=mira))
        html = text(page, f"/jobs/{job.job_id}")
        assert "Waiting: only w1 can run this job" in html
        assert "devices are in use by other tasks" in html

    def test_of_a_job_that_never_fits_says_never(self, page, mira):
        a_worker("w1", gpus="8x?")
        a_worker("w2", gpus="8xA100")
        job = decided(a_job(owner=mira, gpus=8, resources={"gpu_memory_gb": 800}))
        html = text(page, f"/jobs/{job.job_id}")
        assert "Never fits" in html
        assert "unknown" in html

    def test_of_a_reserved_worker_says_for_whom_and_until_when(self, page, mira):
        worker = a_worker("w1")
        a_reservation(worker, "team:vision", starts_at=later(hours=-1), ends_at=later(hours=3))
        job = decided(a_job(owner=mira))
        assert f"reserved for team vision until {minute(later(hours=3), now=timezone.now())}" in text(
            page, f"/jobs/{job.job_id}"
        )

    def test_of_an_ended_job_looks_no_further(self, page, mira):
        job = a_job(owner=mira)
        changed(job, state="cancelled", finished_at=timezone.now())
        assert "/live?" not in text(page, f"/jobs/{job.job_id}")

    def test_stands_below_the_attempt_where_there_may_be_several(self, page, mira):
        a_worker("w1", gpus="2xA100")
        often, once = a_job(owner=mira, retries={"max": 3}), a_job(owner=mira)
        decided(often)
        assert "<dt>Attempt</dt><dd>1 of 4</dd>" in text(page, f"/jobs/{often.job_id}")
        assert "<dt>Attempt</dt>" not in text(page, f"/jobs/{once.job_id}")

    def test_is_304_while_nothing_changes(self, page, mira):
        a_worker("w1", gpus="1xA100", heartbeat_seconds=3600)
        a_job(owner=mira)
        job = decided(a_job(owner=mira))
        changed(job, state_since=later(minutes=-5))
        first = page.get(f"/jobs/{job.job_id}/live", headers=HTMX)
        again = page.get(f"/jobs/{job.job_id}/live", headers={**HTMX, "HX-PTag": first.headers["HX-PTag"]})
        assert (first.status_code, again.status_code) == (200, 304)


class TestCandidates:
    def test_few_are_all_shown_without_choosing(self, page, mira):
        a_worker("w1")
        a_worker("w2", gpus="1xT4")
        job = decided(a_job(owner=mira, resources={"gpu_memory_gb": 40}))
        html = text(page, f"/jobs/{job.job_id}")
        assert workers_shown(html) == ["w1", "w2"]
        assert "Filter by reason" not in html

    def test_none_says_so(self, page, mira):
        job = decided(a_job(owner=mira))
        assert "there are no workers yet" in text(page, f"/jobs/{job.job_id}")

    def test_twelve_hundred_come_in_pages_that_lose_none(self, page, mira):
        many_workers(1_200)
        job = decided(a_job(owner=mira))
        html = text(page, f"/jobs/{job.job_id}")
        assert "1–25 of 1,200" in html
        seen = workers_shown(html)
        for _ in range(3):
            onward = re.search(r'rel="next" href="([^"]+)"', html)
            assert onward
            html = text(page, onward[1].replace("&amp;", "&"), **HTMX)
            seen += workers_shown(html)
        assert seen == sorted(set(seen))
        assert len(seen) == 100

    def test_by_verdict_reason_and_words(self, page, mira):
        for place in range(9):
            a_worker(f"a{place}", gpus="1xA100", labels={"zone": "a"})
        a_worker("t0", gpus="1xT4")
        a_worker("c0", gpus="1xA100", origin="cloud")
        job = decided(a_job(owner=mira, resources={"gpu_memory_gb": 40}))
        url = f"/jobs/{job.job_id}/candidates"
        assert workers_shown(text(page, f"{url}?verdict=selected")) == ["a0"]
        assert workers_shown(text(page, f"{url}?verdict=never")) == ["t0"]
        assert workers_shown(text(page, f"{url}?verdict=outside")) == ["c0"]
        assert workers_shown(text(page, f"{url}?code=gpu_memory")) == ["t0"]
        assert workers_shown(text(page, f"{url}?q=tesla")) == ["t0"]
        assert "No candidate matches" in text(page, f"{url}?q=nothing")

    @pytest.mark.parametrize(
        "query",
        [
            *("verdict=bogus", "code=bogus", "after=bogus", "before=%00", "q=%00", "sort=bogus", "code=os&as=bogus"),
            *(
                "by=bogus&group=x",
                "by=tier&group=%00",
                "code=label&subject=%00",
                "code=slots&as=only",
                "d=x",
                "d=999999",
            ),
            *("pass=x", "pass=0", "pass=999999", "pass=" + "9" * 40),
        ],
    )
    def test_nonsense_in_the_address_is_no_error_of_the_server(self, page, mira, query):
        a_worker("w1")
        job = decided(a_job(owner=mira))
        assert page.get(f"/jobs/{job.job_id}/candidates?{query}").status_code in (200, 404)

    def test_they_stay_on_the_decision_that_is_read(self, page, mira):
        worker = a_worker("w1", gpus="1xA100", heartbeat_seconds=3600)
        a_job(owner=mira)
        job = decided(a_job(owner=mira))
        old = job.decision_id
        changed(worker, intent="draining", version=5)
        a_worker("w2", gpus="1xT4")
        a_pass(at=later(seconds=90))
        job.refresh_from_db()
        assert job.decision_id != old
        assert "w2" not in text(page, f"/jobs/{job.job_id}/candidates?d={old}", **HTMX)
        assert "w2" in text(page, f"/jobs/{job.job_id}/candidates", **HTMX)
        assert "decided anew" in text(page, f"/jobs/{job.job_id}/live?read={old}", **HTMX)

    def test_cost_the_same_queries_for_ten_as_for_three_hundred(self, page, mira):
        counts = []
        for number in (10, 300):
            many_workers(number, gpus="1xA100") if number == 10 else [many_more(number)]
            job = decided(a_job(owner=mira))
            text(page, f"/jobs/{job.job_id}")
            with CaptureQueriesContext(connection) as context:
                text(page, f"/jobs/{job.job_id}")
            counts.append(len(context))
        assert counts[0] == counts[1]


def many_more(number: int) -> None:
    for place in range(number // 10):
        a_worker(f"x-{place:03d}", gpus="1xA100")


def test_the_document_is_shown_as_it_was_given(page, mira):
    job = a_job(owner=mira, name="shown", env={"EPOCHS": "3"})
    html = text(page, f"/jobs/{job.job_id}/spec")
    assert "EPOCHS" in html
    assert "name: shown" in html


def test_anybody_may_look_at_anybodys_job(page):
    job = a_job(owner=a_user("jonas"))
    assert "jonas" in text(page, f"/jobs/{job.job_id}")


@pytest.mark.parametrize("url", ["/jobs/{}/spec", "/jobs/new?like={}", "/api/v1/jobs/{}"])
def test_environment_values_are_their_owners_and_the_operators(page, operator, mira, url):
    """Names may be seen by everybody, values may not, wherever a job's document is shown."""
    theirs = a_job(owner=a_user("jonas"), env={"HF_TOKEN": "s3cret"})
    mine = a_job(owner=mira, env={"HF_TOKEN": "s3cret"})
    assert b"s3cret" not in page.get(url.format(theirs.job_id)).content
    assert b"s3cret" in page.get(url.format(mine.job_id)).content
    assert b"s3cret" in operator.get(url.format(theirs.job_id)).content
