"""Reservations over HTTP: seen by everybody, made, changed and ended by operators; conflicts come with their fixes."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.tokens import create_token
from scheduler.models import Event, Reservation
from tests.factories import a_job, a_reservation, a_user, a_worker

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/reservations"


class Person:
    """Somebody with a token."""

    def __init__(self, user: User) -> None:
        self.client = Client()
        self.secret = create_token(user=user, note="a test", now=timezone.now())[1]

    def __call__(self, method, path="", body=None):
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.secret}"}
        return self.client.generic(method, ROOT + path, data, "application/json", headers=headers)


def hour(hours):
    """That many hours from now."""
    return (timezone.now() + timedelta(hours=hours)).isoformat()


@pytest.fixture
def ada():
    return Person(a_user("ada", staff=True))


@pytest.fixture
def mira():
    return Person(a_user("mira"))


def test_an_operator_makes_one_and_everybody_sees_it(ada, mira):
    a_worker("a", gpus="4xA100")
    a_user("noa")
    sent = {"worker": "a", "holder": "user:noa", "devices": [3, 1], "ends_at": hour(2), "note": "demo"}
    answer = ada("POST", body=sent)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    assert (made["worker"], made["devices"], made["holder"], made["phase"]) == ("a", [1, 3], "user:noa", "active")
    assert made["created_by"] == "ada"
    assert mira("GET").json()["items"] == [made]
    assert mira("GET", f"/{made['id']}").json() == made
    event = Event.objects.get(subject_kind="reservation")
    assert (event.actor, event.before, event.via[:5]) == ("user:ada", "", "token")
    assert event.after.startswith("a devices 1, 3 for user:noa from ")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("POST", "", {"worker": "a", "holder": "user:noa"}), ("PATCH", "/1", {"note": "x"}), ("POST", "/1/end", None)],
)
def test_others_than_operators_are_refused(mira, method, path, body):
    a_worker("a")
    assert mira(method, path, body).status_code == 403
    assert not Reservation.objects.exists()


@pytest.mark.parametrize(
    ("said", "path", "expected"),
    [
        ({"holder": "x:y"}, "holder", "expected job:j-12, user:mira or team:vision"),
        ({"holder": "j-99"}, "holder", "There is no job j-99."),
        ({"devices": [0, 9]}, "devices", "The worker has no device 9; it has 0, 1."),
        ({"ends_at": "2020-01-01T00:00:00Z"}, "ends_at", "The end must be after the start."),
        ({"ends_at": "2031-01-01T00:00:00"}, "ends_at", "an instant with its offset"),
        ({"devices": "all"}, "devices", "a valid list"),
        ({"devices": [-1]}, "devices.0", "greater than or equal to 0"),
        ({"until": hour(1)}, "until", "Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_is_named(ada, said, path, expected):
    a_worker("a", gpus="2xA100")
    answer = ada("POST", body={"worker": "a", "holder": "user:noa", **said})
    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert problem["path"] == path
    assert expected in problem["expected"]


def test_everything_that_is_wrong_is_told_at_once(ada):
    a_worker("a", gpus="2xA100")
    wrong = {"worker": "a", "holder": "x:y", "devices": [9], "ends_at": "2020-01-01T00:00:00Z"}
    found = {each["path"]: each["found"] for each in ada("POST", body=wrong).json()["problems"]}
    assert found.keys() == {"holder", "devices", "ends_at"}
    assert found["devices"] == "[9]"


def test_a_worker_that_is_not_there_is_404(ada):
    answer = ada("POST", body={"worker": "nobody", "holder": "user:noa"})
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_worker")


class TestConflicts:
    @pytest.fixture
    def taken(self):
        """Devices 0 to 3 of a, for six hours."""
        return a_reservation(
            a_worker("a", gpus="8xA100"), "team:vision", devices=(0, 1, 2, 3),
            starts_at=timezone.now(), ends_at=timezone.now() + timedelta(hours=6),
        )  # fmt: skip

    def test_tells_both_sides_and_two_fixes_of_which_each_works(self, ada, taken):
        sent = {"worker": "a", "holder": "user:noa", "devices": [0, 1, 2, 3], "ends_at": hour(9)}
        problem = ada("POST", body=sent)
        assert (problem.status_code, problem.headers["Content-Type"]) == (409, "application/problem+json")
        told = problem.json()
        assert told["code"] == "reserved"
        assert [each["id"] for each in told["conflicts"]] == [taken.pk]
        assert [each["kind"] for each in told["fixes"]] == ["devices", "start"]
        assert told["fixes"][0] == {
            "kind": "devices", "text": "Take devices 4–7 only", "changes": {"devices": [4, 5, 6, 7]}
        }  # fmt: skip
        for fix in told["fixes"]:
            answer = ada("POST", body={**sent, **fix["changes"]})
            assert answer.status_code == 201, answer.content
            ada("POST", f"/{answer.json()['id']}/end")

    @pytest.mark.parametrize(
        ("others", "asked", "kinds"),
        [
            pytest.param([((), 0, None)], ((), 0, None), ["end_others"], id="nothing but to end it"),
            pytest.param([((), 2, None)], ((), 0, 4), ["end", "end_others"], id="end before it begins"),
            pytest.param([((), 2, None)], ((), 0, None), ["end", "end_others"], id="end at all"),
            pytest.param([((), 0, 2)], ((), 0, 4), ["start", "end_others"], id="start after it"),
            pytest.param([((), 2, 3)], ((), 0, 4), ["end", "start"], id="before it loses two hours, after it three"),
            pytest.param([((0,), 0, 1)], ((), 0, 4), ["start", "devices"], id="later, or fewer devices"),
            pytest.param([((0,), 0, None)], ((), 0, 4), ["devices", "end_others"], id="fewer devices"),
            pytest.param(
                [((0, 1), 0, None), ((2, 3), 0, 8)], ((0, 1, 2, 3), 0, 4), ["end_others"], id="none is free"
            ),
            pytest.param([((), 0, 2), ((), 2, 5)], ((), 1, 3), ["start", "end_others"], id="after both"),
        ],
    )  # fmt: skip
    def test_the_nearest_come_first(self, ada, others, asked, kinds):
        worker, now = a_worker("a", gpus="4xA100"), timezone.now().replace(microsecond=0)

        def span(start, end):
            ends_at = None if end is None else now + timedelta(days=1, hours=end)
            return {"starts_at": now + timedelta(days=1, hours=start), "ends_at": ends_at}

        for devices, start, end in others:
            a_reservation(worker, "team:vision", devices=devices, **span(start, end))
        devices, start, end = asked
        times = {name: at and at.isoformat() for name, at in span(start, end).items()}
        sent = {"worker": "a", "holder": "user:noa", "devices": list(devices), **times}
        told = ada("POST", body=sent).json()
        assert [fix["kind"] for fix in told["fixes"]] == kinds
        for fix in told["fixes"][:1]:
            assert ada("POST", body={**sent, **fix["changes"]}).status_code == 201, fix

    def test_a_change_has_its_conflicts_too(self, ada, taken):
        worker = taken.worker
        later = a_reservation(worker, "user:lin", starts_at=taken.ends_at + timedelta(hours=1))
        answer = ada("PATCH", f"/{taken.pk}", {"ends_at": None})
        assert answer.status_code == 409
        assert [fix["kind"] for fix in answer.json()["fixes"]] == ["end", "end_others"]
        assert ada("PATCH", f"/{taken.pk}", {"ends_at": None, "end_first": [later.pk]}).status_code == 200
        later.refresh_from_db()
        assert later.ended_cause == "ended for team:vision"


class TestChanging:
    def test_what_is_not_said_stays(self, ada):
        made = a_reservation(a_worker("a"), "user:noa", ends_at=timezone.now() + timedelta(hours=2), note="demo")
        before = ada("GET", f"/{made.pk}").json()
        assert ada("PATCH", f"/{made.pk}", {"note": "longer"}).json() == {**before, "note": "longer"}
        assert ada("PATCH", f"/{made.pk}", {"ends_at": None}).json()["ends_at"] is None

    def test_what_is_over_is_not_changed_any_more(self, ada):
        made = a_reservation(a_worker("a"), "user:noa", cancelled_at=timezone.now())
        answer = ada("PATCH", f"/{made.pk}", {"ends_at": None})
        assert answer.status_code == 422
        assert "It is over" in answer.json()["problems"][0]["expected"]

    def test_ended_again_it_stays_as_it_was(self, ada):
        made = a_reservation(a_worker("a"), "user:noa", starts_at=timezone.now() - timedelta(hours=1))
        first = ada("POST", f"/{made.pk}/end").json()
        assert (first["phase"], first["ended_cause"]) == ("over", "ended early")
        assert ada("POST", f"/{made.pk}/end").json() == first

    @pytest.mark.parametrize("key", ["99", "0", "x", str(2**70)])
    def test_what_is_not_there_is_404_or_no_number(self, ada, key):
        assert ada("GET", f"/{key}").status_code in (404, 422)
        assert ada("POST", f"/{key}/end").status_code in (404, 422)


class TestTheList:
    def test_is_filtered_and_comes_in_pages(self, mira):
        now, hours = timezone.now(), timedelta(hours=1)
        for number in range(5):
            a_reservation(a_worker(f"w{number}"), "user:noa", starts_at=now - hours)
        a_reservation(a_worker("later"), "team:vision", starts_at=now + hours)
        a_reservation(a_worker("over"), "user:noa", starts_at=now - 2 * hours, ends_at=now - hours)
        assert len(mira("GET", "?state=active").json()["items"]) == 5
        assert [each["worker"] for each in mira("GET", "?state=planned").json()["items"]] == ["later"]
        assert [each["worker"] for each in mira("GET", "?state=over").json()["items"]] == ["over"]
        assert [each["worker"] for each in mira("GET", "?worker=w3").json()["items"]] == ["w3"]
        first = mira("GET", "?state=all&limit=4").json()
        rest = mira("GET", f"?state=all&limit=4&after={first['next']}").json()
        assert [len(first["items"]), len(rest["items"]), rest["next"]] == [4, 3, None]

    def test_of_others_hidden_jobs_no_name_is_told(self, mira, ada, settings):
        settings.GPULAYER_OTHERS_JOBS = "hidden"
        job = a_job(owner=a_user("noa"))
        a_reservation(a_worker("a"), f"job:{job.job_id}", starts_at=timezone.now())
        assert mira("GET").json()["items"][0]["holder"] == "job:another team's job"
        assert ada("GET").json()["items"][0]["holder"] == f"job:{job.job_id}"
        own = a_job(owner=a_user("mira"))
        a_reservation(a_worker("b"), f"job:{own.job_id}", starts_at=timezone.now())
        assert mira("GET", f"?q={job.job_id}").json()["items"] == []
        assert [each["worker"] for each in mira("GET", f"?q={own.job_id}").json()["items"]] == ["b"]
        assert [each["worker"] for each in ada("GET", f"?q={job.job_id}").json()["items"]] == ["a"]
