"""What a page of candidates is made of, and what its address asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from scheduler.core.reasons import CODES
from workers.devices import DeviceBox

SEGMENTS = {
    "in": "In target",
    "selected": "Selected",
    "free": "Free now",
    "busy": "Fits, not free",
    "never": "Never fits",
    "outside": "Outside target",
    "all": "All",
}
"""Key -> heading of every tab."""


@dataclass(frozen=True, slots=True)
class Query:
    """What the address asks for."""

    segment: str = "in"
    reason: str = ""
    q: str = ""
    after: str = ""
    before: str = ""

    @classmethod
    def of(cls, data: Mapping[str, str]) -> Query:
        """Unknown values count as not given."""
        segment = data.get("v", "in")
        reason = data.get("reason", "")
        return cls(
            segment if segment in SEGMENTS else "in",
            reason if reason in CODES else "",
            data.get("q", "").strip()[:200],
            data.get("after", ""),
            data.get("before", ""),
        )

    def link(self, **changes: str) -> str:
        """The same query with changes, as a query string; pages begin anew."""
        whole = {"v": self.segment, "reason": self.reason, "q": self.q} | changes
        return urlencode({key: value for key, value in whole.items() if value})


@dataclass(frozen=True, slots=True)
class Tab:
    """One verdict to choose."""

    text: str
    count: int
    link: str
    on: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One reason to choose, and how many candidates have it."""

    label: str
    tone: str
    count: int
    link: str
    on: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate beside its reasons."""

    worker: str
    rank: int | None
    gpus: str
    simulated: bool
    pill: tuple[str, str]
    boxes: tuple[DeviceBox, ...]
    asked: bool
    """Whether availability was asked; what was not asked is not drawn."""
    reasons: tuple[tuple[str, str], ...]
    selected: bool


@dataclass(frozen=True, slots=True)
class Page:
    """A keyset page: the rows, where they stand in all that match, and how to go on."""

    rows: tuple[Row, ...]
    first: int
    total: int
    previous: str
    next: str

    @property
    def last(self) -> int:
        """The place of the last row."""
        return self.first + len(self.rows) - 1
