"""Finding every process of a task, wherever it has moved to, from `/proc` alone."""

from __future__ import annotations

import os
import signal

TAG = "GPULAYER_TASK"
"""In the environment of every process of a task, so that none is missed when it has to end."""


class Process:
    """A live process: its number, parent, session, and when it started (ticks since boot)."""

    __slots__ = ("parent", "pid", "session", "start")

    def __init__(self, pid: int, parent: int, session: int, start: int) -> None:
        self.pid = pid
        self.parent = parent
        self.session = session
        self.start = start


def processes() -> list[Process]:
    """Every process of this host that is no zombie: one that nobody has buried yet counts as gone."""
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208
    return [each for each in found if each is not None]


def process(pid: int) -> Process | None:
    """The process with this number; none where it is gone or only waits to be buried."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return Process(pid, parent=int(fields[1]), session=int(fields[3]), start=int(fields[19]))


def members(tag: str, *, session: int = 0, below: int = 0) -> list[int]:
    """The processes of a task: of its session, below its shim, or with its tag in their environment."""
    everything = processes()
    family = _below(below, everything) if below else set()
    return [
        each.pid
        for each in everything
        if each.pid != below
        and (each.pid in family or (session and each.session == session) or _tag_of(each.pid) == tag)
    ]


def signal_all(pids: list[int], number: signal.Signals) -> None:
    """Send it to each that is still there and may be reached."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def signal_group(group: int, number: signal.Signals) -> None:
    """Send it to a process group, if there is one."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


def _below(root: int, everything: list[Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for each in everything:
        children.setdefault(each.parent, []).append(each.pid)
    found: set[int] = set()
    left = [root]
    while left:
        below = children.get(left.pop(), [])
        found.update(below)
        left += below
    return found


def _tag_of(pid: int) -> str:
    """Empty where it has none, is gone, or is another user's."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123
            variables = file.read().split(b"\0")
    except OSError:
        return ""
    start = f"{TAG}=".encode()
    return next((each[len(start) :].decode("utf-8", "replace") for each in variables if each.startswith(start)), "")
