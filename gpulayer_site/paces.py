"""The clocks of execution: how often is called, and after how long without a call what is given up."""

from __future__ import annotations

import math

import environ
from django.core.exceptions import ImproperlyConfigured

MISSES = 3
"""Heartbeats missed in a row before a worker is suspect."""


def read_seconds(env: environ.Env, name: str, default: float, *, least: float = 0.05) -> float:
    """A length of time in seconds; raises ImproperlyConfigured for anything else."""
    text = env.str(name, default=str(default))
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not least <= seconds <= 10**7:
        raise ImproperlyConfigured(f"{name} is a number of seconds, at least {least:g}; found `{text}`")
    return seconds


def check_lease(*, lease: float, heartbeat: float) -> None:
    """Raise ImproperlyConfigured for a lease that hosts could lose while all is well."""
    shortest = 2 * MISSES * heartbeat
    if lease < shortest:
        raise ImproperlyConfigured(
            f"GPULAYER_LEASE_SECONDS is at least {shortest:g}, {2 * MISSES} times GPULAYER_HEARTBEAT_SECONDS; "
            f"found `{lease:g}`"
        )
