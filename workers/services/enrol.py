"""Letting new workers in: an enrolment token buys a credential."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F

from workers.auth import create_credential
from workers.models import Credential, EnrolmentToken, Event, Liveness, Worker
from workers.models.worker import LIVE
from workers.refusals import Refused, Unauthorized

PROTOCOL = 1


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A worker that asks to be let in, as it states itself."""

    name: str
    origin: str
    simulated: bool


def enrol(
    *,
    token: EnrolmentToken,
    newcomers: Sequence[Newcomer],
    machine_id: str,
    protocols: Sequence[int],
    agent_version: str,
    now: datetime,
) -> str:
    """Let them in with one new credential, all or none, and return its secret.

    Only simulated workers may share a credential. Refused: `protocol_unsupported` (426), `token_scope` (403),
    `one_worker_each` and `name_twice` (422), `worker_exists` (409). Unauthorized when the token is spent meanwhile.
    """
    check_protocol(protocols)
    _check_scope(token, newcomers)
    try:
        with transaction.atomic():
            _spend(token, len(newcomers), now)
            secret, credential = create_credential(fleet=all(one.simulated for one in newcomers), now=now)
            _let_in(newcomers, token, credential, machine_id=machine_id, agent_version=agent_version, now=now)
    except IntegrityError as error:
        raise _exists("one of these names") from error
    return secret


def check_protocol(protocols: Sequence[int]) -> None:
    """Raise Refused (426) unless the agent speaks the one protocol there is so far."""
    if PROTOCOL not in protocols:
        raise Refused("protocol_unsupported", f"this server speaks protocol {PROTOCOL}", status=426)


def _check_scope(token: EnrolmentToken, newcomers: Sequence[Newcomer]) -> None:
    if len(newcomers) > 1 and not all(one.simulated for one in newcomers):
        raise Refused("one_worker_each", "only simulated workers may share a credential", status=422)
    if len({one.name for one in newcomers}) < len(newcomers):
        raise Refused("name_twice", "each worker may be named once", status=422)
    for one in newcomers:
        if one.simulated != token.simulated:
            kind = "simulated" if token.simulated else "real"
            raise Refused("token_scope", f"this token lets {kind} workers in", status=403)
        if token.origin and one.origin != token.origin:
            raise Refused("token_scope", f"this token lets {token.origin} workers in, not {one.origin}", status=403)


def _spend(token: EnrolmentToken, uses: int, now: datetime) -> None:
    """Count the uses by compare-and-set: of many at once exactly as many get in as there are uses."""
    usable = EnrolmentToken.objects.filter(pk=token.pk, uses_left__gte=uses, expires_at__gt=now)
    if not usable.update(uses_left=F("uses_left") - uses):
        raise Unauthorized("token_used_up", f"this enrolment token has fewer than {uses} uses left; make another one")


def _let_in(
    newcomers: Sequence[Newcomer],
    token: EnrolmentToken,
    credential: Credential,
    *,
    machine_id: str,
    agent_version: str,
    now: datetime,
) -> None:
    known = _known([one.name for one in newcomers], now)
    for one in newcomers:
        if one.name in known and not _may_be_taken_over(known[one.name], one, now):
            raise _exists(f"a live worker named {one.name!r}")
    _take_over(list(known.values()), credential, now)
    common = {"credential": credential, "machine_id": machine_id, "agent_version": agent_version}
    Worker.objects.bulk_create(
        Worker(
            name=one.name, origin=one.origin, simulated=one.simulated, state_since=now, created_at=now, **common
        )
        for one in newcomers
        if one.name not in known
    )  # fmt: skip
    if known:
        Worker.objects.filter(pk__in=[row.pk for row in known.values()]).update(**common)
    Event.objects.bulk_create(
        Event(
            at=now, actor=f"token:{token.prefix}", subject_kind="worker", subject=one.name, verb="enrolled",
            after=credential.prefix, cause=token.note,
        )
        for one in newcomers
    )  # fmt: skip


def _known(names: list[str], now: datetime) -> dict[str, Worker]:
    return {row.name: row for row in Worker.objects.filter(LIVE, name__in=names).select_for_update().order_by("pk")}


def _may_be_taken_over(row: Worker, one: Newcomer, now: datetime) -> bool:
    """One that never registered (its first answer got lost), or a simulated one that nobody keeps alive."""
    if row.simulated != one.simulated or row.origin != one.origin:
        return False
    return row.epoch == 0 or (row.simulated and not is_alive(row, now))


def is_alive(row: Worker, now: datetime) -> bool:
    """Whether it called within the last three of its intervals and didn't say that it leaves."""
    if row.liveness != Liveness.ONLINE or row.last_seen_at is None:
        return False
    return now - row.last_seen_at < timedelta(seconds=settings.HEARTBEATS_MISSED * row.heartbeat_seconds)


def _take_over(rows: list[Worker], credential: Credential, now: datetime) -> None:
    """Revoke the credentials that no worker is left to use."""
    former = {row.credential_id for row in rows if row.credential_id is not None}
    taken = {row.pk for row in rows}
    used = set(
        Worker.objects.filter(credential__in=former).exclude(pk__in=taken).values_list("credential_id", flat=True)
    )
    Credential.objects.filter(pk__in=former - used, revoked_at__isnull=True).update(revoked_at=now)


def _exists(what: str) -> Refused:
    return Refused("worker_exists", f"{what} exists with another credential; choose another name or revoke that one")
