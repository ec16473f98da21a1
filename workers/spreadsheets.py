"""Lines for spreadsheets, which take much for a formula."""

from __future__ import annotations

import json
from typing import Any

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")
"""What makes a spreadsheet take a cell for something to work out."""


def cell(value: Any) -> Any:
    """A value as a spreadsheet shows it and does not work it out: an apostrophe before what looks like a formula."""
    if isinstance(value, dict):
        value = json.dumps(value) if value else ""
    if isinstance(value, str) and (value.startswith(FORMULAS) or value.lstrip().startswith(FORMULAS)):
        return f"'{value}"
    return value


class Echo:
    """Gives back what a CSV writer writes: its line."""

    def write(self, line: str) -> str:
        """The line itself."""
        return line
