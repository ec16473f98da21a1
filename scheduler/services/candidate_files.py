"""All candidates of one decision as a file: CSV for spreadsheets, JSON for programs; written while it is read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduler.core.codec import candidate_to_document, head_to_document
from scheduler.core.codec_worker import instant_text
from scheduler.core.decision import Candidate, Verdict
from scheduler.core.policies import best_first
from scheduler.core.sentences import sentence
from scheduler.services.recorded import Recorded
from workers.spreadsheets import Echo, cell

COLUMNS = ("job", "pass", "worker", "verdict", "order", "devices", "codes", "reasons")
KINDS: Mapping[str, str] = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
_AT_ONCE = 200
"""So many lines are written together: a server hands on few large pieces faster than many small ones."""


def as_csv(kept: Recorded) -> Iterator[str]:
    """A header and a line for every worker, by id."""
    writer = csv.writer(Echo())
    return _in_pieces([writer.writerow(COLUMNS)], (writer.writerow(map(cell, row)) for row in _rows(kept)))


def as_json(kept: Recorded) -> Iterator[str]:
    """The decision's document, its candidates last."""
    seen = {"pass_number": kept.row.pass_row.number, "seen_at": instant_text(kept.row.seen_at)}
    head = {**head_to_document(kept.decision), **seen}
    begun = json.dumps(head)[:-1] + ', "candidates": ['
    lines = (json.dumps(candidate_to_document(one)) for one in kept.decision.candidates)
    return _in_pieces([begun], (f"{', ' if place else ''}{line}" for place, line in enumerate(lines)), ["]}\n"])


def _rows(kept: Recorded) -> Iterator[tuple[Any, ...]]:
    number = kept.row.pass_row.number
    given = {place.worker: place.devices for place in kept.decision.assignments}
    places = _places(kept.decision.candidates)
    for one in kept.decision.candidates:
        codes = " ".join(dict.fromkeys(reason.code.text for reason in one.reasons))
        devices = " ".join(map(str, given.get(one.worker, ())))
        reasons = "; ".join(map(sentence, one.reasons))
        yield (kept.decision.job_id, number, one.worker, one.verdict, places.get(one.worker), devices, codes, reasons)


def _places(candidates: Iterable[Candidate]) -> dict[str, int]:
    """Place among those that could take it now: as the page numbers them."""
    able = [one for one in candidates if one.verdict in (Verdict.SELECTED, Verdict.ELIGIBLE) and one.key]
    able.sort(key=lambda one: (not one.selected, best_first(one.key or ())))
    return {one.worker: place for place, one in enumerate(able, 1)}


def _in_pieces(*parts: Iterable[str]) -> Iterator[str]:
    piece: list[str] = []
    for part in parts:
        for line in part:
            piece.append(line)
            if len(piece) == _AT_ONCE:
                yield "".join(piece)
                piece.clear()
    yield "".join(piece)
