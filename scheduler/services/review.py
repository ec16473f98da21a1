"""The regular look at everything that time alone decides. Again, late, or twice at once: the same comes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from django.db import DatabaseError

from scheduler.services import barrier, contact, drains, idleness, overdue, reservations_over, silence
from scheduler.services.watch import Clocks, look, read_clocks

log = logging.getLogger(__name__)

Step = Callable[[datetime], None]
ALWAYS: tuple[Step, ...] = (
    silence.suspect_the_silent, contact.lose_sight, barrier.expire, reservations_over.end_the_outlived,
)  # fmt: skip
WHEN_SURE: tuple[Step, ...] = (silence.lose_the_suspect, contact.end_leases, contact.close_revoked)
"""Only while nothing suggests that the server itself could not hear anybody."""
SELDOM: tuple[Step, ...] = (
    drains.stop_at_deadlines, silence.finish_draining, overdue.end_the_overdue, idleness.note_idle,
)  # fmt: skip
"""The same, for what costs more and is in no hurry."""


def review(clocks: Callable[[], Clocks] = read_clocks, *, thorough: bool = True) -> None:
    """Look at the clocks, then at the workers and tasks. A step that the database refuses has its turn next time."""
    watch = look(clocks)
    now = watch.wall_at
    calm = watch.grace_until is None or watch.grace_until <= now
    for step in (*ALWAYS, *(WHEN_SURE if calm else ()), *(SELDOM if calm and thorough else ())):
        try:
            step(now)
        except DatabaseError:
            log.warning("%s is put off to the next look", step.__qualname__, exc_info=True)
