"""In which zone a person reads times."""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest

from gpulayer_site.accounts.models import Person

COOKIE = "gpulayer_zone"
"""What the browser says of itself; the script sets it."""


@cache
def zone_names() -> tuple[str, ...]:
    """Every IANA name that can be chosen, in order: regions' cities and UTC."""
    return ("UTC", *sorted(name for name in available_timezones() if "/" in name and not name.startswith("Etc/")))


@cache
def _known() -> frozenset[str]:
    return frozenset(available_timezones())


def is_zone(name: str) -> bool:
    """Whether this is the name of a zone."""
    return name in _known()


def zone_of(person: Person | None, request: HttpRequest) -> tzinfo:
    """The zone that the person chose, else the browser's, else UTC."""
    for name in (person.time_zone if person else "", request.COOKIES.get(COOKIE, "")):
        if name != "UTC" and is_zone(name):
            return ZoneInfo(name)
    return UTC
