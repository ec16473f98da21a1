"""What a few words are the name of, or part of it: jobs that somebody sees, workers, and labels of workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from scheduler.models import Job
from scheduler.services.visibility import LONGEST_NUMBER, is_job_id, seen_by
from workers.models import Label, Worker
from workers.models.worker import LIVE

MOST = 8
"""Of each kind; more are found in the lists."""


@dataclass(frozen=True, slots=True)
class FoundLabel:
    """One label, and how many workers have it."""

    key: str
    value: str
    workers: int

    @property
    def text(self) -> str:
        """As people write it."""
        return f"{self.key}={self.value}"


@dataclass(frozen=True, slots=True)
class Found:
    """The first of each kind; `is_more` says of which there are others."""

    jobs: tuple[Job, ...] = ()
    workers: tuple[str, ...] = ()
    labels: tuple[FoundLabel, ...] = ()
    is_more: frozenset[str] = frozenset()

    @property
    def only(self) -> Job | str | FoundLabel | None:
        """The one thing found, if it is one."""
        everything: tuple[Job | str | FoundLabel, ...] = (*self.jobs, *self.workers, *self.labels)
        return everything[0] if len(everything) == 1 else None


def exactly(user: Any, words: str) -> Job | str | FoundLabel | None:
    """The job of this id or bare number, the worker of this name, or the label; in this order. Three queries at most.

    A job that is not this user's to see is answered like one that is not there.
    """
    job_id = f"j-{words}" if words.isascii() and words.isdigit() and len(words) <= LONGEST_NUMBER else words.lower()
    job = seen_by(user).filter(job_id=job_id).first() if is_job_id(job_id) else None
    if job is not None:
        return job
    if Worker.objects.filter(LIVE, name=words).exists():
        return words
    key, equals, value = words.partition("=")
    return next(iter(_labels(Q(key=key, value=value))), None) if equals else None


def find(user: Any, words: str) -> Found:
    """What has these words in its name. Three queries."""
    jobs = list(seen_by(user).filter(name__icontains=words).select_related("owner").order_by("-pk")[: MOST + 1])
    names = Worker.objects.filter(LIVE, name__icontains=words).order_by("name").values_list("name", flat=True)
    workers = list(names[: MOST + 1])
    key, equals, value = words.partition("=")
    alike = Q(key=key, value__icontains=value) if equals else Q(key__icontains=words) | Q(value__icontains=words)
    labels = _labels(alike)
    lengths = {"jobs": len(jobs), "workers": len(workers), "labels": len(labels)}
    return Found(
        tuple(jobs[:MOST]), tuple(workers[:MOST]), tuple(labels[:MOST]),
        frozenset(kind for kind, length in lengths.items() if length > MOST),
    )  # fmt: skip


def nearest_ids(user: Any, job_id: str) -> list[Job]:
    """The jobs of the ids next to this one, before and after it, that this user sees. Two queries."""
    if not is_job_id(job_id):
        return []
    number = int(job_id.removeprefix("j-"))
    seen = seen_by(user).only("job_id", "name")
    return [*_next(seen.filter(pk__lt=number).order_by("-pk")), *_next(seen.filter(pk__gt=number).order_by("pk"))]


def _next(jobs: QuerySet[Job]) -> list[Job]:
    return list(jobs[:1])


def _labels(alike: Q) -> list[FoundLabel]:
    rows = Label.objects.filter(alike, worker__in=Worker.objects.filter(LIVE)).order_by("key", "value")
    counted = rows.values_list("key", "value").annotate(workers=Count("worker", distinct=True))
    return [FoundLabel(*row) for row in counted[: MOST + 1]]
