"""The files that a task runs with, and the outputs that it leaves."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Path, Query, Router
from pydantic import Field

from scheduler.agent_api.wire_tasks import LogOut
from scheduler.models import TaskState
from scheduler.services import bundles, outputs
from scheduler.services.reports import glanced
from workers.auth import caller
from workers.refusals import NotFound, Refused
from workers.wire import Body, Count, Id, Prose, refusals

router = Router(tags=["tasks"])

TaskId = Path[Id]
BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
BYTES_BODY = {"requestBody": {"required": True, "description": "Bytes of the file.", "content": BYTES}}
BYTES_ANSWER = {"responses": {200: {"description": "Bytes of the archive.", "content": BYTES}}}
OutputPath = Annotated[str, Field(min_length=1, max_length=4096)]


class OutputsDoneIn(Body):
    """All outputs that will come are here. `note`: what will not, and why."""

    fence: Id
    note: Prose = ""


class OutputsDoneOut(LogOut):
    """How many bytes of outputs are here."""


@router.get(
    "tasks/{task_id}/files",
    response={200: bytes, **refusals(404, 409, 416, 507)},
    openapi_extra=BYTES_ANSWER,
    summary="Fetch the files",
)
def files(request: HttpRequest, task_id: TaskId, fence: Query[Count], offset: Query[Count]) -> Any:
    """Some bytes of the archive of a task that was claimed, from `offset`; ask on until there are `size`."""
    task = glanced(credential=caller(request), task_id=task_id, fence=fence)
    if task.state not in (TaskState.CLAIMED, TaskState.RUNNING):
        raise Refused("not_claimed", f"task {task_id} is {task.state}; its files are given out while it is claimed")
    bundle = task.attempt.job.bundle
    if bundle is None:
        raise NotFound(f"task {task_id} runs without files", code="no_files")
    part = bundles.read(bundle, offset=offset)
    return HttpResponse(part, content_type="application/octet-stream", headers={"Cache-Control": "no-store"})


@router.put(
    "tasks/{task_id}/outputs",
    response={200: LogOut, **refusals(404, 409, 416, 507, body=True)},
    openapi_extra=BYTES_BODY,
    summary="Append to an output",
)
def put_output(
    request: HttpRequest, task_id: TaskId, path: Query[OutputPath], offset: Query[Count], size: Query[Count],
    fence: Query[Count],
) -> Any:  # fmt: skip
    """Append to the output of this path, which will have `size` bytes. The same bytes again are fine."""
    if request.body and request.content_type != "application/octet-stream":
        raise Refused("unsupported_media_type", "the body must be application/octet-stream", status=415)
    stored = outputs.put(
        credential=caller(request), task_id=task_id, fence=fence, path=path, size=size, offset=offset,
        data=request.body, now=timezone.now(),
    )  # fmt: skip
    return {"size": stored}


@router.post("tasks/{task_id}/outputs/done", response={200: OutputsDoneOut, **refusals(404, 409, body=True)})
def outputs_done(request: HttpRequest, task_id: TaskId, payload: OutputsDoneIn) -> Any:
    """Everything that will come is here. Again, it changes nothing."""
    size = outputs.done(credential=caller(request), task_id=task_id, fence=payload.fence, note=payload.note)
    return {"size": size}
