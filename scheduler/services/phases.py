"""Where the time of a pass goes: seconds by phase, in the order in which the phases are first met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


class Phases:
    """A stopwatch for each phase; a phase that is entered again goes on counting."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count what happens inside towards this phase."""
        began = perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + perf_counter() - began

    def each(self, name: str, things: Iterable[T]) -> Iterator[T]:
        """The same things; the waiting for each of them counts towards this phase."""
        source = iter(things)
        while True:
            with self.of(name):
                try:
                    thing = next(source)
                except StopIteration:
                    return
            yield thing

    def __str__(self) -> str:
        return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in self.seconds.items())
