"""The panels about why on a job's page, each from one part of the core's explanation."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from scheduler.core.answers import capital
from scheduler.core.decision import Outcome
from scheduler.core.why import Grounds, part
from scheduler.core.why_words import (
    blockers_sentence,
    earlier_sentence,
    gang_sentence,
    passed_over_sentence,
    relaxations_lead,
    taken_words,
    why_this_lead,
)
from scheduler.models import Job
from scheduler.services.recorded import Recorded
from scheduler.services.whys import grounds_of
from scheduler.views.groupings import groupings_for, is_grouping
from scheduler.views.why_values import edits, reasons_in_the_way, table_of
from workers.moments import now

AT_ONCE = 1_000
"""Up to so many workers the panels are there when the page is; of more they come by themselves."""
MOST_BLOCKED = 5
MOST_OVERTAKING = 8


def whys_or_their_place(request: HttpRequest, job: Job, rec: Recorded) -> SafeString:
    """The panels, or what fetches them."""
    if len(rec.fleet.workers) <= AT_ONCE:
        return render_to_string("scheduler/_whys.html", whys_context(request, job, rec), request)
    context = {"job": job, "recorded": rec}
    return render_to_string("scheduler/_whys_place.html", context, request)


def whys_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_whys.html` shows."""
    grounds = _grounds(request, job, rec)
    waits = rec.decision.outcome is not Outcome.PLACED
    return {
        **_checks(request, job, rec, grounds),
        **(_relaxations(job, rec, grounds) if waits else {}),
        **(_in_the_way(grounds) if rec.decision.outcome is Outcome.WAITING else {}),
        **_order(grounds),
        "gang": [capital(gang_sentence(version)) for version in part("gang", grounds)],
    }


def checks_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_why_checks.html` shows."""
    return _checks(request, job, rec, _grounds(request, job, rec))


def _grounds(request: HttpRequest, job: Job, rec: Recorded) -> Grounds:
    return grounds_of(rec, job, user=request.user, now=now(), grouping=_grouping(request))


def _grouping(request: HttpRequest) -> str:
    """How the address asks to count; anything else counts as not asked."""
    asked = request.GET.get("by", "")
    return asked if is_grouping(asked) else "gpu"


def _checks(request: HttpRequest, job: Job, rec: Recorded, grounds: Grounds) -> dict[str, Any]:
    table = table_of(part("matrix", grounds))
    return {
        "job": job,
        "recorded": rec,
        "table": table,
        "groupings": list(groupings_for(rec.entry, rec.fleet, table.grouping)),
        "here": reverse("job-candidates", args=[job.job_id]),
    }


def _relaxations(job: Job, rec: Recorded, grounds: Grounds) -> dict[str, Any]:
    found = part("relaxations", grounds)
    never = rec.decision.outcome is Outcome.UNSCHEDULABLE
    return {
        "relax_title": _TITLES[never, job.is_over],
        "relax_lead": capital(relaxations_lead(found)),
        "edits": edits(sorted((*found.alone, *found.together), key=lambda one: not one.starts)),
    }


_TITLES = {
    (False, False): "What would start it sooner",
    (False, True): "What would have started it sooner",
    (True, False): "What would make it fit",
    (True, True): "What would have made it fit",
}
"""By whether it never fits, and whether it is over."""


def _in_the_way(grounds: Grounds) -> dict[str, Any]:
    found, over = part("blockers", grounds), part("passed_over", grounds)
    told = passed_over_sentence(over)
    return {
        "blockers": found,
        "blockers_lead": capital(blockers_sentence(found)),
        "blocked": [(one, reasons_in_the_way(one)) for one in found.workers[:MOST_BLOCKED]],
        "more_blocked": max(0, found.total - MOST_BLOCKED),
        "passed_over": over,
        "passed_title": told[:1].upper() + told[1:],
        "overtaking": [(one, taken_words(one)) for one in over.later[:MOST_OVERTAKING]],
        "more_overtaking": max(0, len(over.later) - MOST_OVERTAKING),
        "earlier": earlier_sentence(over),
    }


def _order(grounds: Grounds) -> dict[str, Any]:
    found = part("order", grounds)
    return {
        "order": found.order if len(found.order) > 1 else (),
        "order_title": f"Policy order: {found.policy}",
        "order_lead": why_this_lead(found).partition(": ")[2],
        "more_in_order": found.eligible - len(found.order),
    }
