"""Whose the processes on a device are: a task's, by tag, session or descent; a hold's person's; or somebody else's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psutil

from workers.agent.command import TAG
from workers.agent.nvml import DeviceReading, Use

MOST_PROCESSES = 64
"""Of one device, largest first; a heartbeat is no process list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A task of this host and what it holds."""

    task: int
    tag: str
    sessions: tuple[int, ...] = ()
    """Of its processes: the session ids that the agent knows."""
    devices: tuple[tuple[int, str | None], ...] = ()
    """(index, uuid)."""
    people: tuple[str, ...] = ()
    """Users of this host for whom a hold keeps the devices: whatever they run there is part of it."""

    def has(self, device: DeviceReading) -> bool:
        """Whether it may use this device, which is known by its uuid, or by its index where it has none."""
        return any(
            uuid == device.uuid if uuid and device.uuid else index == device.index for index, uuid in self.devices
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """Who uses one device. Memory of others in bytes, None where that of one of them is unknown."""

    processes: tuple[dict[str, Any], ...] = ()
    foreign_memory: int | None = None
    strays: tuple[dict[str, Any], ...] = ()
    """Tasks on a device that they do not hold: their memory counts as foreign."""


def use_of(device: DeviceReading, holders: Sequence[Holder]) -> DeviceUse:
    """The device's processes, each with its user and its task."""
    if device.processes is None:
        return DeviceUse()
    listed: list[dict[str, Any]] = []
    strays: list[dict[str, Any]] = []
    foreign: list[int | None] = []
    for use in sorted(device.processes, key=lambda use: -(use.memory or 0)):
        user, owner = _whose(use, device, holders)
        listed.append({"pid": use.pid, "user": user, "memory": use.memory, "task": owner.task if owner else None})
        if owner is None or not owner.has(device):
            foreign.append(use.memory)
        if owner is not None and not owner.has(device):
            strays.append({"device": device.index, "pid": use.pid, "task": owner.task})
    return DeviceUse(
        processes=tuple(listed[:MOST_PROCESSES]),
        foreign_memory=None if None in foreign else sum(held or 0 for held in foreign),
        strays=tuple(strays),
    )


def _whose(use: Use, device: DeviceReading, holders: Iterable[Holder]) -> tuple[str | None, Holder | None]:
    """The user, and the task; a process that nobody on this host can see is nobody's."""
    try:
        process = psutil.Process(use.pid)
        user = process.username()
    except (psutil.Error, KeyError):  # gone meanwhile, or another container's
        return None, None
    owner = _task_of(process, {each.tag: each for each in holders}, holders)
    return user, owner or next((each for each in holders if user in each.people and each.has(device)), None)


def _task_of(process: psutil.Process, tags: Mapping[str, Holder], holders: Iterable[Holder]) -> Holder | None:
    """Itself tagged, or below a process that is; a cleared environment hides the tag, not the session or the parent."""
    sessions = {number: each for each in holders for number in each.sessions}
    if not tags:
        return None
    for each in (process, *_parents(process)):
        found = tags.get(_tag(each)) or sessions.get(each.pid) or sessions.get(_session(each))
        if found:
            return found
    return None


def _parents(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.parents()
    except psutil.Error:
        return []


def _tag(process: psutil.Process) -> str:
    try:
        return process.environ().get(TAG, "")
    except (psutil.Error, OSError):  # another user's
        return ""


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except OSError:
        return -1
