"""Giving up what runs on a host that is out of contact."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router

from scheduler.api.acts import actor, permitted
from scheduler.api.jobs import job_detail
from scheduler.api.wire import JobDetailOut
from scheduler.services.contact import give_up_on
from workers.wire import Body, refusals

router = Router(tags=["jobs"])


class GiveUpIn(Body):
    """`confirm`: it may go on running there, and is ended when its host is back."""

    confirm: Literal[True]


@router.post("jobs/{job_id}/give-up", response={200: JobDetailOut, **refusals(403, 404, 409, body=True)})
def give_up(request: HttpRequest, job_id: Path[str], payload: GiveUpIn) -> Any:
    """Take what runs on hosts out of contact for lost, and free its devices. Its owner and operators may."""
    give_up_on(job=permitted(request, job_id, "give up"), actor=actor(request), now=timezone.now())
    return job_detail(request, job_id)
