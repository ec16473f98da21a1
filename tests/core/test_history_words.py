"""How a job's decisions followed each other is told from a handful of numbers."""

from __future__ import annotations

import pytest

from scheduler.core.decision import Outcome, Verdict
from scheduler.core.difference import Changed, Difference
from scheduler.core.history_words import (
    confirmed_words,
    first_words,
    near_words,
    nearness_words,
    steps_words,
    trigger_words,
)

BEFORE = {"workers": 1213, "tier": 240, "compatible": 82, "available": 0, "selected": 0}


def test_only_steps_that_changed_are_named():
    after = BEFORE | {"compatible": 83, "available": 6}
    assert steps_words(BEFORE, after) == "can run it 82 → 83, free now 0 → 6"
    assert steps_words(BEFORE, BEFORE) == steps_words({}, after) == ""


def test_the_first_decision_says_where_it_began():
    assert first_words(BEFORE) == "82 of 240 in the target can run it, 0 free now"
    assert first_words({}) == ""


def test_how_near_it_was():
    assert near_words(5, 8, "devices") == "best is 5 of 8 devices free on one worker"
    assert near_words(3, 4, "workers") == "best is 3 of 4 workers of one torch version free"
    told = nearness_words(4, 6, 5, 8, "devices", "13:55")
    assert told.endswith("between 4 and 6 since 13:55, 5 at the last decision; the job needs 8")
    assert ": 2 since" in nearness_words(2, 2, 2, 4, "workers", "13:55")


@pytest.mark.parametrize(
    ("passes", "said"),
    [(0, ""), (1, "confirmed by the next 1 pass"), (1373, "confirmed by the next 1,373 passes")],
)
def test_how_often_it_was_confirmed(passes, said):
    assert confirmed_words(passes) == said


def changed(worker: str, *causes: str, after: Verdict = Verdict.ELIGIBLE) -> Changed:
    """One candidate that was not free before."""
    return Changed(
        worker=worker, before=Verdict.UNAVAILABLE, after=after, codes_before=(), codes_after=(),
        headline=f"{worker} came free", causes=causes,
    )  # fmt: skip


def difference(*those: Changed) -> Difference:
    """Of a job that waits on."""
    return Difference(
        outcome_before=Outcome.WAITING, outcome_after=Outcome.WAITING, places_before=(), places_after=(), steps=(),
        changed=those,
    )  # fmt: skip


def test_what_set_a_change_off_names_what_led_to_the_choice_first_and_each_cause_once():
    found = difference(
        changed("a", "j-1 released device 0"),
        changed("b", "j-2 released device 3", after=Verdict.SELECTED),
        changed("c", "j-1 released device 0"),
    )
    assert trigger_words(found) == "j-2 released device 3 and j-1 released device 0; 3 candidates changed"


def test_what_set_a_change_off_stays_short_and_says_how_much_more_there_is():
    found = difference(*(changed(name) for name in "abcde"))
    assert trigger_words(found) == "a came free, b came free, c came free and 2 more changes; 5 candidates changed"
    assert trigger_words(difference()) == ""
