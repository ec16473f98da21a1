"""Deleting jobs that are over."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Router, Status

from scheduler.api.jobs import found
from scheduler.services.deleting import delete_job as delete
from scheduler.services.jobs import may_change
from workers.refusals import Refused
from workers.wire import refusals

router = Router(tags=["jobs"])


@router.delete("jobs/{job_id}", response={204: None, **refusals(403, 404, 405, 409)})
def delete_job(request: HttpRequest, job_id: Path[str]) -> Any:
    """Delete a job that is over, with its logs, outputs and decisions. Its owner and operators may; its events stay."""
    job = found(job_id).job
    if not may_change(request.user, job):
        owner = job.owner.get_username()
        raise Refused("not_yours", f"{job_id} belongs to {owner}; operators may delete it", status=403)
    delete(job=job, actor=f"user:{request.user.get_username()}", now=timezone.now())
    return Status(204, None)
