"""The documentation of both HTTP interfaces as a page, made of the same OpenAPI documents that programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, wraps
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from ninja import NinjaAPI

from gpulayer_site.access.rules import admit, methods_of
from gpulayer_site.accounts.auth import UserToken
from gpulayer_site.problems import problem
from workers.refusals import Refused

Json = dict[str, Any]
_TYPES = {
    "string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null",
    "object": "mapping",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter or a field. `schema` is the name of the shape that its values have, where it is one of ours."""

    name: str
    words: str
    required: bool
    schema: str = ""


Prose = tuple[tuple[str, bool], ...]
"""Pieces of a text, each with whether it is code."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One call."""

    method: str
    path: str
    description: Prose
    parameters: tuple[Value, ...]
    body: Prose
    body_shape: str
    answers: tuple[tuple[str, str], ...]
    result: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A body or answer with its fields."""

    name: str
    description: Prose
    fields: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Interface:
    """One API."""

    title: str
    description: Prose
    address: str
    groups: tuple[tuple[str, tuple[Operation, ...]], ...]
    shapes: tuple[Shape, ...]


def signed_in_only(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let only people see this, by session or by token."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method not in methods_of(request):
            return HttpResponseNotAllowed(methods_of(request))
        if not (request.user.is_authenticated or UserToken()(request)):
            return problem(401, "sign in, or send a token")
        try:
            admit(request)
        except Refused as refusal:
            return problem(refusal.status, refusal.detail, code=refusal.code)
        return view(request, *args, **kwargs)

    return guarded


def docs_page(apis: tuple[NinjaAPI, ...]) -> Callable[[HttpRequest], HttpResponse]:
    """The view that shows these APIs."""

    @cache
    def interfaces() -> tuple[Interface, ...]:
        return tuple(_interface(api) for api in apis)

    @require_safe
    def docs(request: HttpRequest) -> HttpResponse:
        return render(request, "api/docs.html", {"interfaces": interfaces()})

    return docs


def _interface(api: NinjaAPI) -> Interface:
    schema = api.get_openapi_schema()
    groups: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method, described in methods.items():
            groups.setdefault(described["tags"][0], []).append(_operation(method, path, described))
    shapes = schema["components"]["schemas"]
    return Interface(
        title=api.title,
        description=_prose(api.description),
        address=f"{api.get_root_path({})}openapi.json",
        groups=tuple((tag, tuple(operations)) for tag, operations in groups.items()),
        shapes=tuple(_shape(name, shapes[name]) for name in sorted(shapes)),
    )


def _operation(method: str, path: str, described: Json) -> Operation:
    body = described.get("requestBody", {})
    answers = {str(status): answer for status, answer in described["responses"].items()}
    good: Json = next((answer for status, answer in answers.items() if status.startswith("2")), {})
    return Operation(
        method=method.upper(),
        path=path,
        description=_prose(described.get("description", "")),
        parameters=tuple(
            _value(each["name"], _stated(each["schema"]), each["required"]) for each in described["parameters"]
        ),
        body=_prose(body.get("description", "")),
        body_shape="" if "description" in body else _content(body),
        answers=tuple((status, HTTPStatus(int(status)).phrase) for status in answers),
        result=_content(good),
    )


def _prose(text: str) -> Prose:
    return tuple((piece, place % 2 == 1) for place, piece in enumerate(text.split("`")) if piece)


def _stated(schema: Json) -> Json:
    """A parameter's schema without the null that stands for leaving it out."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    return kinds[0] if len(kinds) == 1 else schema


def _content(described: Json) -> str:
    """The words for a body of the first kind that is named."""
    kinds: list[Json] = list(described.get("content", {}).values())
    return _words(kinds[0].get("schema", {})) if kinds else ""


def _shape(name: str, schema: Json) -> Shape:
    required = schema.get("required", [])
    fields = tuple(_value(field, each, field in required) for field, each in schema.get("properties", {}).items())
    return Shape(name, _prose(schema.get("description", "")), fields)


def _value(name: str, schema: Json, required: bool) -> Value:
    return Value(name, _words(schema), required, next(_named(schema), ""))


def _named(schema: Json) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"].rsplit("/", 1)[-1]
    for inner in (*schema.get("anyOf", ()), schema.get("items")):
        if isinstance(inner, dict):
            yield from _named(inner)


def _words(schema: Json) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " or ".join(_words(inner) for inner in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_words(schema.get('items', {}))}"
    return _TYPES.get(schema.get("type", ""), "") + _bounds(schema)


def _bounds(schema: Json) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    longest = schema.get("maxLength")
    if isinstance(most, int) and most < 2**31 and least is not None:
        return f" from {least} to {most}"
    return f" of at most {longest} characters" if longest else ""
