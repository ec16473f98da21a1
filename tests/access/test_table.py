"""The table of access and the addresses that there are say the same."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import path

from gpulayer_site.access.binding import hold_to_the_table
from gpulayer_site.access.rows import Row, Rows, Who
from gpulayer_site.access.table import CALLS, PAGES
from tests.access.routes import addresses, operations
from tests.factories import a_user


def unlisted() -> list[str]:
    """What is missing in the table, each in words that say what to add."""
    missing = []
    for address in addresses():
        rows = (CALLS if address.is_call else PAGES).of(address.route) or {}
        lacking = [method for method in (address.methods or ("GET or POST",)) if method not in rows]
        if lacking and not (rows and not address.is_call):
            words = " ".join(lacking)
            rest = ", JOBS" if address.is_call else ""
            missing.append(f'Row("{address.route}", "{words}", SIGNED_IN{rest}),')
    return missing


def test_every_address_is_listed():
    missing = unlisted()
    told = "\n    ".join(missing)
    assert not missing, f"add a row to gpulayer_site/access/table.py for each, and say who may:\n    {told}"


def test_no_row_is_about_nothing():
    known = addresses()
    for rows, is_call in ((PAGES, False), (CALLS, True)):
        for row in rows.all:
            about = [one for one in known if one.is_call == is_call and _is_about(row, one.route)]
            assert about, f"{row.route!r} is no address: take the row out of gpulayer_site/access/table.py"
            if is_call:
                assert set(row.each_method) <= {method for one in about for method in one.methods}, row


def test_rows_with_a_star_are_only_the_admins():
    assert {row.route.split("/")[0] for row in (*PAGES.all, *CALLS.all) if row.route.endswith("*")} == {"admin"}


def test_every_operation_asks_the_table():
    for operation in operations():
        assert operation._run_checks.__module__ == hold_to_the_table.__module__, operation.path


def test_scopes_are_said_of_every_call_of_people():
    for row in CALLS.all:
        assert (row.scope is None) == (row.who in (Who.WORKER, Who.ENROLMENT)), row


def test_a_row_is_said_once():
    row = Row("jobs", "GET", Who.SIGNED_IN)
    with pytest.raises(ValueError, match="GET 'jobs' is said twice"):
        Rows([row, row], head=True)


class TestAnUnlistedAddress:
    """Of each kind one, put in as somebody would who forgot its row."""

    @pytest.fixture(autouse=True)
    def _with_more(self, settings, monkeypatch):
        from gpulayer_site import urls

        def more(request):
            return HttpResponse("let in")

        settings.ROOT_URLCONF = "tests.access.test_table"
        monkeypatch.setitem(
            globals(), "urlpatterns", [path("new", more), path("api/new", more), *urls.urlpatterns]
        )  # fmt: skip

    @pytest.fixture
    def administrator(self, db):
        client = Client()
        client.force_login(a_user("root", staff=True))
        return client

    def test_is_refused_to_everybody(self, administrator):
        answer = administrator.get("/new")
        assert (answer.status_code, b"let in" in answer.content) == (403, False)

    def test_is_refused_as_a_problem_under_api(self, administrator):
        answer = administrator.get("/api/new")
        assert (answer.status_code, answer.json()["code"]) == (403, "not_listed")

    def test_is_told_with_the_row_to_add(self):
        assert [words for words in unlisted() if "new" in words] == [
            'Row("new", "GET or POST", SIGNED_IN),',
            'Row("api/new", "GET or POST", SIGNED_IN),',
        ]


def _is_about(row: Row, route: str) -> bool:
    return route == row.route or (row.route.endswith("*") and route.startswith(row.route[:-1]))


def test_who_may_only_look_changes_nothing_but_what_is_their_own():
    """Their profile, their tokens; everything else that is no GET asks for more."""
    changing = {
        row.route for row in (*PAGES.all, *CALLS.all) if row.who is Who.SIGNED_IN and row.each_method != ("GET",)
    }  # fmt: skip
    own = {route for route in changing if route.startswith(("profile", "api/v1/tokens"))}
    assert changing - own == set()


def test_strangers_get_to_the_door_and_no_further():
    assert {row.route for row in (*PAGES.all, *CALLS.all) if row.who is Who.ANYONE} == {
        "signin", "signout", "admin/login/", "api/v1/", "api/agent/v1/", "^api/",
    }  # fmt: skip
