"""The banners at the head of every page: what operators tell everybody, and what the server has to say of itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import template
from django.utils import timezone

from scheduler.models import Watch
from workers.services.notices import current

register = template.Library()

SAID_FOR = timedelta(minutes=15)
"""For how long the server says that it was away or that its clock was set."""


@register.inclusion_tag("_partials/_notices.html")
def notices() -> dict[str, Any]:
    """Every notice that is up, and the server's own. Two queries."""
    now = timezone.now()
    watch = Watch.objects.filter(pk=1, noted_at__gt=now - SAID_FOR, noted_at__lte=now).exclude(note="").first()
    return {"notices": current(now), "watch": watch}
