"""Facts of workers as core values, parsed once per version: their rows never change."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from threading import Lock

from scheduler.core.errors import DocumentError
from scheduler.core.fleet import WorkerFacts
from scheduler.core.parsing import parse_worker_facts
from scheduler.memory import remembered
from workers.models import WorkerFacts as FactsRow

log = logging.getLogger(__name__)

MOST_KEPT = 50_000
MOST_NAMED = 500
"""Above this many missing rows all facts in use are read: databases bound the length of a list."""

_parsed: dict[int, WorkerFacts] = remembered({})
_lock = Lock()


def facts_by_id(ids: Iterable[int]) -> Mapping[int, WorkerFacts]:
    """Parsed facts by row id, at the price of one query when any is new. Unreadable ones are left out, and logged."""
    wanted = set(ids)
    with _lock:
        missing = wanted - _parsed.keys()
        if missing:
            _read(missing)
        return {pk: _parsed[pk] for pk in wanted if pk in _parsed}


def _read(missing: set[int]) -> None:
    if len(_parsed) + len(missing) > MOST_KEPT:
        _parsed.clear()
    rows = FactsRow.objects.values_list("pk", "document")
    if len(missing) <= MOST_NAMED:
        rows = rows.filter(pk__in=missing)
    for pk, document in rows.iterator():
        if pk in missing:
            try:
                _parsed[pk] = parse_worker_facts(document)
            except DocumentError as error:
                log.error("Facts %s cannot be read: %s", pk, error)
