"""The workers behind a number are as many as it says, and what is said of one check is said of it everywhere."""

from __future__ import annotations

from hypothesis import given, settings

from scheduler.core import rule
from scheduler.core.check_words import able_words, remedies_lead, result_words
from scheduler.core.difference import changed_count
from scheduler.core.fleet import WorkerView
from scheduler.core.matrix import matrix
from scheduler.core.pickings import failing, in_targets, kept_by, of_group, with_word
from scheduler.core.reasons import Code
from scheduler.core.requirement_words import field_of
from scheduler.core.scene import Scene
from scheduler.core.spec import QueueEntry
from scheduler.core.why_not import why_not
from tests.core.builders import GB, a_job, a_worker
from tests.core.demanding import crowded_fleets, demanding_jobs

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=80, deadline=None)
NOT_OF_ONE_FIELD = {Code.SUPPORT_MATRIX, Code.GPU_ACCELERATOR, Code.RESERVED, Code.RESERVED_UNTIL, Code.RESERVED_FROM}


@laws
@given(demanding_jobs, crowded_fleets)
def test_sets_are_as_large_as_the_cells_of_the_matrix(job: QueueEntry, fleet: Workers) -> None:
    scene = Scene(job, fleet)
    within = in_targets(scene) or scene.census.everyone
    for grouping in ("gpu", "torch", "label:zone"):
        found = matrix(scene, grouping=grouping, within=within)
        groups = [of_group(scene, grouping, name, within) for name, _ in found.columns]
        assert [bits.bit_count() for bits in groups] == [number for _, number in found.columns]
        for row in found.rows:
            fails = failing(scene, row.code, row.subject or "")
            counted = [(fails & bits).bit_count() for bits in groups]
            assert counted == [cell.failed + cell.unknown for cell in row.cells]
            assert (kept_by(scene, row.code, row.subject or "") & within).bit_count() == row.only_blocker
    assert of_group(scene, "gpu", "no such group", within) == 0


@laws
@given(demanding_jobs, crowded_fleets)
def test_a_failed_check_names_the_field_that_it_always_names(job: QueueEntry, fleet: Workers) -> None:
    for candidate in rule.decide(job, fleet).candidates:
        for reason in candidate.reasons:
            assert reason.code in NOT_OF_ONE_FIELD or reason.field == field_of(reason.code)


def test_a_word_is_looked_for_in_what_one_reads_of_a_worker() -> None:
    fleet = (a_worker("here"), a_worker("there", labels={"zone": "b"}), a_worker("offline-one", online=False))
    scene = Scene(a_job(), fleet)
    assert scene.named(with_word(scene, "HERE")) == ("here", "there")
    assert scene.named(with_word(scene, "zone=b")) == ("there",)
    assert scene.named(with_word(scene, "offline")) == ("offline-one",)
    assert with_word(scene, "nothing of it") == 0


def test_nothing_changed_between_a_decision_and_itself() -> None:
    fleet = (a_worker("a"), a_worker("b"))
    first, last = rule.decide(a_job(), fleet), rule.decide(a_job(), (fleet[0], a_worker("b", online=False)))
    assert changed_count(first, first) == 0
    assert changed_count(first, last) == 1


def test_what_came_of_a_check_in_words() -> None:
    job = a_job(memory=99 * GB)
    small, quiet, away = a_worker(memory_bytes=GB), a_worker(memory_bytes=None), a_worker(online=False)

    def said(worker: WorkerView, code: Code, entry: QueueEntry = job) -> str:
        decision = rule.decide(entry, (worker,))
        lines = why_not(entry, worker, decision.candidate(worker.id)).checks
        return next(result_words(line) for line in lines if line.code is code)

    assert said(small, Code.MEMORY) == "✗ never fits"
    assert said(quiet, Code.MEMORY) == "? unknown: failed"
    assert said(small, Code.TARGET) == "✓ passed"
    assert said(small, Code.OFFLINE) == "– not asked"
    assert said(small, Code.DISK) == "– not stated"
    assert said(away, Code.OFFLINE, a_job()) == "✗ not now"


def test_where_one_that_passed_stands() -> None:
    assert able_words(1, (9, 10), selected=True) == "number 1 in policy order; devices 9 and 10"
    assert able_words(2, (), selected=False) == "could run it now; number 2 in policy order"
    assert able_words(None, (), selected=False) == "could run it now"


def test_several_remedies_are_needed_together() -> None:
    job = a_job(memory=99 * GB, disk=10**15)
    worker = a_worker(memory_bytes=GB)
    found = why_not(job, worker, rule.decide(job, (worker,)).candidate(worker.id))
    assert remedies_lead(found) == "Both together would do; neither alone does."
