"""How a job ended, in the few words of lists."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.core.words import attempt_words
from scheduler.models import Job
from tests.factories import NOW


@pytest.mark.parametrize(("fields", "signal", "words"), [
    pytest.param({"state": "queued"}, None, "", id="waits"),
    pytest.param({"state": "succeeded", "exit_code": 0, "started_at": NOW}, None, "", id="well"),
    pytest.param({"state": "cancelled"}, None, "cancelled before it started", id="cancelled in the queue"),
    pytest.param({"state": "cancelled", "started_at": NOW}, 15, "cancelled", id="cancelled as it ran"),
    pytest.param({"state": "cancelled", "started_at": NOW, "exit_code": 3}, None, "cancelled", id="with its own code"),
    pytest.param({"state": "failed", "failure_code": "exit_code", "exit_code": 3}, None, "exit code 3", id="failed"),
    pytest.param({"state": "failed", "failure_code": "signal"}, 9, "signal 9", id="killed"),
    pytest.param({"state": "failed", "failure_code": "workdir_missing"}, None, "workdir missing", id="not started"),
    pytest.param({"state": "failed", "failure_code": "unschedulable"}, None, "", id="never fits: its decision says"),
    pytest.param({"state": "timed_out", "spec": {"timeout_s": 5}}, 15, "longer than 5 s", id="too long"),
])  # fmt: skip
def test_how_a_job_ended(fields: dict[str, Any], signal: int | None, words: str) -> None:
    assert Job(**fields).in_short(signal) == words


@pytest.mark.parametrize(("number", "retries", "words"), [
    (1, 0, ""), (2, 0, "2"), (1, 3, "1 of 4"), (2, 3, "2 of 4"), (4, 3, "4 of 4"), (5, 3, "5"),
])  # fmt: skip
def test_which_attempt_it_is(number: int, retries: int, words: str) -> None:
    assert attempt_words(number, retries) == words
