"""Every address, every method, everybody: the answer is the one that the table declares.

Views and operations are not called here, so that the whole matrix is a matter of seconds: what stands before them
answers as it always does, and who gets past it is told so. That no view says otherwise is in `test_past_the_door`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings as given
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import resolve

from gpulayer_site.access.rows import METHODS
from gpulayer_site.access.table import CALLS, PAGES
from tests.access.callers import Caller, callers, may
from tests.access.routes import Address, addresses, operations
from tests.security.routes import routes

pytestmark = pytest.mark.django_db

PAST = 299
"""What is answered where the view or operation would be called."""
ADDRESSES = addresses()
PATHS = {route.pattern: route.path for route in routes()}


class Probe:
    """Stands where pages begin."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: Any) -> Any:
        return self.get_response(request)

    def process_view(self, request: Any, *_: Any) -> HttpResponse | None:
        return None if CALLS.of(request.resolver_match.route) else HttpResponse("past", status=PAST)


@pytest.fixture
def everybody() -> Iterator[list[Caller]]:
    """All callers, each of whom gets no further than to the view or operation."""
    with override_settings(MIDDLEWARE=[*given.MIDDLEWARE, f"{__name__}.Probe"]), _operations_stopped():
        yield callers()


@contextmanager
def _operations_stopped() -> Iterator[None]:
    every = [(operation, operation._run_checks) for operation in operations()]
    for operation, checks in every:
        operation._run_checks = lambda request, checks=checks: checks(request) or HttpResponse(status=PAST)
    yield
    for operation, checks in every:
        operation._run_checks = checks


def area(address: Address) -> str:
    """What is tried together."""
    parts = address.route.removeprefix("^").split("/")
    return "/".join(parts[:2] if parts[0] in ("admin", "api") else parts[:1])


@pytest.mark.parametrize("where", list(dict.fromkeys(map(area, ADDRESSES))))
def test_every_cell_is_as_declared(everybody: list[Caller], where: str) -> None:
    """By those callers here that differ in what they are answered; by all of them in the whole count."""
    wrong = [
        words
        for address in ADDRESSES
        if area(address) == where
        for caller in everybody
        if is_asked(address, caller)
        for words in mistakes(address, caller, whole=caller.name == "anonymous")
    ]
    assert not wrong, "\n".join(wrong)


def is_asked(address: Address, caller: Caller) -> bool:
    """Of those who come to pages without a session, one of each kind; to the admin's many pages, fewer still."""
    if address.is_call:
        return caller.name in FEW or not address.route.endswith("openapi.json")
    return caller.name in (FEW if address.route.startswith("admin/") else SOME)


FEW = ("anonymous", "submitter", "operator", "administrator", "token of a administrator", "worker")
SOME = (*FEW, "viewer", "enrolment token", "revoked token", "session of one who was disabled")


@pytest.mark.soak
def test_every_cell_by_all_callers(everybody: list[Caller]) -> None:
    wrong = [
        words for address in ADDRESSES for caller in everybody for words in mistakes(address, caller, whole=True)
    ]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def mistakes(address: Address, caller: Caller, *, whole: bool) -> Iterator[str]:
    """The cells of this address and caller that are not as declared; `whole`: also methods that it does not have."""
    path = path_of(address)
    rows = (CALLS if address.is_call else PAGES).of(address.route)
    assert rows is not None, f"{address.route} is not listed"
    for method in METHODS if whole else rows:
        expected, found = declared(address, caller, method), told(caller.client, method, path)
        if expected != found:
            yield f"{method} {address.route} by {caller.name}: declared {expected}, answered {found}"


def declared(address: Address, caller: Caller, method: str) -> int | str:
    """What the table says of one cell."""
    rows = (CALLS if address.is_call else PAGES).of(address.route) or {}
    row = rows.get(method)
    if row is not None:
        return may(caller, row, is_call=address.is_call)
    is_nobody = not address.is_call and (caller.role is None or caller.by_token)
    return "sign in" if is_nobody and all(may(caller, one, is_call=False) != "in" for one in rows.values()) else 405


def told(client: Client, method: str, path: str) -> int | str:
    """The answer in the words of `may`."""
    answer = client.generic(method, path, b"{}", "application/json")
    if answer.status_code == 302 and answer.headers["Location"].startswith("/signin?next="):
        return "sign in"
    is_document = path.endswith("openapi.json") and answer.status_code == 200
    return "in" if answer.status_code == PAST or is_document else answer.status_code


def path_of(address: Address) -> str:
    """An example of the address; what stands in its parameters need not be there."""
    path = PATHS[address.route.removeprefix("^")]
    found = resolve(path).route
    assert found == address.route, f"{path} is {found}, not {address.route}: give its parameters better samples"
    return path
