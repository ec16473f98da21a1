"""The what-if beside every form that changes workers: as a piece for htmx, and as part of a page without it."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.safestring import SafeString

from scheduler.services.whatif import preview
from workers import asked
from workers.picking import picked_of
from workers.proposed import Change
from workers.refusals import Refused
from workers.roles import is_operator

TEMPLATE = "scheduler/_whatif.html"


def fragment(request: HttpRequest) -> HttpResponse:
    """What the form around it means as it is filled in at this moment. Nothing is saved."""
    if not is_operator(request.user):
        raise PermissionDenied("only operators change workers")
    reads = asked.KINDS.get(request.POST.get("kind", ""))
    if reads is None:
        raise Http404("no such form")
    try:
        picked = picked_of(request.POST)
    except Refused as refusal:
        return HttpResponse(render_to_string(TEMPLATE, {"refused": refusal.detail}, request))
    said = reads(request.POST, picked.names, timezone.get_current_timezone(), timezone.now())
    if said.problems:
        return HttpResponse(render_to_string(TEMPLATE, {"problems": said.problems}, request))
    return HttpResponse(panel(request, said.change))


def panel(request: HttpRequest, change: Change) -> SafeString:
    """The panel for a change; of one that changes nothing, an empty place for it."""
    now = timezone.now()
    is_empty = change == Change(workers=change.workers)
    found = None if is_empty else preview(change, now=now, user=request.user)
    context = {"preview": found, "now": now, "change": change}
    return render_to_string(TEMPLATE, context, request)
