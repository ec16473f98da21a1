"""Another site in the same browser can change nothing here: no form of its own, no link, no frame. (S7, S8, S28)"""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client

from tests.security.world import PASSWORD, World, writes

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
REFUSED = {401, 403, 404, 405}
"""401: the agents' interface, which knows no sessions; 404: nothing is there."""
pytestmark = pytest.mark.django_db

ATTACKS = (
    {"HTTP_ORIGIN": "https://elsewhere.example"},
    {"HTTP_ORIGIN": "null"},
    {"CONTENT_TYPE": "text/plain"},
    {"HTTP_X_HTTP_METHOD_OVERRIDE": "GET"},
)


def test_nothing_is_done_for_a_request_that_another_site_made(world: World) -> None:
    """Every address by every method without the form's mark; and once more in one of the ways that sites know."""
    client = world.client(enforce_csrf_checks=True)
    wrong = []
    for number, route in enumerate(world.routes):
        plain = [(method, {}) for method in (UNSAFE if not route.is_admin else ("POST",))]
        for method, more in [*plain, ("POST", ATTACKS[number % len(ATTACKS)])]:
            body = b'{"note": "x", "confirm": true}'
            with writes() as written:
                answer = client.generic(method, route.path, body, "application/json", **more)
            if answer.status_code not in REFUSED or written:
                wrong.append(f"{method} {route.path}: {answer.status_code} {written}")
    assert wrong == []


def test_a_mark_from_another_session_opens_nothing(world: World) -> None:
    client = world.client(enforce_csrf_checks=True)
    stolen = {"HTTP_X_CSRFTOKEN": "a" * 64, "HTTP_ORIGIN": "http://testserver"}
    for path in (f"/jobs/{world.job.job_id}/cancel", f"/api/v1/jobs/{world.job.job_id}/cancel", "/profile/tokens"):
        assert client.post(path, **stolen).status_code == 403


def test_the_right_mark_sent_by_another_site_opens_nothing(world: World) -> None:
    client = world.client(enforce_csrf_checks=True)
    client.get("/profile")
    mark = {"HTTP_X_CSRFTOKEN": client.cookies[settings.CSRF_COOKIE_NAME].value}
    path = f"/api/v1/jobs/{world.job.job_id}/cancel"
    for origin in ("https://elsewhere.example", "http://testserver.elsewhere.example", "null"):
        assert client.post(path, HTTP_ORIGIN=origin, **mark).status_code == 403
    assert client.post(path, HTTP_ORIGIN="http://testserver", **mark).status_code == 200


def test_no_page_writes_when_it_is_asked_for_less_than_itself(world: World) -> None:
    """For a whole look see test_headers.py."""
    client, wrong = world.client(), []
    for route in world.routes:
        if route.is_admin:
            continue
        for method in ("HEAD", "OPTIONS"):
            with writes() as written:
                answer = client.generic(method, route.path)
            if answer.status_code >= 500 or written:
                wrong.append(f"{method} {route.path}: {answer.status_code} {written}")
    assert wrong == []


def test_nobody_is_signed_in_or_out_by_another_site(world: World) -> None:
    stranger = Client(enforce_csrf_checks=True)
    answer = stranger.post(
        "/signin", {"username": "mira", "password": PASSWORD}, HTTP_ORIGIN="https://elsewhere.example"
    )
    assert answer.status_code == 403
    assert settings.SESSION_COOKIE_NAME not in stranger.cookies
    signed_in = world.client(enforce_csrf_checks=True)
    assert signed_in.get("/signout").status_code == 405
    assert signed_in.post("/signout").status_code == 403
    assert signed_in.get("/profile").status_code == 200
