"""Keeps tokens out of logs, and every entry on lines of its own."""

import logging
import re
from typing import Any

_TOKEN = re.compile(r"\b(gl[ewu]_)[A-Za-z0-9_-]{8,}")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[^\s,;'\"]+")
_PASSWORD = re.compile(r"(://[^/@\s]*:)[^/@\s]+@")


def redact(text: str) -> str:
    """`text` with every token, and every password in an address, replaced by an ellipsis."""
    return without_password(_BEARER.sub(r"\1…", _TOKEN.sub(r"\1…", text)))


def without_password(url: str) -> str:
    """`url` with the password, if it has one, replaced by an ellipsis."""
    return _PASSWORD.sub(r"\1…@", url)


def visible(text: str) -> str:
    """`text` on one line: what a terminal would obey, or a reader could not see, is spelled out."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


class RedactingFormatter(logging.Formatter):
    """Formats a record, its traceback included, and redacts the result: whatever was logged, no token is written.

    An entry begins at the beginning of a line and goes on in indented ones: no text that came from elsewhere can begin
    another.
    """

    def format(self, record: logging.LogRecord) -> str:
        """The lines to write."""
        return redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base class's name
        """The entry without its traceback."""
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - likewise
        """The traceback."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - likewise
        """The stack that was asked for."""
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"  {visible(line)}" for line in text.split("\n"))
