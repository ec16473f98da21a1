"""The account of a queue as a row: made and written within the pass, read back as often as somebody asks."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime
from typing import Any

from django.db import transaction

from scheduler.core.levers import Lever
from scheduler.core.rollup import HeldUp, QueueAccount
from scheduler.core.why import to_document
from scheduler.core.why_reading import from_document
from scheduler.memory import once, remembered
from scheduler.models import QueueRollUp, SchedulingPass
from scheduler.records import packed, unpacked

MOST_KEPT = 2

Key = tuple[int, datetime]
_read: OrderedDict[Key, QueueAccount] = remembered(OrderedDict())


@transaction.atomic
def keep(row: SchedulingPass, account: QueueAccount, *, now: datetime) -> None:
    """Write down what this pass found of the queue, in place of what an earlier one did."""
    QueueRollUp.objects.all().delete()
    QueueRollUp.objects.create(pass_row=row, data=packed(_document(account)), made_at=now)


def latest() -> tuple[SchedulingPass, QueueAccount] | None:
    """The newest pass that looked at the queue, and its account; None before the first. One query, two at first."""
    row = QueueRollUp.objects.select_related("pass_row").defer("data", "pass_row__view", "pass_row__placements").first()
    if row is None:
        return None
    return row.pass_row, once(_read, (row.pk, row.made_at), MOST_KEPT, lambda: _account(unpacked(row.data)))


def _document(account: QueueAccount) -> dict[str, Any]:
    """Plain JSON, with the ids of a list as one text: there may be tens of thousands of them."""
    return {
        "placed": " ".join(account.placed),
        "asked": " ".join(account.asked),
        "causes": [_with_ids(cause) for cause in account.causes],
        "levers": [_with_ids(lever) for lever in account.levers],
    }


def _with_ids(found: HeldUp | Lever) -> dict[str, Any]:
    return {**to_document(found), "jobs": " ".join(found.jobs)}


def _account(document: dict[str, Any]) -> QueueAccount:
    return QueueAccount(
        placed=tuple(document["placed"].split()),
        asked=tuple(document["asked"].split()),
        causes=tuple(from_document(HeldUp, _apart(cause)) for cause in document["causes"]),
        levers=tuple(from_document(Lever, _apart(lever)) for lever in document["levers"]),
    )


def _apart(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "jobs": found["jobs"].split()}
