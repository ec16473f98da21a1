"""The agent's own folder: its credential, the tasks it has not finished reporting, and jobs' private directories."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO, Any

import psutil

from workers.agent.accounts import Account
from workers.agent.messages import Cause, Claim, Result
from workers.agent.private import make_private, write_private
from workers.agent.shim import files
from workers.agent.shims import Shim
from workers.agent.spool import Spool

PRIVATE_KEPT_SECONDS = 7 * 24 * 3600
"""How long a job's private directory stays after its end."""


class FolderInUseError(Exception):
    """Another agent runs with this folder."""


@dataclass(kw_only=True)
class TaskRecord:
    """What is known of one task until the server has all of it; written before each step that must not be forgotten."""

    folder: Path
    task: int
    fence: int
    job_id: str
    tag: str
    private: str
    workdir: str = ""
    """Where its command runs: `private`, or the job's own folder."""
    outputs: str | None = None
    """Where its command may leave what is uploaded in the end."""
    outputs_limit_bytes: int | None = None
    devices: tuple[tuple[int, str | None], ...] = ()
    people: tuple[str, ...] = ()
    """The users for whom a hold keeps its devices."""
    released: bool = False
    """The server knows that its devices are free; only output is left to hand over."""

    @property
    def shim(self) -> Shim:
        """Its shim, whether one runs or not."""
        return Shim(self.folder)

    @property
    def pid(self) -> int:
        """The process of its command; 0 before that has started."""
        return int((self.shim.started() or {}).get("pid", 0))

    def save(self) -> None:
        """Write it down."""
        document = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "folder"}
        write_private(self.folder / "task.json", json.dumps(document))

    def save_result(self, result: Result) -> None:
        """Write down how the task ended, where its shim could not: whole or not at all."""
        write_private(self.folder / files.RESULT, json.dumps(asdict(result)))

    def result(self) -> Result | None:
        """How the task ended, where that is known."""
        document = self.shim.result()
        if document is None or "declined" in document:
            return None
        start_error, ended_by = (_cause(document.get(key)) for key in ("start_error", "ended_by"))
        return Result(
            exit_code=document.get("exit_code"), signal=document.get("signal"),
            duration_ms=int(document.get("duration_ms", 0)), timed_out=bool(document.get("timed_out")),
            start_error=start_error, ended_by=ended_by,
        )  # fmt: skip

    def declined(self) -> Cause | None:
        """Why its shim did not even try, where that is so."""
        return _cause((self.shim.result() or {}).get("declined"))

    def spool(self) -> Spool:
        """The task's output."""
        return Spool(self.folder / files.LOG)

    def remove(self) -> None:
        """The server has it all: forget the task. Its private directory stays a while, from now on."""
        if Path(self.private).is_dir():
            os.utime(self.private)
        shutil.rmtree(self.folder, ignore_errors=True)


