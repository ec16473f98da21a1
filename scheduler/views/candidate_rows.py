"""Which candidates a page shows: sets of workers, so that ten thousand cost little more than a few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from operator import itemgetter

from scheduler.core import explain
from scheduler.core.bits import each
from scheduler.core.check_words import able_words
from scheduler.core.decision import Verdict
from scheduler.core.labels import check_label
from scheduler.core.pickings import failing, kept_by, of_group, with_word
from scheduler.core.reasons import CODES, ORDER, Code, Kind
from scheduler.services.readings import reading_of
from scheduler.services.recorded import Recorded
from scheduler.views.candidate_query import FIRST, ONLY, SORTS, TABS, VERDICTS, Query
from scheduler.views.candidate_values import Chosen, Facet, Page, Row, Tab, Without
from scheduler.views.verdicts import PILLS, reasons_of, segment_of
from workers.devices import device_boxes, models

ROWS = 25
FEW = 8
"""Up to so many workers are shown without tabs and facets."""
_SEGMENTS = tuple(PILLS)
"""In the order in which rows stand."""


class Candidates:
    """One decision's candidates under one query."""

    def __init__(self, recorded: Recorded, query: Query) -> None:
        self.decision = recorded.decision
        self.reading = reading_of(recorded)
        self.parts = [
            (segment_of(verdict, codes), codes, bits)
            for (verdict, codes), bits in self.decision.evidence.parts().items()
        ]
        if query.verdict == "in" and not self._count("in"):
            query = query.but(verdict="all")
        self.query = query

    @property
    def known(self) -> int:
        """All the workers that the pass saw."""
        return len(self.decision.evidence.roster.ids)

    @property
    def few(self) -> bool:
        """Whether there are so few workers that choosing among them is no help."""
        return self.known <= FEW

    @property
    def in_target(self) -> int:
        """The workers in the job's targets."""
        return self._count("in")

    @property
    def free(self) -> int:
        """Those that could take it now."""
        return self._count("now")

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """Every verdict with its number; those that nobody has are left out."""
        counted = ((key, text, self._count(key)) for key, text in TABS.items())
        return tuple(
            Tab(text, number, self.query.link(verdict=key, code="", subject="", counts=""), key == self.query.verdict)
            for key, text, number in counted
            if number or key in ("in", "free")
        )

    @property
    def sorts(self) -> tuple[tuple[str, str], ...]:
        """(key, name) of the orders."""
        return tuple(SORTS.items())

    @property
    def facets(self) -> tuple[tuple[str, tuple[Facet, ...]], ...]:
        """(kind, reasons) for capability and availability, the most frequent first; every reason is counted."""
        counted: Counter[Code] = Counter()
        for _, codes, bits in self._asked_for():
            for code in codes:
                counted[code] += bits.bit_count()
        ordered = sorted(counted, key=lambda code: (-counted[code], ORDER[code]))
        facets = [(kind, tuple(self._facet(code, counted[code]) for code in ordered if code.kind is kind))
                  for kind in (Kind.CAPABILITY, Kind.AVAILABILITY)]  # fmt: skip
        return tuple((kind.value, rows) for kind, rows in facets if rows)

    @property
    def reasons(self) -> int:
        """How many different reasons there are to choose among."""
        return sum(len(rows) for _, rows in self.facets)

    @property
    def chosen(self) -> tuple[Chosen, ...]:
        """What narrows the rows beside the verdict and words: to be seen, and to be taken away."""
        return tuple(self._narrowed_by())

    @property
    def without(self) -> Without | None:
        """Where nothing matches: what of the question hides most."""
        parts = (
            (bool(self.query.q), f"without “{self.query.q}”", "Clear the search", {"q": ""}),
            (bool(self.query.code), "without the reason", "Any reason", {"code": "", "subject": "", "counts": ""}),
            (bool(self.query.group), "outside the group", "Any group", {"by": "", "group": ""}),
            (self.query.verdict != "all", "of any verdict", "Any verdict", {"verdict": "all"}),
        )
        found = [
            (self._match(self.query.but(**change)).bit_count(), what, act, change)
            for is_so, what, act, change in parts
            if is_so
        ]
        number, what, act, change = max(found, key=itemgetter(0), default=(0, "", "", {}))
        if not number:
            return None
        said = f"{number:,} {'candidate matches' if number == 1 else 'candidates match'} {what}."
        return Without(said, act, self.query.link(**change))

    @cached_property
    def page(self) -> Page:
        """The rows asked for."""
        ranks = self._ordered(self._match(self.query))
        start = self._place_of(self.query.after, ranks) + 1
        if (before := self._place_of(self.query.before, ranks)) >= 0:
            start = max(0, before - ROWS)
        ids = [self.decision.evidence.roster.ids[rank] for rank in ranks[start : start + ROWS]]
        return Page(
            rows=tuple(map(self.row, ids)),
            first=start + 1 if ids else 0,
            total=len(ranks),
            previous=self.query.link(before=ids[0]) if start and ids else "",
            next=self.query.link(after=ids[-1]) if len(ranks) > start + ROWS else "",
        )

    def row(self, worker: str) -> Row:
        """One worker's; KeyError where the fleet had no such worker."""
        candidate = self.decision.candidate(worker)
        view, key = self.reading.views[worker], self.reading.scene.census.rank_of[worker]
        place = self.reading.places.get(key)
        given = sorted(index for task in self.decision.assignments if task.worker == worker for index in task.devices)
        able = ("ok" if candidate.selected else "none", able_words(place, given, selected=candidate.selected))
        return Row(
            worker=worker,
            key=key,
            rank=place,
            gpus=models(view),
            simulated=view.facts.simulated,
            pill=PILLS[segment_of(candidate.verdict, [reason.code for reason in candidate.reasons])],
            boxes=device_boxes(view, given),
            asked=candidate.verdict is not Verdict.INCOMPATIBLE,
            reasons=reasons_of(candidate) or (able,),
            selected=candidate.selected,
        )

    def _count(self, verdict: str) -> int:
        return sum(bits.bit_count() for segment, _, bits in self.parts if segment in VERDICTS[verdict])

    def _asked_for(self) -> Iterator[tuple[str, tuple[Code, ...], int]]:
        return (part for part in self.parts if part[0] in VERDICTS[self.query.verdict])

    def _facet(self, code: Code, count: int) -> Facet:
        on = code.text == self.query.code
        link = self.query.link(code="" if on else code.text, subject="", counts="")
        return Facet(explain.code_label(code), explain.code_tone(code), count, link, on)

    def _narrowed_by(self) -> Iterator[Chosen]:
        query = self.query
        if query.code:
            said = {FIRST: "first of its reasons: ", ONLY: "only blocker: "}.get(query.counts, "fails: ")
            subject = f" {query.subject}" if query.subject else ""
            text = f"{said}{check_label(CODES[query.code])}{subject}"
            yield Chosen(text, query.link(code="", subject="", counts=""))
        if query.group:
            yield Chosen(f"group: {query.group}", query.link(by="", group=""))

    def _match(self, query: Query) -> int:
        """Every candidate that a query asks for."""
        scene, found = self.reading.scene, 0
        for segment, codes, bits in self.parts:
            if segment in VERDICTS[query.verdict] and (query.counts != FIRST or codes[:1] == (CODES[query.code],)):
                found |= bits
        if query.code and query.counts != FIRST:
            pick = kept_by if query.counts == ONLY else failing
            found &= pick(scene, CODES[query.code], query.subject)
        if query.group:
            everywhere = query.verdict in ("outside", "all") and self._count("in")
            within = scene.census.everyone if everywhere else self.reading.inside
            found &= of_group(scene, query.by, query.group, within)
        return found & with_word(scene, query.q) if query.q else found

    def _ordered(self, found: int) -> list[int]:
        """Their ranks: those that could take it now in policy order, then by verdict, reasons and id."""
        if self.query.sort == "worker":
            return list(each(found))
        buckets: Counter[tuple[int, int]] = Counter()
        by_verdict = self.query.sort == "order"
        for segment, codes, bits in self.parts:
            place = _SEGMENTS.index(segment) if by_verdict else 0
            if codes and bits & found:
                buckets[place, len(codes)] |= bits & found
        able = [rank for rank in self.reading.order if found >> rank & 1]
        return able + [rank for key in sorted(buckets) for rank in each(buckets[key])]

    def _place_of(self, worker: str, ranks: list[int]) -> int:
        rank = self.reading.scene.census.rank_of.get(worker)
        return ranks.index(rank) if rank is not None and rank in ranks else -1
