"""The trail as a file: CSV for spreadsheets, JSON lines for programs; written while it is read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator

from gpulayer_site.audit.rows import COLUMNS, document
from workers.models import Event
from workers.spreadsheets import Echo, cell

KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def as_csv(events: Iterable[Event]) -> Iterator[str]:
    """A header and a line for each."""
    writer = csv.writer(Echo())
    yield writer.writerow(COLUMNS)
    for event in events:
        yield writer.writerow([cell(value) for value in document(event).values()])


def as_json_lines(events: Iterable[Event]) -> Iterator[str]:
    """One document a line, in plain ASCII."""
    for event in events:
        yield json.dumps(document(event)) + "\n"
