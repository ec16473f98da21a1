"""How much is kept, and for how long: limits of logs and outputs, and when what is old is removed."""

from __future__ import annotations

from dataclasses import dataclass

import environ
from django.core.exceptions import ImproperlyConfigured

from scheduler.core.quantities import parse_size


@dataclass(frozen=True, slots=True)
class Keep:
    """How long one kind of thing is kept, and how much of it: bytes of files, else rows. 0 is without limit."""

    days: int
    most: int


KINDS = {
    "LOGS": ("90", "100GB"),
    "OUTPUTS": ("30", "100GB"),
    "DECISIONS": ("90", "1000000"),
    "PASSES": ("90", "1000000"),
    "EVENTS": ("400", "0"),
}
"""Days and most of each kind, where the environment does not say otherwise."""
IN_BYTES = ("LOGS", "OUTPUTS")


def keep(env: environ.Env) -> dict[str, Keep]:
    """The limits of each kind, from `GPULAYER_KEEP_<KIND>_DAYS` and `…_SIZE` or `…_ROWS`."""
    limits = {}
    for kind, (days, most) in KINDS.items():
        in_bytes = kind in IN_BYTES
        name = f"GPULAYER_KEEP_{kind}_{'SIZE' if in_bytes else 'ROWS'}"
        size = read_size(env, name, most) if in_bytes else read_count(env, name, most)
        limits[kind.lower()] = Keep(read_count(env, f"GPULAYER_KEEP_{kind}_DAYS", days), size)
    return limits


def read_size(env: environ.Env, name: str, default: str) -> int:
    """Bytes, written with their unit; raises ImproperlyConfigured that names the variable."""
    text = env.str(name, default="") or default
    size = 0 if text == "0" else parse_size(text, at_least=False)
    if size is None:
        raise ImproperlyConfigured(f"{name} is a size with its unit, such as 1GiB or 500MB; found `{text}`")
    return size


def read_count(env: environ.Env, name: str, default: str) -> int:
    """A whole number from 0; raises ImproperlyConfigured that names the variable."""
    text = env.str(name, default="") or default
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise ImproperlyConfigured(f"{name} is a whole number from 0; found `{text}`")
    return int(text)
