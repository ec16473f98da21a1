"""What `gpulayer doctor` says of the trail: is it sealed, and are its latest events as they were sealed."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from workers.moments import duration

SEALS = 50
"""The newest ones, which a look costs little."""


def trail() -> tuple[str, str, str]:
    """Whether the latest events are as they were sealed, and whether sealing goes on."""
    from workers.services.seals import last_seal, unsealed
    from workers.services.trail_check import few, latest_checked

    now = timezone.now()
    try:
        checked, last = latest_checked(SEALS), last_seal()
        waiting = unsealed(now - _late()).order_by("pk").values_list("at", flat=True).first()
    except Error as error:
        return "wrong", f"the database does not say: {error}".strip(), "see above"
    finally:
        connection.close()
    if checked.findings:
        return "wrong", few(checked.findings), "somebody changed the database; `gpulayer audit verify` names all of it"
    if waiting is not None:
        return "wrong", f"events since {_ago(waiting, now)} ago are not sealed", "the task worker does it; does it run?"
    if last is None:
        return "note", "nothing is sealed yet", "that is done every five minutes"
    return "ok", f"{checked.events:,} events are as they were sealed, the last {_ago(last.sealed_at, now)} ago", ""


def _late() -> timedelta:
    return timedelta(seconds=6 * settings.SEAL_EVERY_SECONDS)


def _ago(at: datetime, now: datetime) -> str:
    return duration((now - at).total_seconds(), coarse=True)
