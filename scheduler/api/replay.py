"""What a decision was made from, so that anybody can make it again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from ninja import Path, Query, Router

from scheduler.api.jobs import found
from scheduler.api.wire import ReplayOut
from scheduler.core.codec import decision_to_document, worker_to_document
from scheduler.core.codec_entry import entry_to_document
from scheduler.core.fleet import WorkerView
from scheduler.services.seen_decisions import recorded_for
from scheduler.services.seen_fleet import fleet_for
from scheduler.snapshot import take_fleet
from workers.refusals import NotFound
from workers.wire import refusals

router = Router(tags=["jobs"])


@router.get("jobs/{job_id}/replay", response={200: ReplayOut, **refusals(404)})
def get_replay(request: HttpRequest, job_id: Path[str], today: Query[bool] = False) -> Any:
    """What the latest decision was made from, and the decision; `today`: the fleet as it is now as well.

    The entry has no environment variables and no secrets: no decision looks at them. Where others' jobs are hidden, no
    fleet names any of them; the decision is the one made on that fleet, with the same verdicts and reasons.
    """
    kept = recorded_for(request.user, found(request, job_id).job)
    if kept is None:
        raise NotFound(f"no pass has considered {job_id} yet", code="no_decision")
    entry = replace(kept.entry, spec=replace(kept.entry.spec, env=(), secrets=()))
    return {
        "version": 1,
        "job_id": job_id,
        "pass_number": kept.pass_.number,
        "made_at": kept.row.made_at,
        "intact": kept.intact,
        "same_rules": kept.same_rules,
        "entry": entry_to_document(entry),
        "workers": _documents(kept.fleet.workers),
        "decision": decision_to_document(kept.decision),
        "today": _documents(_present(request.user)) if today else None,
    }


def _present(user: Any) -> Collection[WorkerView]:
    return fleet_for(user, take_fleet(now=timezone.now()).fleet()).workers


def _documents(workers: Iterable[WorkerView]) -> list[dict[str, Any]]:
    return [worker_to_document(worker) for worker in workers]
