"""What has to be said about a log beside what is in it."""

from __future__ import annotations

from typing import NamedTuple

from django.conf import settings

from scheduler.core.explain import size
from scheduler.models import Task
from scheduler.services.log_check import differs
from scheduler.services.log_tasks import still_on_the_host
from workers.moments import clock, now


class Notice(NamedTuple):
    """A sentence and the tone it is said in."""

    tone: str
    text: str


def notices(task: Task) -> list[Notice]:
    """Whatever makes this log less than all that was written."""
    if task.log_deleted_at:
        days = settings.GPULAYER_KEEP["logs"].days
        why = f"logs are kept for {days} days, or until their room is needed" if days else "its room was needed"
        return [Notice("wait", f"This log was removed at {clock(task.log_deleted_at, now=now())}: {why}.")]
    found = []
    if task.log_cut:
        limit = size(settings.GPULAYER_LOG_LIMIT_BYTES)
        text = f"This log reached its limit of {limit}: what the program wrote after the last line was not kept."
        found.append(Notice("wait", text))
    if left := still_on_the_host(task):
        text = f"{size(left)} of this log are still on {task.worker.name}; they come when this server takes them."
        found.append(Notice("wait", text))
    if task.log_sha256 and differs(task):
        text = f"What is stored is not what {task.worker.name} says it sent: the hashes differ. Its events say more."
        found.append(Notice("never", text))
    return found
