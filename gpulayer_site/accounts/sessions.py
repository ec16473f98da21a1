"""Sessions of browsers in a table that knows whose they are, so that a person can see and end them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import QuerySet
from django.http import HttpRequest

from gpulayer_site.accounts.address import client_address
from gpulayer_site.accounts.models import BrowserSession, Person

STEP = timedelta(minutes=5)
"""How exact the last activity is: a write for each request would take the database's write lock each time."""


class SessionStore(DatabaseStore):
    """Django's database sessions, with the columns that are searched for filled from the session itself."""

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        """The table."""
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        """The row of this session."""
        row = super().create_model_instance(data)
        assert isinstance(row, BrowserSession)
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        row.since, row.seen_at = _instant(data.get("since")), _instant(data.get("seen"))
        row.address, row.browser = str(data.get("address", "")), str(data.get("browser", ""))
        return row


def begin(request: HttpRequest, person: Person, *, now: datetime) -> None:
    """Note with the session whose it is, from where and since when; its old key is worth nothing from here on.

    Sessions that expired are removed on this occasion.
    """
    BrowserSession.objects.filter(expire_date__lt=now).delete()
    request.session.cycle_key()
    browser = "".join(each for each in request.headers.get("User-Agent", "") if each.isprintable())
    at = now.timestamp()
    request.session.update(
        {
            "epoch": person.epoch, "since": at, "seen": at,
            "address": client_address(request)[:45], "browser": browser[:200],
        }
    )  # fmt: skip


def is_over(request: HttpRequest, person: Person, *, now: datetime) -> bool:
    """Whether the session has ended: too long idle, too old, or of before a change of role, teams or password."""
    since, seen = _instant(request.session.get("since")), _instant(request.session.get("seen"))
    if since is None or seen is None or request.session.get("epoch") != person.epoch:
        return True
    idle = timedelta(seconds=settings.GPULAYER_SESSION_IDLE_SECONDS)
    return now - seen >= idle or now - since >= timedelta(seconds=settings.SESSION_COOKIE_AGE)


def touch(request: HttpRequest, *, now: datetime) -> None:
    """Note that the person did something."""
    seen = _instant(request.session.get("seen"))
    if seen is None or now - seen >= min(STEP, timedelta(seconds=settings.GPULAYER_SESSION_IDLE_SECONDS) / 4):
        request.session["seen"] = now.timestamp()


def own_sessions(user: User, *, now: datetime) -> QuerySet[BrowserSession]:
    """The sessions that are still good, newest activity first."""
    idle = timedelta(seconds=settings.GPULAYER_SESSION_IDLE_SECONDS)
    return BrowserSession.objects.filter(user=user, expire_date__gt=now, seen_at__gt=now - idle).order_by("-seen_at")


def end_sessions(user: User, *, but: str | None = None) -> int:
    """End a person's sessions, except the one with this key; return how many there were."""
    return BrowserSession.objects.filter(user=user).exclude(session_key=but or "").delete()[0]


def _instant(seconds: object) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if isinstance(seconds, int | float) else None
