"""Classes of workers whose facts read alike, and what each of them answered to every check so far."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import count

from scheduler.core.capability import CAPABILITY
from scheduler.core.fleet import WorkerFacts
from scheduler.core.questions import Question, Reads
from scheduler.core.spec import QueueEntry

MOST_ANSWERS = 20_000
MOST_READ = 200_000


class Classes:
    """Facts that read alike share a number, and one worker's facts stand for all of them.

    Several threads may ask at once: each draws a number of its own for what is new, and the first to say so is right.
    """

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._numbers: dict[Hashable, int] = {}
        self._draw = count().__next__
        self.samples: dict[int, WorkerFacts] = {}
        self._read: dict[int, tuple[WorkerFacts, int]] = {}
        """Facts that were read already, by where they lie: a worker that is as it was is not read again."""

    def number(self, facts: WorkerFacts) -> int:
        """The number of the class."""
        known = self._read.get(id(facts))
        if known is not None and known[0] is facts:
            return known[1]
        number = self._find(facts)
        if len(self._read) >= MOST_READ:
            self._read.clear()
        self._read[id(facts)] = (facts, number)
        return number

    def _find(self, facts: WorkerFacts) -> int:
        key = self._reads(facts)
        number = self._numbers.get(key)
        if number is None:
            drawn = self._draw()
            self.samples[drawn] = facts
            number = self._numbers.setdefault(key, drawn)
        return number


class Answers:
    """What every class answered to every question so far; may be kept for as long as one likes."""

    def __init__(self) -> None:
        self._classes: dict[Reads, Classes] = {}
        self._fails: dict[tuple[Question, Hashable], dict[int, bool]] = {}

    def classes(self, reads: Reads) -> Classes:
        """The classes of facts by one way of reading them."""
        return self._classes.setdefault(reads, Classes(reads))

    def fails(self, question: Question, ask: Hashable, entry: QueueEntry, number: int) -> bool:
        """Whether the workers of a class fail the check."""
        known = self._fails.setdefault((question, ask), {})
        answer = known.get(number)
        if answer is None:
            sample = self.classes(question.reads).samples[number]
            answer = known[number] = any(True for _ in CAPABILITY[question.code](entry, sample))
        return answer

    @property
    def are_many(self) -> bool:
        """Whether it is time to forget them all and find again what is still asked for."""
        many = max((len(classes.samples) for classes in self._classes.values()), default=0)
        return many > MOST_ANSWERS or len(self._fails) > MOST_ANSWERS
