"""Text as the trail keeps it: one line, no control characters, never too long to be written down."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.db import models

_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str) -> str:
    """Line breaks, terminal commands, halves of characters, and what turns a line around, spelled out: `\\n`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(character) if _is_hidden(character) else character for character in text)


def escaped_within(value: Any) -> Any:
    """The same of every text within a JSON value, keys included."""
    match value:
        case str():
            return escaped(value)
        case dict():
            return {escaped(str(key)): escaped_within(inner) for key, inner in value.items()}
        case list() | tuple():
            return [escaped_within(inner) for inner in value]
    return value


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _UNSEEN or character in _TURNING


def _spelled(character: str) -> str:
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


class TrailText(models.CharField):
    """Escapes what it is given, and cuts it to its length: an act is written down whatever it was called."""

    def get_prep_value(self, value: Any) -> Any:
        """As it is stored and looked for."""
        text = super().get_prep_value(value)
        return escaped(text)[: self.max_length] if isinstance(text, str) else text

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """For the database it is any text."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs


class TrailDetail(models.JSONField):
    """A JSON value whose texts are escaped."""

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """As it is stored."""
        return super().get_db_prep_value(escaped_within(value), connection, prepared)

    def deconstruct(self) -> tuple[str, str, Any, Any]:
        """For the database it is any JSON."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs
