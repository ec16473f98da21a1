"""A log as a file: the bytes that were written, never anything but text to a browser."""

from __future__ import annotations

from django.http import HttpResponse, StreamingHttpResponse

from scheduler.models import Job, Task
from scheduler.services.logs import read_bytes

HEADERS = {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "Cache-Control": "no-store",
}
"""No guessing, no scripts."""


def as_text(
    job: Job, task: Task | None, *, stream: str = "both", offset: int = 0, download: bool = True
) -> HttpResponse | StreamingHttpResponse:
    """The bytes of one stream or of both, from the frame at `offset`; `download`: to be kept, not to be opened."""
    headers = dict(HEADERS)
    if download:
        headers["Content-Disposition"] = f'attachment; filename="{file_name(job, task, stream)}"'
    if task is None:
        return HttpResponse(b"", headers=headers)
    return StreamingHttpResponse(read_bytes(task, offset=offset, stream=stream), headers=headers)


def file_name(job: Job, task: Task | None, stream: str) -> str:
    """How the file is called: where it is not the plain case, it says which attempt, rank and stream."""
    parts = [job.job_id]
    if task is not None and task.attempt.number > 1:
        parts.append(f"attempt-{task.attempt.number}")
    if task is not None and task.rank:
        parts.append(f"rank-{task.rank}")
    return "-".join([*parts, *([stream] if stream != "both" else [])]) + ".log"
