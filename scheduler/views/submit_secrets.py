"""Secrets on their way through the submit form: typed once, then carried encrypted, never shown again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest

from scheduler.models import Job
from scheduler.services.copies import kept_for
from scheduler.services.sealing import HIDDEN_VALUE, seal_draft, unseal_draft
from scheduler.services.visibility import is_job_id, seen_by

KEEP = "keep_secret"
"""The form's check boxes: one for each secret that is known already."""


@dataclass(frozen=True, slots=True)
class Carried:
    """What a draft knows beside its document: values that were typed before, and the job that it is a clone of."""

    typed: Mapping[str, str] = field(default_factory=dict, repr=False)
    earlier: Job | None = None
    earlier_values: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def values(self) -> dict[str, str]:
        """All of them; what was typed counts before what the earlier job has."""
        return {**self.earlier_values, **self.typed}

    def with_typed(self, document: object) -> Carried:
        """The same with the values that this document brings."""
        found = document.get("secrets") if isinstance(document, dict) else None
        if not isinstance(found, dict):
            return self
        new = {
            name: value
            for name, value in found.items()
            if isinstance(name, str) and isinstance(value, str) and value != HIDDEN_VALUE
        }
        return Carried({**self.typed, **new}, self.earlier, self.earlier_values)

    def sealed(self, user: User) -> str:
        """The typed values as they travel with the page; the earlier job's stay where they are."""
        return seal_draft(self.typed, owner_id=user.pk)

    def whole(self, document: object) -> Any:
        """The document with every value that is known put in its place."""
        found = document.get("secrets") if isinstance(document, dict) else None
        if not isinstance(document, dict) or not isinstance(found, dict):
            return document
        known = self.values
        filled = {
            name: known.get(name, value) if value == HIDDEN_VALUE else value for name, value in found.items()
        }  # fmt: skip
        return {**document, "secrets": filled}


def carried(request: HttpRequest, user: User) -> Carried:
    """What came with the form."""
    earlier = request.POST.get("cloned_from", "")
    job = seen_by(user).filter(job_id=earlier).first() if is_job_id(earlier) else None
    return of_job(user, job, typed=unseal_draft(request.POST.get("sealed", ""), owner_id=user.pk))


def of_job(user: User, job: Job | None, *, typed: Mapping[str, str] | None = None) -> Carried:
    """What a form brings that is to become a clone of this job; None: of none."""
    return Carried(typed or {}, job, kept_for(user, job) if job else {})


def with_ticked(document: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The form's document with the secrets that are to be kept, unless they were typed anew."""
    if not names:
        return document
    return {**document, "secrets": {**dict.fromkeys(names, HIDDEN_VALUE), **(document.get("secrets") or {})}}
