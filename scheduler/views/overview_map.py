"""The map of the fleet: named boxes for a few workers, a block for each of some hundreds, bars for thousands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scheduler.core.words import agrees
from scheduler.services.overview_fleet import LOOKS, Drawn
from scheduler.views.overview_scope import LABEL, Scope, looks_of

MOST_TILES = 60
MOST_BLOCKS = 2_000
COLUMNS = 21
CELL, GAP, APART = 8, 1, 5
LETTERS = {"free": "f", "use": "u", "rsv": "r", "frn": "n", "bad": "b", "off": "o"}
WORDS = {
    "free": "free", "use": "in use", "rsv": "reserved", "frn": "used outside gpulayer", "bad": "unhealthy",
    "off": "offline or draining",
}  # fmt: skip
TIERS = ("local", "remote", "cloud")


@dataclass(frozen=True, slots=True)
class Share:
    """One look within a bar: how many devices, and where in a hundred it begins and how wide it is."""

    look: str
    words: str
    count: int
    start: str
    width: str
    percent: str
    link: str = ""

    @property
    def letter(self) -> str:
        """By which its fill is named."""
        return LETTERS[self.look]


@dataclass(frozen=True, slots=True)
class Block:
    """One worker in the map."""

    name: str
    pattern: str
    x: int
    y: int
    words: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One device of a pattern."""

    letter: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Group:
    """Workers that are drawn together."""

    tier: str
    name: str
    link: str
    workers: int
    free: int
    devices: int
    shares: tuple[Share, ...]
    blocks: tuple[Block, ...] = ()
    width: int = 0
    height: int = 0

    @property
    def label(self) -> str:
        """What the group is, for who doesn't see it."""
        there = f"{self.workers:,} {agrees(self.workers, 'worker', 'workers')}"
        return f"{self.name}, {there}, {self.free:,} of {self.devices:,} devices free"


@dataclass(frozen=True, slots=True)
class Tier:
    """The groups of one tier; of none where the fleet is grouped by something else."""

    name: str
    workers: int
    free: int
    groups: tuple[Group, ...]


def shares(looks: Mapping[str, int], scope: Scope | None = None) -> tuple[Share, ...]:
    """The looks that there are, as parts of a bar; with a scope each leads to the workers that have some."""
    total = sum(looks.values())
    found, start = [], 0.0
    for look in LOOKS:
        if count := looks.get(look, 0):
            width = 100 * count / total
            link = scope.but(device="" if scope.device == look else look) if scope else ""
            found.append(Share(look, WORDS[look], count, f"{start:.2f}", f"{width:.2f}", _percent(width), link))
            start += width
    return tuple(found)


def tiers(workers: Sequence[Drawn], scope: Scope, *, blocks: bool) -> tuple[Tier, ...]:
    """The map, group by group, those with the largest memory first; `blocks`: every worker is drawn."""
    grouped: dict[tuple[str, str], list[Drawn]] = {}
    for drawn in workers:
        grouped.setdefault((drawn.tier if not scope.by else "", scope.group(drawn)), []).append(drawn)
    found: dict[str, list[Group]] = {}
    for (tier, value), those in sorted(grouped.items(), key=_by_memory):
        found.setdefault(tier, []).append(_group(tier, value, those, scope, blocks=blocks))
    return tuple(
        Tier(tier, sum(one.workers for one in groups), sum(one.free for one in groups), tuple(groups))
        for tier, groups in sorted(found.items(), key=lambda item: TIERS.index(item[0]) if item[0] in TIERS else -1)
    )


def patterns(found: Iterable[Tier]) -> list[tuple[str, list[Cell], int]]:
    """Every pattern of devices that is drawn, once: its name, its devices, and its height."""
    names = dict.fromkeys(block.pattern for tier in found for group in tier.groups for block in group.blocks)
    return [(name, _cells(name), _height(len(name))) for name in names]


def _cells(pattern: str) -> list[Cell]:
    pitch = CELL + GAP
    return [Cell(letter, place % 2 * pitch, place // 2 * pitch) for place, letter in enumerate(pattern)]


def _by_memory(item: tuple[tuple[str, str], Sequence[Drawn]]) -> tuple[int, str]:
    (_, value), those = item
    return -max(drawn.memory for drawn in those), value


def _group(tier: str, value: str, those: Sequence[Drawn], scope: Scope, *, blocks: bool) -> Group:
    looks = looks_of(those)
    name = _name(tier, value, scope)
    placed, width, height = _placed(those) if blocks else ((), 0, 0)
    return Group(
        tier, name, scope.but(within=value), len(those), looks.get("free", 0), sum(looks.values()), shares(looks),
        placed, width, height,
    )  # fmt: skip


def _name(tier: str, value: str, scope: Scope) -> str:
    if not scope.by.startswith(LABEL):
        return value.removeprefix(f"{tier} ") if tier else value
    key = scope.by.removeprefix(LABEL)
    return f"{key}={value}" if value else f"no {key}"


def _placed(those: Sequence[Drawn]) -> tuple[tuple[Block, ...], int, int]:
    """Where each worker stands, the one with the most free devices first; and how large the drawing is."""
    in_order = sorted(those, key=lambda drawn: (-drawn.looks.get("free", 0), not drawn.view.online, drawn.name))
    wide, high = 2 * CELL + GAP + APART, max(_height(drawn.devices) for drawn in those) + APART
    blocks = tuple(
        Block(drawn.name, _pattern(drawn), place % COLUMNS * wide, place // COLUMNS * high, _words(drawn))
        for place, drawn in enumerate(in_order)
    )
    columns, rows = min(COLUMNS, len(blocks)), (len(blocks) - 1) // COLUMNS + 1
    return blocks, columns * wide - APART, rows * high - APART


def _pattern(drawn: Drawn) -> str:
    return "".join(LETTERS[look] * drawn.looks.get(look, 0) for look in LOOKS) or "z"


def _height(devices: int) -> int:
    return max(1, (devices + 1) // 2) * (CELL + GAP) - GAP


def _words(drawn: Drawn) -> str:
    closed = "offline" if not drawn.view.online else "draining" if drawn.view.draining else "unhealthy worker"
    words = {**WORDS, "off": closed}
    said = [f"{count} {words[look]}" for look in LOOKS if (count := drawn.looks.get(look, 0))]
    return ", ".join(said) or f"no GPU{'' if drawn.view.online else ', offline'}"


def _percent(share: float) -> str:
    return f"{share:.0f}" if share >= 10 or share == 0 else f"{share:.1f}"
