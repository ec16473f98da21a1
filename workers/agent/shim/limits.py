"""A task's own cgroup, where the host lets the agent make one: a bound on memory and processes for all of it."""

from __future__ import annotations

import os
import signal

from workers.agent.shim.causes import cause

OOM_SCORE = 500
"""How much sooner than the agent and the server a task's processes end when the whole host is out of memory."""


def join(cgroup: str | None) -> None:
    """In the child before it becomes the command."""
    _write("/proc/self/oom_score_adj", str(OOM_SCORE))
    if cgroup:
        _write(f"{cgroup}/cgroup.procs", str(os.getpid()))


def was_out_of_memory(cgroup: str | None, status: int) -> dict[str, str] | None:
    """Why a command was killed, where its cgroup counted that the kernel ended something for want of memory."""
    if not cgroup or not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        return None
    for line in _read(f"{cgroup}/memory.events").splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill" and count != "0":
            limit = _read(f"{cgroup}/memory.max").strip()
            return cause("out_of_memory", f"it needed more than its {limit} bytes of memory, and the kernel ended it")
    return None


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w") as file:  # noqa: PTH123
            file.write(text)
    except OSError:
        # Not a reason to run nothing: the agent said at its start what it can limit here.
        return


def _read(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return ""
