"""Labels as operators set them; they win over what agents state."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from workers.changes import bump
from workers.models import Event, Label, LabelSource, Worker

SYSTEM_KEYS = "gpulayer.dev/"


def check_label(key: str, value: str) -> None:
    """Raise `ValidationError` by field for a key or value that no job could ask for."""
    problems = {}
    if not key or not key.isprintable() or key != key.strip():
        problems["key"] = "A key is one line of text without spaces around it."
    elif key.lower().startswith(SYSTEM_KEYS):
        problems["key"] = f"Keys that begin with {SYSTEM_KEYS} belong to the system; to keep a worker, reserve it."
    if not value.isprintable() or value != value.strip():
        problems["value"] = "A value is one line of text without spaces around it."
    if problems:
        raise ValidationError(problems)


@transaction.atomic
def set_label(*, worker: Worker, key: str, value: str, actor: str, now: datetime, created_by: Any = None) -> Label:
    """Give a worker this label, whatever its agent says. Raises `ValidationError` by field."""
    check_label(key, value)
    former = Label.objects.filter(worker=worker, key=key, source=LabelSource.OPERATOR).first()
    label, _ = Label.objects.update_or_create(
        worker=worker,
        key=key,
        source=LabelSource.OPERATOR,
        defaults={"value": value},
        create_defaults={"value": value, "created_by": created_by},
    )
    _announce(label, before=former.value if former else "", after=value, actor=actor, now=now)
    return label


@transaction.atomic
def remove_label(*, label: Label, actor: str, now: datetime) -> None:
    """Take an operator's label off; what the agent says counts again."""
    _announce(label, before=label.value, after="", actor=actor, now=now)
    label.delete()


def _announce(label: Label, *, before: str, after: str, actor: str, now: datetime) -> None:
    bump([label.worker_id])
    Event.objects.create(
        at=now, actor=actor, subject_kind="label", subject=f"{label.worker.name}", verb=f"label {label.key}"[:60],
        before=before[:200], after=after[:200], detail={"key": label.key, "before": before, "after": after},
    )  # fmt: skip
