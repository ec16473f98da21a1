"""The clock of leases and time limits: seconds since boot, sleep included. No step of the wall clock moves it."""

from __future__ import annotations

import time


def now() -> float:
    """The instant, comparable between all processes of this boot."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_ms() -> int:
    """Milliseconds since the epoch, only to be shown."""
    return time.time_ns() // 1_000_000
