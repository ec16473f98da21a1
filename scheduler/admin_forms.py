"""The form by which operators reserve."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.utils import timezone

from scheduler.models import Reservation
from scheduler.services.reservations import HOLDER_HELP, check
from workers.models import Worker

MOST_DEVICES = 4096
_PART = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


class IndicesField(forms.CharField):
    """Device indices as people write them: `0, 2-3`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            required=False, max_length=10_000, help_text="Such as 0, 2-3. Empty or all: the whole worker.", **options
        )

    def prepare_value(self, value: Any) -> Any:
        """A stored list as text."""
        return ", ".join(map(str, value)) if isinstance(value, list) else value

    def clean(self, value: Any) -> list[int]:
        """The indices, ascending, each once."""
        found: set[int] = set()
        text = super().clean(value) or ""
        for part in filter(None, re.split(r"[,\s]+", "" if text == "all" else text.replace("–", "-"))):
            match = _PART.fullmatch(part)
            first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
            if first > last or last >= MOST_DEVICES:
                raise forms.ValidationError(f"Found “{part}”; expected indices such as 0, 2-3.")
            found.update(range(first, last + 1))
        return sorted(found)


class ReservationForm(forms.ModelForm):
    """A reservation, checked as the service checks it."""

    devices = IndicesField()

    class Meta:
        model = Reservation
        fields = ("worker", "devices", "holder", "starts_at", "ends_at", "note")
        help_texts = {
            "holder": HOLDER_HELP,
            "starts_at": "UTC.",
            "ends_at": "UTC. Empty: without an end, so the worker is not even waited for by others.",
        }

    def clean(self) -> dict[str, Any]:
        """Everything that is wrong, by field; overlaps too."""
        said = super().clean() or {}
        if self.errors:
            return said
        for name, value in said.items():
            setattr(self.instance, name, value)
        # Until this request's transaction ends nobody else reserves the same worker.
        Worker.objects.select_for_update().get(pk=self.instance.worker_id)
        check(self.instance, now=timezone.now())
        return {**said, "holder": self.instance.holder}
