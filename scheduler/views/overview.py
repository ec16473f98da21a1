"""The overview: the whole fleet and the whole queue on one page, kept up to date by one piece of it."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.timezone import get_current_timezone_name

from scheduler.memory import once, remembered
from scheduler.models import QueueRollUp
from scheduler.services.overview_events import lately
from scheduler.services.overview_fleet import Drawn, Picture, newest_event, picture_now
from scheduler.services.seen_fleet import seen_by
from scheduler.services.visibility import sees_all
from scheduler.views.overview_charts import charts
from scheduler.views.overview_map import MOST_BLOCKS, MOST_TILES, TIERS, patterns, shares, tiers
from scheduler.views.overview_needs import needs_of, utilisation_of
from scheduler.views.overview_queue import queue_of
from scheduler.views.overview_scope import Scope, groupings, looks_of, scope_of
from workers.live import GOOD_FOR, is_fragment, tagged
from workers.models import Worker
from workers.moments import now
from workers.queries import live_workers
from workers.roles import role_of
from workers.rows import WorkerRow
from workers.views_enrol import start_command

MOST_MAPS = 32
MOST_LIVES = 64
SHORT = 12
"""So few workers leave room below them, where the charts stand in a row."""
AGES_SECONDS = 60
"""How old things are is said in minutes; so often a page is drawn anew though nothing has happened."""

_maps: OrderedDict[tuple[int, Scope], SafeString] = remembered(OrderedDict())
_lives: OrderedDict[str, SafeString] = remembered(OrderedDict())


def overview(request: HttpRequest) -> HttpResponse:
    """The page; to htmx its live part, or 304 while nothing has happened. Asked again, that costs two queries."""
    newest, scope = newest_event(), scope_of(request.GET)
    picture = picture_now(newest)
    tag = _tag(request, picture, newest, scope)
    if is_fragment(request) and request.headers.get("HX-PTag") == tag:
        return tagged(HttpResponse(status=304), tag, good_for=GOOD_FOR)
    live = _live(request, picture, scope, tag)
    if is_fragment(request):
        return tagged(HttpResponse(live), tag)
    return tagged(render(request, "overview/overview.html", {"nav": "overview", "live": live, "scope": scope}), tag)


def _tag(request: HttpRequest, picture: Picture, newest: int, scope: Scope) -> str:
    """Names everything that the live part is made of, so that it need not be made to see that nothing has changed."""
    rolled_up = QueueRollUp.objects.values_list("pk", "made_at").first()
    minutes = int(now().timestamp()) // AGES_SECONDS
    looking = (role_of(request.user), None if sees_all(request.user) else request.user.pk)
    parts = (looking, get_current_timezone_name(), picture.number, newest, rolled_up, minutes, scope)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _live(request: HttpRequest, picture: Picture, scope: Scope, tag: str) -> SafeString:
    """What its tag names is the same for all who have that tag: made once for those who look again, anew for others."""

    def make() -> SafeString:
        return render_to_string("overview/_live.html", {"ptag": tag, **_context(request, picture, scope)}, request)

    # The first steps have a form, which is of one session.
    return once(_lives, tag, MOST_LIVES, make) if picture.workers and is_fragment(request) else make()


def _context(request: HttpRequest, picture: Picture, scope: Scope) -> dict[str, Any]:
    user, moment = request.user, now()
    if not picture.workers:
        enrolled = live_workers().count()
        return {"at": picture.at, "first_run": True, "enrolled": enrolled, "worker_command": start_command(request)}
    in_tier = [drawn for drawn in picture.workers if not scope.tier or drawn.tier == scope.tier]
    there = [drawn for drawn in picture.workers if scope.holds(drawn)] if scope.is_narrow else in_tier
    looks = looks_of(in_tier)
    return {
        "at": picture.at,
        "scope": scope,
        "fleet": _tiers_offered(picture, scope),
        "devices": sum(looks.values()),
        "workers": len(in_tier),
        "totals": shares(looks, scope),
        "shown": len(there),
        "all_link": scope.but(device="", worker="", within=None),
        "groupings": _grouped_by(picture, scope),
        "tiles": _tiles(there, user) if len(there) <= MOST_TILES else None,
        "map": _map(picture, there, scope) if len(there) > MOST_TILES else "",
        "bars": len(there) > MOST_BLOCKS,
        "short": len(there) <= SHORT,
        "queue": queue_of(user),
        "needs": needs_of(picture, user, moment),
        "utilisation": utilisation_of(picture, user, moment),
        "charts": charts(user, moment),
        "events": lately(user),
    }


def _grouped_by(picture: Picture, scope: Scope) -> list[tuple[str, str, bool]]:
    offered = groupings(picture.workers, scope)
    return [(scope.but(by=key, within=None), text, key == scope.by) for key, text in offered]


def _tiers_offered(picture: Picture, scope: Scope) -> list[tuple[str, str, str, bool]]:
    """All, and each tier that there is: its address, name, number of workers, and whether it is the one shown."""
    counts = {tier: sum(drawn.tier == tier for drawn in picture.workers) for tier in TIERS}
    some = [(tier, count) for tier, count in counts.items() if count]
    offered = [("", len(picture.workers)), *some]
    return [
        (scope.but(tier=tier, within=None), tier.capitalize() or "All", f"{count:,}", tier == scope.tier)
        for tier, count in offered
    ]


def _tiles(there: Sequence[Drawn], user: Any) -> list[WorkerRow]:
    """A row for each of a few workers, as this user may see it. At most three queries."""
    views = {view.id: view for view in seen_by(user, [drawn.view for drawn in there])}
    rows = {worker.name: worker for worker in Worker.objects.filter(name__in=views)}
    return [WorkerRow(rows[name], view) for name, view in views.items() if name in rows]


def _map(picture: Picture, there: Sequence[Drawn], scope: Scope) -> SafeString:
    """The drawing; the same for everybody, as it names no jobs, and so drawn once for each picture."""

    def make() -> SafeString:
        bars = len(there) > MOST_BLOCKS
        found = tiers(there, scope, blocks=not bars)
        return render_to_string("overview/_map.html", {"tiers": found, "patterns": patterns(found), "bars": bars})

    return once(_maps, (picture.number, scope), MOST_MAPS, make)
