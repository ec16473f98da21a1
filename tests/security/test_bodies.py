"""Values that nobody should send: refused everywhere where something can be written, alike on every database.

(S15-S18 and the hostile values; tests/api/test_hostile.py has those of job documents, by their kind.)
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.db import connection
from django.http import QueryDict

from gpulayer_site import api
from tests.security.forms import Form, posted
from tests.security.hostile import ADDRESSES, RAW, TYPED, example, in_address
from tests.security.names import query_names
from tests.security.routes import routes
from tests.security.world import World

pytestmark = pytest.mark.django_db

MARK = "@@hostile@@"
KEPT_BY_THE_BROWSER = {"csrfmiddlewaretoken", "next"}
SESSION = {"signout", "signin", "password", "admin/logout", "admin/login"}
"""Forms that end or begin a session: they have tests of their own."""

WHOLE = pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.soak)], ids=["some", "whole"])
SOME = 2


def some(kinds: dict[str, Any], *place: Any, whole: bool) -> list[str]:
    """All kinds, or `SOME` of them: others in each place, always the same in the same."""
    if whole:
        return list(kinds)
    first = zlib.crc32(repr(place).encode())
    return [list(kinds)[(first + step * 3) % len(kinds)] for step in range(SOME)]


def operations(interface: Any) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Method, path, schema of the body and shapes of each call that takes JSON."""
    schema = interface.get_openapi_schema()
    shapes = schema["components"]["schemas"]
    for path, calls in schema["paths"].items():
        for method, call in calls.items():
            body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            if body is not None:
                yield method.upper(), path, body, shapes


