"""Finding events by who, what, when, which act and by text: a page at a time, and however many there are, at a bound.

Events of one actor or one subject are found by an index. Everything else is looked for in one window of ids after the
other: a page says how far back it looked, and where to go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Max, Q, QuerySet

from workers.models import Event
from workers.services.trail import ACCESS, KINDS, REFUSED, seen_by_operators

ROWS = 50
WINDOW = 200_000
"""Ids that one page looks through where no index leads to what is asked for."""
_APART = timedelta(minutes=10)
"""So far apart are the order of ids and that of instants at most."""
_OWN_NAMES = ("scheduler", "server", "anonymous")
_RESERVATION = re.compile(r"r-(\d{1,18})")
"""As people call it; events have the number alone."""
_BEARERS = ("user", "worker", "enrolment")
"""What stands before names of actors."""
_TEXTS = ("subject", "actor", "verb", "cause", "before", "after", "address")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is looked for; empty is anything. Several of them together narrow it."""

    who: str = ""
    """`user:mira`, `worker:gpu-07`, or a name alone."""
    what: str = ""
    """`job:j-12`, `worker:gpu-07`, or a name alone, of whatever kind it is."""
    verb: str = ""
    q: str = ""
    since: datetime | None = None
    until: datetime | None = None
    refused: bool = False

    @property
    def is_anything(self) -> bool:
        """Whether nothing in particular is looked for."""
        return self == Asked()

    @property
    def is_led_by_an_index(self) -> bool:
        """Whether an index leads to it and nothing else has to be looked through."""
        return bool(self.who or self.what) and not (self.q or self.verb)


@dataclass(frozen=True, slots=True)
class Found:
    """Some events, the newest first. `older` is the id to go on before, `newer` the one to go back behind."""

    events: tuple[Event, ...]
    older: int | None
    newer: int | None
    back_to: datetime | None = None
    """How far back was looked, where the look ended before the page was full."""


def find(asked: Asked, *, everything: bool, before: int | None = None, after: int | None = None) -> Found:
    """One page; `everything`: also what only administrators see. `before` and `after` are ids of earlier answers."""
    rows = chosen(asked, everything=everything)
    if after is not None:
        newer = list(rows.filter(pk__gt=after).order_by("pk")[: ROWS + 1])
        shown = tuple(newer[:ROWS][::-1])
        return Found(shown, shown[-1].pk if shown else None, shown[0].pk if len(newer) > ROWS else None)
    top = before if before is not None else _top(asked)
    behind = rows.filter(pk__lt=top)
    floor = 0 if asked.is_led_by_an_index or asked.is_anything else max(0, top - WINDOW)
    events = list((behind.filter(pk__gte=floor) if floor else behind).order_by("-pk")[: ROWS + 1])
    shown = tuple(events[:ROWS])
    newer_than = shown[0].pk if before is not None and shown else None
    if len(events) > ROWS:
        return Found(shown, shown[-1].pk, newer_than)
    return Found(shown, *_further(floor, asked, newer_than))


def every(asked: Asked, *, everything: bool, at_once: int = 2_000) -> Iterator[Event]:
    """All of them, the newest first, read in pieces: nothing is held open between them."""
    rows = chosen(asked, everything=everything)
    top = _top(asked)
    while top > 1:
        floor = 0 if asked.is_led_by_an_index else max(0, top - WINDOW)
        piece = list(rows.filter(pk__lt=top, pk__gte=floor).order_by("-pk")[:at_once])
        yield from piece
        top = piece[-1].pk if len(piece) == at_once else floor


def chosen(asked: Asked, *, everything: bool) -> QuerySet[Event]:
    """The rows themselves, in no order."""
    rows = Event.objects.all() if everything else Event.objects.filter(seen_by_operators())
    if asked.who:
        rows = rows.filter(actor__in=_actors(asked.who))
    if asked.what:
        rows = rows.filter(_subject(asked.what))
    if asked.verb:
        rows = rows.filter(verb=asked.verb)
    if asked.refused:
        rows = rows.filter(subject_kind=ACCESS, verb=REFUSED)
    for word in asked.q.split():
        rows = rows.filter(_says(word))
    return _within(rows, asked)


def _top(asked: Asked) -> int:
    """An id that is above all that can match."""
    if asked.until is not None:
        later = Event.objects.filter(at__gt=asked.until + _APART).order_by("at").values_list("pk", flat=True).first()
        if later is not None:
            return later
    return (Event.objects.aggregate(top=Max("pk"))["top"] or 0) + 1


def _further(floor: int, asked: Asked, newer: int | None) -> tuple[int | None, int | None, datetime | None]:
    """Where to go on below a window, unless nothing is there, or all there is older than what is asked for."""
    below = Event.objects.filter(pk__lt=floor).order_by("-pk").values_list("at", flat=True).first() if floor else None
    if below is None or (asked.since is not None and below < asked.since - _APART):
        return None, newer, None
    return floor, newer, below


def _actors(who: str) -> tuple[str, ...]:
    """Those that a name may mean; only one of them where only one ever did anything: that is read in its order."""
    if ":" in who or who in _OWN_NAMES:
        return (who,)
    meant = tuple(f"{kind}:{who}" for kind in _BEARERS)
    return tuple(each for each in meant if Event.objects.filter(actor=each).exists()) or meant


def _subject(what: str) -> Q:
    if reservation := _RESERVATION.fullmatch(what):
        what = f"reservation:{reservation[1]}"
    kind, colon, name = what.partition(":")
    if colon and kind in KINDS:
        return Q(subject_kind=kind, subject=name) if name else Q(subject_kind=kind)
    return Q(subject_kind__in=KINDS, subject=what)


def _says(word: str) -> Q:
    says = Q()
    for name in _TEXTS:
        says |= Q(**{f"{name}__icontains": word})
    return says


def _within(rows: QuerySet[Event], asked: Asked) -> QuerySet[Event]:
    """Between two instants. Ids follow instants closely: the index of instants gives bounds of ids."""
    if asked.since is not None:
        rows = rows.filter(at__gte=asked.since)
        start = Event.objects.filter(at__gte=asked.since - _APART).order_by("at").values_list("pk", flat=True).first()
        rows = rows.filter(pk__gte=start) if start is not None and not asked.is_led_by_an_index else rows
    if asked.until is not None:
        rows = rows.filter(at__lte=asked.until)
    return rows
