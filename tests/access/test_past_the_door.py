"""Whom the table lets in is not turned away behind it: no view or operation has other rules of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.utils import timezone

from gpulayer_site.access.rows import Row, Who
from gpulayer_site.access.table import CALLS, PAGES
from gpulayer_site.accounts.people import set_role
from tests import factories
from tests.access.callers import bearer, token
from tests.access.routes import Address, addresses
from tests.access.test_matrix import area
from tests.factories import a_user
from tests.security.routes import routes
from tests.security.world import World, make_world
from workers.auth import create_enrolment_token
from workers.models import Credential

pytestmark = pytest.mark.django_db

ADDRESSES = [one for one in addresses() if not one.route.startswith("admin/")]
TURNED_AWAY = (401, 403, 405)
OF_ITS_OWNER = {"jobs/<slug:job_id>/outputs/<int:number>", "api/v1/jobs/<job_id>/outputs",
                "api/v1/jobs/<job_id>/outputs/<number>"}  # fmt: skip
"""What viewers may do with a job of theirs, as they do not here."""


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(factories, "NOW", timezone.now())
    return make_world()


@pytest.fixture
def least(world: World) -> dict[Who, User]:
    """Of each role somebody who has no more than it; the submitter is mira, whose job there is."""
    people = {Who.SIGNED_IN: a_user("vera"), Who.SUBMITTER: world.mira, Who.OPERATOR: a_user("ada")}
    for who, user in people.items():
        assert who.role is not None
        set_role(user=user, role=who.role, actor="server", now=timezone.now())
    return {**people, Who.ADMINISTRATOR: world.administrator}


@pytest.mark.parametrize("where", list(dict.fromkeys(map(area, ADDRESSES))))
def test_who_is_let_in_is_not_turned_away(world: World, least: dict[Who, User], where: str) -> None:
    paths = {route.pattern.removeprefix("^"): route.path for route in routes(world.values)}
    clients, wrong = Clients(least), []
    for address in ADDRESSES:
        if area(address) == where:
            for method, row in cells(address):
                answer = tried(clients.of(row, address.is_call), method, paths[address.route.removeprefix("^")])
                if answer.status_code in TURNED_AWAY:
                    wrong.append(
                        f"{method} {address.route} by {row.who}: {answer.status_code} {answer.content[:200]!r}"
                    )
    assert not wrong, "\n".join(wrong)


def test_the_door_stands_where_everybody_passes() -> None:
    """Behind what says who comes, before every view."""
    order = settings.MIDDLEWARE
    door = order.index("gpulayer_site.access.middleware.AccessMiddleware")
    assert door > order.index("django.contrib.auth.middleware.AuthenticationMiddleware")
    assert door > order.index("gpulayer_site.accounts.middleware.PeopleMiddleware")


def cells(address: Address) -> Iterator[tuple[str, Row]]:
    """The methods of an address, but where a session would end that others still need."""
    rows = (CALLS if address.is_call else PAGES).of(address.route) or {}
    return iter(() if address.route in {"signout", *OF_ITS_OWNER} else rows.items())


class Clients:
    """A client for each kind of caller, made when it is first asked for."""

    def __init__(self, least: dict[Who, User]) -> None:
        self._least = least
        self._made: dict[tuple[Who, bool], Client] = {}

    def of(self, row: Row, is_call: bool) -> Client:
        key = row.who, is_call
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def _make(self, who: Who, is_call: bool) -> Client:
        if who is Who.WORKER:
            return _worker()
        if who is Who.ENROLMENT:
            secret, _ = create_enrolment_token(
                uses=9, origin="", simulated=False, note="", created_by=None, now=timezone.now()
            )  # fmt: skip
            return bearer(secret)
        user = self._least.get(who)
        if user is None:
            return Client()
        if is_call:
            return bearer(token(user))
        client = Client()
        client.force_login(user)
        return client


def _worker() -> Client:
    """The agent of w1, which has mira's task."""
    from workers.auth import create_credential
    from workers.models import Worker

    secret, row = create_credential(fleet=False, now=timezone.now())
    Worker.objects.filter(name="w1").update(credential=Credential.objects.get(pk=row.pk))
    return bearer(secret)


def tried(client: Client, method: str, path: str) -> Any:
    """The answer; whatever it did is undone."""
    with transaction.atomic():
        answer = client.generic(method, path, b"{}", "application/json")
        transaction.set_rollback(True)
    return answer
