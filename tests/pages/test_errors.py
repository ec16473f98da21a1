"""Pages for what went wrong: what, why, what to do; and nothing about what somebody may not see."""

from __future__ import annotations

import re

import pytest
from django.db import OperationalError
from django.test import Client

from gpulayer_site.references import WithReference
from tests.factories import a_job, a_pass, a_user, a_worker

pytestmark = pytest.mark.django_db


def body(answer):
    return re.sub(
        r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode().partition("<main")[2].partition("</main>")[0])
    )


def test_another_teams_job_and_none_at_all_get_the_same_page(page, mira, settings):
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    mine, hidden, gone = a_job(owner=mira, name="mine"), a_job(owner=a_user("jonas")), a_job(owner=mira)
    gone.delete()
    answers = [page.get(f"/jobs/{job.job_id}") for job in (hidden, gone)]
    told = [body(answer).replace(job.job_id, "j-?") for answer, job in zip(answers, (hidden, gone), strict=True)]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert told[0] == told[1]
    assert "this page doesn’t tell which" in told[0]
    assert f"Nearest ids you may see: {mine.job_id} mine" in told[0]


def test_what_a_job_does_not_have_is_said_as_it_is(page, mira):
    job = a_job(owner=mira)
    assert "This job has no decision yet." in body(page.get(f"/jobs/{job.job_id}/candidates"))


def test_an_address_of_nothing_says_how_addresses_are_written(page):
    assert "a worker /workers/gpu-07" in body(page.get("/nothing"))


def test_nobody_is_offered_a_way_to_sign_in():
    assert "Sign in" in body(Client().get("/nothing"))


def test_who_may_not_is_told_as_whom_they_are_signed_in(page):
    answer = page.get("/enrolment")
    assert answer.status_code == 403
    assert "You are signed in as mira , submitter" in body(answer)


class TestAPageThatFails:
    @pytest.fixture
    def failing(self, mira, monkeypatch):
        """A browser for which the list of jobs fails with an error of the test's choice."""
        client = Client(raise_request_exception=False)
        client.force_login(mira)

        def with_error(error):
            monkeypatch.setattr("scheduler.views.jobs.numbers", lambda *_: (_ for _ in ()).throw(error))
            return client.get("/jobs")

        return with_error

    def test_shows_the_reference_that_the_log_has_beside_the_cause(self, failing, caplog, settings):
        answer = failing(RuntimeError("the cause"))
        assert answer.status_code == 500
        found = re.search(r"Reference ([0-9a-f]{4}-[0-9a-f]{4}) ", body(answer))
        assert found
        (record,) = [record for record in caplog.records if record.name == "django.request"]
        assert settings.LOGGING["handlers"]["console"]["filters"] == ["reference"]
        assert WithReference().filter(record)
        assert found[1] in record.getMessage()

    def test_keeps_the_frame_so_that_one_can_go_elsewhere(self, failing):
        assert "Submit job" in failing(RuntimeError("the cause")).content.decode()

    def test_because_the_database_is_away_asks_it_nothing(self, failing, django_assert_num_queries):
        answer = failing(OperationalError("away"))
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "The database does not answer" in body(answer)
        assert "Submit job" not in answer.content.decode()

    def test_tells_nobody_the_cause(self, failing):
        assert "hunter2" not in failing(RuntimeError("hunter2")).content.decode()


def test_errors_cost_a_fixed_number_of_queries(page, mira, django_assert_max_num_queries):
    a_worker("w1")
    for _ in range(20):
        a_job(owner=mira)
    a_pass()
    with django_assert_max_num_queries(10):
        page.get("/jobs/j-999999")
