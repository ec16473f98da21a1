"""What the people's API says of holds."""

from __future__ import annotations

from datetime import datetime

from workers.wire import Answer


class AccessOut(Answer):
    """How the person gets at one worker of a hold: a line for the own machine, and one for the host's shell."""

    worker: str
    ssh: str
    """Empty where the host has not said how it is reached."""
    devices: list[str]
    export: str


class HoldOut(Answer):
    """Devices held for a person. `until` is null until it has begun; `latest` is how far it can be extended."""

    until: datetime | None
    latest: datetime | None
    access: list[AccessOut]
