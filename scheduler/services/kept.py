"""What is kept of everything that grows, beside what may be: for those who look after an installation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, QuerySet, Sum

from scheduler.models import Decision, Event, OutputFile, SchedulingPass, Task, Upkeep


@dataclass(frozen=True, slots=True)
class Stock:
    """How much of one kind is kept. `size` counts bytes of files, None for rows; `most` is in the same measure."""

    kind: str
    count: int
    size: int | None
    oldest: datetime | None
    days: int
    most: int


def stocks() -> list[Stock]:
    """Everything that grows: five queries."""
    return [
        _stock("logs", Task.objects.filter(log_deleted_at=None, log_size__gt=0), "finished_at", "log_size"),
        _stock("outputs", OutputFile.objects.filter(deleted_at=None, stored__gt=0), "created_at", "stored"),
        _stock("decisions", Decision.objects.all(), "made_at"),
        _stock("passes", SchedulingPass.objects.all(), "started_at"),
        _stock("events", Event.objects.all(), "at"),
    ]


def last_run() -> Upkeep | None:
    """What is known of the last run of retention; None before the first."""
    return Upkeep.objects.filter(pk=1).first()


def _stock(kind: str, rows: QuerySet[Any], at: str, size: str = "") -> Stock:
    wanted = {"count": Count("pk"), "oldest": Min(at), **({"size": Sum(size)} if size else {})}
    found = rows.aggregate(**wanted)
    limit = settings.GPULAYER_KEEP[kind]
    return Stock(kind, found["count"], (found["size"] or 0) if size else None, found["oldest"], limit.days, limit.most)
