"""What several forms ask of a text."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from scheduler.core.answers import capital
from scheduler.core.reading import NOT_SEEN, is_printable


def one_line(text: str) -> None:
    """Raise ValidationError for line ends, and for characters that are not seen or turn the text around."""
    if not is_printable(text):
        raise ValidationError(f"{capital(NOT_SEEN)}.")
