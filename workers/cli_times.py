"""Instants on the command line: `18:00`, `2026-12-01 18:00` on this machine's clock, or ISO 8601 with an offset."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from workers.local_time import LocalTimeError, read_local

_TIME_OF_DAY = re.compile(r"[0-2]?[0-9]:[0-5][0-9]")


class Instant(click.ParamType):
    """An instant; a time of day alone is the next one."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The instant, in UTC."""
        if isinstance(value, datetime):
            return value
        try:
            return _next(value) if _TIME_OF_DAY.fullmatch(value) else read_local(value, None)
        except LocalTimeError as error:
            self.fail(f"{error}; 18:00 alone is the next one", param, ctx)


def _next(text: str) -> datetime:
    now = datetime.now(UTC)
    today = now.astimezone().date()
    for day in (today, today + timedelta(days=1)):
        at = read_local(f"{day} {text.rjust(5, '0')}", None)
        if at > now:
            return at
    raise LocalTimeError(f"found “{text}”; expected a time of day to come")


INSTANT = Instant()
