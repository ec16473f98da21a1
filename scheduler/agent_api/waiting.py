"""Calls that wait for work. They hold a thread of the server each, so only half of the threads may do so, and only
few of them for the same caller. Whether the caller may still call is asked again while they wait.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from django.conf import settings

LONGEST_SECONDS = 30
LOOK_SECONDS = 0.15
PACE_SECONDS = 1.0
"""What stays as it is, such as a task that is being stopped, is told again this seldom."""

RECHECK_SECONDS = 5.0
"""How long a call may go on after its caller's right to call has ended."""
MOST_EACH = 3
"""Calls of one caller that wait: one, and those that a broken line left behind."""

_waiting: Counter[int] = Counter()
_lock = Lock()


@contextmanager
def room_to_wait(caller: int) -> Iterator[bool]:
    """Whether one more call of this caller may wait; it has the room until this ends."""
    with _lock:
        got = _waiting[caller] < MOST_EACH and _waiting.total() < max(1, settings.GPULAYER_WEB_THREADS // 2)
        if got:
            _waiting[caller] += 1
    try:
        yield got
    finally:
        if got:
            _leave(caller)


def _leave(caller: int) -> None:
    with _lock:
        _waiting[caller] -= 1
        if not _waiting[caller]:
            del _waiting[caller]


def wait_for_news(
    look: Callable[[], frozenset[int]], *, known: frozenset[int], seconds: float, recheck: Callable[[], None]
) -> bool:
    """Look until there is something that is not in `known`; false when the time is over, soon where there is any.

    `recheck` is asked every few seconds, and ends the wait by raising.
    """
    begun = time.monotonic()
    deadline, checked = begun + (min(seconds, PACE_SECONDS) if known else seconds), begun
    while time.monotonic() < deadline:
        time.sleep(min(LOOK_SECONDS, max(0.0, deadline - time.monotonic())))
        if time.monotonic() - checked >= RECHECK_SECONDS:
            recheck()
            checked = time.monotonic()
        if look() - known:
            return True
    return False
