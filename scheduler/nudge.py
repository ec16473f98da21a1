"""Asking for a pass soon. A doorbell: whoever doesn't hear it finds the work at the next regular pass anyway."""

from __future__ import annotations

import logging
import time

from celery import current_app
from django.db import transaction

from scheduler.models import PassLease

log = logging.getLogger(__name__)

RUN_PASS = "scheduler.run_pass"
PASS_LEASE = "pass"
EXPIRES_SECONDS = 10.0
SILENCE_SECONDS = 5.0
"""How long no message is tried after the broker could not be reached: each try may cost a second."""

_silent_until = 0.0


def request_pass() -> None:
    """Ask for a pass once the current transaction is committed (at once, outside of one). Never raises."""
    transaction.on_commit(_ring, robust=True)


def _ring() -> None:
    """Send one message per pass at most: whoever finds the mark already set knows that one is under way."""
    lease, _ = PassLease.objects.get_or_create(name=PASS_LEASE)
    if not lease.wanted and PassLease.objects.filter(pk=lease.pk, wanted=False).update(wanted=True):
        _send()


def _send() -> None:
    global _silent_until  # noqa: PLW0603 - one memory per process is what is meant
    if time.monotonic() < _silent_until:
        return
    try:
        current_app.signature(RUN_PASS).apply_async(expires=EXPIRES_SECONDS, retry=False)
    except Exception:  # whatever a broker does, the caller's work is done and committed
        _silent_until = time.monotonic() + SILENCE_SECONDS
        log.warning("The broker cannot be reached; the next regular pass will do.", exc_info=True)
