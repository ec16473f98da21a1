"""How all workers became the chosen ones, as it is drawn: every number leads to the rows behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduler.core import explain
from scheduler.services.recorded import Recorded
from scheduler.views.candidate_query import loss_link, stage_link
from scheduler.views.candidate_rows import FEW

_LOSS_ICONS = {"never": "ban", "wait": "clock", "rsv": "bookmark", "none": "minus"}


@dataclass(frozen=True, slots=True)
class Loss:
    """Workers that a stage lost, and the link to them."""

    label: str
    count: int
    tone: str
    icon: str
    link: str


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the funnel."""

    label: str
    count: int
    tone: str
    link: str
    """Those who got there, as a query string of the candidates."""
    losses: tuple[Loss, ...]


def funnel_context(rec: Recorded) -> dict[str, Any]:
    """What `_funnel.html` shows; nothing where there are so few workers that their rows say it all."""
    stages = explain.funnel(rec.entry, rec.decision)
    known = len(rec.decision.evidence.roster.ids)
    if known <= FEW:
        return {"funnel": ()}
    ended = f"{stages[-1].count:,}" if stages[-1].count else _nothing(stages)
    return {
        "funnel": tuple(_stage(stage, waits=not stages[-1].count) for stage in stages),
        "funnel_title": f"How {known:,} workers became {ended}",
        "funnel_link": f"pass={rec.row.pass_row.number}&",
    }


def _nothing(stages: tuple[explain.FunnelStage, ...]) -> str:
    """`0`; of a gang that some are free for, `3, too few`."""
    together = next((stage.count for stage in stages if stage.key == "one_torch"), 0)
    return f"{together:,}, too few" if together else "0"


def _stage(stage: explain.FunnelStage, *, waits: bool) -> Stage:
    tone = "ok" if stage.key == "selected" else "run"
    return Stage(
        label=stage.label,
        count=stage.count,
        tone="wait" if waits and not stage.count else tone,
        link=stage_link(stage.key),
        losses=tuple(
            Loss(loss.label, loss.count, loss.tone, _LOSS_ICONS.get(loss.tone, "minus"), loss_link(stage.key, loss.key))
            for loss in stage.losses
        ),
    )
