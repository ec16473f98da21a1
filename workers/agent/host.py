"""What a host has beside its devices: processors, memory, disk, system."""

from __future__ import annotations

import hashlib
import os
import platform
import uuid
from pathlib import Path
from typing import Any

import psutil

GB = 10**9
_CGROUP = Path("/sys/fs/cgroup")


def read_host(disk: Path) -> dict[str, Any]:
    """The keys of a worker document that speak of the host; `disk` is where jobs' directories are made."""
    return {
        "os": "macos" if platform.system() == "Darwin" else platform.system().lower() or None,
        "os_version": _os_version(),
        "arch": platform.machine() or None,
        "cpu_cores": _cores(),
        "memory": f"{_memory()}B",
        # Rounded down, so that a few bytes more or less are no new fact.
        "disk": f"{psutil.disk_usage(str(disk)).free // GB}GB",
    }


def boot_id() -> str:
    """The same from this host's start to its end."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"boot-{int(psutil.boot_time())}"


def machine_id() -> str:
    """The same for this machine always, and telling nothing of it."""
    try:
        own = Path("/etc/machine-id").read_text().strip()
    except OSError:
        own = ""
    return hashlib.sha256(f"gpulayer {own or uuid.getnode()}".encode()).hexdigest()[:32]


def _os_version() -> str | None:
    try:
        return platform.freedesktop_os_release().get("VERSION_ID")
    except OSError:
        return platform.mac_ver()[0] or None


def _cores(cgroup: Path = _CGROUP) -> float | int:
    """Processors that this process may use: by affinity, and by its container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    quota, _, period = _first_line(cgroup / "cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        return min(count, int(quota) * 1000 // int(period) / 1000)
    return count


def _memory(cgroup: Path = _CGROUP) -> int:
    """Bytes of RAM that this process may use: the host's, or its container's limit."""
    total = int(psutil.virtual_memory().total)
    limit = _first_line(cgroup / "memory.max")
    return min(total, int(limit)) if limit.isdigit() else total


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
