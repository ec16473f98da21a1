"""What the agent hands to a shim, as JSON on its standard input: secrets never touch the disk or a command line."""

from __future__ import annotations

import json
import os

from workers.agent.shim.spawn import User

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Plan:
    """One task. Instants are those of `shim.clock`."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.tag: str = document["tag"]
        self.argv: list[str] | None = document["argv"]
        """None for a hold: nothing is run, devices are only held."""
        self.env: dict[str, str] = document["env"]
        self.folder: str = document["folder"]
        self.secrets: list[str] = document["secrets"]
        self.timeout_s: float | None = document["timeout_s"]
        self.locks: dict[str, str] = document["locks"]
        """Path of each lock by what it is the lock of."""
        self.limits: dict[str, int] = document["limits"]
        self.cgroup: str | None = document["cgroup"]
        self.log_bytes: int = document["log_bytes"]
        self.deadline: float | None = document["deadline"]
        """When the lease is over; None: there is none, and what runs goes on whoever is away."""
        self.warning_s: float = document["warning_s"]
        """How long before that instant the command is asked to end."""
        self.hold_until: float | None = document["hold_until"]
        self.quarantine_s: float = document["quarantine_s"]
        user = document["user"]
        self.user = User(user["uid"], user["gid"], user["groups"]) if user else None


def read_plan(handle: int) -> Plan | None:
    """The plan; none where the agent ended before it had written it whole."""
    text = b""
    while part := os.read(handle, 65536):
        text += part
    try:
        return Plan(json.loads(text))
    except ValueError:
        return None
