"""What somebody means to change about workers, as plain values: before it is saved it can be looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.core.fleet import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change, to all of these workers alike. What is not said stays as it is."""

    workers: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """Set by an operator, whatever agents say."""
    unlabels: tuple[str, ...] = ()
    """Keys whose operator's label goes; what the agent says counts again."""
    drain: bool | None = None
    """True: they get no more work; False: they may have it again."""
    retire: bool = False
    limits: Mapping[str, int | None] = field(default_factory=dict)
    """By name, see `workers.services.limits`; None: what the agent says counts again."""
    windows: tuple[tuple[str, Window], ...] = ()
    """Reservations to make, each with the name of its worker."""
    ended: tuple[int, ...] = ()
    """Keys of reservations that end."""
