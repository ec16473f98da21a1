"""The trail as a file: CSV for spreadsheets, JSON lines for programs; written while it is read."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any

from gpulayer_site.audit.rows import COLUMNS, document
from workers.models import Event

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""What makes a spreadsheet take a cell for something to work out."""
KINDS = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}


def as_csv(events: Iterable[Event]) -> Iterator[str]:
    """A header and a line for each."""
    writer = csv.writer(_Echo())
    yield writer.writerow(COLUMNS)
    for event in events:
        yield writer.writerow([cell(value) for value in document(event).values()])


def as_json_lines(events: Iterable[Event]) -> Iterator[str]:
    """One document a line, in plain ASCII."""
    for event in events:
        yield json.dumps(document(event)) + "\n"


def cell(value: Any) -> Any:
    """A value as a spreadsheet shows it and does not work it out: an apostrophe before what looks like a formula."""
    if isinstance(value, dict):
        value = json.dumps(value) if value else ""
    if isinstance(value, str) and value.lstrip().startswith(FORMULAS):
        return f"'{value}"
    return value


class _Echo:
    """Gives back what is written: the writer's line."""

    def write(self, line: str) -> str:
        return line
