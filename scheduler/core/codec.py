"""Values <-> versioned documents, without loss: what is stored, sent, printed and replayed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from scheduler.core.codec_job import job_to_document
from scheduler.core.codec_worker import facts_to_document, instant_text, worker_to_document
from scheduler.core.decision import Assignment, Candidate, Listed, SchedulingDecision, Tier, TierStatus
from scheduler.core.errors import DocumentError, Problem
from scheduler.core.reasons import CODES, Fact, GroupReason, Matter, Note, NoteCode, Reason
from scheduler.core.sentences import group_sentence, note_sentence, sentence
from scheduler.core.spec import Policy

__all__ = [
    "candidate_to_document", "canonical_bytes", "decision_from_document", "decision_to_document", "facts_to_document",
    "head_to_document", "job_to_document", "reason_to_document", "worker_to_document",
]  # fmt: skip

VERSION = 1
Document = dict[str, Any]


def canonical_bytes(document: object) -> bytes:
    """The one spelling of a document in bytes: sorted keys, no spaces, UTF-8."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def decision_to_document(decision: SchedulingDecision, *, grouped: bool = False) -> Document:
    """The decision with every candidate; `grouped`: those without a key that say the same, together."""
    spell = _Reasons().spell
    candidates = (
        _grouped(decision, spell) if grouped else (candidate_to_document(one, spell) for one in decision.candidates)
    )  # fmt: skip
    return {**head_to_document(decision), "candidates": list(candidates)}


def head_to_document(decision: SchedulingDecision) -> Document:
    """The decision without its candidates."""
    return {
        "version": VERSION,
        "job_id": decision.job_id,
        "policy": str(decision.policy),
        "outcome": str(decision.outcome),
        "ever_schedulable": decision.ever_schedulable,
        "tiers": [{"name": tier.name, "status": str(tier.status)} for tier in decision.tiers],
        "assignments": [
            {"worker": place.worker, "node_rank": place.node_rank, "devices": list(place.devices)}
            for place in decision.assignments
        ],
        "group_reasons": [_group_reason(reason) for reason in decision.group_reasons],
        "job_reasons": [reason_to_document(reason) for reason in decision.job_reasons],
        "notes": [_note(note) for note in decision.notes],
    }


