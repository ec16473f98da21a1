"""How one job stands at one moment of a pass: what a decision is made of, before anything is given."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scheduler.core.shapes import Shape
from scheduler.core.spec import QueueEntry
from scheduler.core.tiers import Choice


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One job against a whole fleet. Workers are ranks in the fleet sorted by id, sets of them are whole numbers."""

    entry: QueueEntry
    shape: Shape
    avoided: frozenset[str]
    """Workers on which it failed, where it can do without them."""
    epoch: int
    """The moment."""
    choice: Choice[int]

    @cached_property
    def eligible(self) -> int:
        """The workers that could take it, or a member of it, at that moment; found when somebody looks."""
        return self.shape.eligible(self.epoch, self.shape.ranks(self.avoided))

    @property
    def compatible(self) -> int:
        """The workers that could ever run it, or a member of it."""
        return self.shape.compatible

    @property
    def starts(self) -> bool:
        """Whether it would be placed now."""
        return bool(self.choice.chosen)

    @property
    def ever(self) -> bool:
        """Whether it could ever be placed on this fleet."""
        return self.shape.ever_schedulable
