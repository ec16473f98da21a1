"""What several forms ask of a text."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from scheduler.core.reading import is_printable


def one_line(text: str) -> None:
    """Raise ValidationError for line ends, and for characters that are not seen or turn the text around."""
    if not is_printable(text):
        raise ValidationError("Only characters that can be seen, on one line.")
