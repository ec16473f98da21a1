"""What a host has beside its devices: processors, memory, disk, system."""

from __future__ import annotations

import hashlib
import os
import platform
import socket
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

GB = 10**9
_CGROUP = Path("/sys/fs/cgroup")


def read_host(disk: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The keys of a worker document that speak of the host, and why those are unknown that are None.

    `disk` is where jobs' directories are made.
    """
    free, problem = _free(disk)
    facts = {
        "os": "macos" if platform.system() == "Darwin" else platform.system().lower() or None,
        "os_version": _os_version(),
        "arch": platform.machine() or None,
        "cpu_cores": _cores(),
        "memory": f"{_memory()}B",
        "disk": free,
    }
    unknown = {name: "this system does not say" for name, value in facts.items() if value is None}
    return facts, unknown | ({"disk": problem} if problem else {})


def outgoing_address() -> str | None:
    """The address under which this host leaves for others; nothing is sent. None: there is no way out."""
    for family, anywhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as way:
            way.connect((anywhere, 9))
            return str(way.getsockname()[0])
    return None


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


def _free(disk: Path) -> tuple[str | None, str]:
    try:
        # Rounded down, so that a few bytes more or less are no new fact.
        return f"{psutil.disk_usage(str(disk)).free // GB}GB", ""
    except OSError as error:
        return None, f"{disk}: {error.strerror}"


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
