"""What Celery may ask of the trail; losing or doubling it changes nothing."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from django.utils import timezone

from workers.services.seals import seal_events


@shared_task(name="workers.seal_trail", ignore_result=True)
def seal_trail(**_: Any) -> None:
    """Seal the events that are settled."""
    seal_events(now=timezone.now())
