"""Sign-ins that fail too often wait: django-axes counts them, here is by what and how many."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest

from gpulayer_site.accounts.address import client_address

CODES = "(one-time code)"
"""Stands for the user name of who types a code. No user can have this name."""

_BY_BOTH, _BY_NAME, _BY_ADDRESS = ("username", "ip_address"), ("username",), ("ip_address",)
Credentials = dict[str, Any] | None


def limits() -> dict[tuple[str, ...], int]:
    """How many failures, within the cool-off, lock each of: a name from one address, a name, an address."""
    return {
        _BY_BOTH: settings.AXES_FAILURE_LIMIT,
        _BY_NAME: settings.GPULAYER_SIGN_IN_TRIES_BY_NAME,
        _BY_ADDRESS: settings.GPULAYER_SIGN_IN_TRIES_BY_ADDRESS,
    }


def parameters(request: HttpRequest, credentials: Credentials) -> list[list[str]]:
    """By what failures are counted; codes not by their common name, or anybody could lock everybody's out."""
    by_code = get_client_username(request, credentials) == CODES
    return [list(each) for each in limits() if not (by_code and each == _BY_NAME)]


def address_of(request: HttpRequest) -> str | None:
    """The caller's address; a header counts only behind a proxy of this installation."""
    return client_address(request) or None


class Lock(AxesDatabaseHandler):
    """The counts of django-axes, each against a limit of its own.

    axes itself has one limit for all of them, and forgets the failures of a whole address when anybody there signs in:
    who has an account could then guess others' without end.
    """

    def user_login_failed(
        self, sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **more: Any
    ) -> None:
        """Count a failure; of the browser that it came from nothing is kept."""
        if request is not None:
            request.axes_user_agent = request.axes_http_accept = ""  # type: ignore[attr-defined]
        super().user_login_failed(sender, credentials, request, **more)

    def get_failures(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """The failures that count, on the scale of the limit that axes compares them with."""
        tries = settings.AXES_FAILURE_LIMIT
        return max(
            sum(rows.values_list("failures_since_start", flat=True)) * tries // limit
            for limit, rows in self._counted(request, credentials)
        )

    def reset_user_attempts(self, request: HttpRequest, credentials: Credentials = None) -> int:
        """After a success: that person's failures from that address no longer count."""
        name = get_client_username(request, credentials)
        return AccessAttempt.objects.filter(username=name, ip_address=request.axes_ip_address).delete()[0]  # type: ignore[attr-defined]

    def free_at(self, request: HttpRequest, credentials: Credentials = None) -> datetime | None:
        """When the next try is heard; None where it would be now."""
        found = [_free_at(rows, limit) for limit, rows in self._counted(request, credentials)]
        return max((each for each in found if each is not None), default=None)

    def _counted(self, request: HttpRequest, credentials: Credentials) -> list[tuple[int, QuerySet[AccessAttempt]]]:
        by = [tuple(each) for each in parameters(request, credentials)]
        return [
            (limits()[each], rows) for each, rows in zip(by, self.get_user_attempts(request, credentials), strict=True)
        ]


def _free_at(rows: QuerySet[AccessAttempt], limit: int) -> datetime | None:
    """When enough of these failures are forgotten."""
    counted = list(rows.order_by("attempt_time").values_list("attempt_time", "failures_since_start"))
    left = sum(failures for _, failures in counted)
    until = None
    for at, failures in counted:
        if left < limit:
            break
        until, left = at + settings.AXES_COOLOFF_TIME, left - failures
    return until


def locked_until(username: str, *, now: datetime) -> datetime | None:
    """Until when nobody can sign in under this name, wherever from; None where that is not so."""
    rows = AccessAttempt.objects.filter(username=username, attempt_time__gte=now - settings.AXES_COOLOFF_TIME)
    return _free_at(rows, settings.GPULAYER_SIGN_IN_TRIES_BY_NAME)


def forget(username: str) -> int:
    """Let a person try again at once, from everywhere; return how many counts there were."""
    return AccessAttempt.objects.filter(username=username).delete()[0]
