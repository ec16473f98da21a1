"""What every answer carries, errors included; and that nobody's frame shows a page of ours. (S26, S28, S30)"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.security.world import World, writes

pytestmark = pytest.mark.django_db

NOTHING = ["'none'"]
POLICY = {
    "script-src": ["'self'"], "style-src": ["'self'"], "object-src": NOTHING, "base-uri": NOTHING,
    "frame-ancestors": NOTHING, "form-action": ["'self'"], "default-src": NOTHING,
}  # fmt: skip
ALWAYS = {
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip
ODD = {
    "no such page": ("GET", "/no/such/page"),
    "no such call": ("GET", "/api/v1/nothing"),
    "another method": ("DELETE", "/jobs"),
    "a refused form": ("POST", "/profile/tokens"),
    "too large": ("POST", "/api/v1/jobs?x"),
    "a name with NUL": ("GET", "/workers/%00"),
    "a query with NUL": ("GET", "/jobs?q=%00"),
}


def directives(answer: Any) -> dict[str, list[str]]:
    """The policy of an answer."""
    parts = (part.split() for part in answer.headers.get("Content-Security-Policy", "").split(";") if part.strip())
    return {name: sorted(values) for name, *values in parts}


def lacking(answer: Any) -> list[str]:
    """What is not as it should be."""
    policy = directives(answer)
    wrong = [
        f"{name}: {answer.headers.get(name)}" for name, value in ALWAYS.items() if answer.headers.get(name) != value
    ]
    if "sandbox" not in policy:  # a file that a job wrote: stricter still
        wrong += [f"{name}: {policy.get(name)}" for name, values in POLICY.items() if policy.get(name) != values]
    if "unsafe" in str(policy):
        wrong.append(f"the policy allows {policy}")
    if "no-store" not in answer.headers.get("Cache-Control", ""):
        wrong.append(f"Cache-Control: {answer.headers.get('Cache-Control')}")
    return wrong


def opened(answer: Any) -> list[str]:
    """What makes a browser open a file as a page; pages, their pieces and JSON are none."""
    kind = answer.headers.get("Content-Type", "")
    if answer.status_code != 200 or kind.startswith(("text/html", "application/json", "text/javascript")):
        return []
    kept = answer.headers.get("Content-Disposition", "").startswith("attachment")
    return [] if kept and "svg" not in kind and "xml" not in kind else [f"{kind} is not kept but opened"]


def test_no_address_is_unguarded_fails_or_writes_when_it_is_looked_at(world: World) -> None:
    """S7, S12, S26: one look at everything."""
    client, wrong, shown = world.client(), {}, 0
    for route in world.routes:
        with writes() as written:
            answer = client.get(route.path)
        shown += answer.status_code == 200
        found = [*lacking(answer), *([] if route.is_api else opened(answer)), *written]
        if found or answer.status_code >= 500:
            wrong[route.path] = [answer.status_code, *found]
    assert wrong == {}
    assert shown > len(world.routes) / 3, "the others are forms' targets and redirects"


@pytest.mark.parametrize("signed_in", [True, False], ids=["signed in", "a stranger"])
@pytest.mark.parametrize("name", ODD)
def test_so_is_every_error(world: World, name: str, signed_in: bool) -> None:
    client = world.client(enforce_csrf_checks=True) if signed_in else Client(enforce_csrf_checks=True)
    method, path = ODD[name]
    more = {"CONTENT_LENGTH": "9" * 12} if name == "too large" else {}
    answer = client.generic(method, path, b"", **more)
    assert answer.status_code < 500
    assert lacking(answer) == []


def test_a_name_of_another_host_is_refused_with_the_same_headers(world: World) -> None:
    answer = Client().get("/signin", HTTP_HOST="elsewhere.example")
    assert answer.status_code == 400
    assert lacking(answer) == []


def test_an_error_of_the_server_tells_nothing_of_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the words of an error")

    monkeypatch.setattr("scheduler.views.job.frame_of", fail)
    answer = world.client(raise_request_exception=False).get(f"/jobs/{world.job.job_id}")
    assert answer.status_code == 500
    assert b"the words of an error" not in answer.content
    assert b"Traceback" not in answer.content
    assert lacking(answer) == []
