"""What a pass looks at: the fleet as it is now, and the jobs of the queue that can be read."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from scheduler.models import Job, JobState
from scheduler.queue import Queued
from scheduler.services.commits import ACTOR
from scheduler.services.lease import Lease, renew
from scheduler.services.machines import move_job
from scheduler.services.silence import suspect
from scheduler.snapshot import FleetSnapshot, take_fleet

BROKEN = "broken_document"


def fleet_now(now: datetime) -> FleetSnapshot:
    """The fleet, after the workers that have fallen silent were marked so."""
    fleet = take_fleet(now=now)
    if fleet.silent:
        suspect(fleet.silent, now=now)
        fleet = take_fleet(now=now)
    return fleet


def readable(queue: Iterable[Queued], lease: Lease, now: datetime) -> list[Queued]:
    """The queue without the jobs whose stored document is broken: these end here, and hold up nobody."""
    readable = []
    for queued in queue:
        if queued.entry is not None:
            readable.append(queued)
            continue
        with transaction.atomic():
            renew(lease, now=now)
            move_job(
                Job(pk=queued.pk, job_id=queued.job_id),
                JobState.FAILED, frm=JobState.QUEUED, actor=ACTOR, now=now, cause=BROKEN,
                failure_code=BROKEN, failure_text=queued.broken,
            )  # fmt: skip
    return readable
