"""People, teams and tokens over HTTP: who may what, and what is refused in which words."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.models import ApiToken, Person
from gpulayer_site.accounts.tokens import create_token
from scheduler.services.reservations import end_reservation
from tests.factories import a_reservation, a_worker
from workers.models import Event
from workers.roles import Role, Scope

pytestmark = pytest.mark.django_db


class Caller:
    """Somebody with a token; `less` makes it one that may less than its owner."""

    def __init__(self, user: User, **less: Any) -> None:
        self.token, secret = create_token(user=user, note="a test", now=timezone.now(), **less)
        self.headers = {"Authorization": f"Bearer {secret}"}

    def __call__(self, method: str, path: str, body: object = None) -> Any:
        data = "" if body is None else json.dumps(body)
        return Client().generic(method, f"/api/v1/{path}", data, "application/json", headers=self.headers)


@pytest.fixture
def ada() -> User:
    return User.objects.create_superuser("ada")


@pytest.fixture
def as_ada(ada: User) -> Caller:
    return Caller(ada)


@pytest.fixture
def mira() -> User:
    return User.objects.create_user("mira")


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


class TestPeople:
    def test_are_found_by_name_role_and_team_a_page_at_a_time(self, as_ada: Caller, mira: User) -> None:
        mira.groups.add(Group.objects.create(name="vision"))
        first = as_ada("GET", "people?limit=1").json()
        assert ([each["username"] for each in first["items"]], first["next"]) == (["ada"], "ada")
        rest = as_ada("GET", "people?limit=1&after=ada").json()
        assert ([each["username"] for each in rest["items"]], rest["next"]) == (["mira"], None)
        for query in ("q=IR", "role=submitter", "team=vision"):
            assert [each["username"] for each in as_ada("GET", f"people?{query}").json()["items"]] == ["mira"]

    def test_change_as_a_whole_or_not_at_all(self, as_ada: Caller, mira: User) -> None:
        refused = as_ada("PATCH", "people/mira", {"role": "operator", "unix_user": "root"})
        assert code_of(refused) == (422, "invalid")
        assert Person.objects.get(user=mira).role == Role.SUBMITTER
        assert not Event.objects.filter(subject="mira").exists()
        changed = as_ada("PATCH", "people/mira", {"role": "operator", "unix_user": "mm"}).json()
        assert (changed["role"], changed["unix_user"], changed["active"]) == ("operator", "mm", True)

    @pytest.mark.parametrize(
        ("method", "path", "body", "answer"),
        [
            pytest.param("POST", "people", {"username": "mira"}, (409, "name_taken"), id="a name that is taken"),
            pytest.param("POST", "people", {"username": "a b"}, (422, "invalid"), id="a name that is none"),
            pytest.param("POST", "people", {"username": "noor", "is_staff": True}, (422, "invalid"), id="a flag"),
            pytest.param("POST", "people", {"username": "noor", "role": "king"}, (422, "invalid"), id="no role"),
            pytest.param("POST", "people", {"username": "noor", "teams": ["x"]}, (422, "invalid"), id="no team"),
            pytest.param("PATCH", "people/mira", {"is_superuser": True}, (422, "invalid"), id="another flag"),
            pytest.param("PATCH", "people/mira", {"epoch": 1}, (422, "invalid"), id="what is nobody's to set"),
            pytest.param("PATCH", "people/nobody", {}, (404, "not_found"), id="nobody"),
            pytest.param("PATCH", "people/ada", {"active": False}, (409, "last_administrator"), id="the last one"),
            pytest.param("POST", "teams", {"name": "a/b"}, (422, "invalid"), id="a team's name that is none"),
            pytest.param("POST", "teams", {"name": "new", "members": ["x"]}, (422, "invalid"), id="no member"),
            pytest.param("DELETE", "teams/none", None, (404, "not_found"), id="no such team"),
            pytest.param("POST", "tokens", {"scopes": ["all"]}, (422, "invalid"), id="no scope"),
            pytest.param("POST", "tokens", {"expires_in_days": 0}, (422, "invalid"), id="no time at all"),
            pytest.param("POST", "tokens", {"user": "mira"}, (422, "invalid"), id="a token for somebody else"),
        ],
    )
    def test_are_refused(
        self, as_ada: Caller, mira: User, method: str, path: str, body: object, answer: tuple[int, str]
    ) -> None:
        assert code_of(as_ada(method, path, body)) == answer
        assert not Group.objects.exists()
        assert User.objects.count() == 2


class TestTokens:
    @pytest.mark.parametrize(
        ("less", "answer"),
        [
            pytest.param({"role": Role.OPERATOR}, (403, "administrators_only"), id="a smaller role"),
            pytest.param({"scopes": [Scope.READ, Scope.JOBS]}, (403, "scope_missing"), id="other scopes"),
            pytest.param({}, (200, ""), id="nothing less"),
        ],
    )
    def test_may_no_more_than_was_said_when_they_were_made(
        self, ada: User, less: dict[str, Any], answer: tuple[int, str]
    ) -> None:
        assert code_of(Caller(ada, **less)("GET", "people")) == answer

    def test_know_when_and_from_where_they_were_used_and_so_do_events(self, as_ada: Caller, mira: User) -> None:
        as_ada("PATCH", "people/mira", {"role": "viewer"})
        token = ApiToken.objects.get(pk=as_ada.token.pk)
        assert (token.last_used_from, token.last_used_at is not None) == ("127.0.0.1", True)
        event = Event.objects.get(subject_kind="user", subject="mira", verb="role")
        assert (event.actor, event.via, event.before, event.after) == (
            "user:ada", f"token {token.prefix}", "submitter", "viewer",
        )  # fmt: skip

    def test_are_seen_and_ended_by_their_owner_and_by_administrators(
        self, as_ada: Caller, ada: User, mira: User
    ) -> None:
        as_mira, of_ada = Caller(mira), as_ada.token.pk
        assert [each["id"] for each in as_mira("GET", "tokens").json()["items"]] == [as_mira.token.pk]
        assert code_of(as_mira("GET", "tokens?user=ada")) == (403, "administrators_only")
        assert code_of(as_mira("DELETE", f"tokens/{of_ada}")) == (404, "not_found")
        assert len(as_ada("GET", "tokens?user=mira").json()["items"]) == 1
        assert as_ada("DELETE", f"tokens/{as_mira.token.pk}").status_code == 200
        assert as_mira("GET", "whoami").status_code == 401

    def test_that_are_used_to_make_others_hand_on_no_more_than_they_have(self, ada: User) -> None:
        ends = timezone.now() + timedelta(days=1)
        caller = Caller(ada, role=Role.OPERATOR, scopes=[Scope.READ, Scope.PEOPLE], expires_at=ends)
        assert code_of(caller("POST", "tokens", {"role": "administrator"})) == (422, "invalid")
        assert code_of(caller("POST", "tokens", {"scopes": ["fleet"]})) == (422, "invalid")
        child = caller("POST", "tokens", {"note": "child", "expires_in_days": 300}).json()
        row = ApiToken.objects.get(pk=child["id"])
        assert (row.role, row.scopes, row.expires_at) == (Role.OPERATOR, ["read", "people"], ends)

    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda token: ApiToken.objects.update(revoked_at=timezone.now()), id="it was revoked"),
            pytest.param(lambda token: ApiToken.objects.update(expires_at=timezone.now()), id="it has expired"),
            pytest.param(lambda token: User.objects.update(is_active=False), id="its owner is kept out"),
            pytest.param(lambda token: User.objects.all().delete(), id="its owner is gone"),
        ],
    )
    def test_are_answered_as_one_that_never_was_when(self, ada: User, change: Any) -> None:
        caller = Caller(ada)
        change(caller.token)
        stranger = Client().get("/api/v1/whoami", headers={"Authorization": "Bearer glu_" + "x" * 43})
        answer = caller("GET", "whoami")
        assert (answer.status_code, answer.content) == (401, stranger.content)


class TestTeams:
    def test_end_once_their_reservations_are_over_and_not_before(self, as_ada: Caller) -> None:
        Group.objects.create(name="vision")
        now, hour = timezone.now(), timedelta(hours=1)
        kept = {"worker": a_worker("w1"), "holder": "team:vision"}
        a_reservation(**kept, starts_at=now - 3 * hour, ends_at=now - 2 * hour)
        a_reservation(**kept, starts_at=now - hour, cancelled_at=now)
        to_come = a_reservation(**kept, starts_at=now + hour)
        assert code_of(as_ada("DELETE", "teams/vision")) == (409, "team_has_reservations")
        end_reservation(reservation=to_come, actor="user:ada", now=now)
        assert as_ada("DELETE", "teams/vision").status_code == 200
        assert not Group.objects.exists()
