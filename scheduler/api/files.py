"""Files that jobs run with, uploaded in parts; and outputs that jobs have left."""

from __future__ import annotations

from typing import Annotated, Any, cast

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router
from pydantic import Field

from scheduler.api.jobs import found, not_yours
from scheduler.api.wire_files import BundleOut, OutputAsked, OutputsOut
from scheduler.models import Bundle, Job, OutputFile, Task
from scheduler.output_download import as_attachment
from scheduler.services import bundles, outputs
from scheduler.services.jobs import may_have_outputs
from workers.refusals import Refused
from workers.wire import Count, Id, refusals

router = Router(tags=["files"])

JobId = Path[str]
Hash = Path[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
BYTES_BODY = {"requestBody": {"required": True, "description": "Bytes of the archive.", "content": BYTES}}
BYTES_ANSWER = {"responses": {200: {"description": "The bytes of the output.", "content": BYTES}}}


@router.get("bundles/{sha256}", response={200: BundleOut, **refusals(404)})
def get_bundle(request: HttpRequest, sha256: Hash) -> Bundle:
    """What the caller has uploaded under this hash; of what others have nothing is said."""
    return bundles.bundle_of(owner=cast("User", request.user), sha256=sha256)


@router.put(
    "bundles/{sha256}",
    response={200: BundleOut, **refusals(409, 416, 507, body=True)},
    openapi_extra=BYTES_BODY,
    summary="Upload Bundle",
)
def put_bundle(request: HttpRequest, sha256: Hash, offset: Query[Count], size: Query[Count]) -> Bundle:
    """Append at most 1 MiB at `offset` to the archive (a tar without compression) that will have `size` bytes.

    The same bytes again are fine; 416 says with `size` where to go on. With the last byte its hash is checked: jobs
    can name it as `files` once it is `complete`.
    """
    if request.content_type != "application/octet-stream":
        raise Refused("unsupported_media_type", "the body must be application/octet-stream", status=415)
    return bundles.upload(
        owner=cast("User", request.user), sha256=sha256, size=size, offset=offset, data=request.body,
        now=timezone.now(),
    )  # fmt: skip


@router.get("jobs/{job_id}/outputs", response={200: OutputsOut, **refusals(403, 404)})
def list_outputs(request: HttpRequest, job_id: JobId) -> Any:
    """Every file that the job has left and that is here; for each run of it where they lie on its host.

    Its owner and operators may.
    """
    job = _with_outputs(request, job_id)
    return {"items": [_item(row) for row in outputs.of_job(job)], "runs": [_run(task) for task in outputs.runs_of(job)]}


@router.get(
    "jobs/{job_id}/outputs/{number}",
    response={200: bytes, **refusals(403, 404, 507)},
    openapi_extra=BYTES_ANSWER,
    summary="Download Output",
)
def get_output(request: HttpRequest, job_id: JobId, number: Path[Id], asked: Query[OutputAsked]) -> Any:
    """The bytes of one output from `offset`, at most `length` of them. Its owner and operators may."""
    job = _with_outputs(request, job_id)
    return as_attachment(outputs.output_of(job, number), offset=asked.offset, length=asked.length)


def _with_outputs(request: HttpRequest, job_id: str) -> Job:
    job = found(request, job_id).job
    if not may_have_outputs(request.user, job):
        raise not_yours(job, "see the outputs of")
    return job


def _item(row: OutputFile) -> dict[str, Any]:
    return {
        "number": row.pk, "attempt": row.task.attempt.number, "rank": row.task.rank, "path": row.path,
        "size": row.size, "sha256": row.sha256,
    }  # fmt: skip


def _run(task: Task) -> dict[str, Any]:
    return {
        "attempt": task.attempt.number, "rank": task.rank, "worker": task.worker.name, "path": task.outputs_path,
        "note": task.outputs_note, "complete": task.outputs_complete,
    }  # fmt: skip
