"""Removing what is old or too much, in small batches. Any run, doubled, lost or cut short, leaves things in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from scheduler.models import Upkeep
from scheduler.services.retention_files import old_bundles, old_logs, old_outputs, strays
from scheduler.services.retention_rows import old_decisions, old_events, old_passes
from scheduler.services.sealing import drop_old

BUDGET_SECONDS = 20.0
"""After this long a run ends, wherever it is; the next one goes on."""
SWEPT_EVERY = timedelta(days=1)

Step = Callable[[datetime], Iterator[int]]
"""Removes one batch after another, and says how many were removed each time."""


def old_secrets(now: datetime) -> Iterator[int]:
    """Forget the secrets of jobs that have long been over."""
    days = settings.GPULAYER_KEEP_SECRETS_DAYS
    if days and (dropped := drop_old(before=now - timedelta(days=days))):
        yield dropped


STEPS: dict[str, Step] = {
    "secrets": old_secrets,
    "logs": old_logs,
    "outputs": old_outputs,
    "decisions": old_decisions,
    "events": old_events,
}
DAILY: dict[str, Step] = {
    "passes": old_passes,
    "bundles": old_bundles,
    "strays": strays,
}
"""What has to be gone through from its beginning to find what may go."""


def run_retention(*, now: datetime, clock: Callable[[], float]) -> dict[str, int]:
    """Remove what may go, for at most `BUDGET_SECONDS` by `clock`, and note it; how many of each kind."""
    row, _ = Upkeep.objects.get_or_create(pk=1, defaults={"began_at": now})
    daily = row.swept_at is None or row.swept_at <= now - SWEPT_EVERY
    Upkeep.objects.filter(pk=1).update(began_at=now, finished_at=None, complete=False)
    removed, complete = _removed({**STEPS, **(DAILY if daily else {})}, now, clock, until=clock() + BUDGET_SECONDS)
    noted: dict[str, Any] = {"finished_at": now, "complete": complete, "removed": removed}
    if daily and complete:
        noted["swept_at"] = now
    Upkeep.objects.filter(pk=1).update(**noted)
    return removed


def _removed(
    steps: dict[str, Step], now: datetime, clock: Callable[[], float], *, until: float
) -> tuple[dict[str, int], bool]:
    removed = dict.fromkeys(steps, 0)
    for name, step in steps.items():
        for count in step(now):
            removed[name] += count
            if clock() >= until:
                return removed, False
    return removed, True
