"""Who something can be reserved for: `job:j-12`, `user:mira`, `team:vision`. A bare value means a job."""

from __future__ import annotations

KINDS = ("job", "user", "team")
HOLDER = "a holder: job:…, user:… or team:…"


def holder(text: str) -> str | None:
    """The holder in full, or None where the text is none."""
    kind, colon, name = text.partition(":")
    if not colon:
        return f"job:{text}" if text else None
    return text if kind in KINDS and name else None
