"""What Celery may ask for; losing or doubling any of it changes nothing."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import Any

from celery import shared_task
from celery.signals import worker_shutting_down
from django.utils import timezone

from scheduler.nudge import RUN_PASS
from scheduler.services.passes import run_passes
from scheduler.services.retention import run_retention

_ending = threading.Event()


@worker_shutting_down.connect
def end_passes(**_: Any) -> None:
    """The worker is told to stop: a pass under way ends at its next batch, so that nobody has to wait for it."""
    _ending.set()


@shared_task(name=RUN_PASS, ignore_result=True)
def run_pass(**_: Any) -> None:
    """Run a pass, and once more when one was asked for meanwhile."""
    run_passes(now=timezone.now, holder=f"{socket.gethostname()}:{os.getpid()}", ending=_ending)


@shared_task(name="scheduler.retention", ignore_result=True)
def retention(**_: Any) -> None:
    """Remove what is old or too much."""
    run_retention(now=timezone.now(), clock=time.monotonic)
