"""How long the server works on a request, how much of that is its own, and what it asks the database."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from benchmarks.pages_asked import Asked, Request
from scheduler import facts
from scheduler.memory import forget
from scheduler.services import ledger, recorded

LOOKED_AT = 6
"""Requests of each kind whose queries are counted; counting takes time, so they are asked once more."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one kind of request; times in milliseconds, in order."""

    asked: Asked
    wall: Sequence[float]
    work: Sequence[float]
    """What the server and its database computed for it: the same on a machine that has other work, too."""
    queries: int
    """The most that one of them asked."""
    weight: int
    """Bytes of the largest answer, compressed."""
    statuses: frozenset[int]

    @property
    def is_over(self) -> bool:
        """Whether more than one in twenty takes longer than it may."""
        return self.asked.budget is not None and part(self.wall, 0.95) > self.asked.budget

    @property
    def line(self) -> str:
        """As it is printed."""
        budget = f"{self.asked.budget:,.0f}" if self.asked.budget else "–"
        times = "".join(f"{part(self.wall, share):>8,.0f}" for share in (0.5, 0.95, 1.0))
        work = f"{part(self.work, 0.5):>8,.0f}{part(self.work, 0.95):>8,.0f}"
        said = ", ".join(map(str, sorted(self.statuses)))
        return (
            f"  {self.asked.name:<20}{len(self.wall):>5}{times}{work}{budget:>8}{self.queries:>9}"
            f"{self.weight / 1000:>9.1f}  {said}{'  OVER ITS BUDGET' if self.is_over else ''}"
        )


HEAD = (
    f"  {'page':<20}{'asked':>5}{'p50':>8}{'p95':>8}{'max':>8}{'w. p50':>8}{'w. p95':>8}{'budget':>8}{'queries':>9}"
    f"{'gz kB':>9}  status"
)


def part(ordered: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measured(client: Client, asked: Asked) -> Figures:
    """Ask it all, one after the other; what is not to be cold, once before.

    So what passes saw is known then, as in a server that has run for a while; most decisions are made out anew.
    """
    wall, work, answers = [], [], []
    for request in () if asked.cold or asked.unchanged else asked.requests:
        ask(client, request)
    for request in asked.requests:
        if asked.cold:
            _forget_last_pass()
        if asked.unchanged:
            request = _as_seen(client, request)
        began, worked = perf_counter(), _worked()
        answers.append(ask(client, request))
        work.append(1000 * (_worked() - worked))
        wall.append(1000 * (perf_counter() - began))
    return Figures(
        asked, sorted(wall), sorted(work), max(_queries(client, each) for each in asked.requests[:LOOKED_AT]),
        max(len(gzip.compress(answer.content)) for answer in answers),
        frozenset(answer.status_code for answer in answers),
    )  # fmt: skip


def ask(client: Client, request: Request) -> Any:
    """The answer of the whole site, every middleware included."""
    if request.data is None:
        return client.get(request.path, headers=request.headers)
    return client.post(request.path, request.data, headers=request.headers)


def _forget_last_pass() -> None:
    """As where a pass was made a moment ago: what workers have, and what earlier passes saw, is known still."""
    stores: list[Any] = [facts._parsed, recorded._known, ledger._views, ledger._numbers]  # noqa: SLF001
    kept = [dict(store) for store in stores]
    forget()
    for store, known in zip(stores, kept, strict=True):
        store.update(known)
    last = max(ledger._numbers.items(), key=lambda entry: entry[1], default=None)  # noqa: SLF001
    if last:
        ledger._views.pop(last[0], None)  # noqa: SLF001
        ledger._numbers.pop(last[0])  # noqa: SLF001


def _worked() -> float:
    """Seconds of processor that this process and the one that serves it in PostgreSQL have had."""
    connection.ensure_connection()
    return process_time() + (_of_database() if connection.vendor == "postgresql" else 0.0)


def _of_database() -> float:
    own = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(own.read_text().split()[0]) / 1e9 if own.exists() else 0.0


def _as_seen(client: Client, request: Request) -> Request:
    """The same request from somebody who has what there is now."""
    tag = ask(client, request).headers.get("HX-PTag", "")
    return Request(request.path, {**request.headers, "HX-PTag": tag}, request.data)


def _queries(client: Client, request: Request) -> int:
    with CaptureQueriesContext(connection) as asked:
        ask(client, request)
    return len(asked)
