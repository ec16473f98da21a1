"""Who may see and do what on the pages."""

import re

import pytest
from django.test import Client

from tests.factories import a_job, a_user

pytestmark = pytest.mark.django_db

PAGES = [
    "/jobs", "/jobs/new", "/jobs/j-1", "/jobs/j-1/live", "/jobs/j-1/placement", "/jobs/j-1/candidates", "/jobs/j-1/log",
    "/jobs/j-1/log.txt", "/jobs/j-1/spec", "/jobs/j-1/cancel", "/workers", "/workers/w1", "/search?q=j-1", "/shortcuts",
    "/profile",
]  # fmt: skip


@pytest.mark.parametrize("url", PAGES)
def test_a_stranger_is_sent_to_sign_in_and_back(url):
    answer = Client().get(url)
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/signin?next=/")


@pytest.mark.parametrize("url", ["/jobs/new", "/jobs/j-1/cancel", "/jobs/new/check", "/profile/theme"])
def test_a_stranger_may_post_nothing(url):
    assert Client().post(url).headers["Location"].startswith("/signin?next=/")


@pytest.mark.parametrize("url", ["/jobs/new", "/jobs/j-1/cancel", "/jobs/new/check"])
def test_a_post_without_the_forms_mark_is_refused_in_words(mira, url):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(mira)
    answer = strict.post(url)
    assert answer.status_code == 403
    assert "This form is too old" in answer.content.decode()


@pytest.mark.parametrize(
    "url", ["/jobs/j-99", "/jobs/j-99/live", "/jobs/j-99/log", "/workers/nobody", "/jobs/j-1/nothing"]
)
def test_what_is_not_there_is_404_in_words(page, url):
    answer = page.get(url)
    assert answer.status_code == 404
    assert re.search(r"Nothing here|No job j-99 here", answer.content.decode())


class TestCancelling:
    def test_asks_first(self, page, mira):
        job = a_job(owner=mira)
        assert f"Cancel {job.job_id} train?" in page.get(f"/jobs/{job.job_id}/cancel").content.decode()
        job.refresh_from_db()
        assert job.state == "queued"

    def test_is_for_the_owner(self, page, mira):
        job = a_job(owner=mira)
        assert page.post(f"/jobs/{job.job_id}/cancel", follow=True).status_code == 200
        job.refresh_from_db()
        assert job.state == "cancelled"

    def test_and_for_operators(self, operator):
        job = a_job(owner=a_user("jonas"))
        operator.post(f"/jobs/{job.job_id}/cancel")
        job.refresh_from_db()
        assert job.state == "cancelled"

    def test_but_for_nobody_else(self, page):
        job = a_job(owner=a_user("jonas"))
        assert page.post(f"/jobs/{job.job_id}/cancel").status_code == 403
        assert "Cancel job" not in page.get(f"/jobs/{job.job_id}").content.decode()
        job.refresh_from_db()
        assert job.state == "queued"


def test_operators_see_the_admin_and_others_do_not(page, operator):
    assert 'href="/admin/"' in operator.get("/jobs").content.decode()
    assert 'href="/admin/"' not in page.get("/jobs").content.decode()
