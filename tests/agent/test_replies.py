"""Replies of a server that nobody should follow: none of them is used, none of them costs much."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from tests.agent.server_side import A_CLAIM, CLAIM
from tests.agent.wire import Script
from workers.agent import messages
from workers.agent.client import AgentClient
from workers.agent.folder import AgentFolder
from workers.agent.transport import ONCE, Transport, UnreachableError

PATIENCE = 30.0


HOSTILE: dict[str, Callable[[dict[str, Any]], object]] = {
    "a job id that leaves its folder": lambda claim: claim | {"job_id": "../../etc"},
    "a job id that is none": lambda claim: claim | {"job_id": 7},
    "a task that is no number": lambda claim: claim | {"task": "../1"},
    "an argument that is no text": lambda claim: claim | {"argv": ["true", 1]},
    "a variable that is no text": lambda claim: claim | {"env": {"A": ["x"]}},
    "a workdir that is no text": lambda claim: claim | {"workdir": ["/"]},
    "a time limit that is no number": lambda claim: claim | {"timeout_s": "600"},
    "a lease that is no number": lambda claim: claim | {"lease_seconds": True},
    "no claim at all": lambda _: [1, 2],
}


@pytest.mark.parametrize("twist", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_claim_that_nobody_should_follow_is_no_answer(
    script: Script, transport: Transport, folder: AgentFolder, twist: Callable[[dict[str, Any]], object]
) -> None:
    script.say(CLAIM, twist(A_CLAIM | {"argv": ["true"]}))
    with pytest.raises(UnreachableError, match="not as this protocol has it"):
        AgentClient(transport).claim(1, 7, 1, retry=ONCE)


def test_a_claim_for_another_task_is_not_taken(script: Script, transport: Transport) -> None:
    script.say(CLAIM, A_CLAIM | {"argv": ["true"], "task": 2})
    with pytest.raises(UnreachableError):
        AgentClient(transport).claim(1, 7, 1, retry=ONCE)


@pytest.mark.parametrize("word", ["nan", "inf", "-1"])
def test_seconds_are_seconds(word: str) -> None:
    with pytest.raises(ValueError, match="seconds"):
        messages.wanted({"next_in": float(word), "assignments": [], "cancel": []})
    with pytest.raises(ValueError, match="seconds"):
        messages.wanted({"leases": [{"task": 1, "seconds": float(word)}]})


def test_an_answer_without_end_is_not_read_to_its_end(script: Script) -> None:
    script.say("GET x", {"much": "x" * 3_000_000})
    with closing(Transport(script.url, "glw_x", answer_bytes=1_000_000)) as transport:
        began = time.monotonic()
        with pytest.raises(UnreachableError, match="more than 1,000,000 bytes"):
            transport.call("GET", "/api/agent/v1/x")
        assert time.monotonic() - began < PATIENCE
