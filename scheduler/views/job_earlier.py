"""An earlier decision of a job, read as it was: what it said then, and which came before and after it."""

from __future__ import annotations

from typing import Any

from scheduler.core import explain
from scheduler.models import Decision, Job
from scheduler.services.recorded import Recorded
from scheduler.views.job_answer import TONES, in_my_zone, tier_steps

_TONES = {"placed": "ok", "waiting": "wait", "reserved": "rsv", "never": "never"}


def earlier_context(job: Job, rec: Recorded) -> dict[str, Any]:
    """What `_earlier.html` shows; nothing where the latest decision is read. Two queries."""
    if rec.row.pk == job.decision_id:
        return {"earlier_answer": None}
    said = explain.answer(rec.entry, rec.decision, clock=in_my_zone)
    kept = Decision.objects.filter(job=job)
    as_tiers = explain.tier_sentences(rec.decision)
    return {
        "earlier_answer": said,
        "earlier_more": [text for text in said.more if text not in as_tiers],
        "earlier_tone": TONES[_TONES.get(said.state, "none")],
        "earlier_tiers": tier_steps(rec),
        "earlier_older": kept.filter(pk__lt=rec.row.pk).order_by("-pk").values_list("pk", flat=True).first(),
        "earlier_newer": kept.filter(pk__gt=rec.row.pk).order_by("pk").values_list("pk", flat=True).first(),
    }
