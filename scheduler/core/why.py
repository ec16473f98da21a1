"""Everything there is to say of one decision, and of a queue of them, as values and as documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
from scheduler.core.passed_over import PassedOver
from scheduler.core.reasons import Code, Reason
from scheduler.core.relax import Relaxations, relaxations
from scheduler.core.relax_gang import GangVersion, gang_versions
from scheduler.core.relaxed import Relaxation
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.why_this import WhyThis, why_this
from scheduler.core.why_words import relaxation_sentence
from scheduler.core.words import Clock, in_utc


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
    passed_over: PassedOver | None
    """None where it is not recorded who went ahead, as for decisions over files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What an explanation is made from."""

    scene: Scene
    decision: SchedulingDecision
    grouping: str = "gpu"
    """How the matrix counts."""
    ends: Callable[[], Ends] | None = None
    """The time limits of running jobs, where they are known."""
    passed_over: Callable[[Scene], PassedOver] | None = None
    """Who went ahead, where that is recorded."""
    clock: Clock = in_utc
    """How instants in sentences are said."""


def why(given: Grounds) -> Why:
    """All of it. Raises ValueError for a grouping that is none."""
    return Why(**{name: part(name, given) for name in PARTS})


def part(name: str, given: Grounds) -> Any:
    """One field of `Why` by itself, at no more than its own cost; KeyError where there is no such field."""
    return PARTS[name](given)


PARTS: Mapping[str, Callable[[Grounds], Any]] = {
    "answer": lambda given: answer(given.scene.entry, given.decision),
    "funnel": lambda given: funnel(given.scene.entry, given.decision),
    "order": lambda given: why_this(given.scene, given.decision),
    "relaxations": lambda given: relaxations(given.scene),
    "gang": lambda given: gang_versions(given.scene),
    "matrix": lambda given: matrix(given.scene, grouping=given.grouping),
    "blockers": lambda given: blockers(given.scene, given.ends() if given.ends else {}, clock=given.clock),
    "passed_over": lambda given: given.passed_over(given.scene) if given.passed_over else None,
}
"""How each field of `Why` is found."""


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
