"""Every address of the site and every operation of its APIs, found by walking them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from gpulayer_site.api import agents, people

ROOTS = {"people": "api/v1/", "agents": "api/agent/v1/"}


@dataclass(frozen=True, slots=True)
class Address:
    """One address as the resolver calls it, and the methods of its operations where it belongs to an API."""

    route: str
    methods: tuple[str, ...] = ()

    @property
    def is_call(self) -> bool:
        return bool(self.methods)


def addresses() -> list[Address]:
    """All of them, each once, in the order in which they are tried."""
    operations = _operations()
    return [Address(route, operations.get(route, ())) for route in dict.fromkeys(_walk(get_resolver(), ""))]


def operations() -> Iterator[Any]:
    """Every operation of both APIs, as it is called."""
    for api in (people, agents):
        for _, view in _views(api):
            yield from view.operations


def _walk(resolver: URLResolver, start: str) -> Iterator[str]:
    for entry in resolver.url_patterns:
        text = str(entry.pattern)
        route = start + text.removeprefix("^") if start else text
        if isinstance(entry, URLPattern):
            yield route
        else:
            yield from _walk(entry, route)


def _operations() -> dict[str, tuple[str, ...]]:
    """Methods by route. The documents of both APIs are called like operations: a token opens them too."""
    found: dict[str, tuple[str, ...]] = {f"{root}openapi.json": ("GET",) for root in ROOTS.values()}
    for operation in operations():
        route = route_of(operation)
        found[route] = (*found.get(route, ()), *operation.methods)
    return found


def route_of(operation: Any) -> str:
    """The address of an operation, as the resolver calls it."""
    path = operation.path.lstrip("/").replace("{path:", "<path:").replace("{", "<").replace("}", ">")
    return ROOTS[operation.api.urls_namespace] + path


def _views(api: Any) -> Iterator[tuple[str, Any]]:
    for router in api._get_bound_routers():
        yield from router.path_operations.items()
