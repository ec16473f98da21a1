"""What the address of a page of candidates asks for. docs/why.md lists its parameters: others link here by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from scheduler.core.reasons import CODES, Code
from scheduler.views.groupings import is_grouping

LONGEST = 200
INSIDE = frozenset(("selected", "free", "busy", "reserved", "never"))
VERDICTS: Mapping[str, frozenset[str]] = {
    "in": INSIDE,
    "selected": frozenset(("selected",)),
    "free": frozenset(("free",)),
    "busy": frozenset(("busy",)),
    "reserved": frozenset(("reserved",)),
    "never": frozenset(("never",)),
    "outside": frozenset(("outside",)),
    "all": INSIDE | {"outside"},
    "fits": INSIDE - {"never"},
    "now": frozenset(("selected", "free")),
}
"""What may be asked for -> the verdicts that belong to it."""

TABS: Mapping[str, str] = {
    "in": "In target",
    "selected": "Selected",
    "free": "Free now",
    "busy": "Fits, not free",
    "reserved": "Reserved",
    "never": "Never fits",
    "outside": "Outside target",
    "all": "All",
}
"""Those of them that are offered above the rows, and their headings."""

SORTS: Mapping[str, str] = {"order": "Policy order", "reasons": "Fewest reasons first", "worker": "Worker name"}
FIRST, ONLY = "first", "only"
STAGES: Mapping[str, str] = {
    "workers": "all", "tier": "in", "compatible": "fits", "available": "now", "one_torch": "now",
    "selected": "selected",
}  # fmt: skip
"""Stage of the funnel -> the verdict of those who got there."""


@dataclass(frozen=True, slots=True)
class Query:
    """What the address asks for; by default the candidates in the job's targets, in policy order."""

    verdict: str = "in"
    code: str = ""
    subject: str = ""
    """With `code` label or framework: the key or the name."""
    counts: str = ""
    """With `code`: `first` where it is the first of a worker's reasons, `only` where it is all that is in the way."""
    by: str = ""
    group: str = ""
    """The name of a group of workers when they are grouped `by`."""
    q: str = ""
    sort: str = "order"
    after: str = ""
    before: str = ""

    @classmethod
    def of(cls, data: Mapping[str, str]) -> Query:
        """Unknown values count as not given."""
        asked = {name: data.get(name, "").strip()[:LONGEST] for name in _NAMES}
        code = asked["code"] if asked["code"] in CODES else ""
        by = asked["by"] if is_grouping(asked["by"]) else ""
        return cls(
            verdict=asked["verdict"] if asked["verdict"] in VERDICTS else "in",
            code=code,
            subject=asked["subject"] if code else "",
            counts=asked["as"] if code and asked["as"] in (FIRST, ONLY) else "",
            by=by,
            group=asked["group"] if by else "",
            q=asked["q"],
            sort=asked["sort"] if asked["sort"] in SORTS else "order",
            after=asked["after"],
            before=asked["before"],
        )

    def but(self, **changes: str) -> Query:
        """The same query with changes."""
        return replace(self, **changes)

    def link(self, **changes: str) -> str:
        """The same query with changes, as a query string; what is as by default is left out, and pages begin anew."""
        asked = self.but(**{"after": "", "before": "", **changes})
        values = {name: getattr(asked, "counts" if name == "as" else name) for name in _NAMES}
        return urlencode({name: value for name, value in values.items() if value and value != _DEFAULTS.get(name)})

    @property
    def hidden(self) -> tuple[tuple[str, str], ...]:
        """What a form that asks for words and an order carries along."""
        values = (("verdict", self.verdict), ("code", self.code), ("subject", self.subject), ("as", self.counts),
                  ("by", self.by), ("group", self.group))  # fmt: skip
        return tuple((name, value) for name, value in values if value and value != _DEFAULTS.get(name))


_NAMES = ("verdict", "code", "subject", "as", "by", "group", "q", "sort", "after", "before")
_DEFAULTS = {"verdict": "in", "sort": "order"}


def stage_link(stage: str) -> str:
    """The candidates that got as far as a stage of the funnel."""
    return Query(verdict=STAGES[stage]).link()


def loss_link(stage: str, loss: str) -> str:
    """The candidates that a stage lost by one cause, each counted by its first reason."""
    if loss == Code.TARGET.text:
        return Query(verdict="outside").link()
    if loss not in CODES:
        return Query(verdict="free").link()
    return Query(verdict="never" if stage == "compatible" else "fits", code=loss, counts=FIRST).link()