def shape_of(schema: dict[str, Any], shapes: dict[str, Any]) -> dict[str, Any]:
    return dict(shapes[schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema)


def bodies(schema: dict[str, Any], shapes: dict[str, Any]) -> Iterator[bytes]:
    """An example of a body for each of its fields, with a mark where the hostile value goes; and the bare mark."""
    yield json.dumps(MARK).encode()
    base = example(schema, shapes)
    for name in shape_of(schema, shapes).get("properties", {}):
        yield json.dumps({**base, name: MARK}).encode()


@WHOLE
@pytest.mark.parametrize("interface", [api.people, api.agents], ids=["people", "agents"])
def test_no_field_of_any_call_takes_it(world: World, enrolled: str, interface: Any, whole: bool) -> None:
    client, wrong = world.client(), []
    headers = {"Authorization": f"Bearer {world.token() if interface is api.people else enrolled}"}
    for method, pattern, schema, shapes in operations(interface):
        path = world.filled(pattern)
        for body in bodies(schema, shapes):
            for kind in some(RAW, pattern, body, whole=whole):
                sent = body.replace(json.dumps(MARK).encode(), RAW[kind])
                answer = client.generic(method, path, sent, "application/json", headers=headers)
                if not 400 <= answer.status_code < 500:
                    wrong.append(f"{method} {path} {body.decode()[:100]} {kind}: {answer.status_code}")
    assert wrong == []


def test_no_call_takes_a_key_twice(world: World, enrolled: str) -> None:
    for interface, secret in ((api.people, world.token()), (api.agents, enrolled)):
        for method, pattern, _, _ in operations(interface):
            answer = world.client().generic(
                method, world.filled(pattern), b'{"note": "a", "note": "b"}', "application/json",
                headers={"Authorization": f"Bearer {secret}"},
            )  # fmt: skip
            assert 400 <= answer.status_code < 500, pattern


def forms_of(world: World) -> list[tuple[str, Form]]:
    """Every form that is sent by POST, with the page where it was found; the same form only once."""
    client, found, seen = world.client(), [], set()
    for route in world.routes:
        answer = client.get(route.path)
        if "text/html" not in answer.headers.get("Content-Type", "") or answer.status_code >= 300:
            continue
        for form in posted(answer.content.decode()):
            at = form.at(route.path)
            if (at, *form.fields) not in seen and not any(word in at for word in SESSION):
                seen.add((at, *form.fields))
                found.append((at, form))
    assert len(found) > 10, "or nobody is signed in"
    return found


def sendable(value: str) -> str | bytes:
    """As a form sends it: half a character has no UTF-8, so its bytes go."""
    return value.encode("utf-8", "surrogatepass") if "\ud800" in value else value


@WHOLE
def test_no_field_of_any_form_breaks_or_keeps_it(world: World, whole: bool) -> None:
    client, wrong = world.client(), []
    for at, form in forms_of(world):
        for name in set(form.fields) - KEPT_BY_THE_BROWSER:
            for kind in some(TYPED, at, name, whole=whole):
                fields = form.fields | {name: sendable(TYPED[kind])}
                if (status := client.post(at, fields).status_code) >= 500:
                    wrong.append(f"{at} {name} {kind}: {status}")
        for kind in some(TYPED, at, whole=whole):
            if (status := client.post(at, dict.fromkeys(form.fields, sendable(TYPED[kind]))).status_code) >= 500:
                wrong.append(f"{at} everywhere {kind}: {status}")
    assert wrong == []
    assert {kind: found for kind, value in TYPED.items() if (found := kept(value))} == {}, "nothing of it is stored"


def kept(value: str) -> list[str]:
    """The tables that have the value somewhere; numbers and words that can be seen may be anybody's."""
    if value.isprintable():
        return []
    found, plain = [], value.encode("utf-8", "replace").decode()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            rows = str(cursor.fetchall())
            if any(sign in rows for sign in (value, plain, repr(value)[1:-1])):
                found.append(table)
    return found


@WHOLE
def test_no_address_breaks_with_it(world: World, whole: bool) -> None:
    names = {name for route in world.routes for name in route.names}
    client, headers = world.client(), {"HTTP_AUTHORIZATION": f"Bearer {world.token()}"}
    wrong = []
    for kind, value in ADDRESSES.items():
        for route in routes(dict.fromkeys(names, value)):
            if not route.names or kind not in some(ADDRESSES, route.pattern, whole=whole):
                continue
            for method in ("GET", "POST"):
                answer = client.generic(method, route.path, **(headers if route.is_api else {}))
                if answer.status_code >= 500:
                    wrong.append(f"{method} {route.pattern} {kind}: {answer.status_code}")
    assert wrong == []


class Asked(QueryDict):
    """The question of a request, which writes down what a page reads of it by name."""

    names: ClassVar[set[str]] = set()

    def __getitem__(self, key: str) -> Any:
        self.names.add(key)
        return super().__getitem__(key)

    def getlist(self, key: str, default: Any = None) -> list[Any]:
        self.names.add(key)
        return super().getlist(key, default)

    def items(self) -> Iterator[tuple[str, Any]]:
        """A page that reads whatever comes names nothing."""
        return ((key, super(Asked, self).__getitem__(key)) for key in self)


@pytest.fixture
def read_by_name(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.setattr(WSGIRequest, "GET", property(lambda request: Asked(request.META.get("QUERY_STRING", ""))))
    monkeypatch.setattr(Asked, "names", set())
    return Asked.names


@WHOLE
def test_no_question_breaks_with_it(world: World, read_by_name: set[str], whole: bool) -> None:
    """All names at once; and, as the first that is refused hides the others, each that the page reads alone.

    The API reads every name that comes, to look it up in its schema: test_openapi.py makes questions of that.
    """
    client, wrong, alone = world.client(), [], 0
    for route in world.routes:
        if route.is_admin and not whole and route.names:
            continue
        for kind in some(TYPED, route.pattern, whole=whole)[: None if whole else 1]:
            value = in_address(TYPED[kind][: 2_000 if whole else 200])
            read_by_name.clear()
            questions = ["&".join(f"{name}={value}" for name in query_names())]
            for query in questions:
                if (status := client.get(f"{route.path}?{query}").status_code) >= 500:
                    wrong.append(f"{route.path} {kind} {query[:20]}: {status}")
                if whole and query is questions[0] and not route.is_api:
                    questions += [f"{name}={value}" for name in sorted(read_by_name)]
                    alone += len(read_by_name)
    assert wrong == []
    assert not whole or alone > 1_000, "or nothing was read by name"
