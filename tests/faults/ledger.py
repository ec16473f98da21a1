"""What the jobs themselves wrote of their lives: one host, one clock, and nothing of gpulayer between."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

LOOK_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Life:
    """One process of a job. Nanoseconds of CLOCK_BOOTTIME; `ended` is None while it lives."""

    job: str
    task: int
    fence: int
    devices: tuple[str, ...]
    pid: int
    began: int
    ended: int | None


class Ledger:
    """The file, and somebody who watches the processes in it: one that is killed cannot write its own end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()
        self._gone: dict[int, int] = {}
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def close(self) -> None:
        """Watch no longer."""
        self._over.set()
        self._watcher.join()

    def lives(self) -> list[Life]:
        """Every process that was started, in the order of its start."""
        starts, ends = {}, {}
        for job, task, fence, devices, what, at, pid in self._lines():
            if what == "START":
                starts[int(pid)] = (job, int(task), int(fence), tuple(filter(None, devices.split("+"))), int(at))
            elif what == "END":
                ends[int(pid)] = int(at)
        return sorted(
            (
                Life(job, task, fence, devices, pid, began, ends.get(pid, self._gone.get(pid)))
                for pid, (job, task, fence, devices, began) in starts.items()
            ),
            key=lambda life: life.began,
        )

    def of(self, job_id: str) -> list[Life]:
        """The processes of one job."""
        return [life for life in self.lives() if life.job == job_id]

    def faults(self) -> list[str]:
        """What must never be: two live processes on a device (I1), or one attempt's task started twice (I4)."""
        lives = self.lives()
        counts = Counter((life.task, life.fence) for life in lives)
        found = [
            f"I4: task {task} with fence {fence} started {n} times" for (task, fence), n in counts.items() if n > 1
        ]
        for device in {device for life in lives for device in life.devices}:
            there = [life for life in lives if device in life.devices]
            found += [
                f"I1: {later.job} began on {device} while {earlier.job} was alive"
                for earlier, later in pairwise(there)
                if earlier.ended is None or later.began < earlier.ended
            ]
        return found

    def _lines(self) -> Iterator[list[str]]:
        for line in self.path.read_text().splitlines():
            yield line.split(",")

    def _watch(self) -> None:
        """Note when a process is gone; one that nobody has buried yet is gone too."""
        known: set[int] = set()
        while not self._over.wait(LOOK_SECONDS):
            known |= {int(line[6]) for line in self._lines() if line[4] == "START"}
            for pid in known - self._gone.keys():
                if not is_alive(pid):
                    self._gone[pid] = time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def is_alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in ("Z", "X")


def tagged(fence: int, folder: Path) -> list[int]:
    """Every live process of a rig that carries the tag of an attempt with this fence, wherever it has moved to."""
    numbers = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit())
    return [pid for pid in numbers if _carries(pid, fence, folder)]


def _carries(pid: int, fence: int, folder: Path) -> bool:
    """Other rigs of the same machine have the same fences; each job here names its rig's folder."""
    process = Path(f"/proc/{pid}")
    try:
        if str(folder).encode() not in (process / "cmdline").read_bytes():
            return False
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    tags = [each.split(b".") for each in variables if each.startswith(b"GPULAYER_TASK=")]
    return bool(tags) and int(tags[0][2]) == fence and is_alive(pid)
