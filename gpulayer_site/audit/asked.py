"""What a query string asks of the trail; everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from scheduler.core.errors import Problem
from scheduler.core.reading import can_be_stored
from workers.local_time import EXPECTED, LocalTimeError, read_local
from workers.services.trail_search import Asked

TEXTS = ("who", "what", "verb", "q")
NAMES = (*TEXTS, "since", "until", "refused")
LONGEST = 200
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, from which event on, and what of it could not be understood."""

    asked: Asked
    before: int | None
    after: int | None
    problems: tuple[Problem, ...]


def read_question(data: Mapping[str, str]) -> Question:
    """From a query string; what is wrong counts as not asked for, and is named."""
    problems: list[Problem] = []
    texts = {name: _text(name, data.get(name, ""), problems) for name in TEXTS}
    since, until = (_instant(name, data.get(name, ""), problems) for name in ("since", "until"))
    before, after = (_number(name, data.get(name, ""), problems) for name in ("before", "after"))
    refused = data.get("refused", "").lower() not in ("", "0", "false")
    asked = Asked(**texts, since=since, until=until, refused=refused)
    return Question(asked, before, after, tuple(problems))


def kept(data: Mapping[str, str]) -> dict[str, str]:
    """The parts of a query string that stay from page to page."""
    return {name: data[name].strip()[:LONGEST] for name in NAMES if data.get(name, "").strip()}


def _text(name: str, text: str, problems: list[Problem]) -> str:
    text = text.strip()
    if len(text) > LONGEST or not can_be_stored(text):
        problems.append(Problem(name, _shown(text), f"text of at most {LONGEST} characters"))
        return ""
    return text


def _instant(name: str, text: str, problems: list[Problem]) -> datetime | None:
    if not text.strip():
        return None
    try:
        return read_local(text[:LONGEST], timezone.get_current_timezone(), which=0)
    except (LocalTimeError, OverflowError):
        problems.append(Problem(name, _shown(text), EXPECTED))
        return None


def _number(name: str, text: str, problems: list[Problem]) -> int | None:
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= _LARGEST:
        return int(text)
    problems.append(Problem(name, _shown(text), "an event's id, as an earlier answer gave it"))
    return None


def _shown(text: str) -> str:
    shown = ascii(text)
    return shown if len(shown) <= 80 else shown[:79] + "…"
