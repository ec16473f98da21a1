"""The Celery application as the launcher runs it: the beat process ends with the worker, however that ended."""

import warnings
from typing import Any

from celery.exceptions import SecurityWarning
from celery.signals import beat_embedded_init

from gpulayer_site.celery import app
from gpulayer_site.up import linux

__all__ = ["app"]

# The launcher has said that it runs as root, and the tasks carry JSON, not pickles.
warnings.filterwarnings("ignore", category=SecurityWarning)


@beat_embedded_init.connect
def end_with_the_worker(**_: Any) -> None:
    """Runs in the beat process when it starts."""
    linux.die_with_parent()
