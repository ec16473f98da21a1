"""An agent and its server: leases, the long poll, and credentials."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agent.conftest import HERE
from tests.agent.nvml_double import H100, NvmlDouble
from tests.agent.server_side import A_CLAIM, CLAIM, FINISH, LOG, RELEASE, STARTED, Log
from tests.agent.shimmed import eventually
from tests.agent.test_adoption import ASSIGNED
from tests.agent.wire import Script, problem
from workers.agent.credentials import AGAIN_SECONDS, LIFE_SECONDS, Credentials
from workers.agent.loop import Agent, CredentialRefusedError
from workers.agent.nvml import Nvml
from workers.agent.preparing import Host
from workers.agent.probe import Identity, Probe
from workers.agent.shim.clock import now
from workers.agent.shim.sweep import process
from workers.agent.transport import Transport

PATIENCE = 30.0
POLL = "GET assignments"
BEAT = "POST heartbeat"
ROTATE = "POST credential/rotate"


class Running:
    """An agent in a thread."""

    def __init__(self, host: Host, transport: Transport) -> None:
        host.folder.root.mkdir(parents=True, exist_ok=True)
        nvml = Nvml(NvmlDouble(H100 | {"uuid": "GPU-a"}), pci_devices=lambda: 1)
        probe = Probe(Identity(name="here", origin="local"), {"default": HERE}, host.folder.root, nvml)
        self.agent = Agent(host, "here", probe, Credentials(host.folder, transport, "here"))
        self.failure: list[Exception] = []
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.agent.run()
        except CredentialRefusedError as error:
            self.failure.append(error)

    def stop(self) -> None:
        self.agent.stop()
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()


@pytest.fixture
def agent(script: Script, host: Host, transport: Transport, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setattr("workers.agent.listener.POLL_SECONDS", 0.05)
    monkeypatch.setattr("workers.agent.listener.NEWS_SECONDS", 0.02)
    monkeypatch.setattr("workers.agent.loop.TICK_SECONDS", 0.02)
    script.say("POST register", {"epoch": 1, "next_in": 0.1})
    script.say(BEAT, {"next_in": 0.1, "assignments": [], "cancel": []})
    script.say(POLL, {"assignments": [], "cancel": []})
    script.say(LOG, Log())
    made = Running(host, transport)
    yield made
    if made.thread.is_alive():
        made.stop()


def assign(script: Script, *argv: str, **claim: Any) -> None:
    """One task, from the next poll on until it is claimed."""
    script.say(CLAIM, A_CLAIM | {"argv": list(argv)} | claim)
    script.say(POLL, lambda _: {"assignments": [], "cancel": []} if script.made(CLAIM) else ASSIGNED)


def test_work_is_heard_of_between_two_heartbeats(script: Script, agent: Running) -> None:
    script.say("POST register", {"epoch": 1, "next_in": 600})
    agent.thread.start()
    script.wait_for(POLL)
    assign(script, "true")
    script.wait_for(RELEASE)
    assert script.made(POLL)[0].query == {"worker": "here", "wait": "20"}
    assert script.made(BEAT) == []


def test_a_poll_that_the_server_holds_back_holds_no_heartbeat_back(script: Script, agent: Running) -> None:
    released = threading.Event()
    script.say(POLL, lambda _: (released.wait(PATIENCE), {"assignments": [], "cancel": []})[1])
    agent.thread.start()
    script.wait_for(BEAT, 5)
    assert len(script.made(POLL)) == 1
    released.set()


def test_a_server_that_has_no_place_for_a_poll_says_when_to_come_again(script: Script, agent: Running) -> None:
    script.say(POLL, (204, {"headers": {"Retry-After": "600"}}))
    agent.thread.start()
    script.wait_for(BEAT, 3)
    assert len(script.made(POLL)) == 1


def test_every_call_of_one_agent_has_the_same_instance_and_another_agent_has_another(
    script: Script, agent: Running, host: Host, transport: Transport
) -> None:
    agent.thread.start()
    script.wait_for(BEAT, 2)
    agent.stop()
    calls = script.made("POST register") + script.made(BEAT)
    assert len({call.document["instance"] for call in calls}) == 1
    assert [call.document["seq"] for call in calls] == list(range(1, len(calls) + 1))
    other = Running(host, transport).agent
    assert other._beats.instance != calls[0].document["instance"]


def test_a_lease_goes_on_as_long_as_heartbeats_are_answered_and_ends_the_task_when_not(
    script: Script, agent: Running
) -> None:
    script.say(BEAT, {"next_in": 0.1, "assignments": [], "cancel": [], "leases": [{"task": 1, "seconds": 0.8}]})
    assign(script, "sleep", "600", lease_seconds=0.8)
    agent.thread.start()
    script.wait_for(STARTED)
    began = now()
    eventually(lambda: now() > began + 1.5)
    assert script.made(FINISH) == []
    script.say(BEAT, (503, {}))
    script.wait_for(FINISH)
    assert script.made(FINISH)[0].document["ended_by"]["code"] == "lost"


def test_a_hold_is_prolonged_and_shortened_by_heartbeats(script: Script, agent: Running) -> None:
    assign(script, hold={"seconds": 600, "until": None, "user": ""})
    agent.thread.start()
    script.wait_for(STARTED)
    script.say(BEAT, {"next_in": 0.1, "assignments": [], "cancel": [], "holds": [{"task": 1, "seconds": 0.1}]})
    script.wait_for(RELEASE)
    assert script.made(FINISH)[0].document["exit_code"] == 0


def test_a_task_that_waits_for_its_gang_is_known_to_be_in_hand(script: Script, agent: Running) -> None:
    assign(script, "true", go=False)
    agent.thread.start()
    script.wait_for(CLAIM, 2)
    script.wait_for(BEAT, len(script.made(BEAT)) + 2)
    assert script.made(BEAT)[-1].document["running"] == [{"task": 1, "fence": 7}]


def test_a_revoked_credential_ends_every_task_and_then_the_agent(script: Script, agent: Running) -> None:
    assign(script, "sh", "-c", "trap 'exit 0' TERM; sleep 600 & wait")
    agent.thread.start()
    pid = script.wait_for(STARTED)[0].document["pid"]
    for call in (BEAT, POLL, LOG, FINISH, RELEASE):
        script.say(call, problem(401, "credential_revoked"))
    agent.thread.join(PATIENCE)
    assert isinstance(agent.failure[0], CredentialRefusedError)
    assert process(pid) is None


def test_an_agent_that_another_has_followed_ends_itself(script: Script, agent: Running) -> None:
    assign(script, "sleep", "600")
    agent.thread.start()
    pid = script.wait_for(STARTED)[0].document["pid"]
    script.say(BEAT, problem(409, "stale_epoch"))
    script.say("POST register", problem(409, "stale_instance"))
    agent.thread.join(PATIENCE)
    assert isinstance(agent.failure[0], CredentialRefusedError)
    assert process(pid) is None


def test_a_denial_that_may_be_a_mistake_ends_no_task(script: Script, agent: Running) -> None:
    assign(script, "sleep", "600")
    agent.thread.start()
    pid = script.wait_for(STARTED)[0].document["pid"]
    beats = len(script.made(BEAT))
    script.say(BEAT, problem(401, "unauthorized"))
    script.wait_for(BEAT, beats + 2)
    script.say(BEAT, {"next_in": 0.1, "assignments": [], "cancel": []})
    script.wait_for(BEAT, beats + 5)
    assert process(pid) is not None


@pytest.mark.parametrize(("age", "told", "asked"), [
    pytest.param(LIFE_SECONDS + 60, False, 1, id="after thirty days"),
    pytest.param(LIFE_SECONDS - 60, False, 0, id="not before"),
    pytest.param(60.0, True, 1, id="when the server says so"),
    pytest.param(-86400.0, False, 1, id="from a day that the wall clock has not reached"),
])  # fmt: skip
def test_a_credential_is_replaced(
    script: Script, host: Host, transport: Transport, age: float, told: bool, asked: int
) -> None:
    wall = 2_000_000_000.0
    host.folder.keep_credential(transport.url, "here", "glw_secret", since=wall - age)
    script.say(ROTATE, {"credential": "glw_new"})
    credentials = Credentials(host.folder, transport, "here", wall=lambda: wall)
    credentials.rotate_if_due(host.session, told=told)
    credentials.rotate_if_due(host.session, told=told)
    assert len(script.made(ROTATE)) == asked, f"at most once in {AGAIN_SECONDS} s"
    transport.call("GET", "/api/agent/v1/x")
    kept = "glw_new" if asked else "glw_secret"
    assert script.made("GET x")[0].headers["Authorization"] == f"Bearer {kept}"
    assert host.folder.credential(transport.url, "here") == kept


@pytest.mark.parametrize("answer", [(500, {}), problem(404, "not_found"), {}])
def test_without_an_answer_the_old_credential_stays(
    script: Script, host: Host, transport: Transport, answer: Any
) -> None:
    host.folder.keep_credential(transport.url, "here", "glw_secret", since=0)
    script.say(ROTATE, answer)
    Credentials(host.folder, transport, "here").rotate_if_due(host.session, told=True)
    assert host.folder.credential(transport.url, "here") == "glw_secret"
