"""What Celery may ask for; losing or doubling any of it changes nothing."""

from __future__ import annotations

import os
import socket
from typing import Any

from celery import shared_task
from django.utils import timezone

from scheduler.nudge import RUN_PASS
from scheduler.services.passes import run_passes


@shared_task(name=RUN_PASS, ignore_result=True)
def run_pass(**_: Any) -> None:
    """Run a pass, and once more when one was asked for meanwhile."""
    run_passes(now=timezone.now, holder=f"{socket.gethostname()}:{os.getpid()}")
