"""The existing name that somebody most likely meant."""

from __future__ import annotations

from functools import lru_cache

MOST_CHANGES = 3


@lru_cache(maxsize=1024)
def nearest(name: str, known: frozenset[str]) -> str | None:
    """The known name that takes the fewest changes of a letter, the first of several; None where all are far.

    Letter case is no change. A change adds, drops or replaces one letter, or swaps two neighbours.
    """
    best, limit = None, min(MOST_CHANGES, max(1, len(name) // 2))
    for other in sorted(known):
        changes = _changes(name.casefold(), other.casefold(), limit)
        if changes is not None:
            best, limit = other, changes - 1
            if not changes:
                break
    return best


def _changes(one: str, other: str, limit: int) -> int | None:
    """How many changes turn one text into the other, sought near the diagonal only; None where more than `limit`."""
    if abs(len(one) - len(other)) > limit:
        return None
    same = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    one, other = one[same:], other[same:]
    far = limit + 1
    before: list[int] = []
    above = [min(place, far) for place in range(len(other) + 1)]
    for done in range(1, len(one) + 1):
        row = [far] * (len(other) + 1)
        row[0] = min(done, far)
        for place in range(max(1, done - limit), min(len(other), done + limit) + 1):
            differs = one[done - 1] != other[place - 1]
            row[place] = min(above[place] + 1, row[place - 1] + 1, above[place - 1] + differs)
            swapped = done > 1 < place and one[done - 2] == other[place - 1] and one[done - 1] == other[place - 2]
            if swapped:
                row[place] = min(row[place], before[place - 2] + 1)
        if min(row) > limit:
            return None
        before, above = above, row
    return above[-1] if above[-1] <= limit else None
