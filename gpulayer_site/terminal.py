"""How the command line writes: tables, wrapped text, JSON. In a pipe nothing is cut or wrapped."""

import json
import shutil
import sys
import textwrap
from collections.abc import Sequence

import click

NARROWEST = 40
WIDEST_CELL = 48
"""Of a column before the last, on a terminal."""


def width() -> int | None:
    """Columns to write in; None in a pipe."""
    return max(NARROWEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else None


def say(text: str, *, indent: int = 0) -> None:
    """A line or a paragraph, its further lines indented like its first."""
    columns, margin = width(), " " * indent
    if columns is None:
        click.echo(margin + text)
        return
    click.echo(textwrap.fill(text, columns, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Columns as wide as they need to be; on a terminal the last one ends with the line."""
    columns = width()
    texts = [[_cell(value) for value in row] for row in rows]
    if columns is not None:
        texts = [[*(clip(text, WIDEST_CELL) for text in row[:-1]), row[-1]] for row in texts]
    widths = [max(len(row[column]) for row in [list(header), *texts]) for column in range(len(header))]
    for row in [list(header), *texts]:
        line = "  ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)).rstrip()
        click.echo(line if columns is None else clip(line, columns))


def clip(text: str, most: int) -> str:
    """The beginning of a longer text, so many characters in all."""
    return text if len(text) <= most else text[: most - 1] + "…"


def say_if_full(rows: Sequence[object], limit: int) -> None:
    """Beside a list that has as many rows as were asked for: there may be more."""
    if len(rows) >= limit:
        click.echo(f"the first {limit:,}; --limit shows more", err=True)


def write_json(document: object, *, lines: bool = False) -> None:
    """For programs; `lines`: one document a line."""
    click.echo(json.dumps(document, indent=None if lines else 2, ensure_ascii=False))


def clip_list(names: Sequence[str], most: int = 8) -> str:
    """The first few names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _cell(value: object) -> str:
    return "-" if value is None or value == "" else " ".join(str(value).split())
