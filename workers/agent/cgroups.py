"""A cgroup for each task, where systemd has delegated a subtree (`Delegate=`, `DelegateSubgroup=agent`)."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
OWN = "agent"
"""The name of the agent's own cgroup beside its tasks'. Where it has another, nothing is delegated."""
NEEDED = ("memory", "pids")


class Cgroups:
    """The delegated subtree, if there is one."""

    def __init__(self, own: str | None = None, mount: Path = MOUNT) -> None:
        self._root = _delegated(_own_path() if own is None else own, mount)

    @property
    def available(self) -> bool:
        """Whether tasks get cgroups here."""
        return self._root is not None

    def make(self, tag: str, *, processes: int, memory: int | None) -> str | None:
        """A cgroup with these bounds; none where there is no subtree or it does not work."""
        if self._root is None:
            return None
        folder = self._root / f"task-{tag}"
        try:
            folder.mkdir(exist_ok=True)
            (folder / "pids.max").write_text(str(processes))
            if memory:
                (folder / "memory.max").write_text(str(memory))
                (folder / "memory.oom.group").write_text("1")
        except OSError:
            return None
        return str(folder)

    def remove(self, tag: str) -> None:
        """Its task is over and nothing of it is left."""
        if self._root is not None:
            with suppress(OSError):
                (self._root / f"task-{tag}").rmdir()


def _delegated(own: str, mount: Path) -> Path | None:
    folder = mount / own.lstrip("/")
    root = folder.parent
    if folder.name != OWN or not os.access(root / "cgroup.subtree_control", os.W_OK):
        return None
    try:
        offered = (root / "cgroup.controllers").read_text().split()
        if any(each not in offered for each in NEEDED):
            return None
        (root / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in NEEDED))
    except OSError:
        return None
    return root


def _own_path() -> str:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return line.removeprefix("0::")
    return ""
