"""What a page of candidates is made of."""

from __future__ import annotations

from dataclasses import dataclass

from workers.devices import DeviceBox


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
class Chosen:
    """Something that the address asks for beside the verdict, and the same without it."""

    text: str
    link: str


@dataclass(frozen=True, slots=True)
class Without:
    """What hides most where nothing matches: how many there would be without it, and the way there."""

    text: str
    act: str
    link: str


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate beside its reasons."""

    worker: str
    key: int
    """Its place among all workers of the decision by id."""
    rank: int | None
    gpus: tuple[str, ...]
    simulated: bool
    pill: tuple[str, str]
    boxes: tuple[DeviceBox, ...]
    asked: bool
    """Whether availability was asked; what was not asked is not drawn."""
    reasons: tuple[tuple[str, str], ...]
    """(tone, sentence) of everything against it; of one that nothing stands against, where it stands."""
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
