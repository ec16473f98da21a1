"""What a job that runs as its submitter can do to the agent and to others' jobs on the host: nothing. (S34)

Only root can start a process as somebody else, so only root collects this (conftest.py); test_rights.py has the rest.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.conftest import HERE, Claims
from tests.agent.shimmed import PATIENCE, eventually, texts
from workers.agent.folder import AgentFolder, TaskRecord
from workers.agent.preparing import Host, prepared
from workers.agent.rules import Rules

SYSTEM = Path("/usr/bin/python3")
REFUSED = {"Permission denied", "Operation not permitted"}
TRIES = """
import ctypes, json, os, signal, sys

read, listed, written, processes = json.loads(sys.argv[1])
processes["its own shim"] = os.getppid()
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype, libc.ptrace.argtypes = ctypes.c_long, [ctypes.c_long] * 4

def attach(pid):
    if libc.ptrace(16, pid, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

def tried(act, *words):
    try:
        act(*words)
    except OSError as error:
        return error.strerror
    return "done"

came = {f"read {path}": tried(lambda: open(path, "rb").read(1)) for path in read}
came |= {f"list {path}": tried(os.listdir, path) for path in listed}
came |= {f"write {path}": tried(lambda: open(path, "ab")) for path in written}
for name, pid in processes.items():
    for part in ("environ", "mem", "maps"):
        came[f"{part} of {name}"] = tried(lambda: open(f"/proc/{pid}/{part}", "rb").read(1))
    came[f"files of {name}"] = tried(os.listdir, f"/proc/{pid}/fd")
    came[f"folder of {name}"] = tried(os.readlink, f"/proc/{pid}/cwd")
    came[f"trace {name}"] = tried(attach, pid)
    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
        came[f"{number.name} to {name}"] = tried(os.kill, pid, number)
print(json.dumps([os.getresuid(), came]))
"""

Start = Callable[..., TaskRecord]


@pytest.fixture
def open_host(host: Host, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host whose folder other accounts can come as far as, as on a real one; with the agent's credential in it."""
    monkeypatch.setattr("workers.agent.accounts.LOWEST_UID", 1)  # of the system's accounts two are on every host
    made = Path(tempfile.mkdtemp(prefix="gpulayer-test-", dir="/tmp"))
    made.chmod(0o711)
    host.folder = AgentFolder(made / "agent")
    host.folder.keep_credential("https://a", "w1", "glw_x")
    host.rules = Rules(run_as_submitter=True)
    host.environments = {"default": HERE.__class__(name="default", python=SYSTEM, path="/usr/bin:/bin")}
    yield host
    shutil.rmtree(made)


@pytest.fixture
def start(open_host: Host, a_claim: Claims) -> Iterator[Start]:
    """Starts a task as an account of this host."""
    started: list[TaskRecord] = []

    def make(account: str, *argv: str, **more: Any) -> TaskRecord:
        number = len(started) + 1
        claim = a_claim(*argv, task=number, job_id=f"j-{number}", run_as=account, submitter=account, **more)
        record = open_host.folder.new_task(claim)
        record.shim.start(prepared(open_host, claim, record, None))
        started.append(record)
        return record

    yield make
    for record in started:
        record.shim.stop("the test is over", 0.0)
        eventually(lambda record=record: not record.shim.is_alive())


def output(record: TaskRecord) -> bytes:
    return b"".join(text for _, text in texts(record.spool().chunk(0)))


def test_a_job_reaches_neither_the_agent_nor_anothers_job(open_host: Host, start: Start) -> None:
    root = open_host.folder.root
    other = start("daemon", "sh", "-c", "echo kept > result; echo ready; exec sleep 600", secrets={"KEY": "canary-1"})
    eventually(lambda: b"ready" in output(other), "the other's job does not start")
    theirs = Path(other.private)
    read = [root / "credential.json", other.folder / "task.json", theirs / "result"]
    listed = [root, root / "tasks", root / "work", other.folder, theirs]
    written = [root / "credential.json", theirs / "result", root / "new", theirs / "new", root / "work" / "new"]
    processes = {"the agent": os.getpid(), "another's job": other.pid}
    told = json.dumps([*([str(path) for path in paths] for paths in (read, listed, written)), processes])
    record = start("nobody", "python3", "-c", TRIES, told)
    eventually(lambda: not record.shim.is_alive(), f"it does not end within {PATIENCE:.0f} s")
    assert (record.shim.result() or {}).get("exit_code") == 0, output(record)
    users, came = json.loads(output(record))
    assert set(users) == {65534}
    assert {what: end for what, end in came.items() if end not in REFUSED} == {}
    assert len(came) == len(read) + len(listed) + len(written) + 3 * 9
    assert other.shim.is_alive()
    assert (theirs / "result").read_text() == "kept\n"
