"""Pages that are left open: what is as it was is not made again, and what happens is seen at the next look."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from benchmarks.pages_history import let_run
from gpulayer_site import unchanged
from scheduler.memory import forget
from scheduler.models import Event, Job, Task
from scheduler.services.jobs import cancel_job
from scheduler.services.passes import run_pass
from scheduler.views import overview
from tests import factories
from tests.factories import a_job, a_user, a_worker

LOOKS = ("/jobs", "/workers", "/workers/w1", "/reservations", "/jobs/{}/live", "/")


@pytest.fixture(autouse=True)
def looked_at_always(settings: Settings) -> None:
    """Whether something has happened is looked at for every request."""
    settings.UNCHANGED_LOOK_SECONDS = 0


@pytest.fixture
def job(db: None, monkeypatch: pytest.MonkeyPatch) -> Job:
    """One that a pass has placed."""
    monkeypatch.setattr(factories, "NOW", timezone.now())
    a_worker("w1", gpus="2xA100", seen=timezone.now())
    job = a_job(gpus=1, at=timezone.now())
    assert run_pass(now=timezone.now(), holder="test")
    return job


@pytest.fixture
def browser(db: None, client: Client) -> Client:
    """Of somebody signed in."""
    client.force_login(a_user("ada", staff=True))
    return client


def look(browser: Client, path: str, tag: str = "none") -> tuple[int, str]:
    """Status and tag of one look."""
    response = browser.get(path, headers={"HX-Request": "true", "HX-PTag": tag})
    return response.status_code, response.headers.get("HX-PTag", "")


def settled(browser: Client, path: str) -> str:
    """The tag of a piece that was found unchanged once."""
    _, tag = look(browser, path)
    assert look(browser, path, tag) == (304, tag)
    return tag


OPENED = (
    "/", "/jobs", "/workers", "/workers/w1", "/reservations", "/jobs/{}", "/jobs/{}/why", "/jobs/{}/log",
    "/jobs/{}/tasks", "/jobs/{}/timeline", "/jobs/{}/outputs", "/jobs/{}/spec", "/jobs/{}/candidates",
)  # fmt: skip
ELEMENT = re.compile(r"<[a-z]+ [^>]*hx-ptag=[^>]*>")
PART = re.compile(r'(hx-get|hx-ptag)="([^"]*)"')


@pytest.mark.parametrize("path", OPENED)
@pytest.mark.parametrize("waits", [False, True], ids=["a job that runs", "one that waits"])
def test_a_page_just_opened_has_what_its_first_look_would_bring(
    browser: Client, job: Job, path: str, waits: bool
) -> None:
    """Else whatever was opened would be drawn twice."""
    if waits:
        job = a_job(gpus=8, at=timezone.now())
        assert run_pass(now=timezone.now(), holder="test")
    page = browser.get(path.format(job.job_id)).content.decode()
    parts = [dict(PART.findall(element)) for element in ELEMENT.findall(page)]
    assert parts, "the page keeps itself up to date"
    looks = {unescape(part["hx-get"]): look(browser, unescape(part["hx-get"]), part["hx-ptag"])[0] for part in parts}
    assert set(looks.values()) == {304}, looks


@pytest.mark.parametrize(("others_jobs", "made"), [("visible", 1), ("hidden", 2)])
def test_what_the_overview_shows_is_made_once_for_all_who_see_the_same(
    job: Job, settings: Settings, others_jobs: str, made: int
) -> None:
    settings.GPULAYER_OTHERS_JOBS = others_jobs
    forget()
    tags = set()
    for name in ("mira", "noa"):
        browser = Client()
        browser.force_login(a_user(name))
        tags.add(look(browser, "/")[1])
    assert len(tags) == len(overview._lives) == made


@pytest.mark.parametrize("path", LOOKS)
def test_what_is_as_it_was_costs_one_question(
    path: str, job: Job, browser: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    path = path.format(job.job_id)
    tag = settled(browser, path)
    with django_assert_max_num_queries(2):
        assert look(browser, path, tag) == (304, tag)


@pytest.mark.parametrize("path", LOOKS)
def test_an_event_is_reason_enough_to_look(path: str, job: Job, browser: Client) -> None:
    path = path.format(job.job_id)
    tag = settled(browser, path)
    cancel_job(job=job, actor="user:mira", now=timezone.now())
    if path not in ("/reservations", "/workers"):
        assert look(browser, path, tag)[0] == 200


def test_an_event_that_was_written_earlier_and_is_seen_later_counts_too(job: Job, browser: Client) -> None:
    latest = Event.objects.latest("pk")
    Event.objects.bulk_create([Event(pk=latest.pk + 2, at=latest.at, actor="a", subject="b", verb="c")])
    before = unchanged._happened()
    Event.objects.bulk_create([Event(pk=latest.pk + 1, at=latest.at, actor="a", subject="b", verb="c")])
    assert unchanged._happened() != before


def test_output_that_grows_is_seen_though_no_event_tells(job: Job, browser: Client) -> None:
    path = f"/jobs/{job.job_id}/live"
    tag = settled(browser, path)
    Task.objects.update(log_size=7)
    with CaptureQueriesContext(connection) as asked:
        look(browser, path, tag)
    assert len(asked) > 2, "the piece is made again"


def test_what_becomes_of_others_is_nothing_to_a_job_that_runs(
    job: Job, browser: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    other = a_job(gpus=16, at=timezone.now())
    let_run(timezone.now())
    path = f"/jobs/{job.job_id}/live"
    tag = settled(browser, path)
    cancel_job(job=other, actor="user:mira", now=timezone.now())
    with django_assert_max_num_queries(2):
        assert look(browser, path, tag) == (304, tag)
    cancel_job(job=job, actor="user:mira", now=timezone.now())
    assert look(browser, path, tag)[0] == 200


def test_after_some_seconds_it_is_made_again(job: Job, browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    tag = settled(browser, "/jobs")
    Job.objects.update(name="renamed")
    assert look(browser, "/jobs", tag)[0] == 304
    later = unchanged.monotonic() + 60
    monkeypatch.setattr(unchanged, "monotonic", lambda: later)
    assert look(browser, "/jobs", tag)[0] == 200


def test_it_is_said_to_nobody_else(job: Job, browser: Client) -> None:
    tag = settled(browser, "/jobs")
    assert look(Client(), "/jobs", tag)[0] not in (200, 304)
    browser.post("/signout")
    assert look(browser, "/jobs", tag)[0] not in (200, 304)
