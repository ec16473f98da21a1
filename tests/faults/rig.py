"""The whole of it in real processes: an installation, agents behind proxies, jobs that keep a ledger."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.faults.database import Database, database_of_its_own
from tests.faults.invariants import ENDED, violations
from tests.faults.ledger import Ledger
from tests.faults.proxy import Proxy
from tests.house.installation import Installation

ENTRY = Path(__file__).with_name("entry.py")
ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 0.05
SCALED = {
    "GPULAYER_HEARTBEAT_SECONDS": "0.5",
    "GPULAYER_WATCH_SECONDS": "0.5",
    "GPULAYER_LEASE_SECONDS": "4",
    "GPULAYER_LEASE_MARGIN_SECONDS": "2",
    "GPULAYER_LOST_AFTER_SECONDS": "6",
    "GPULAYER_CLAIM_SECONDS": "8",
}
"""A minute of the real clocks is a second or two here."""


class Agent:
    """One real agent with made-up devices, in a process of its own, behind a proxy of its own."""

    def __init__(self, rig: Rig, name: str, devices: int, seed: int, *words: str, through: Proxy | None = None) -> None:
        self.rig = rig
        self.name = name
        self.data = rig.folder / "agents" / name
        self.devices = [f"GPU-{os.getpid()}-{rig.number}-{name}-{index}" for index in range(devices)]
        self.proxy = through or Proxy(rig.up.url, seed=seed)
        self._words = words
        self._log = (rig.folder / f"{name}.log").open("ab")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, **environment: str) -> Agent:
        """Start it, or start it again."""
        token = self.rig.folder / f"{self.name}.token"
        if not token.exists():
            token.write_text(self.rig.up.json("worker", "token", "--note", self.name)["token"])
            token.chmod(0o600)
        words = ["worker", "start", "--url", self.proxy.url, "--name", self.name, "--origin", "local"]
        words += ["--data", str(self.data), "--token-file", str(token), "--on-stop", "leave", *self._words]
        words += ["--allow-root"] if os.geteuid() == 0 else []
        devices = ",".join(self.devices) or "-"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.host", devices, *words],
            cwd=ROOT, env=self.rig.up.environment() | environment, stdout=self._log, stderr=self._log,
            start_new_session=True,
        )  # fmt: skip
        return self

    def signal(self, number: signal.Signals) -> None:
        """To the agent alone, not to its shims."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def restart(self) -> Agent:
        """As after a crash."""
        self.kill()
        return self.start()

    def shims(self) -> list[psutil.Process]:
        """The shims of its tasks, found by its data folder."""
        found = []
        for each in psutil.process_iter():
            try:
                words = each.cmdline()
            except psutil.Error:
                continue
            if any("shim" in word for word in words) and any(word.startswith(str(self.data)) for word in words):
                found.append(each)
        return found

    def log(self) -> str:
        """All that it printed."""
        return (self.rig.folder / f"{self.name}.log").read_text(errors="replace")

    def close(self) -> None:
        """End it and everything that it left."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for shim in self.shims():
            for each in [*shim.children(recursive=True), shim]:
                each.kill()
        self._log.close()
        self.proxy.close()


class Rig:
    """Give it a folder; close it in the end. Every fault test begins here and ends with `check`."""

    number = 0

    def __init__(self, folder: Path, *, agents: int = 2, devices: int = 2, seed: int = 1, **environment: str) -> None:
        Rig.number += 1
        self.folder = folder
        self.seed = seed
        print(f"seed {seed}")
        self._stack = ExitStack()
        try:
            self.ledger = Ledger(folder / "ledger")
            self._stack.callback(self.ledger.close)
            locks = folder / "locks"  # this rig is one host; beside it others may run on this machine
            locks.mkdir()
            given = SCALED | {"GPULAYER_AGENT": "no", "GPULAYER_DEVICE_LOCKS": str(locks)} | environment
            if "DATABASE_URL" in os.environ and "DATABASE_URL" not in environment:
                given["DATABASE_URL"] = self._stack.enter_context(database_of_its_own(os.environ["DATABASE_URL"]))
            self._given = given
            self.up = self._stack.enter_context(Installation(folder, **given)).ready()
            self.database = Database(self.up.data, given.get("DATABASE_URL"))
            self.token = json.loads((self.up.data / "cli.json").read_text())["token"]
            self.people = self._stack.enter_context(
                httpx.Client(
                    base_url=f"{self.up.url}/api/v1/", headers={"Authorization": f"Bearer {self.token}"}, timeout=20
                )
            )
            self.agents = [self.add(f"w{place + 1}", devices).start() for place in range(agents)]
            self.until(lambda: self.online() == agents, "the agents register")
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def add(self, name: str, devices: int = 2, *words: str, through: Proxy | None = None) -> Agent:
        """One more agent, not started."""
        agent = Agent(self, name, devices, self.seed + len(name), *words, through=through)
        self._stack.callback(agent.close)
        return agent

    # --- people ---

    def submit(self, *words: str, gpus: int = 1, name: str = "fault", key: str | None = None, **document: Any) -> str:
        """A job whose process keeps the ledger, submitted until the server has said that it has it; its id."""
        whole = {
            "name": name, "target": "local", "command": [sys.executable, str(ENTRY), str(self.ledger.path), *words],
            **({"resources": {"gpus": gpus}} if gpus else {}), **document,
        }  # fmt: skip
        headers = {"Idempotency-Key": key or os.urandom(8).hex()}
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            try:
                answer = self.people.post("jobs", json=whole, headers=headers)
            except httpx.TransportError:
                threading.Event().wait(LOOK_SECONDS)
                continue
            if answer.status_code < 500:
                assert answer.status_code in (200, 201), answer.text
                return str(answer.json()["job_id"])
        raise AssertionError(f"not taken within {PATIENCE_SECONDS} s:\n{self.up.text[-2000:]}")

    def job(self, job_id: str) -> Mapping[str, Any]:
        """The job as people see it, however long the server stays away."""
        return self.until(lambda: self._get(f"jobs/{job_id}"), f"the server tells of {job_id}")

    def cancel(self, job_id: str) -> None:
        """Ask for its end."""
        self.people.post(f"jobs/{job_id}/cancel")

    def over(self, *job_ids: str, seconds: float = PATIENCE_SECONDS) -> list[Mapping[str, Any]]:
        """The jobs, once all of them have ended."""
        self.until(lambda: all(self.job(each)["state"] in ENDED for each in job_ids), f"{job_ids} end", seconds)
        return [self.job(each) for each in job_ids]

    def running(self, job_id: str, *, times: int = 1, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until its process has begun, by the ledger, so many times."""
        self.until(lambda: len(self.ledger.of(job_id)) >= times, f"{job_id} starts", seconds)

    def online(self) -> int:
        """How many workers the server hears of."""
        return int(self.database.one("SELECT count(*) FROM workers_worker WHERE liveness = 'online'"))

    def task(self, job_id: str) -> Mapping[str, Any]:
        """The latest task of a job as the database has it."""
        return self.database.rows(
            "SELECT t.*, a.fence, a.number, a.state AS attempt_state FROM scheduler_task t"
            " JOIN scheduler_attempt a ON a.id = t.attempt_id JOIN scheduler_job j ON j.id = a.job_id"
            f" WHERE j.job_id = '{job_id}' ORDER BY t.id DESC"
        )[0]

    def agent_of(self, job_id: str) -> Agent:
        """The agent of the worker that has, or last had, this job."""
        worker = self.task(job_id)["worker_id"]
        name = self.database.one(f"SELECT name FROM workers_worker WHERE id = {worker}")
        return next(agent for agent in self.agents if agent.name == name)

    def log(self, job_id: str) -> str:
        """All that its latest attempt wrote, once the server has all of it."""
        return self.people.get(f"jobs/{job_id}/log", params={"format": "text"}).text

    def until(self, condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
        """What `condition` says once it is true; with all that is known where it never is."""
        deadline, pause = time.monotonic() + seconds, threading.Event()
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"within {seconds:g} s it never came about that {what}\n{self._story()}")
            pause.wait(LOOK_SECONDS)
        return found

    # --- parts of the installation ---

    def parts(self, *words: str) -> list[psutil.Process]:
        """The server's processes whose command line has all of these words."""
        found = []
        for each in self.up.processes():
            try:
                line = " ".join(each.cmdline())
            except psutil.Error:
                continue
            if all(word in line for word in words):
                found.append(each)
        return found

    def stop_server(self) -> None:
        """In order; the agents go on."""
        self.up.__exit__()

    def start_server(self) -> None:
        """Again, at the same address and on the same folder."""
        self.up = self._stack.enter_context(Installation(self.folder, port=self.up.port, **self._given)).ready()

    def kill_part(self, *words: str) -> None:
        """SIGKILL to them; the supervisor starts them again."""
        for each in self.parts(*words):
            with suppress(psutil.NoSuchProcess):
                each.kill()

    def revive(self) -> None:
        """Start the agents again that have died, as an init system does."""
        for agent in self.agents:
            if agent.process is not None and agent.process.poll() is not None:
                agent.start()

    # --- the end ---

    def settle(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Fair weather: wait until every job is over and nothing is held any more."""
        for agent in self.agents:
            agent.proxy.clear()
        held = "SELECT count(*) FROM scheduler_task WHERE released_at IS NULL"
        live = "SELECT count(*) FROM scheduler_job WHERE finished_at IS NULL AND state <> 'paused'"
        self.until(lambda: not self.database.one(held) and not self.database.one(live), "all is over", seconds)

    def check(self, submitted: Iterable[str] = ()) -> None:
        """The invariants, from the ledger and from the database."""
        faults = [*self.ledger.faults(), *violations(self.database, submitted, folder=self.folder)]
        assert not faults, "\n".join(faults) + "\n" + self._story()

    def _get(self, path: str) -> Any:
        try:
            answer = self.people.get(path)
        except httpx.TransportError:
            return None
        return answer.json() if answer.status_code == 200 else None

    def _story(self) -> str:
        agents = "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in self.folder.glob("*.log")
        )
        ledger = self.ledger.path.read_text()[-2000:]
        return f"seed {self.seed}\n--- ledger\n{ledger}\n--- server\n{self.up.text[-3000:]}\n{agents}"
