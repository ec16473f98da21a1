"""Runs of an agent told apart: which one speaks, and whether a call of it is late."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from workers.models import Event, Worker

VERB = "instance"


class Spoken(Protocol):
    """What a registration says of who speaks."""

    @property
    def worker(self) -> str:
        """The worker's name."""

    @property
    def boot_id(self) -> str:
        """Of its machine."""

    @property
    def instance(self) -> str:
        """The run of its agent; empty where the agent does not say."""

    @property
    def seq(self) -> int | None:
        """Counted together with its heartbeats; None where the agent does not."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How whoever registers compares to who registered last."""

    is_old: bool = False
    """The call came late or twice: a later one of the same run was taken already."""
    same_instance: bool = False
    restarted: bool = False
    """The machine was started anew since."""


def standing(row: Worker, one: Spoken) -> Standing:
    """How this registration compares to the worker's last one."""
    same = bool(one.instance) and (row.boot_id, row.instance) == (one.boot_id, one.instance)
    return Standing(
        is_old=same and one.seq is not None and one.seq <= row.seq,
        same_instance=same,
        restarted=row.boot_id not in ("", one.boot_id),
    )


def followed(rows: Mapping[str, Worker], registrations: Iterable[Spoken]) -> frozenset[tuple[str, str]]:
    """Of (worker, instance) those that another run of the agent has followed: calls of theirs are late. One query."""
    new = {
        one.instance: one.worker
        for one in registrations
        if one.instance and one.worker in rows and rows[one.worker].instance not in ("", one.instance)
    }
    if not new:
        return frozenset()
    known = Event.objects.filter(subject_kind="worker", subject__in=new.values(), verb=VERB, after__in=new)
    return frozenset(known.values_list("subject", "after"))


def event(row: Worker, one: Spoken, *, now: datetime) -> Event | None:
    """That another run of the agent speaks from now on, not saved; None where it is the same."""
    if not one.instance or one.instance == row.instance:
        return None
    cause = "the machine was restarted" if standing(row, one).restarted else "its agent was started"
    return Event(
        at=now, actor=f"worker:{row.name}", subject_kind="worker", subject=row.name, verb=VERB,
        before=row.instance, after=one.instance, cause=cause,
    )  # fmt: skip


def next_seq(row: Worker, one: Spoken) -> int:
    """What the heartbeats after this registration are counted from; a new run begins at its own beginning."""
    if one.seq is not None:
        return one.seq
    return row.seq if standing(row, one).same_instance else 0
