"""The agent's own folder: its credential, the tasks it has not finished reporting, and jobs' private directories."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from workers.agent.client import Cause, Result
from workers.agent.private import make_private, write_private
from workers.agent.spool import Spool

PRIVATE_KEPT_SECONDS = 7 * 24 * 3600
"""How long a job's private directory stays after its end."""


class FolderInUseError(Exception):
    """Another agent runs with this folder."""


class TaskRecord:
    """What is known of one task until the server has all of it; written before each step that must not be forgotten."""

    def __init__(self, folder: Path, document: dict[str, Any]) -> None:
        self.folder = folder
        self.task = int(document["task"])
        self.fence = int(document["fence"])
        self.job_id = str(document["job_id"])
        self.tag = str(document["tag"])
        self.pid = int(document["pid"])
        self.process_started_at = float(document["process_started_at"])
        self.private = str(document["private"])

    def began(self, pid: int, process_started_at: float) -> None:
        """The command runs as this process, which started at this instant (seconds since the epoch)."""
        self.pid, self.process_started_at = pid, process_started_at
        self.save()

    def save(self) -> None:
        """Write it down."""
        document = {key: value for key, value in vars(self).items() if key != "folder"}
        write_private(self.folder / "task.json", json.dumps(document))

    def save_result(self, result: Result) -> None:
        """Write down how the task ended, whole or not at all."""
        write_private(self.folder / "result.json", json.dumps(asdict(result)))

    def result(self) -> Result | None:
        """How the task ended, where that is known."""
        document = _read(self.folder / "result.json")
        if document is None:
            return None
        start_error, ended_by = (_cause(document.pop(key, None)) for key in ("start_error", "ended_by"))
        return Result(**document, start_error=start_error, ended_by=ended_by)

    def spool(self) -> Spool:
        """The task's output."""
        return Spool(self.folder / "log")

    def remove(self) -> None:
        """The server has it all: forget the task. Its private directory stays a while, from now on."""
        if Path(self.private).is_dir():
            os.utime(self.private)
        shutil.rmtree(self.folder, ignore_errors=True)


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

    def keep_credential(self, url: str, worker: str, credential: str) -> None:
        """Keep what the server gave, for the next start."""
        document = {"url": url, "worker": worker, "credential": credential}
        write_private(self.root / "credential.json", json.dumps(document))

    def follow(self, url: str) -> None:
        """The server that gave the credential has this address now."""
        kept = _read(self.root / "credential.json")
        if kept and kept.get("url") != url:
            write_private(self.root / "credential.json", json.dumps({**kept, "url": url}))

    def forget_credential(self) -> None:
        """The server no longer takes it."""
        (self.root / "credential.json").unlink(missing_ok=True)

    def new_task(self, *, task: int, fence: int, job_id: str, attempt: int, rank: int) -> TaskRecord:
        """A record of a task just claimed; nothing of it has started."""
        folder = self.root / "tasks" / f"{task}-{fence}"
        make_private(folder)
        private = make_private(self.root / "work") / f"{job_id}-attempt-{attempt}-rank-{rank}-{fence}"
        tag = f"{job_id}.{task}.{fence}.{os.urandom(4).hex()}"
        record = TaskRecord(folder, {
            "task": task, "fence": fence, "job_id": job_id, "tag": tag, "pid": 0, "process_started_at": 0.0,
            "private": str(private),
        })  # fmt: skip
        record.save()
        return record

    def left_tasks(self) -> list[TaskRecord]:
        """The tasks of an earlier agent that the server may not have heard all of."""
        found = []
        for folder in sorted((self.root / "tasks").glob("*-*")):
            document = _read(folder / "task.json")
            if document is None:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                found.append(TaskRecord(folder, document))
        return found

    def prune(self, running: set[str], kept_seconds: float = PRIVATE_KEPT_SECONDS) -> None:
        """Remove private directories whose time is over, except those in `running`."""
        for folder in (self.root / "work").glob("*"):
            if str(folder) not in running and folder.lstat().st_mtime < time.time() - kept_seconds:
                shutil.rmtree(folder, ignore_errors=True)


def _cause(document: dict[str, str] | None) -> Cause | None:
    return Cause(**document) if document else None


def _read(path: Path) -> dict[str, Any] | None:
    """The document in a file that this agent wrote; none where it is missing or torn."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return document if isinstance(document, dict) else None
