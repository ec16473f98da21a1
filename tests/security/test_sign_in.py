"""The door: it leads nowhere else, tells nobody who has an account, and takes no word on where somebody comes from.

(S8, S22, S23, S25; test_timing.py has statistics of times, tests/site the door's everyday, tests/api what enrolment
tokens let in, S24.)
"""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.auth import hashers
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from tests.security.forms import Reading
from tests.security.hostile import in_address
from tests.security.world import PASSWORD, World

pytestmark = pytest.mark.django_db

ELSEWHERE = (
    "https://elsewhere.example/", "//elsewhere.example", "///elsewhere.example", "/\\elsewhere.example",
    "\\\\elsewhere.example", "https:elsewhere.example", "http:///elsewhere.example", "https:/elsewhere.example",
    "javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "https://testserver@elsewhere.example",
    "https://testserver.elsewhere.example", "/\t/elsewhere.example", "\n//elsewhere.example", " //elsewhere.example",
    "/%09/elsewhere.example", "/%5celsewhere.example", "ftp://testserver/", "//testserver@elsewhere.example/jobs",
)  # fmt: skip


def leads_away(address: str) -> bool:
    """Whether a browser on this site would go somewhere else: it drops tabs, and takes backslashes for slashes."""
    plain = "".join(each for each in address.strip() if each not in "\t\r\n").replace("\\", "/")
    parts = urlsplit(plain)
    return plain.startswith("//") or parts.scheme not in ("", "http", "https") or parts.netloc not in ("", "testserver")


@pytest.mark.parametrize("target", ELSEWHERE)
def test_signing_in_leads_nowhere_else(world: World, target: str) -> None:
    client = Client()
    page = client.get(f"/signin?next={in_address(target)}")
    offered = [form.fields.get("next", "") for form in Reading(page.content.decode()).forms]
    assert not any(map(leads_away, offered))
    answer = client.post("/signin", {"username": "mira", "password": PASSWORD, "next": target})
    assert answer.status_code == 302
    assert not leads_away(answer.headers["Location"])


def test_no_other_address_leads_elsewhere_either(world: World) -> None:
    client, wrong = world.client(), []
    for number, route in enumerate(world.routes):
        target = in_address(ELSEWHERE[number % len(ELSEWHERE)])
        query = "&".join(f"{name}={target}" for name in ("next", "back", "url", "return", "to", "q"))
        if "out" in route.path.rsplit("/", 2)[-1] or (route.is_admin and route.names):  # signing out ends the walk
            continue
        for method in ("get", "post"):
            answer = getattr(client, method)(f"{route.path}?{query}", HTTP_HX_REQUEST="true")
            for name in ("Location", "HX-Redirect", "HX-Location", "HX-Push-Url", "HX-Replace-Url"):
                if leads_away(answer.headers.get(name, "")):
                    wrong.append(f"{method} {route.path}: {name}: {answer.headers[name]}")
    assert wrong == []


def test_who_has_no_account_is_asked_the_same(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same answer, after the same work: the slow part, hashing a password, is done for both."""
    hashed: list[str] = []
    encode = hashers.MD5PasswordHasher.encode
    monkeypatch.setattr(
        hashers.MD5PasswordHasher, "encode", lambda *words: hashed.append(str(words[1])) or encode(*words)
    )
    seen = {}
    for name in ("mira", "nobody-of-this-name"):
        hashed.clear()
        answer = Client().post("/signin", {"username": name, "password": "a wrong password"})
        seen[name] = (answer.status_code, answer.content.replace(name.encode(), b""), len(hashed))
    (status, _, count), other = seen["mira"], seen["nobody-of-this-name"]
    assert (status, count) == (other[0], other[2])
    assert count == 1
    assert without_marks(seen["mira"][1]) == without_marks(other[1])


def without_marks(page: bytes) -> str:
    """The page's text; each has a form's mark of its own."""
    return Reading(page.decode()).text


@pytest.mark.parametrize("path", ["/api/v1/whoami", "/api/agent/v1/assignments"])
def test_a_token_is_looked_up_by_its_hash_and_compared_nowhere(world: World, path: str) -> None:
    """So there is nothing whose time could tell how much of a guess was right."""
    right = world.token()
    for guess in (right[:-1] + ("A" if right[-1] != "A" else "B"), right[:20] + "x" * 27, "glu_" + "x" * 43):
        with CaptureQueriesContext(connection()) as queries:
            assert Client().get(path, headers={"Authorization": f"Bearer {guess}"}).status_code == 401
        assert guess not in str(queries.captured_queries)
        assert guess[:12] not in str(queries.captured_queries)


def connection() -> Any:
    from django.db import connection as default

    return default


def test_where_somebody_says_to_come_from_does_not_count(world: World, settings: Settings) -> None:
    """Twenty tries, each with another invented address, are twenty tries from one."""
    statuses = []
    for number in range(20):
        claimed = {"HTTP_X_FORWARDED_FOR": f"192.0.2.{number}", "HTTP_X_REAL_IP": f"192.0.2.{number}"}
        answer = Client().post("/signin", {"username": "mira", "password": f"wrong {number}"}, **claimed)
        statuses.append(answer.status_code)
    assert statuses[0] == 422
    assert statuses[-1] == 429
    assert "Retry-After" in answer.headers
    assert Client().post("/signin", {"username": "mira", "password": PASSWORD}).status_code == 429


def test_nobody_comes_in_by_guessing_a_token(world: World) -> None:
    for prefix in ("glu_", "gle_", "glw_"):
        guess = prefix + secrets.token_urlsafe(32)
        headers = {"Authorization": f"Bearer {guess}"}
        assert Client().get("/api/v1/whoami", headers=headers).status_code == 401
        assert Client().post("/api/agent/v1/enroll", b"{}", "application/json", headers=headers).status_code == 401
