"""What `gpulayer doctor` says of the server's watch: does it look, and what did it last find out of order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from workers.moments import duration

if TYPE_CHECKING:
    from scheduler.models import Watch

RECENT = timedelta(days=1)


def watch() -> tuple[str, str, str]:
    """Whether clocks, workers and leases are looked at, and what was wrong with the clocks within the last day."""
    from scheduler.models import Watch

    try:
        row = Watch.objects.filter(pk=1).first()
    except Error as error:
        return "wrong", f"the database does not say: {error}".strip(), "see above"
    finally:
        connection.close()
    return verdict_on(row, timezone.now())


def verdict_on(row: Watch | None, now: datetime) -> tuple[str, str, str]:
    """The same, of this row at this instant."""
    hint = f"the task worker does it every {settings.GPULAYER_WATCH_SECONDS:g} s; does it run?"
    if row is None:
        return "note", "clocks and leases were not looked at yet", hint
    age = (now - row.wall_at).total_seconds()
    text = f"clocks and leases were looked at {duration(age, coarse=True)} ago"
    if age > 12 * settings.GPULAYER_WATCH_SECONDS:
        return "wrong", text, hint
    if row.noted_at is not None and now - row.noted_at < RECENT:
        when = duration((now - row.noted_at).total_seconds(), coarse=True)
        return "note", f"{text}; {when} ago {row.note}", "nobody was declared lost because of it"
    return "ok", text, ""
