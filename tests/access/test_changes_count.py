"""What is taken from somebody counts at their next request: role, team, token, and the right to come in at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts import tokens
from gpulayer_site.accounts.people import set_active, set_role
from gpulayer_site.accounts.teams import set_members
from tests.access.callers import bearer, token
from tests.factories import a_job, a_user
from workers.models import Event
from workers.roles import Role

pytestmark = pytest.mark.django_db

NOBODY = ("302 /signin", "401")
"""What page and call say to somebody whose session and token are worth nothing."""


class Both:
    """ada with a browser and a token, both of which were let in before."""

    def __init__(self) -> None:
        a_user("root", staff=True)
        self.ada = a_user("ada", staff=True, teams=("vision",))
        self.browser, self.calls = Client(), bearer(token(self.ada))
        self.browser.force_login(self.ada)
        assert self.say("enrolment", "worker-tokens") == ("200", "200")

    def say(self, page: str, call: str) -> tuple[str, str]:
        """What page and call answer."""
        told, called = self.browser.get(f"/{page}"), self.calls.get(f"/api/v1/{call}")
        where = told.headers.get("Location", "").partition("?")[0]
        return f"{told.status_code} {where}".strip(), str(called.status_code)


@pytest.fixture
def both() -> Both:
    return Both()


def demoted(both: Both) -> None:
    set_role(user=both.ada, role=Role.SUBMITTER, actor="user:root", now=timezone.now())


def disabled(both: Both) -> None:
    set_active(user=both.ada, active=False, actor="user:root", now=timezone.now())


def by_the_flags(both: Both) -> None:
    """As a script would, past every service."""
    both.ada.is_staff = both.ada.is_superuser = False
    both.ada.save()


@pytest.mark.parametrize(
    ("what", "expected"),
    [(demoted, ("302 /signin", "403")), (disabled, NOBODY), (by_the_flags, ("302 /signin", "403"))],
)
def test_at_the_next_request(both: Both, what: Callable[[Both], None], expected: tuple[str, str]) -> None:
    what(both)
    assert both.say("enrolment", "worker-tokens") == expected


def test_a_new_session_has_the_new_role(both: Both) -> None:
    demoted(both)
    both.browser.force_login(type(both.ada).objects.get(pk=both.ada.pk))
    assert both.say("enrolment", "worker-tokens") == ("403", "403")
    assert both.say("jobs", "jobs") == ("200", "200")


def test_a_revoked_token_opens_nothing_and_the_session_goes_on(both: Both) -> None:
    (row,) = tokens.live_tokens(both.ada, now=timezone.now())
    tokens.revoke_token(token=row, actor="user:ada", now=timezone.now())
    assert both.say("enrolment", "worker-tokens") == ("200", "401")


def test_who_leaves_a_team_sees_its_jobs_no_more(settings: Any) -> None:
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    noa = a_user("noa", teams=("vision",))
    job = a_job(owner=a_user("mira", teams=("vision",)))
    calls = bearer(token(noa))
    path = f"/api/v1/jobs/{job.job_id}"
    assert calls.get(path).status_code == 200
    set_members(team=Group.objects.get(name="vision"), members=[], actor="user:root", now=timezone.now())
    assert (calls.get(path).status_code, calls.post(f"{path}/cancel").status_code) == (404, 404)
    assert calls.get("/api/v1/jobs").json()["items"] == []


def test_who_may_only_look_changes_not_even_what_was_theirs() -> None:
    mira = a_user("mira")
    job = a_job(owner=mira)
    calls = bearer(token(mira))
    set_role(user=mira, role=Role.VIEWER, actor="user:root", now=timezone.now())
    answer = calls.post(f"/api/v1/jobs/{job.job_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (403, "submitters_only")
    assert calls.get(f"/api/v1/jobs/{job.job_id}").json()["state"] == "queued"


@pytest.mark.parametrize(
    ("less", "code", "words"),
    [
        ({"role": Role.SUBMITTER}, "operators_only", "this token may do no more than a submitter"),
        ({"scopes": ["read", "jobs"]}, "scope_missing", "this token is not for fleet"),
    ],
)
def test_a_token_that_is_less_says_what_it_lacks_and_is_written_down(less: Any, code: str, words: str) -> None:
    calls = bearer(token(a_user("ada", staff=True), **less))
    answer = calls.get("/api/v1/worker-tokens")
    assert (answer.status_code, answer.json()["code"]) == (403, code)
    assert words in answer.json()["detail"]
    assert Event.objects.filter(subject_kind="access", verb="refused", actor="user:ada").exists()
