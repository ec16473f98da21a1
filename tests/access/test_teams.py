"""To which team a job is given, and what its members may do with it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client

from gpulayer_site.accounts.people import set_role
from scheduler.models import Job
from scheduler.queue import take_queue
from tests.access.callers import bearer, token
from tests.factories import a_job, a_user, later
from workers.roles import Role

pytestmark = pytest.mark.django_db

DOCUMENT = {"name": "a job", "command": ["true"], "target": "local"}


def submitted(user: Any, query: str = "") -> Any:
    return bearer(token(user)).post(f"/api/v1/jobs{query}", DOCUMENT, content_type="application/json")


@pytest.fixture(autouse=True)
def _speech() -> None:
    Group.objects.create(name="speech")


@pytest.mark.parametrize(
    ("teams", "query", "given"),
    [
        ((), "", None),
        (("vision",), "", "vision"),
        (("vision", "robots"), "", None),
        (("vision",), "?team=", None),
        (("vision", "robots"), "?team=robots", "robots"),
    ],
)
def test_a_job_is_given_to(teams: tuple[str, ...], query: str, given: str | None) -> None:
    """The only team, the one that is named, or none."""
    answer = submitted(a_user("mira", teams=teams), query)
    assert (answer.status_code, answer.json()["team"]) == (201, given)


@pytest.mark.parametrize("team", ["speech", "nobodys", "%00", "Vision", "v" * 200])
def test_nobody_gives_a_job_to_a_team_of_others(team: str) -> None:
    """Whether or not there is one of that name."""
    answer = submitted(a_user("mira", teams=("vision",)), f"?team={team}")
    assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "team")
    assert not Job.objects.exists()


def test_operators_give_jobs_to_any_team_that_there_is() -> None:
    ada = a_user("ada", staff=True)
    assert submitted(ada, "?team=speech").json()["team"] == "speech"
    assert submitted(ada, "?team=nobodys").status_code == 422


def test_a_retry_stays_with_its_team_and_a_clone_with_ones_own() -> None:
    mira, jonas = a_user("mira", teams=("vision",)), a_user("jonas", teams=("speech",))
    job = a_job(owner=mira)
    calls = bearer(token(mira))
    assert calls.post(f"/api/v1/jobs/{job.job_id}/cancel").status_code == 200
    mira.groups.clear()
    assert calls.post(f"/api/v1/jobs/{job.job_id}/retry").json()["team"] == "vision"
    assert bearer(token(jonas)).post(f"/api/v1/jobs/{job.job_id}/clone").json()["team"] == "speech"


class TestTheForm:
    @pytest.fixture
    def page(self) -> Client:
        client = Client()
        client.force_login(a_user("mira", teams=("vision", "robots")))
        return client

    def test_offers_ones_own_teams(self, page: Client) -> None:
        body = page.get("/jobs/new").content.decode()
        select = re.search(r'<select[^>]*name="team">.*?</select>', body, re.DOTALL)
        assert select is not None
        assert re.findall(r'value="(\w*)"', select[0]) == ["", "robots", "vision"]

    @pytest.mark.parametrize(("team", "given"), [("robots", "robots"), ("", None)])
    def test_gives_the_job_to_the_chosen_one(self, page: Client, team: str, given: str | None) -> None:
        page.post("/jobs/new", {"name": "mine", "command": "true", "target": "local", "team": team})
        job = Job.objects.get(name="mine")
        assert (job.team and job.team.name) == given
        body = page.get(f"/jobs/{job.job_id}").content.decode()
        assert ("<dt>Team</dt>" in body) is bool(given)

    def test_gives_it_to_no_other(self, page: Client) -> None:
        answer = page.post("/jobs/new", {"name": "mine", "command": "true", "target": "local", "team": "speech"})
        assert "one of your teams (robots, vision), or nothing" in answer.content.decode()
        assert not Job.objects.exists()

    def test_is_not_for_viewers(self, page: Client) -> None:
        vera = a_user("vera")
        set_role(user=vera, role=Role.VIEWER, actor="server", now=later())
        page.force_login(vera)
        assert page.get("/jobs/new").status_code == 403
        job = a_job()
        assert 'href="/jobs/new' not in page.get(f"/jobs/{job.job_id}").content.decode()


def test_the_list_is_filtered_by_team() -> None:
    mira = a_user("mira", teams=("vision",))
    mine, other = a_job(owner=mira), a_job(owner=a_user("jonas"))
    client = Client()
    client.force_login(mira)
    body = client.get("/jobs", {"team": "vision"}).content.decode()
    assert f'href="/jobs/{mine.job_id}"' in body
    assert f'href="/jobs/{other.job_id}"' not in body


def test_what_is_reserved_for_a_team_is_for_the_team_of_the_job() -> None:
    """Of one that is given to a team, only that; else all of its owner's."""
    mira = a_user("mira", teams=("vision", "robots"))
    given, alone = submitted(mira, "?team=robots").json()["job_id"], submitted(mira, "?team=").json()["job_id"]
    holders = {queued.job_id: queued.entry.holders for queued in take_queue() if queued.entry}
    assert holders[given] == ("user:mira", "team:robots")
    assert holders[alone] == ("user:mira", "team:robots", "team:vision")
