"""Which part of the fleet the overview shows, as its address says it; every number on it is a link to such a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from scheduler.services.overview_fleet import LOOKS, Drawn
from workers.paging import asked_of

LABEL = "label:"
FEW_VALUES = 24
MOST_LABELS = 3
OFFERED = {"": "Tier and GPU", "gpu": "GPU"}
STATES = ("offline", "unhealthy", "draining", "ram-unknown", "gpus-unknown")
"""What may be asked of whole workers, beside how their devices look."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of the fleet, and by what it is grouped."""

    tier: str = ""
    device: str = ""
    """Only workers that have a device of this look."""
    worker: str = ""
    """Only workers of this state."""
    by: str = ""
    within: str | None = None
    """Only this group."""

    @property
    def query(self) -> str:
        """The same as the query of an address."""
        asked = {"tier": self.tier, "device": self.device, "worker": self.worker, "by": self.by}
        pairs = [(name, value) for name, value in asked.items() if value]
        return urlencode(pairs + ([] if self.within is None else [("in", self.within)]))

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves workers out for more than their tier."""
        return bool(self.device or self.worker or self.within is not None)

    @property
    def worker_words(self) -> str:
        """What is asked of whole workers."""
        return {"ram-unknown": "with unknown RAM", "gpus-unknown": "with unknown GPUs"}.get(self.worker, self.worker)

    @property
    def within_words(self) -> str:
        """The group, as its heading calls it."""
        if not self.by.startswith(LABEL):
            return self.within or ""
        key = self.by.removeprefix(LABEL)
        return f"{key}={self.within}" if self.within else f"no {key}"

    def but(self, **changes: str | None) -> str:
        """The address of the page with this instead."""
        query = replace(self, **changes).query  # type: ignore[arg-type]
        return f"/?{query}" if query else "/"

    def holds(self, drawn: Drawn) -> bool:
        """Whether this worker is part of it."""
        return (
            (not self.tier or drawn.tier == self.tier)
            and (not self.device or bool(drawn.looks[self.device]))
            and (not self.worker or is_in(drawn, self.worker))
            and (self.within is None or self.group(drawn) == self.within)
        )

    def group(self, drawn: Drawn) -> str:
        """What its group is called."""
        if self.by.startswith(LABEL):
            return dict(drawn.view.facts.labels).get(self.by.removeprefix(LABEL), "")
        return drawn.models if self.by == "gpu" else f"{drawn.tier} {drawn.models}"


def scope_of(query: QueryDict) -> Scope:
    """What an address asks for; what nobody can mean is left out."""
    asked = asked_of(query, ("tier", "device", "worker", "by", "in"))
    by = asked.get("by", "")
    device, worker = asked.get("device", ""), asked.get("worker", "")
    return Scope(
        tier=asked.get("tier", ""),
        device=device if device in LOOKS else "",
        worker=worker if worker in STATES else "",
        by=by if by == "gpu" or by.startswith(LABEL) else "",
        within=asked.get("in", "") if "in" in query else None,
    )


def is_in(drawn: Drawn, state: str) -> bool:
    """Whether a worker is in one of STATES."""
    view, facts = drawn.view, drawn.view.facts
    return {
        "offline": not view.online,
        "unhealthy": view.online and view.unhealthy,
        "draining": view.online and view.draining,
        "ram-unknown": facts.memory_bytes is None,
        "gpus-unknown": facts.devices is None,
    }[state]


def groupings(workers: Sequence[Drawn], now: Scope) -> list[tuple[str, str]]:
    """By what one may group: the two of every fleet, and the labels that part it into a few, the commonest first."""
    keys: Counter[str] = Counter()
    values: dict[str, set[str]] = {}
    for drawn in workers:
        for key, value in drawn.view.facts.labels:
            keys[key] += 1
            values.setdefault(key, set()).add(value)
    few = [key for key, _ in keys.most_common() if 1 < len(values[key]) <= FEW_VALUES][:MOST_LABELS]
    asked = now.by.removeprefix(LABEL)
    if now.by.startswith(LABEL) and asked not in few:
        few.append(asked)
    return [*OFFERED.items(), *((f"{LABEL}{key}", key) for key in few)]


def looks_of(workers: Iterable[Drawn]) -> Mapping[str, int]:
    """How many devices have each look."""
    total: Counter[str] = Counter()
    for drawn in workers:
        total.update(drawn.looks)
    return total
