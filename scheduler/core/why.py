"""Everything there is to say of one decision, and of a queue of them, as values and as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from scheduler.core.blockers import Blockers, Ends, blockers
from scheduler.core.codec import job_to_document, reason_to_document
from scheduler.core.codec_worker import instant_text
from scheduler.core.decision import SchedulingDecision
from scheduler.core.explain import Answer, FunnelStage, answer, funnel
from scheduler.core.matrix import Matrix, matrix
from scheduler.core.reasons import Code, Reason
from scheduler.core.relax import Relaxations, relaxations
from scheduler.core.relax_gang import GangVersion, gang_versions
from scheduler.core.relaxed import Relaxation
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.why_this import WhyThis, why_this
from scheduler.core.why_words import relaxation_sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """One job's decision, explained."""

    answer: Answer
    funnel: tuple[FunnelStage, ...]
    order: WhyThis
    relaxations: Relaxations
    gang: tuple[GangVersion, ...]
    """Empty for a job of one worker."""
    matrix: Matrix
    blockers: Blockers


def why(scene: Scene, decision: SchedulingDecision, *, grouping: str = "gpu", ends: Ends | None = None) -> Why:
    """All of it; `ends` are the time limits of running jobs, where they are known."""
    return Why(
        answer=answer(scene.entry, decision),
        funnel=funnel(scene.entry, decision),
        order=why_this(scene, decision),
        relaxations=relaxations(scene),
        gang=gang_versions(scene),
        matrix=matrix(scene, grouping=grouping),
        blockers=blockers(scene, ends or {}),
    )


def to_document(value: object) -> Any:
    """Any of these values as plain JSON: fields by name, codes and states as text, instants in UTC, spans in seconds.

    A relaxation also says its sentence; its spec is the whole job document, ready to submit.
    """
    for kind, spell in _SPELLED.items():
        if isinstance(value, kind):
            return spell(value)
    if is_dataclass(value) and not isinstance(value, type):
        document = {one.name: to_document(getattr(value, one.name)) for one in fields(value)}
        return document | ({"message": relaxation_sentence(value)} if isinstance(value, Relaxation) else {})
    if isinstance(value, Mapping):
        return {str(key): to_document(one) for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_document(one) for one in value]
    return value


_SPELLED: dict[type, Any] = {
    Code: lambda code: code.text,
    Enum: str,
    Reason: reason_to_document,
    JobSpec: job_to_document,
    datetime: instant_text,
    timedelta: timedelta.total_seconds,
}
