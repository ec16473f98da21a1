"""A job's document as it was submitted, with what it leaves to defaults marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from scheduler.core.codec_job import left_to_defaults
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job
from scheduler.forms import yaml_of
from scheduler.forms.documents import in_order
from scheduler.models import Job
from scheduler.services.jobs import document_for, may_see_values
from scheduler.services.sealing import secret_names
from scheduler.views.job_frame import frame_of
from scheduler.views.job_pages import job_page

Line = tuple[str, str]
"""Text, and the remark beside it."""

REMARKS = {
    "memory_gb": "host RAM", "gpus": "per worker", "gpu_memory_gb": "each device", "cpu_cores": "per worker",
    "procs_per_worker": "processes on each worker", "timeout_s": "seconds", "hold_s": "seconds", "lease_s": "seconds",
}  # fmt: skip
DEFAULT = "default"
COLUMN = 34
"""At which remarks begin, where lines are short enough."""


def spec(request: HttpRequest, job_id: str) -> HttpResponse:
    """The document as submitted, its arguments, what it keeps to itself and what is checked of it."""
    frame = frame_of(request.user, job_id)
    document = document_for(request.user, frame.job)
    context = {
        "tab": "spec",
        "lines": [(text.ljust(COLUMN) if remark else text, remark) for text, remark in _lines(frame.job, document)],
        "argv": document.get("command", []),
        "hidden_env": list(document.get("env", ())) if not may_see_values(request.user, frame.job) else (),
        "secrets": secret_names(frame.job),
    }
    return job_page(request, frame, "scheduler/job_spec.html", context)


def _lines(job: Job, document: dict[str, Any]) -> Iterator[Line]:
    try:
        left_out = left_to_defaults(parse_job(job.spec))
    except DocumentError:
        left_out = {}
    for key, value in in_order({**left_out, **document}).items():
        usual = left_out.get(key)
        if key not in document:
            yield from _marked(yaml_of({key: value}), DEFAULT)
        elif isinstance(value, dict) and isinstance(usual, dict):
            yield f"{key}:", ""
            yield from _indented(value, usual)
        else:
            yield from _marked(yaml_of({key: value}), "")


def _indented(value: Mapping[str, Any], usual: Mapping[str, Any]) -> Iterator[Line]:
    for key, each in value.items():
        yield from _marked(yaml_of({key: each}), "", before="  ")
    for key, each in usual.items():
        if key not in value:
            yield from _marked(yaml_of({key: each}), DEFAULT, before="  ")


def _marked(text: str, remark: str, *, before: str = "") -> Iterator[Line]:
    for line in text.splitlines():
        said = (REMARKS.get(line.partition(":")[0].strip(), ""), "" if line.endswith(":") else remark)
        yield before + line, ", ".join(filter(None, said))