def _record(folder: Path, document: dict[str, Any]) -> TaskRecord:
    """Raises KeyError, TypeError or ValueError for what no agent of this version wrote."""
    known = {each.name for each in fields(TaskRecord)} - {"folder"}
    kept = {name: value for name, value in document.items() if name in known}
    kept["devices"] = tuple((int(index), uuid) for index, uuid in kept.get("devices", ()))
    kept["people"] = tuple(kept.get("people", ()))
    return TaskRecord(folder=folder, **kept)


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """Everything below one folder, for this user only."""

    root: Path

    def lock(self) -> IO[str]:
        """Hold the folder until the answer is closed. Raises FolderInUseError."""
        make_private(self.root)
        file = (self.root / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "?"
            file.close()
            raise FolderInUseError(f"another agent (process {holder}) runs with the folder {self.root}") from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file

    def credential(self, url: str, worker: str) -> str | None:
        """The credential that this server gave this worker, if it did."""
        kept = _read(self.root / "credential.json") or {}
        return str(kept["credential"]) if (kept.get("url"), kept.get("worker")) == (url, worker) else None

    def credential_since(self) -> float | None:
        """When the one that is kept was given, in seconds since the epoch (0: unknown); None where none is kept."""
        kept = _read(self.root / "credential.json")
        return None if kept is None else float(kept.get("since", 0.0))

    def keep_credential(self, url: str, worker: str, credential: str, since: float | None = None) -> None:
        """Keep what the server gave (now, unless said otherwise), for the next start."""
        given = time.time() if since is None else since
        document = {"url": url, "worker": worker, "credential": credential, "since": given}
        write_private(self.root / "credential.json", json.dumps(document))

    def follow(self, url: str) -> None:
        """The server that gave the credential has this address now."""
        kept = _read(self.root / "credential.json")
        if kept and kept.get("url") != url:
            write_private(self.root / "credential.json", json.dumps({**kept, "url": url}))

    def forget_credential(self) -> None:
        """The server no longer takes it."""
        (self.root / "credential.json").unlink(missing_ok=True)

    def new_task(self, claim: Claim) -> TaskRecord:
        """A record of a task just claimed; nothing of it has started."""
        folder = make_private(make_private(make_private(self.root) / "tasks") / f"{claim.task}-{claim.fence}")
        name = f"{claim.job_id}-attempt-{claim.attempt}-rank-{claim.rank}-{claim.fence}"
        private = self.root / "work" / name
        record = TaskRecord(
            folder=folder, task=claim.task, fence=claim.fence, job_id=claim.job_id, private=str(private),
            workdir=claim.workdir or str(private / "files" if claim.files else private), devices=claim.devices,
            outputs=None if claim.hold_seconds else str(private / "outputs"),
            outputs_limit_bytes=claim.outputs_limit_bytes, people=_people(claim),
            tag=f"{claim.job_id}.{claim.task}.{claim.fence}.{os.urandom(4).hex()}",
        )  # fmt: skip
        record.save()
        return record

    def make_work(self, record: TaskRecord, account: Account | None) -> Path:
        """A fresh private directory for the task, with its place for outputs, for the user that it runs as."""
        work = make_private(self.root / "work")
        if account is not None:
            self._open_way(work)
        private = Path(record.private)
        shutil.rmtree(private, ignore_errors=True)
        private.mkdir(mode=0o700)
        if record.outputs:
            Path(record.outputs).mkdir(mode=0o700)
        return private

    def _open_way(self, work: Path) -> None:
        """To private directories, to pass and not to look; what lies beside them stays the agent's own."""
        for each in self.root.iterdir():
            if each.is_dir():
                each.chmod(0o700)
        for each in (self.root, work):
            each.chmod(0o711)
        links = self.root / "environments"
        for each in (links, *links.glob("*"), *links.glob("*/bin")):
            if each.is_dir():
                each.chmod(0o755)

    def left_tasks(self) -> list[TaskRecord]:
        """The tasks of an earlier agent that the server may not have heard all of."""
        found = []
        for folder in sorted((self.root / "tasks").glob("*-*")):
            try:
                found.append(_record(folder, _read(folder / "task.json") or {}))
            except (KeyError, TypeError, ValueError):
                shutil.rmtree(folder, ignore_errors=True)
        return found

    def prune(self, running: set[str], kept_seconds: float = PRIVATE_KEPT_SECONDS) -> None:
        """Remove private directories whose time is over, except those in `running`."""
        for folder in (self.root / "work").glob("*"):
            if str(folder) not in running and folder.lstat().st_mtime < time.time() - kept_seconds:
                shutil.rmtree(folder, ignore_errors=True)


def _cause(document: dict[str, str] | None) -> Cause | None:
    return Cause(**document) if document else None


def _people(claim: Claim) -> tuple[str, ...]:
    """For whom a hold keeps its devices: the person's account here, or this agent's own where none is known.

    The server tells a person without an account to log in as the agent's user.
    """
    if claim.hold_seconds is None:
        return ()
    return (claim.hold_user or psutil.Process().username(),)


def _read(path: Path) -> dict[str, Any] | None:
    """The document in a file that this agent wrote; none where it is missing or torn."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return document if isinstance(document, dict) else None