def decision_from_document(document: Mapping[str, Any]) -> SchedulingDecision:
    """The decision as it was; raises `DocumentError` for what is none. What can be derived is not read."""
    try:
        if document["version"] != VERSION:
            raise ValueError(f"version {document['version']}")
        assignments = tuple(
            Assignment(worker=place["worker"], node_rank=place["node_rank"], devices=tuple(place["devices"]))
            for place in document["assignments"]
        )
        return SchedulingDecision(
            job_id=document["job_id"],
            policy=Policy(document["policy"]),
            tiers=tuple(Tier(tier["name"], TierStatus(tier["status"])) for tier in document["tiers"]),
            assignments=assignments,
            group_reasons=tuple(_read_group_reason(reason) for reason in document["group_reasons"]),
            job_reasons=tuple(_read_reason(reason) for reason in document["job_reasons"]),
            notes=tuple(_read_note(note) for note in document["notes"]),
            ever_schedulable=bool(document["ever_schedulable"]),
            evidence=Listed(_read_candidates(document["candidates"], {place.worker for place in assignments})),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        found = f"{type(error).__name__}: {error}"
        raise DocumentError([Problem("", found, "a decision of version 1, as documented")]) from error


class _Reasons:
    """Spells reasons, each value once: candidates of one class share theirs."""

    def __init__(self) -> None:
        self._spelled: dict[int, tuple[Reason, Document]] = {}

    def spell(self, reason: Reason) -> Document:
        known = self._spelled.get(id(reason))
        if known is None:
            known = self._spelled[id(reason)] = (reason, reason_to_document(reason))
        return known[1]


def _grouped(decision: SchedulingDecision, spell: Any) -> Iterator[Document]:
    """Candidates with a key one by one; the others once for each set of reasons, in the order of their first."""
    together: dict[tuple[Reason, ...], Document] = {}
    for candidate in decision.candidates:
        if candidate.key is not None or candidate.selected:
            yield candidate_to_document(candidate, spell)
        elif (group := together.get(candidate.reasons)) is not None:
            group["workers"].append(candidate.worker)
        else:
            document = candidate_to_document(candidate, spell)
            together[candidate.reasons] = {"workers": [document.pop("worker")], **document}
    yield from together.values()


def candidate_to_document(candidate: Candidate, spell: Callable[[Reason], Document] | None = None) -> Document:
    """One candidate; `spell` writes its reasons."""
    return {
        "worker": candidate.worker,
        "verdict": str(candidate.verdict),
        "key": None if candidate.key is None else list(candidate.key),
        "reasons": [(spell or reason_to_document)(reason) for reason in candidate.reasons],
    }


def reason_to_document(reason: Reason) -> Document:
    """A reason with its sentence; fields that do not apply are left out."""
    document: Document = {
        "code": reason.code.text,
        "field": reason.field,
        "required": _fact(reason.required),
        "actual": _fact(reason.actual),
        "unknown": reason.unknown,
    }
    where_they_apply: Document = {
        "subject": reason.subject,
        "have": reason.have,
        "of": reason.of,
        "enough_at": _fact(reason.enough_at),
        "devices": list(reason.devices) or None,
        "holders": list(reason.holders) or None,
        "until": instant_text(reason.until),
        "since": instant_text(reason.since),
        "matter": None if reason.matter is None else reason.matter.value,
        "row": reason.row,
    }
    document |= {name: value for name, value in where_they_apply.items() if value is not None}
    return document | {"message": sentence(reason)}


def _fact(fact: Fact) -> object:
    return list(fact) if isinstance(fact, tuple) else fact


def _group_reason(reason: GroupReason) -> Document:
    return {
        "code": reason.code.text,
        "tier": reason.tier,
        "torch": reason.torch,
        "compatible": reason.compatible,
        "free": reason.free,
        "needed": reason.needed,
        "message": group_sentence(reason),
    }


def _note(note: Note) -> Document:
    return {
        "code": str(note.code), "subject": note.subject, "nearest": note.nearest, "message": note_sentence(note),
    }  # fmt: skip


def _read_candidates(documents: Iterable[Mapping[str, Any]], selected: set[str]) -> Iterator[Candidate]:
    for document in documents:
        reasons = tuple(_read_reason(reason) for reason in document["reasons"])
        key = document.get("key")
        for worker in document["workers"] if "workers" in document else [document["worker"]]:
            yield Candidate(
                worker=worker,
                reasons=reasons,
                selected=worker in selected,
                key=None if key is None else tuple(key),
            )


def _read_reason(document: Mapping[str, Any]) -> Reason:
    return Reason(
        code=CODES[document["code"]],
        field=document["field"],
        required=_read_fact(document["required"]),
        actual=_read_fact(document["actual"]),
        unknown=document["unknown"],
        subject=document.get("subject"),
        have=document.get("have"),
        of=document.get("of"),
        enough_at=_read_fact(document.get("enough_at")),
        devices=tuple(document.get("devices", ())),
        holders=tuple(document.get("holders", ())),
        until=_read_instant(document.get("until")),
        since=_read_instant(document.get("since")),
        matter=None if document.get("matter") is None else Matter(document["matter"]),
        row=document.get("row"),
    )


def _read_fact(fact: Any) -> Fact:
    return tuple(fact) if isinstance(fact, list) else fact


def _read_instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _read_group_reason(document: Mapping[str, Any]) -> GroupReason:
    return GroupReason(
        code=CODES[document["code"]],
        tier=document["tier"],
        torch=document["torch"],
        compatible=document["compatible"],
        free=document["free"],
        needed=document["needed"],
    )


def _read_note(document: Mapping[str, Any]) -> Note:
    return Note(code=NoteCode(document["code"]), subject=document["subject"], nearest=document["nearest"])
