"""Writing refusals into the trail, and which of its events are whose to see."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Q

from workers.caller import Refusal, caller_now
from workers.models import Event
from workers.services.refusal_cap import Cap

journal = logging.getLogger(__name__)

ACCESS, REFUSED = "access", "refused"
"""Kind and verb of every refusal."""
KINDS = (
    "job", "attempt", "task", "worker", "device", "label", "reservation", "notice", "token", "server", "site", "trail",
    "user", "team", ACCESS,
)  # fmt: skip
"""What events are about."""
PEOPLES = ("user", "team", ACCESS)
"""Acts on people and their keys, which only administrators see."""
_PERSONS_TOKEN = "glu_"
"""How a person's tokens begin; those by which machines enrol are the fleet's."""
MOST_AT_ONCE = 3
"""Refusals of one call that are written down."""

cap = Cap()


def note_refusal(
    *, actor: str, subject: str, reason: str, now: datetime, cause: str = "", detail: Mapping[str, Any] | None = None
) -> None:
    """Write down that `actor` asked for `subject` and was refused for `reason`, a stable word.

    During a call it is written when the call is over, whatever was rolled back; else at once. A flood of them is cut
    short: the next one that is written says how many were left out.
    """
    caller = caller_now()
    refusal = Refusal(
        at=now, actor=actor, subject=subject, reason=reason, cause=cause, detail=dict(detail or {}),
        address=caller.address, via=caller.via,
    )  # fmt: skip
    if caller.refusals is None:
        write_refusals([refusal])
    elif len(caller.refusals) < MOST_AT_ONCE:
        caller.refusals.append(refusal)


def write_refusals(refusals: Iterable[Refusal]) -> int:
    """Write those that the cap lets through; how many. A database that is away is no reason to answer otherwise."""
    events = [event for refusal in refusals if (event := _event(refusal)) is not None]
    if not events:
        return 0
    try:
        with transaction.atomic():
            Event.objects.bulk_create(events)
    except DatabaseError as error:
        journal.warning("%d refusals could not be written down: %s", len(events), type(error).__name__)
        return 0
    return len(events)


def seen_by_operators() -> Q:
    """The fleet's acts: everything but what is done to people, their keys and at the doors."""
    return ~Q(subject_kind__in=PEOPLES) & ~Q(subject_kind="token", subject__startswith=_PERSONS_TOKEN)


def _event(refusal: Refusal) -> Event | None:
    left_out = cap.take(refusal.address, time.monotonic())
    if left_out is None:
        return None
    return Event(
        at=refusal.at, actor=refusal.actor, subject_kind=ACCESS, subject=refusal.subject, verb=REFUSED,
        after=refusal.reason, cause=refusal.cause, address=refusal.address, via=refusal.via,
        detail={**refusal.detail, **({"left_out_before": left_out} if left_out else {})},
    )  # fmt: skip
