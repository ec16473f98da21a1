"""Calls that wait for work. They hold a thread of the server each, so only half of the threads may do so."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.conf import settings

LONGEST_SECONDS = 30
LOOK_SECONDS = 0.15
PACE_SECONDS = 1.0
"""What stays as it is, such as a task that is being stopped, is told again this seldom."""

_room = BoundedSemaphore(max(1, settings.GPULAYER_WEB_THREADS // 2))


@contextmanager
def room_to_wait() -> Iterator[bool]:
    """Whether one more call may wait; it has the room until this ends."""
    got = _room.acquire(blocking=False)
    try:
        yield got
    finally:
        if got:
            _room.release()


def wait_for_news(look: Callable[[], frozenset[int]], *, known: frozenset[int], seconds: float) -> bool:
    """Look until there is something that is not in `known`; false when the time is over, soon where there is any."""
    deadline = time.monotonic() + (min(seconds, PACE_SECONDS) if known else seconds)
    while time.monotonic() < deadline:
        time.sleep(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic())))
        if look() - known:
            return True
    return False
