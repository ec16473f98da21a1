"""Situations that schedulers get wrong, from documents to decisions: who is chosen, and every code against others."""

from __future__ import annotations

from itertools import permutations, starmap

import pytest

from scheduler.core.codec import canonical_bytes, decision_to_document
from scheduler.core.decision import SchedulingDecision
from scheduler.core.fleet import Fleet
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.offline import Given, decide
from tests.offline.situations import SITUATIONS, Document, Situation


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_it_is_decided_right(situation: Situation) -> None:
    decisions = _decisions(situation.workers, situation.jobs)
    assert {id: _told(decision) for id, decision in decisions.items()} == situation.right
    for id, by_worker in situation.codes.items():
        found = {name: _codes(decisions[id], name) for name in by_worker}
        assert found == by_worker, id


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_the_order_of_workers_changes_no_byte(situation: Situation) -> None:
    orders = list(permutations(situation.workers))[:6]
    assert len(set(starmap(_bytes, ((list(order), situation.jobs) for order in orders)))) == 1


def _decisions(workers: list[Document], jobs: list[Document]) -> dict[str, SchedulingDecision]:
    fleet = Fleet(tuple(parse_worker(document) for document in workers))
    queue = tuple(parse_queue_entry(document, position=place) for place, document in enumerate(jobs, 1))
    return {entry.job_id: decision for entry, decision in decide(Given(fleet, queue))}


def _bytes(workers: list[Document], jobs: list[Document]) -> bytes:
    return b"\n".join(canonical_bytes(decision_to_document(found)) for found in _decisions(workers, jobs).values())


def _told(decision: SchedulingDecision) -> str:
    if not decision.assignments:
        return str(decision.outcome)
    (place,) = decision.assignments
    return " ".join([place.worker, *([",".join(map(str, place.devices))] if place.devices else [])])


def _codes(decision: SchedulingDecision, name: str) -> str:
    return " ".join(reason.code.text for reason in decision.candidate(name).reasons)
