"""The panel with every check: by groups of workers as one chooses, or worker by worker where there are few."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from scheduler.models import Job
from scheduler.services.readings import Reading, reading_of
from scheduler.services.recorded import Recorded
from scheduler.views.check_tables import Table, by_group, by_worker
from scheduler.views.groupings import BY_WORKER, FEW, groupings_for, is_grouping
from scheduler.views.verdicts import in_my_zone
from workers.devices import summary


def checks_context(request: HttpRequest, job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_why_checks.html` shows."""
    reading = reading_of(rec)
    few = 0 < len(rec.fleet.workers) <= FEW
    table = _table(reading, _grouping(request, few=few), gang=rec.entry.spec.distributed is not None)
    known = dict(groupings_for(rec.entry, rec.fleet, table.grouping))
    return {
        "job": job,
        "recorded": rec,
        "table": table,
        "groupings": [*([(BY_WORKER, "Worker")] if few else []), *known.items()],
        "here": reverse("job-candidates", args=[job.job_id]),
        "pinned": f"pass={rec.row.pass_row.number}&",
        "pinned_only": f"pass={rec.row.pass_row.number}",
    }


def _grouping(request: HttpRequest, *, few: bool) -> str:
    """How the address asks to count; anything else counts as not asked."""
    asked = request.GET.get("by", "")
    if is_grouping(asked):
        return asked
    return BY_WORKER if few else ""


def _table(reading: Reading, grouping: str, *, gang: bool) -> Table:
    if grouping == BY_WORKER:
        found = [(one, summary(reading.views[one.worker])) for one in reading.each(in_my_zone())]
        return by_worker(reading.kept.entry.spec, found)
    found_by_group = reading.checks_by(grouping or ("torch" if gang else "gpu"))
    return by_group(found_by_group, everywhere=not reading.in_targets)
