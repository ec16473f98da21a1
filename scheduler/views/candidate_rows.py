"""Which candidates a page shows: chosen from the decision's groups, so that ten thousand cost no more than a few."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection
from functools import cached_property

from scheduler.core import explain
from scheduler.core.decision import Candidate, CandidateGroup, Verdict
from scheduler.core.fleet import WorkerView
from scheduler.core.policies import best_first, policy_key
from scheduler.core.reasons import CODES, ORDER, Code, Kind
from scheduler.memory import remembered
from scheduler.services.recorded import Recorded
from scheduler.views.candidate_values import SEGMENTS, Facet, Page, Query, Row, Tab
from workers.devices import device_boxes, summary

ROWS = 25
FEW = 8
"""Up to so many workers are shown without tabs and facets."""

MOST_RANKED = 16
_ranks: OrderedDict[tuple[int, str], dict[str, int]] = remembered(OrderedDict())
"""Policy orders of decisions that were looked at: a decision never changes."""

_ORDER = ("selected", "free", "busy", "never", "outside")
_BY_VERDICT = {Verdict.SELECTED: "selected", Verdict.ELIGIBLE: "free", Verdict.UNAVAILABLE: "busy"}
PILLS = {
    "selected": ("ok", "Selected"),
    "free": ("free", "Free now"),
    "busy": ("wait", "Fits, not free"),
    "never": ("never", "Never fits"),
    "outside": ("none", "Outside target"),
}


class Candidates:
    """One decision's candidates under one query."""

    def __init__(self, recorded: Recorded, query: Query) -> None:
        self.recorded = recorded
        self.decision = recorded.decision
        self.groups = tuple((segment_of(group.verdict, group.codes), group) for group in self.decision.groups())
        if query.segment == "in" and not self._count("in"):
            query = Query("all", query.reason, query.q, query.after, query.before)
        self.query = query

    @property
    def few(self) -> bool:
        """Whether there are so few workers that choosing among them is no help."""
        return sum(len(group.workers) for _, group in self.groups) <= FEW

    @property
    def tabs(self) -> tuple[Tab, ...]:
        """Every verdict with its number; those that nobody has are left out."""
        counted = ((key, text, self._count(key)) for key, text in SEGMENTS.items())
        return tuple(
            Tab(text, number, self.query.link(v=key, reason=""), key == self.query.segment)
            for key, text, number in counted
            if number or key == "in"
        )

    @property
    def facets(self) -> tuple[tuple[str, tuple[Facet, ...]], ...]:
        """(kind, reasons) for capability and availability, the most frequent first; every reason is counted."""
        counted: Counter[Code] = Counter()
        for group in self._in_segment():
            for code in group.codes:
                counted[code] += len(group.workers)
        ordered = sorted(counted, key=lambda code: (-counted[code], ORDER[code]))
        facets = [(kind, tuple(self._facet(code, counted[code]) for code in ordered if code.kind is kind))
                  for kind in (Kind.CAPABILITY, Kind.AVAILABILITY)]  # fmt: skip
        return tuple((kind.value, rows) for kind, rows in facets if rows)

    @cached_property
    def page(self) -> Page:
        """The rows asked for."""
        ids = self._matching()
        places = {worker: place for place, worker in enumerate(ids)}
        start = places.get(self.query.after, -1) + 1
        if self.query.before in places:
            start = max(0, places[self.query.before] - ROWS)
        shown = ids[start : start + ROWS]
        more = len(ids) > start + ROWS
        return Page(
            rows=tuple(self._row(worker) for worker in shown),
            first=start + 1 if shown else 0,
            total=len(ids),
            previous=self.query.link(before=shown[0]) if start and shown else "",
            next=self.query.link(after=shown[-1]) if more else "",
        )

    def _count(self, segment: str) -> int:
        return sum(len(group.workers) for key, group in self.groups if _within(key, segment))

    def _in_segment(self) -> list[CandidateGroup]:
        return [group for key, group in self.groups if _within(key, self.query.segment)]

    def _facet(self, code: Code, count: int) -> Facet:
        on = code.text == self.query.reason
        link = self.query.link(reason="" if on else code.text)
        return Facet(explain.code_label(code), explain.code_tone(code), count, link, on)

    def _matching(self) -> list[str]:
        """Every candidate that the query asks for: by verdict, then policy order, then the fewest reasons."""
        ids: list[tuple[int, int, str]] = []
        for key, group in self.groups:
            if not _within(key, self.query.segment) or not self._has_reason(group):
                continue
            place = _ORDER.index(key)
            ids += [(place, len(group.codes), worker) for worker in group.workers if self._is_found(worker)]
        ordered = [worker for _, _, worker in sorted(ids)]
        return sorted(ordered, key=self._policy_place) if self._ranked else ordered

    def _has_reason(self, group: CandidateGroup) -> bool:
        return not self.query.reason or CODES[self.query.reason] in group.codes

    def _is_found(self, worker: str) -> bool:
        if not self.query.q:
            return True
        view = self.workers[worker]
        hay = (worker, *(device.model or "" for device in view.facts.devices or ()), *(t.job_id for t in view.tasks))
        needle = self.query.q.casefold()
        return any(needle in text.casefold() for text in hay)

    @cached_property
    def workers(self) -> dict[str, WorkerView]:
        """Every worker as the pass saw it."""
        return {worker.id: worker for worker in self.recorded.fleet.workers}

    @property
    def _ranked(self) -> dict[str, int]:
        """Place in policy order of those that could be given the job now, the chosen one first."""
        row = self.recorded.row
        key = (row.pk, row.digest)
        ranks = _ranks.get(key)
        if ranks is None:
            ranks = _ranks[key] = self._rank()
            while len(_ranks) > MOST_RANKED:
                _ranks.popitem(last=False)
        return ranks

    def _rank(self) -> dict[str, int]:
        able = [worker for key, group in self.groups if key in ("selected", "free") for worker in group.workers]
        chosen = {task.worker for task in self.decision.assignments}
        entry = self.recorded.entry
        able.sort(
            key=lambda worker: (
                worker not in chosen, self._tier(worker), best_first(policy_key(entry, self.workers[worker]))
            )
        )  # fmt: skip
        return {worker: place for place, worker in enumerate(able, 1)}

    def _tier(self, worker: str) -> int:
        """Its tier's place among those of the job."""
        tiers = [tier.name for tier in self.decision.tiers]
        return tiers.index(self.workers[worker].facts.origin)

    def _policy_place(self, worker: str) -> int:
        return self._ranked.get(worker, len(self._ranked) + 1)

    def _row(self, worker: str) -> Row:
        candidate = self.decision.candidate(worker)
        view = self.workers[worker]
        chosen = {index for task in self.decision.assignments if task.worker == worker for index in task.devices}
        key = segment_of(candidate.verdict, [reason.code for reason in candidate.reasons])
        return Row(
            worker=worker,
            rank=self._ranked.get(worker),
            gpus=summary(view),
            simulated=view.facts.simulated,
            pill=PILLS[key],
            boxes=device_boxes(view, chosen),
            asked=candidate.verdict is not Verdict.INCOMPATIBLE,
            reasons=reasons_of(candidate),
            selected=candidate.selected,
        )


def segment_of(verdict: Verdict, codes: Collection[Code]) -> str:
    """The tab that candidates of this verdict and these reasons belong to."""
    if verdict is Verdict.INCOMPATIBLE:
        return "outside" if Code.TARGET in codes else "never"
    return _BY_VERDICT[verdict]


def reasons_of(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """(tone, sentence) of every reason."""
    return tuple((explain.code_tone(reason.code), explain.sentence(reason)) for reason in candidate.reasons)


def _within(key: str, segment: str) -> bool:
    return segment == "all" or key == segment or (segment == "in" and key != "outside")
