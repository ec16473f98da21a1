"""A piece of a page that was made a moment ago is not made again only to see that nothing has happened since.

Pages that are left open look every few seconds. Where one was just told that it has what there is, and neither the
trail has a new event nor the queue a new pass, it is told so again, before anybody is asked who that is: a 304 says
nothing but that. What changes without an event (ages, readings of devices) is looked at again after some seconds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from scheduler.memory import remembered, trim
from workers.live import Still, is_fragment, tagged

MOST_REMEMBERED = 5_000
HEX_DIGITS = 64

Key = tuple[str, str, str]
Happened = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What had happened when a piece was last made, and how long that is good for."""

    happened: Happened | None
    """None: it matters nothing to this piece."""
    until: float
    still: Still | None

    def holds(self, happened: Happened) -> bool:
        """Whether the piece would be the same again."""
        if monotonic() >= self.until or (self.happened is not None and self.happened != happened):
            return False
        return self.still is None or self.still()


_seen: OrderedDict[Key, Seen] = remembered(OrderedDict())
_latest: OrderedDict[str, tuple[float, Happened]] = remembered(OrderedDict())

_LATEST = """
SELECT (SELECT max(id) FROM workers_event),
       (SELECT count(*) FROM workers_event WHERE id > (SELECT max(id) FROM workers_event) - 1000),
       (SELECT max(id) FROM scheduler_schedulingpass WHERE state = 'complete'),
       (SELECT max(id) FROM scheduler_queuerollup)
"""
"""The number of the latest events too: of two transactions at once the later event may be seen before the earlier."""


class UnchangedMiddleware:
    """Answers 304 for what was just found unchanged."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Let everything else through, and note what is found unchanged there."""
        tag = request.headers.get("HX-PTag", "")
        is_off = settings.UNCHANGED_LOOK_SECONDS is None
        if is_off or request.method != "GET" or not is_fragment(request) or not 0 < len(tag) <= HEX_DIGITS:
            return self.get_response(request)
        key = (request.headers.get("Cookie", ""), request.get_full_path(), tag)
        happened, seen = _happened(), _seen.get(key)
        if seen and seen.holds(happened):
            return tagged(HttpResponse(status=304), tag)
        response = self.get_response(request)
        good_for = getattr(response, "good_for", 0.0)
        if response.status_code == 304 and good_for:
            still, alone = getattr(response, "still", None), getattr(response, "alone", False)
            _seen[key] = Seen(None if alone else happened, monotonic() + good_for, still)
            trim(_seen, MOST_REMEMBERED)
        return response


def _happened() -> Happened:
    """The latest event, pass and roll-up, as of a moment ago."""
    now = monotonic()
    known = _latest.get("")
    if known is None or now - known[0] >= (settings.UNCHANGED_LOOK_SECONDS or 0):
        with connection.cursor() as cursor:
            cursor.execute(_LATEST)
            known = _latest[""] = (now, cursor.fetchone())
    return known[1]
