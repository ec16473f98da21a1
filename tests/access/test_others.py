"""Where others' jobs are hidden, they are answered like ones that are not there, wherever they could show up."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from gpulayer_site.access.table import CALLS, PAGES
from scheduler.models import Job
from scheduler.services.jobs import cancel_job
from tests.access.callers import bearer, token
from tests.access.hidden import NAME
from tests.access.routes import addresses
from tests.factories import a_pass, changed
from tests.security.routes import routes
from workers.models import Event

pytestmark = pytest.mark.django_db

BODIES: dict[str, Any] = {
    "api/v1/jobs/<job_id>/give-up": {"confirm": True},
    "api/v1/jobs/<job_id>/hold/extend": {"seconds": 3600},
}
ABOUT_A_JOB = [one for one in addresses() if "job_id>" in one.route]


def plain(answer: Any, *ids: str) -> tuple[int, str]:
    """Status and body, without the id that was asked for and what differs from page to page anyway."""
    text = answer.content.decode()
    for job_id in ids:
        text = re.sub(rf"{job_id}\b", "j-?", text)
    return answer.status_code, re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ?")[A-Za-z0-9]+', "", text)


@pytest.mark.parametrize("state", ["queued or running", "over"])
def test_every_address_about_a_job_answers_as_for_one_that_is_not_there(hidden, state):
    job, absent = (hidden.over if state == "over" else hidden.job).job_id, "j-987654321"
    session, calls = Client(), bearer(token(hidden.jonas))
    session.force_login(hidden.jonas)
    there = {one.pattern: one.path for one in routes({"job_id": job, "worker": "w1"})}
    gone = {one.pattern: one.path for one in routes({"job_id": absent, "worker": "w1"})}
    wrong = []
    for address in ABOUT_A_JOB:
        client, rows = (calls, CALLS) if address.is_call else (session, PAGES)
        for method in set(rows.of(address.route) or ()) - {"HEAD"}:
            options = {"data": BODIES.get(address.route, {}), "content_type": "application/json"}
            options = {} if method == "GET" or not address.is_call else options
            send = getattr(client, method.lower())
            told = plain(send(there[address.route], **options), job)
            if told != plain(send(gone[address.route], **options), absent) or told[0] != 404:
                wrong.append((method, address.route, told[0]))
    assert not wrong
    hidden.job.refresh_from_db()
    assert hidden.job.state == "assigned"
    assert Event.objects.filter(kind_of_refusal(job)).exists(), "it is written down"


def kind_of_refusal(job_id: str) -> Any:
    from django.db.models import Q

    return Q(subject_kind="access", verb="refused", subject=job_id, after="not_seen", actor="user:jonas")


@pytest.mark.parametrize("who", ["mira", "noa", "ada"])
def test_its_owner_its_team_and_operators_see_it(hidden, who):
    there = {one.pattern: one.path for one in routes({"job_id": hidden.job.job_id, "worker": "w1"})}
    client = bearer(token(getattr(hidden, who)))
    for address in ABOUT_A_JOB:
        if address.is_call and "GET" in address.methods and not address.route.endswith("<number>"):
            answer = client.get(there[address.route])
            assert answer.status_code == 200 or answer.json()["code"] in ("no_log", "not_found"), address.route
    assert hidden.get(getattr(hidden, who), f"/jobs/{hidden.job.job_id}").status_code == 200


def test_what_is_read_nowhere_by_others(hidden):
    """Every page and call that they may look at, with their own job in it: neither a name nor an id of another."""
    values = {"job_id": hidden.own.job_id, "worker": "w1", "name": "w1"}
    there = {one.pattern.removeprefix("^"): one.path for one in routes(values)}
    session, calls, named = Client(), bearer(token(hidden.jonas)), set()
    session.force_login(hidden.jonas)
    for address in addresses():
        rows = (CALLS if address.is_call else PAGES).of(address.route) or {}
        if "GET" not in rows or address.route.startswith("admin/"):
            continue
        answer = (calls if address.is_call else session).get(there[address.route.removeprefix("^")])
        if answer.streaming:
            continue
        text = answer.content.decode()
        assert NAME not in text, address.route
        if re.search(rf"{hidden.job.job_id}\b", text):
            named.add(address.route)
    assert named == set()


@pytest.mark.parametrize(
    ("query", "of_jonas", "of_noa"),
    [
        ({}, ["own"], ["later", "own", "job", "over"]),
        ({"q": NAME}, [], ["later", "job", "over"]),
        ({"q": "j-"}, ["own"], ["later", "own", "job", "over"]),
        ({"q": "ID"}, [], ["job"]),
        ({"owner": "mira"}, [], ["later", "job", "over"]),
        ({"team": "vision"}, [], ["later", "job", "over"]),
        ({"team": "speech"}, ["own"], []),
        ({"state": "over"}, [], ["over"]),
        ({"state": "queued"}, ["own"], ["later"]),
    ],
)
def test_lists_over_http_have_only_what_is_seen(hidden, query, of_jonas, of_noa):
    query = {key: hidden.job.job_id if value == "ID" else value for key, value in query.items()}
    for user, expected in ((hidden.jonas, of_jonas), (hidden.noa, [name for name in of_noa if name != "own"])):
        items = bearer(token(user)).get("/api/v1/jobs", query).json()["items"]
        assert [one["job_id"] for one in items] == [getattr(hidden, name).job_id for name in expected]


@pytest.mark.parametrize("q", ["", NAME, "ID", "w1", "j-"])
def test_pages_list_and_count_only_what_is_seen(hidden, q):
    q = hidden.job.job_id if q == "ID" else q
    body = hidden.get(hidden.jonas, "/jobs", state="all", q=q).content.decode()
    rows = re.findall(r'<a[^>]*href="/jobs/(j-\d+)"', body)
    assert set(rows) <= {hidden.own.job_id}
    assert "No jobs yet" not in body
    counts = dict(re.findall(r"(Recent|Queued|Running|Ended|All)\D*?>(\d+)<", body))
    assert counts == {"Recent": "1", "Queued": "1", "Running": "0", "Ended": "0", "All": "1"}


@pytest.mark.parametrize("of", ["job", "over", "absent"])
def test_the_search_box_knows_no_other(hidden, of):
    words = "j-987654321" if of == "absent" else getattr(hidden, of).job_id
    nowhere = "j-987654320"
    found = plain(hidden.get(hidden.jonas, "/search", q=words), words)
    assert found == plain(hidden.get(hidden.jonas, "/search", q=nowhere), nowhere)
    assert found[0] == 200
    asked = hidden.get(hidden.jonas, "/why-not", job=words, worker="w1")
    assert asked.headers["Location"] == f"/jobs?state=all&q={words}"
    assert hidden.get(hidden.noa, "/search", q=hidden.job.job_id).headers["Location"] == f"/jobs/{hidden.job.job_id}"


def test_workers_say_that_something_runs_but_not_what(hidden):
    (task,) = bearer(token(hidden.jonas)).get("/api/v1/workers/w1").json()["tasks"]
    assert (task["job_id"], task["name"], task["owner"], task["devices"]) == ("", "", "", [0])
    (item,) = bearer(token(hidden.jonas)).get("/api/v1/workers").json()["items"]
    assert (item["tasks"], item["gpus_free"]) == ([task], 0)
    body = hidden.get(hidden.jonas, "/workers/w1").content.decode()
    assert "another team&#x27;s job" in body
    assert hidden.job.job_id not in body
    assert f'href="/jobs/{hidden.job.job_id}"' in hidden.get(hidden.noa, "/workers/w1").content.decode()


def test_the_roll_up_counts_and_names_only_what_is_seen(hidden):
    def rollup(user):
        return bearer(token(user)).get("/api/v1/rollup").json()["rollup"]

    told = rollup(hidden.jonas)
    assert (told["placed"], told["waiting"], told["never"]) == (0, 1, 0)
    assert [cause["oldest"] for cause in told["causes"]] == [hidden.own.job_id]
    assert [lever for lever in told["levers"] if lever["kind"] == "release"] == []
    whole = rollup(hidden.ada)
    assert whole["waiting"] == 2
    assert [lever["subject"] for lever in whole["levers"] if lever["kind"] == "release"] == [hidden.job.job_id]
    assert rollup(hidden.noa)["waiting"] == 1


def test_who_went_ahead_is_told_only_of_jobs_that_are_seen(hidden):
    """mira's later job gets the device: to jonas nobody went ahead, as far as he may know."""
    cancel_job(job=hidden.job, actor="user:mira", now=timezone.now())
    changed(hidden.own, state="paused")
    a_pass(timezone.now())
    changed(hidden.own, state="queued")
    a_pass(timezone.now())

    def later(user):
        why = bearer(token(user)).get(f"/api/v1/jobs/{hidden.own.job_id}/why", {"part": "passed_over"}).json()
        return [one["job_id"] for one in why["why"]["passed_over"]["later"]]

    assert (later(hidden.jonas), later(hidden.ada)) == ([], [hidden.later.job_id])


def test_clones_and_what_they_are_of(hidden):
    """A job that operators made again for somebody else leads nobody to what they do not see."""
    changed(hidden.own, cloned_from=hidden.job)
    changed(hidden.later, cloned_from=hidden.own)
    told = bearer(token(hidden.jonas)).get(f"/api/v1/jobs/{hidden.own.job_id}").json()
    assert (told["cloned_from"], told["clones"]) == (None, [])
    told = bearer(token(hidden.ada)).get(f"/api/v1/jobs/{hidden.own.job_id}").json()
    assert (told["cloned_from"], told["clones"]) == (hidden.job.job_id, [hidden.later.job_id])


def test_a_form_begins_with_no_job_that_is_not_seen(hidden):
    assert hidden.get(hidden.jonas, "/jobs/new", like=hidden.job.job_id).status_code == 404
    client = Client()
    client.force_login(hidden.jonas)
    form = {"name": "mine", "command": "true", "target": "local", "cloned_from": hidden.job.job_id}
    assert client.post("/jobs/new", form).status_code == 302
    assert Job.objects.get(name="mine").cloned_from is None
