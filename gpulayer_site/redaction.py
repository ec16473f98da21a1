"""Keeps tokens out of logs."""

import logging
import re

_TOKEN = re.compile(r"\b(gl[ewu]_)[A-Za-z0-9_-]{8,}")
_BEARER = re.compile(r"(?i)\b(bearer\s+)[^\s,;'\"]+")
_PASSWORD = re.compile(r"(://[^/@\s]*:)[^/@\s]+@")


def redact(text: str) -> str:
    """`text` with every token, and every password in an address, replaced by an ellipsis."""
    return without_password(_BEARER.sub(r"\1…", _TOKEN.sub(r"\1…", text)))


def without_password(url: str) -> str:
    """`url` with the password, if it has one, replaced by an ellipsis."""
    return _PASSWORD.sub(r"\1…@", url)


class RedactingFormatter(logging.Formatter):
    """Formats a record, its traceback included, and redacts the result: whatever was logged, no token is written."""

    def format(self, record: logging.LogRecord) -> str:
        """The line to write."""
        return redact(super().format(record))
