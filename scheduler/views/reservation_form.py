"""The form by which a reservation is asked for: what was typed, read in the viewer's zone, and checked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any
from urllib.parse import parse_qsl, urlencode
from zoneinfo import ZoneInfo

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils import timezone

from scheduler.admin_forms import IndicesField
from scheduler.models import Reservation
from scheduler.services.reservation_fixes import Fix
from scheduler.services.reservation_rows import KIND_WORDS
from workers.local_time import GapError, LocalTimeError, TwiceError, offset, read_local, said, written
from workers.models import Worker
from workers.queries import live_workers

KINDS = tuple(KIND_WORDS.items())
LONGEST_NAME = 253
WHICH = (("", ""), ("0", "the first time"), ("1", "the second time"))
FIXED = ("starts_at", "starts_which", "ends_at", "ends_which", "devices", "end_first")
"""What a fix may put into the form."""


class NumbersField(forms.CharField):
    """Numbers of reservations, separated by commas."""

    def clean(self, value: Any) -> list[int]:
        """Each of them; at most twenty."""
        parts = [part for part in (super().clean(value) or "").split(",") if part]
        if len(parts) > 20 or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
            raise forms.ValidationError("These are no numbers of reservations.")
        return [int(part) for part in parts]


class SpanForm(forms.Form):
    """From when until when, in a zone that the form names, with room for a note."""

    zone = forms.CharField(required=False, max_length=64)
    starts_at = forms.CharField(required=False, max_length=40)
    starts_which = forms.ChoiceField(required=False, choices=WHICH)
    ends_at = forms.CharField(required=False, max_length=40)
    ends_which = forms.ChoiceField(required=False, choices=WHICH)
    note = forms.CharField(required=False, max_length=200)
    end_first = NumbersField(required=False)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.asks: dict[str, tuple[tuple[str, str], ...]] = {}
        """Of a time that comes twice: the two instants to choose from, by field."""

    def clean(self) -> dict[str, Any]:
        """The times as instants; what is wrong with them stands at their fields."""
        found = super().clean() or {}
        zone = zone_named(found.get("zone", ""))
        for name in ("starts", "ends"):
            if text := found.get(f"{name}_at", ""):
                found[f"{name}_at"] = self._instant(name, text, found.get(f"{name}_which", ""), zone)
            else:
                found[f"{name}_at"] = None
        return found

    def _instant(self, name: str, text: str, which: str, zone: tzinfo) -> datetime | None:
        try:
            return read_local(text, zone, which=int(which) if which else None)
        except TwiceError as twice:
            first, second = twice.instants
            told = ((offset(at, zone), str(place)) for place, at in enumerate((first, second)))
            self.asks[name] = tuple(
                (value, f"the {'second' if value == '1' else 'first'} time, {at}") for at, value in told
            )
            self.add_error(f"{name}_at", f"{twice}. Say which of the two.")
        except GapError as gap:
            before, after = (said(at, now=at, zone=zone) for at in gap.instants)
            self.add_error(f"{name}_at", f"{gap}. Choose {before} or {after}.")
        except LocalTimeError as error:
            self.add_error(f"{name}_at", f"{str(error)[0].upper()}{str(error)[1:]}.")
        return None

    @property
    def seen(self) -> str:
        """By which what was shown before saving is known to be what is saved."""
        said = {name: self.data.get(name, "").strip() for name in self.fields if name != "note"}
        asked = sorted({**said, "zone": str(zone_named(said["zone"]))}.items())
        return hashlib.sha256(repr(asked).encode()).hexdigest()[:24]


class ReservationForm(SpanForm):
    """A new reservation."""

    kind = forms.ChoiceField(choices=KINDS)
    holder = forms.CharField(max_length=LONGEST_NAME)
    worker = forms.CharField(max_length=LONGEST_NAME)
    devices = IndicesField()

    def clean_worker(self) -> Worker:
        """The live worker of this name."""
        found = live_workers().filter(name=self.cleaned_data["worker"]).first()
        if found is None:
            raise forms.ValidationError(f"There is no worker {self.cleaned_data['worker'][:60]}.")
        return found

    def reservation(self, now: datetime) -> Reservation:
        """What is asked for, not saved. Only of a valid form."""
        asked = self.cleaned_data
        return Reservation(
            worker=asked["worker"], holder=f"{asked['kind']}:{asked['holder']}", devices=asked["devices"],
            starts_at=asked["starts_at"] or now, ends_at=asked["ends_at"], note=asked["note"], created_at=now,
        )  # fmt: skip


def zone_named(name: str) -> tzinfo:
    """The zone of this name, else the viewer's."""
    try:
        return ZoneInfo(name) if name else timezone.get_current_timezone()
    except (ValueError, OSError, KeyError):
        return timezone.get_current_timezone()


def with_fix(data: QueryDict) -> QueryDict:
    """What was sent, changed as the pressed button says."""
    changed = data.copy()
    for name, value in parse_qsl(data.get("fix", "")[:2_000], keep_blank_values=True):
        if name in FIXED:
            changed[name] = value
    return changed


def fix_value(fix: Fix, zone: tzinfo) -> str:
    """A fix as the button's value."""
    changes: dict[str, str] = {}
    for name, at in (("starts", fix.starts_at), ("ends", fix.ends_at)):
        if at is not None:
            changes |= {f"{name}_at": written(at, zone), f"{name}_which": str(at.astimezone(zone).fold)}
    if fix.devices is not None:
        changes["devices"] = ", ".join(map(str, fix.devices))
    if fix.end_first:
        changes["end_first"] = ",".join(map(str, fix.end_first))
    return urlencode(changes)


def put_errors(form: forms.Form, error: ValidationError) -> None:
    """What the service says is wrong, at the fields that it names."""
    for field, texts in error.message_dict.items():
        form.add_error(field if field in form.fields else None, texts)


def initial_of(query: Mapping[str, str]) -> dict[str, str]:
    """What a link to the form fills in: a worker, a holder."""
    kind, _, name = query.get("holder", "").partition(":")
    return {
        "kind": kind if kind in dict(KINDS) else "job",
        "holder": name,
        "worker": query.get("worker", ""),
        "devices": query.get("devices", ""),
    }
