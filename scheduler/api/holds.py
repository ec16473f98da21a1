"""Holds for people: let go, or kept longer."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router
from pydantic import Field

from scheduler.api.acts import CHANGED, actor, permitted
from scheduler.api.jobs import job_detail
from scheduler.services import holds
from workers.wire import Body

router = Router(tags=["holds"])

JobId = Path[str]


class ExtendIn(Body):
    """How much longer."""

    seconds: Annotated[int, Field(ge=60, le=7 * 24 * 3600)]


@router.post("jobs/{job_id}/hold/release", response=CHANGED)
def release(request: HttpRequest, job_id: JobId) -> Any:
    """End a hold: its worker lets go of the devices within seconds. Its owner and operators may."""
    holds.release_hold(job=permitted(request, job_id, "release"), actor=actor(request), now=timezone.now())
    return job_detail(request, job_id)


@router.post("jobs/{job_id}/hold/extend", response=CHANGED)
def extend(request: HttpRequest, job_id: JobId, payload: ExtendIn) -> Any:
    """Let a hold last longer: at most 24 hours past its first end, 7 days in all, and not into what others reserved.

    Its owner and operators may.
    """
    holds.extend_hold(
        job=permitted(request, job_id, "extend"), seconds=payload.seconds, actor=actor(request), now=timezone.now()
    )
    return job_detail(request, job_id)
