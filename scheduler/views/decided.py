"""Which decision of a job an address names: by the pass at which it was in force, else the latest."""

from __future__ import annotations

from django.http import Http404, HttpRequest

from scheduler.models import Decision, Job
from scheduler.services.pins import decision_at
from scheduler.services.recorded import Recorded
from scheduler.services.seen_decisions import recorded_at_for
from scheduler.views.job_frame import Frame, frame_of


def decided(request: HttpRequest, job_id: str) -> tuple[Frame, Recorded]:
    """The job and that decision; Http404 where there is none."""
    frame = frame_of(request.user, job_id)
    rec = decision_asked_for(request, frame.job, frame.recorded)
    if rec is None:
        raise Http404("this job has no decision yet")
    return frame, rec


def decision_asked_for(request: HttpRequest, job: Job, latest: Recorded | None) -> Recorded | None:
    """The decision that the address names by its `pass` or its own key `d`, else the latest; Http404 for none."""
    number, key = request.GET.get("pass", ""), request.GET.get("d", "")
    named = number or key
    if not named or (latest and named == str(latest.row.pass_row.number if number else latest.row.pk)):
        return latest
    row = None
    if named.isascii() and named.isdigit() and len(named) < 19:
        kept = Decision.objects.select_related("pass_row", "job").filter(job=job)
        row = decision_at(job, int(number)) if number else kept.filter(pk=key).first()
    if row is None:
        raise Http404("no such decision of this job; it may have been dropped for newer ones")
    return recorded_at_for(request.user, row)
