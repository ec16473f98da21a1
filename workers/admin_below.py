"""Rows that belong to a row, on its page in the administration: the first of them, and the way to all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.utils import display_for_value
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

SHOWN = 50
"""Rows of one table."""


def below(rows: QuerySet[Any], columns: Sequence[str], *, more: str = "") -> SafeString | str:
    """A table of these columns, each row leading to its own page. Two queries at most.

    `more`: the query string of a list that has all of them.
    """
    found = list(rows[: SHOWN + 1])
    if not found:
        return "none"
    options = rows.model._meta  # noqa: SLF001 - the public way to a model's names
    name = f"admin:{options.app_label}_{options.model_name}"
    head = format_html_join("", "<th scope='col'>{}</th>", ((column.replace("_", " "),) for column in columns))
    body = format_html_join("", "<tr>{}</tr>", ((_cells(row, name, columns),) for row in found[:SHOWN]))
    table = format_html(
        "<div class='below'><table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>", head, body
    )
    if len(found) <= SHOWN:
        return table
    return format_html("{}<p><a href='{}?{}'>all of them</a></p>", table, reverse(f"{name}_changelist"), more)


def _cells(row: Any, name: str, columns: Sequence[str]) -> SafeString:
    values = [_shown(getattr(row, column)) for column in columns]
    first = format_html("<th scope='row'><a href='{}'>{}</a></th>", reverse(f"{name}_change", args=[row.pk]), values[0])
    return first + format_html_join("", "<td>{}</td>", ((value,) for value in values[1:]))


def _shown(value: Any) -> Any:
    """A value as lists show it; a related row by its name."""
    return str(value) if hasattr(value, "_meta") else display_for_value(value, "–")
