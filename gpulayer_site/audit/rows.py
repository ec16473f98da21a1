"""An event in words: for the page, and as the document that programs get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from workers.models import Event
from workers.services.trail import REFUSED

COLUMNS = (
    "id", "at", "actor", "address", "via", "subject_kind", "subject", "verb", "before", "after", "cause", "detail",
)  # fmt: skip
"""The members of an event's document, in their order."""
_PAGES = {"job": "job", "worker": "worker", "label": "worker"}
"""Kinds of which a subject has a page of its own name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the page."""

    event: Event

    @property
    def is_refused(self) -> bool:
        """Whether it tells of something that was not done."""
        return self.event.verb == REFUSED

    @property
    def act(self) -> str:
        """What was done, as a word or two."""
        return self.event.verb.replace("_", " ")

    @property
    def page(self) -> str:
        """The address of the page of what it was done with; empty where there is none."""
        name = _PAGES.get(self.event.subject_kind)
        return reverse(name, args=[self.event.subject]) if name and _fits(name, self.event.subject) else ""

    @property
    def by_actor(self) -> str:
        """The query string of all that this actor did."""
        return urlencode({"who": self.event.actor})

    @property
    def by_subject(self) -> str:
        """The query string of all that was done with the same."""
        return urlencode({"what": f"{self.event.subject_kind}:{self.event.subject}"})

    @property
    def detail(self) -> list[tuple[str, str]]:
        """What else it says."""
        return [(str(name).replace("_", " "), str(value)) for name, value in (self.event.detail or {}).items()]


def document(event: Event) -> dict[str, Any]:
    """The event for programs."""
    named = {"id": event.pk, "at": event.at.isoformat()}
    return {name: named[name] if name in named else getattr(event, name) for name in COLUMNS}


def _fits(name: str, subject: str) -> bool:
    """Whether the subject can stand in the address of such a page."""
    if name == "job":
        return subject.startswith("j-") and subject[2:].isascii() and subject[2:].isdigit()
    return bool(subject) and subject.isprintable()
