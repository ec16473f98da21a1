"""What operators tell everybody: a banner on every page, until it ends or somebody takes it down."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from scheduler.core.errors import Problem
from scheduler.core.reading import is_printable, quoted
from workers.models import Event, Notice, NoticeLevel
from workers.refusals import NotFound, Refused

LONGEST = 500
MOST_AT_ONCE = 5
"""More banners than these are read by nobody."""


def current(now: datetime) -> QuerySet[Notice]:
    """Those that are shown at this instant, warnings first, then the newest."""
    shown = Notice.objects.filter(Q(ends_at__isnull=True) | Q(ends_at__gt=now), ended_at__isnull=True)
    return shown.select_related("created_by").order_by("-level", "-pk")


def ended(now: datetime) -> QuerySet[Notice]:
    """Those that were, the latest first."""
    return Notice.objects.filter(Q(ended_at__isnull=False) | Q(ends_at__lte=now)).select_related("created_by")


@transaction.atomic
def post_notice(
    *, text: str, level: str = NoticeLevel.INFO, ends_at: datetime | None = None, actor: str, now: datetime,
    created_by: Any = None,
) -> Notice:  # fmt: skip
    """Put up a notice. Raises Refused `notice` (422) with all that is wrong, `notices_full` where there are many."""
    text = text.strip()
    problems = _problems(text, level, ends_at, now)
    if problems:
        raise Refused("notice", "; ".join(map(str, problems)), status=422, problems=tuple(problems))
    if current(now).count() >= MOST_AT_ONCE:
        raise Refused("notices_full", f"{MOST_AT_ONCE} notices are up already; end one of them first")
    notice = Notice.objects.create(text=text, level=level, created_at=now, created_by=created_by, ends_at=ends_at)
    _announce(notice, "created", actor=actor, now=now)
    return notice


@transaction.atomic
def end_notice(*, notice_id: int, actor: str, now: datetime) -> Notice:
    """Take a notice down; again it changes nothing. Raises NotFound."""
    notice = Notice.objects.filter(pk=notice_id).first()
    if notice is None:
        raise NotFound(f"no notice {notice_id}", code="no_such_notice")
    if current(now).filter(pk=notice_id).exists() and Notice.objects.filter(pk=notice_id, ended_at=None).update(
        ended_at=now
    ):
        _announce(notice, "ended", actor=actor, now=now)
    notice.refresh_from_db()
    return notice


def _problems(text: str, level: str, ends_at: datetime | None, now: datetime) -> list[Problem]:
    problems = []
    if not text or len(text) > LONGEST:
        problems.append(Problem("text", f"{len(text):,} characters", f"1 to {LONGEST}"))
    elif not is_printable(text):
        problems.append(Problem("text", quoted(text), "one line of text without control or direction characters"))
    if level not in NoticeLevel.values:
        problems.append(Problem("level", quoted(level), f"one of {', '.join(NoticeLevel.values)}"))
    if ends_at is not None and ends_at <= now:
        problems.append(Problem("ends_at", ends_at.isoformat(timespec="seconds"), "an instant to come"))
    return problems


def _announce(notice: Notice, verb: str, *, actor: str, now: datetime) -> None:
    Event.objects.create(
        at=now, actor=actor, subject_kind="notice", subject=str(notice.pk), verb=verb, after=notice.text[:200],
        detail={"level": notice.level, "ends_at": notice.ends_at.isoformat() if notice.ends_at else None},
    )  # fmt: skip
