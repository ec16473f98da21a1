"""Ways to part a fleet into groups on a page, and what the page calls them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from scheduler.core.fleet import Fleet
from scheduler.core.grouping import BY_LABEL
from scheduler.core.spec import QueueEntry

MOST_LABELS = 12
LONGEST_KEY = 253
GROUPINGS = {"gpu": "GPUs", "tier": "Target", "torch": "torch version"}
BY_WORKER = "worker"
FEW = 8
"""Up to so many workers have a column each."""


def is_grouping(text: str) -> bool:
    """Whether an address may ask for it."""
    key = text.removeprefix(BY_LABEL)
    is_label = text.startswith(BY_LABEL) and 0 < len(key) <= LONGEST_KEY and key.isprintable()
    return text in GROUPINGS or is_label


def groupings_for(entry: QueueEntry, fleet: Fleet, chosen: str) -> Iterator[tuple[str, str]]:
    """(key, name) of each way to count: by labels too, those that the job asks for first, then the commonest."""
    yield from GROUPINGS.items()
    keys = [key for key, _ in entry.spec.placement.worker_labels]
    common = Counter(key for view in fleet.workers for key, _ in view.facts.labels)
    keys += [key for key, _ in common.most_common(MOST_LABELS)]
    known = [f"{BY_LABEL}{key}" for key in keys[:MOST_LABELS]]
    for key in dict.fromkeys([*known, *([chosen] if is_grouping(chosen) and chosen not in GROUPINGS else [])]):
        yield key, f"Label {key.removeprefix(BY_LABEL)}"
