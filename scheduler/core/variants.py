"""Workers with the same codes may differ in figures: the different sentences of a group, and of how many each is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from scheduler.core.decision import CandidateGroup, SchedulingDecision
from scheduler.core.reasons import ORDER, Code, Reason
from scheduler.core.sentences import sentence
from scheduler.core.words import Clock, in_utc


@dataclass(frozen=True, slots=True)
class Variant:
    """One sentence and the number of workers of the group that it is said of."""

    sentence: str
    count: int


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a group under one code: the commonest sentences first."""

    code: Code
    variants: tuple[Variant, ...]
    others: int
    """How many more different sentences there are."""


def lines(by_code: Iterable[Said], workers: int) -> tuple[str, ...]:
    """A group of so many workers in sentences; where they differ, each says of how many it is."""
    return tuple(line for said in by_code for line in _lines(said, workers))


def variants(
    decision: SchedulingDecision, groups: Sequence[CandidateGroup], *, most: int = 3, clock: Clock = in_utc
) -> tuple[tuple[Said, ...], ...]:
    """For each group, and in it for each code, at most so many sentences. Looks at every candidate once."""
    place = {worker: number for number, group in enumerate(groups) for worker in group.workers}
    tallies: list[dict[int, tuple[Reason, int]]] = [{} for _ in groups]
    for candidate in decision.candidates if place else ():
        number = place.get(candidate.worker)
        if number is None:
            continue
        tally = tallies[number]
        for reason in candidate.reasons:  # shared between workers of one class, so identity tells most of them apart
            tally[id(reason)] = (reason, tally.get(id(reason), (reason, 0))[1] + 1)
    return tuple(_by_code(tally.values(), most, clock) for tally in tallies)


def _lines(said: Said, workers: int) -> Iterator[str]:
    for variant in said.variants:
        yield variant.sentence if variant.count == workers else f"{variant.count:,}: {variant.sentence}"
    if said.others:
        yield f"… and {said.others:,} more like this"


def _by_code(tally: Iterable[tuple[Reason, int]], most: int, clock: Clock) -> tuple[Said, ...]:
    counts: dict[Code, dict[str, int]] = {}
    for reason, count in tally:
        said = counts.setdefault(reason.code, {})
        text = sentence(reason, clock=clock)
        said[text] = said.get(text, 0) + count
    return tuple(_said(code, counts[code], most) for code in sorted(counts, key=ORDER.__getitem__))


def _said(code: Code, counts: dict[str, int], most: int) -> Said:
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return Said(code, tuple(Variant(*entry) for entry in ordered[:most]), max(0, len(ordered) - most))
