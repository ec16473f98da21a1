"""Every address of the site, found by walking it: what is added tomorrow is tried tomorrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.converters import IntConverter
from django.urls.resolvers import RegexPattern, RoutePattern

SAMPLES = {
    "key": "cancel", "number": "1", "sha256": "0" * 64, "object_id": "1", "app_label": "workers",
    "content_type_id": "1",
    "url": "nothing", "rank": "0", "verb": "drain", "username": "mira", "team": "vision",
}  # fmt: skip
"""What is put into an address where the rows at hand say nothing better; everything else becomes 1."""


@dataclass(frozen=True, slots=True)
class Route:
    """One address: its pattern, and an example."""

    pattern: str
    path: str

    @property
    def names(self) -> list[str]:
        """Those of its parameters."""
        return re.findall(r"<(?:\w+:)?(\w+)>", self.pattern)

    @property
    def is_api(self) -> bool:
        return self.pattern.startswith("api/")

    @property
    def is_admin(self) -> bool:
        return self.pattern.startswith("admin/")


def routes(values: Mapping[str, str] | None = None) -> list[Route]:
    """All of them; `values` names the rows that addresses shall lead to."""
    return list(_walk(get_resolver().url_patterns, "", "", SAMPLES | dict(values or {})))


def _walk(entries: Any, pattern: str, path: str, values: Mapping[str, str]) -> Iterator[Route]:
    for entry in entries:
        text, example = _text(entry.pattern), _example(entry.pattern, values)
        if isinstance(entry, URLResolver):
            yield from _walk(entry.url_patterns, pattern + text, path + example, values)
        elif isinstance(entry, URLPattern):
            yield Route(pattern + text, "/" + path + example)


def _text(pattern: Any) -> str:
    return str(pattern).removeprefix("^")


def _example(pattern: Any, values: Mapping[str, str]) -> str:
    if isinstance(pattern, RoutePattern):
        converters = pattern.converters
        return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: _value(found[1], converters, values), str(pattern))
    assert isinstance(pattern, RegexPattern)
    filled = re.sub(r"\(\?P<(\w+)>[^)]*\)", lambda found: _value(found[1], {}, values), str(pattern))
    return filled.strip("^$").replace("\\", "")


def _value(name: str, converters: Mapping[str, Any], values: Mapping[str, str]) -> str:
    value = values.get(name, "1")
    return "1" if isinstance(converters.get(name), IntConverter) and not value.isdigit() else value
