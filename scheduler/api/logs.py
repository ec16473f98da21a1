"""Logs for people and programs: as records, as frames, or as the bytes that were written."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Path, Query, Router

from scheduler.api.jobs import found
from scheduler.api.wire import LogPageOut
from scheduler.api.wire_asked import LogAsked
from scheduler.log_download import as_text
from scheduler.models import Job, Task
from scheduler.services.log_tasks import logs_of
from scheduler.services.logs import LogPage, read_log
from workers.refusals import NotFound
from workers.wire import refusals

router = Router(tags=["jobs"])

JobId = Path[str]
NOTHING = LogPage(b"", next=0, size=0)
TEXT_ANSWER = {
    "responses": {
        200: {
            "description": "Records as JSON, what the program wrote as text, or frames with the rest in `Gpulayer-Log`",
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/LogPageOut"}},
                "text/plain": {"schema": {"type": "string"}},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            },
        }
    }
}


@router.get(
    "jobs/{job_id}/log",
    response={200: LogPageOut, **refusals(404, 416, 507)},
    openapi_extra=TEXT_ANSWER,
    summary="Get Log",
)
def get_log(request: HttpRequest, job_id: JobId, asked: Query[LogAsked]) -> Any:
    """The log of an attempt (the latest) and a rank (0) from `offset`: 0, or an earlier page's `next`.

    `text` is all of it, byte for byte, of one stream or of both; `json` and `frames` are pages.
    """
    job = found(request, job_id).job
    task = logs_of(job, attempt=asked.attempt, rank=asked.rank).task
    if task is None and (asked.attempt is not None or asked.rank):
        which = f"attempt {asked.attempt}, rank {asked.rank}" if asked.attempt else f"rank {asked.rank}"
        raise NotFound(f"{job_id} has no {which}", code="no_such_log")
    if asked.format == "text":
        return as_text(job, task, stream=asked.stream, offset=asked.offset, download=asked.download)
    page = read_log(task, offset=asked.offset) if task else NOTHING
    about = _about(job, task, asked, page)
    if asked.format == "json":
        chosen = [record for record in page.records if asked.stream in ("both", record.stream)]
        return {**about, "records": chosen}
    headers = {"Gpulayer-Log": json.dumps(about, default=str), "Cache-Control": "no-store"}
    return HttpResponse(page.frames, content_type="application/octet-stream", headers=headers)


def _about(job: Job, task: Task | None, asked: LogAsked, page: LogPage) -> dict[str, Any]:
    over = job.is_over or (asked.attempt is not None and task is not None and not task.attempt.active)
    return {
        "size": page.size,
        "next": page.next,
        "ended": over and page.next >= page.size,
        "attempt": task.attempt.number if task else None,
        "rank": task.rank if task else asked.rank,
        "cut": task.log_cut if task else False,
        "removed_at": task.log_deleted_at if task else None,
    }
