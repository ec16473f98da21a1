"""How many refusals are written down: enough to see what somebody tries, too few to fill a disk."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

MOST_PLACES = 10_000
"""Addresses that are remembered at a time."""


@dataclass(slots=True)
class Bucket:
    """So many at once, and then one for each `every` seconds; `left_out` since the last one that was let through."""

    burst: int
    every: float
    left: float
    at: float
    left_out: int = 0

    def fill(self, now: float) -> None:
        """Give back what time gives back."""
        self.left = min(float(self.burst), self.left + max(0.0, now - self.at) / self.every)
        self.at = now


class Cap:
    """One bucket for each place and one for all of them. Safe between threads; one for each process."""

    def __init__(self, *, burst: int = 60, every: float = 30.0, burst_of_all: int = 1000, every_of_all: float = 15.0):
        self._sizes = burst, every
        self._all = Bucket(burst_of_all, every_of_all, burst_of_all, 0.0)
        self._places: OrderedDict[str, Bucket] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, address: str, now: float) -> int | None:
        """None: leave this one out. Else how many of this place were left out since the last one. `now` is monotonic.

        A place that has used up its own share leaves those of the others alone.
        """
        with self._lock:
            bucket = self._bucket(place_of(address), now)
            bucket.fill(now)
            self._all.fill(now)
            if bucket.left < 1 or self._all.left < 1:
                bucket.left_out += 1
                return None
            bucket.left -= 1
            self._all.left -= 1
            left_out, bucket.left_out = bucket.left_out, 0
            return left_out

    def _bucket(self, place: str, now: float) -> Bucket:
        bucket = self._places.setdefault(place, Bucket(*self._sizes, self._sizes[0], now))
        self._places.move_to_end(place)
        while len(self._places) > MOST_PLACES:
            self._places.popitem(last=False)
        return bucket


def place_of(address: str) -> str:
    """What counts as one place: an address, or the network that one IPv6 line is given."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(parsed.ipv4_mapped) if parsed.ipv4_mapped else str(IPv6Address(int(parsed) >> 64 << 64))
    return address
