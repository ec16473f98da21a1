"""What `gpulayer worker simulate` does: a whole fleet from documents, kept alive from this process."""

import hashlib
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from gpulayer_site.client import (
    FAILED,
    NO_ACCESS,
    WRONG_DOCUMENT,
    Failure,
    People,
    allow_http,
    ca_file,
    connect,
    refusal_text,
)
from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_worker
from scheduler.documents import read_located
from workers.agent.client import AgentClient
from workers.agent.demo import demo_jobs
from workers.agent.host import machine_id
from workers.agent.private import write_private
from workers.agent.simulator import FleetRefusedError, Simulator
from workers.agent.transport import AddressError, RefusedError, Transport, UnreachableError
from workers.cli_start import default_data, log_to_stderr, on_signals, read_token

Document = dict[str, Any]
CANCEL_SECONDS = 2.0


def read_fleet(files: Sequence[Path], origin: str | None) -> list[Document]:
    """The worker documents of these files. Raises Failure with everything that is wrong in any of them."""
    documents: list[Document] = []
    wrong: list[str] = []
    for file in files:
        try:
            located = read_located(file)
        except DocumentError as error:
            wrong += [f"{file}: {problem}" for problem in error.problems]
            continue
        for each in located:
            data = {**each.data, "origin": origin} if origin and isinstance(each.data, dict) else each.data
            try:
                parse_worker(data)
            except DocumentError as error:
                wrong += [f"{file}: {each.place}: {problem}" for problem in error.problems]
            else:
                assert isinstance(data, dict)
                documents.append(data)
    wrong += _twice(documents)
    if wrong:
        raise Failure("\n".join(wrong), WRONG_DOCUMENT)
    if not documents:
        raise Failure("no worker document in " + ", ".join(map(str, files)), WRONG_DOCUMENT)
    return documents


def simulate(fleet: list[Document], *, url: str | None, token_file: Path | None, seed: int | None) -> None:
    """Enrol, register and keep the fleet alive until Ctrl-C; with a seed, keep some of it busy with demo jobs."""
    people = None if url and token_file else connect()
    address = url or (people.url if people else "")
    kept = _Kept(people, address, fleet)
    try:
        credential = kept.credential or kept.keep(_enrolled(people, address, token_file, fleet))
        trust = people.ca if people else ca_file()
        with closing(Transport(address, credential, allow_http=allow_http(), ca_file=trust)) as transport:
            simulator = Simulator(AgentClient(transport), fleet)
            on_signals(simulator.stop)
            log_to_stderr()
            _run(simulator, len(fleet), people, demo_jobs(fleet, seed) if seed is not None else [])
    except AddressError as error:
        raise Failure(str(error), WRONG_DOCUMENT) from error
    except FleetRefusedError as error:
        raise Failure(f"the server refuses these documents:\n{error}", WRONG_DOCUMENT) from error
    except RefusedError as error:
        if error.status == 401 and kept.credential:  # another fleet has taken these names, or the server forgot them
            kept.forget()
            simulate(fleet, url=url, token_file=token_file, seed=seed)
            return
        raise Failure(refusal_text(error), NO_ACCESS if error.status in (401, 403) else FAILED) from error
    except UnreachableError as error:
        raise Failure(str(error), NO_ACCESS) from error


class _Kept:
    """The credential that this very fleet was given before: with it, it comes back at once, however it ended."""

    def __init__(self, people: People | None, url: str, fleet: list[Document]) -> None:
        names = sorted(f"{each['origin']} {each['id']}" for each in fleet)
        digest = hashlib.sha256("\n".join([url, *names]).encode()).hexdigest()[:24]
        folder = people.data / "simulated" if people and people.data else default_data("simulated")
        self._path = folder / digest
        self.credential = self._path.read_text(encoding="utf-8") if self._path.exists() else None

    def keep(self, credential: str) -> str:
        """For the next time."""
        write_private(self._path, credential)
        return credential

    def forget(self) -> None:
        """The server no longer takes it."""
        self._path.unlink(missing_ok=True)


def _enrolled(people: People | None, url: str, token_file: Path | None, fleet: list[Document]) -> str:
    """A new credential for the fleet."""
    token = read_token(token_file) if token_file or people is None else _new_token(people, fleet)
    workers = [{"name": each["id"], "origin": each["origin"], "simulated": True} for each in fleet]
    trust = people.ca if people else ca_file()
    with closing(Transport(url, token, allow_http=allow_http(), ca_file=trust)) as transport:
        return AgentClient(transport).enroll(workers, machine_id())


def _twice(documents: list[Document]) -> list[str]:
    names = [each["id"] for each in documents]
    return [f"{name}: two documents have this id" for name in sorted({name for name in names if names.count(name) > 1})]


def _new_token(people: People, fleet: list[Document]) -> str:
    origins = {each["origin"] for each in fleet}
    answer = people.post("worker-tokens", {
        "uses": len(fleet), "origin": origins.pop() if len(origins) == 1 else None, "simulated": True,
        "note": "a simulated fleet",
    })  # fmt: skip
    return str(answer["token"])


def _run(simulator: Simulator, count: int, people: People | None, jobs: list[Document]) -> None:
    began = time.monotonic()
    line = _Line()
    simulator.register(lambda done: line.show(f"registered {done:,} of {count:,} simulated workers"))
    line.keep(f"registered {count:,} simulated workers in {time.monotonic() - began:.1f} s; nothing is really run")
    submitted = _submit(people, jobs, line)
    line.keep("Ctrl-C ends them")
    simulator.run(lambda: line.show(
        f"{simulator.online:,} online, {simulator.tasks.running:,} tasks last, {simulator.tasks.ended:,} have ended"
    ))  # fmt: skip
    line.keep("ending")
    _cancel(people, submitted)
    simulator.end()


def _submit(people: People | None, jobs: list[Document], line: "_Line") -> list[str]:
    """Demo jobs, so that some workers are busy; the answer is their ids."""
    if not jobs:
        return []
    if people is None:
        line.keep("no demo jobs: they need a user's token (GPULAYER_URL and GPULAYER_TOKEN)")
        return []
    submitted = []
    for number, job in enumerate(jobs, 1):
        submitted.append(str(people.post("jobs", job)["job_id"]))
        line.show(f"submitted {number} of {len(jobs)} demo jobs")
    line.keep(f"submitted {len(jobs)} demo jobs that keep some of them busy")
    return submitted


def _cancel(people: People | None, submitted: list[str]) -> None:
    """End the demo jobs, as far as two seconds allow: without their workers they would only wait."""
    deadline = time.monotonic() + CANCEL_SECONDS
    for job_id in submitted:
        if people is None or time.monotonic() > deadline:
            return
        try:
            people.post(f"jobs/{job_id}/cancel")
        except Failure as failure:
            # One that has ended meanwhile is refused; a server that is away would refuse them all.
            if failure.exit_code == NO_ACCESS:
                return


class _Line:
    """A line of progress: rewritten in place on a terminal, not written at all in a pipe."""

    def __init__(self) -> None:
        self._alive = sys.stderr.isatty()
        self._shown = ""

    def show(self, text: str) -> None:
        """For now."""
        if self._alive and text != self._shown:
            click.echo(f"\r\x1b[K{text}", nl=False, err=True)
            self._shown = text

    def keep(self, text: str) -> None:
        """For good."""
        click.echo(f"\r\x1b[K{text}" if self._alive else text, err=True)
        self._shown = ""
