"""One field of the submit form with what stands in it: as a browser sent it, or as a document says it."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field as member
from typing import TYPE_CHECKING, Any

from scheduler.forms.documents import Document, drop, get
from scheduler.forms.fields import Field
from scheduler.forms.kinds import Rows, as_sent, rows_read, rows_shown

if TYPE_CHECKING:
    from django.http import QueryDict


@dataclass(slots=True)
class BoundField:
    """A field with what stands in it and what is wrong with that."""

    field: Field
    text: str = ""
    rows: Rows = ()
    """In place of the text, of named values."""
    errors: list[str] = member(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Nothing stands in it that its absence would not say."""
        return not any(map(any, self.rows)) if self.field.named_values else self.text in ("", self.field.default)

    def value(self) -> Any:
        """What it says in the document. Raises UnreadableError."""
        return rows_read(self.rows) if self.field.named_values else self.field.kind.read(self.text)


def sent(spec: Field, data: QueryDict) -> BoundField:
    """A field as it came, or its rows."""
    if not spec.named_values:
        return BoundField(spec, as_sent(data.get(spec.name, ""), lines=bool(spec.rows)))
    names, values = data.getlist(f"{spec.name}_name"), data.getlist(f"{spec.name}_value")
    values += [""] * (len(names) - len(values))
    return BoundField(spec, rows=tuple((as_sent(name), value) for name, value in zip(names, values, strict=False)))


def taken(spec: Field, rest: Document) -> BoundField:
    """A field with what the document says; that is taken out where the field shows it whole."""
    value = get(rest, spec.path)
    if value is None or spec.hidden:
        return BoundField(spec)
    if spec.named_values:
        rows = rows_shown(value)
        if rows:
            drop(rest, spec.path)
        return BoundField(spec, rows=rows or ())
    text = spec.kind.shown(value)
    if (
        text is None
        or as_sent(text, lines=bool(spec.rows)) != text
        or (spec.choices and text not in dict(spec.choices))
    ):
        return BoundField(spec)
    if text:
        drop(rest, spec.path)
    return BoundField(spec, text)
