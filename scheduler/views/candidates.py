"""The candidates of one decision: filtered, one by one with their checks, and all of them as a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from scheduler.models import Job
from scheduler.services.candidate_files import KINDS, as_csv, as_json
from scheduler.services.recorded import Recorded
from scheduler.services.whys import why_not_on
from scheduler.views.candidate_query import Query
from scheduler.views.candidate_rows import Candidates
from scheduler.views.decided import decided
from scheduler.views.verdicts import in_my_zone
from scheduler.views.why_values import check_lines
from workers.live import is_fragment

WRITERS: dict[str, Callable[[Recorded], Iterator[str]]] = {"csv": as_csv, "json": as_json}


def candidate_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_candidate_rows.html` shows."""
    number = rec.row.pass_row.number
    return {
        "job": job,
        "recorded": rec,
        "candidates": Candidates(rec, Query.of(request.GET)),
        "here": reverse("job-candidates", args=[job.job_id]),
        "pinned": f"pass={number}&",
        "pinned_only": f"pass={number}",
    }


def rows(request: HttpRequest, job: Job, rec: Recorded) -> HttpResponse:
    """Those that the address asks for, by themselves for htmx."""
    context = {**candidate_context(request, job, rec), "oob": True}
    return render(request, "scheduler/_candidate_rows.html", context)


def candidate(request: HttpRequest, job_id: str, worker: str) -> HttpResponse:
    """One row with every check that was asked of it; for anybody but htmx the page of this pair."""
    frame, rec = decided(request, job_id)
    if not is_fragment(request):
        return redirect(f"{reverse('job-why-not', args=[job_id, worker])}?{request.GET.urlencode()}")
    shown = Candidates(rec, Query())
    try:
        row, found = shown.row(worker), why_not_on(rec, frame.job, worker, user=request.user, clock=in_my_zone())
    except KeyError as error:
        raise Http404(f"no worker of this name was known when {job_id} was decided") from error
    context = candidate_context(request, frame.job, rec)
    opened = {"row": row, "found": found, "bands": check_lines(found.checks, "asked")}
    return render(request, "scheduler/_candidate.html", {**context, **opened})


def download(request: HttpRequest, job_id: str, kind: str) -> HttpResponseBase:
    """All candidates of the decision."""
    frame, rec = decided(request, job_id)
    name = f"{frame.job.job_id}-pass-{rec.row.pass_row.number}.{kind}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"}
    return StreamingHttpResponse(WRITERS[kind](rec), content_type=KINDS[kind], headers=headers)


as_csv_file, as_json_file = partial(download, kind="csv"), partial(download, kind="json")
