"""What Celery may ask for; losing or doubling any of it changes nothing."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down
from django.db import DatabaseError
from django.utils import timezone

from scheduler.nudge import RUN_PASS
from scheduler.services.passes import run_passes
from scheduler.services.retention import run_retention
from scheduler.services.review import review

log = logging.getLogger(__name__)

WATCH = "scheduler.watch"
REVIEW_SECONDS = 1.0
"""Passes may follow each other faster than a look before each of them is worth."""

_ending = threading.Event()
_reviewed_at = -REVIEW_SECONDS


@worker_shutting_down.connect
def end_passes(**_: Any) -> None:
    """The worker is told to stop: a pass under way ends at its next batch, so that nobody has to wait for it."""
    _ending.set()


@shared_task(name=RUN_PASS, ignore_result=True)
def run_pass(**_: Any) -> None:
    """Run a pass, and once more when one was asked for meanwhile; before it, look at what time alone decides."""
    _review_if_due()
    run_passes(now=timezone.now, holder=f"{socket.gethostname()}:{os.getpid()}", ending=_ending)


@shared_task(name="scheduler.retention", ignore_result=True)
def retention(**_: Any) -> None:
    """Remove what is old or too much."""
    run_retention(now=timezone.now(), clock=time.monotonic)


@shared_task(name=WATCH, ignore_result=True)
def watch(**_: Any) -> None:
    """Look at what time alone decides: clocks, silent workers, leases, claims, time limits."""
    review()


def _review_if_due() -> None:
    """A pass does not depend on the watch; what goes wrong here does not hold it up."""
    global _reviewed_at  # noqa: PLW0603 - one memory per process is what is meant
    if time.monotonic() - _reviewed_at < REVIEW_SECONDS:
        return
    _reviewed_at = time.monotonic()
    try:
        review(thorough=False)
    except DatabaseError:
        log.warning("The look at workers and leases is put off", exc_info=True)
