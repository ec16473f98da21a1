"""Which log of a job a page shows, and the addresses of the others: each attempt, rank and stream has its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from scheduler.models import TaskState
from scheduler.services.log_tasks import Logs

STREAMS = ("both", "stdout", "stderr")
LONGEST_SEARCH = 200
LONGEST_NUMBER = 15


@dataclass(frozen=True, slots=True)
class Link:
    """A choice: where it leads, whether it is what is shown, and the tone of its mark."""

    query: str
    text: str
    current: bool
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """What of a job's logs is looked at. `before` is a line's number, `page` a page of a search."""

    attempt: int | None = None
    rank: int = 0
    stream: str = "both"
    search: str = ""
    before: int | None = None
    page: int = 0

    @property
    def query(self) -> str:
        """As an address says it; what is usual is left out."""
        given: dict[str, Any] = {
            "attempt": self.attempt, "rank": self.rank or None, "q": self.search or None, "before": self.before,
            "stream": None if self.stream == "both" else self.stream, "page": self.page or None,
        }  # fmt: skip
        return "?" + urlencode({name: value for name, value in given.items() if value is not None})

    @property
    def newest(self) -> Place:
        """The end of the same log."""
        return replace(self, search="", before=None, page=0)

    def line(self, number: int) -> str:
        """The address of a line among its neighbours."""
        return replace(self.newest, before=number + LINES_AFTER).query + f"#L{number}"


LINES_AFTER = 500
"""Lines that follow one that was linked to."""


def place_of(query: QueryDict) -> Place:
    """What an address asks for; what is none of it is taken as absent."""
    line = _number(query, "line")
    stream = query.get("stream", "both")
    return Place(
        attempt=_number(query, "attempt"),
        rank=_number(query, "rank") or 0,
        stream=stream if stream in STREAMS else "both",
        search=query.get("q", "").replace("\0", "")[:LONGEST_SEARCH],
        before=line + LINES_AFTER if line else _number(query, "before"),
        page=_number(query, "page") or 0,
    )


def streams(place: Place) -> list[Link]:
    """Both streams, or one of them."""
    kept = replace(place, before=None, page=0)
    return [
        Link(replace(kept, stream=name).query, name.capitalize() if name == "both" else name, name == place.stream)
        for name in STREAMS
    ]


def attempts(place: Place, logs: Logs) -> list[Link]:
    """Every attempt, the first one first; nothing where there is only one."""
    if len(logs.attempts) < 2:
        return []
    shown = logs.task.attempt_id if logs.task else None
    return [
        Link(Place(row.number, stream=place.stream).query, f"Attempt {row.number}", row.pk == shown)
        for row in reversed(logs.attempts)
    ]


def ranks(place: Place, logs: Logs) -> list[Link]:
    """Every rank of the attempt with its worker; those that failed are marked. Nothing where there is only one."""
    if len(logs.ranks) < 2:
        return []
    return [
        Link(
            Place(place.attempt, task.rank, place.stream).query,
            f"{task.rank} {task.worker.name}",
            logs.task is not None and task.pk == logs.task.pk,
            task.state in (TaskState.FAILED, TaskState.LOST, TaskState.TIMED_OUT),
        )
        for task in logs.ranks
    ]


def _number(query: QueryDict, name: str) -> int | None:
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER else None
