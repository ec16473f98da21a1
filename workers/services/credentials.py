"""Credentials in use: replaced by new ones while their agents go on, or ended together with their workers."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from workers.auth import SHOWN, new_credential_secret
from workers.models import Credential, Event, Intent, Liveness, Worker
from workers.models.worker import LIVE
from workers.refusals import Refused
from workers.services.intent import live_worker
from workers.services.moves import move_worker

OLDEST = timedelta(days=90)
"""An agent is asked to replace a credential that is older."""
LIMIT_OF_CONFLICTS = timedelta(days=7)
"""For how long a page tells of another machine that used a worker's credential."""


def rotation_due(credential: Credential, *, now: datetime) -> bool:
    """Whether its agent shall ask for a new one: an operator wants it, or it is old. Fleets keep theirs."""
    if credential.fleet:
        return False
    since = credential.rotated_at or credential.created_at
    return credential.rotation_asked_at is not None or now - since > OLDEST


def rotate(*, credential: Credential, epoch: int, now: datetime) -> str:
    """A successor of this credential, returned once; the old one works until the successor is first used.

    Asked again, an earlier successor that was never used is void. Refused: `stale_epoch`, `fleet_credential`.
    """
    if credential.fleet:
        raise Refused("fleet_credential", "the credential of a simulated fleet is not replaced")
    worker = Worker.objects.filter(LIVE, credential=credential).first()
    if worker is None or worker.epoch != epoch:
        at = "nowhere" if worker is None else str(worker.epoch)
        raise Refused("stale_epoch", f"this is epoch {epoch}, the worker is at {at}: register again")
    secret, digest = new_credential_secret()
    usable = Credential.objects.filter(pk=credential.pk, hash=credential.hash, revoked_at=None)
    with transaction.atomic():
        if not usable.update(next_hash=digest, next_prefix=secret[:SHOWN]):
            raise Refused("credential_replaced", "this credential was replaced by its successor meanwhile")
        _note(worker, "credential", credential.prefix, secret[:SHOWN], f"worker:{worker.name}", "successor made", now)
    return secret


def ask_to_rotate(*, name: str, actor: str, now: datetime) -> Worker:
    """Have the worker's agent replace its credential at its next call. Raises NotFound, Refused `fleet_credential`."""
    worker = live_worker(name)
    credential = worker.credential
    if credential is None or credential.fleet:
        raise Refused("fleet_credential", f"{name} is one of a simulated fleet, whose credential is not replaced")
    with transaction.atomic():
        if Credential.objects.filter(pk=credential.pk, rotation_asked_at=None).update(rotation_asked_at=now):
            _note(worker, "credential", credential.prefix, "", actor, "rotation asked for", now)
    return live_worker(name)


@transaction.atomic
def revoke(*, name: str, actor: str, now: datetime) -> Worker:
    """End a worker's credential: its agent is let in no more, ends its tasks and goes. Raises NotFound.

    Its name is free from then on. Of a simulated fleet the credential goes on for the others.
    """
    worker = live_worker(name)
    move_worker(worker.pk, Liveness.REVOKED, machine="liveness", actor=actor, now=now, cause="credential revoked")
    _end_credential(worker, now)
    worker.refresh_from_db()
    return worker


@transaction.atomic
def retire(*, name: str, actor: str, now: datetime) -> Worker:
    """Take a worker out for good; its name is free from then on. Raises NotFound.

    For the caller to see to: nothing may be running there.
    """
    worker = live_worker(name)
    move_worker(worker.pk, Intent.RETIRED, machine="intent", actor=actor, now=now, cause="retired")
    _end_credential(worker, now)
    worker.refresh_from_db()
    return worker


def conflicts(worker: Worker, *, now: datetime) -> tuple[int, datetime] | None:
    """How often lately another machine tried to speak as this worker, and when last; None where none did."""
    since = max(now - LIMIT_OF_CONFLICTS, worker.created_at)
    found = Event.objects.filter(
        subject_kind="worker", subject=worker.name, verb="machine_conflict", at__gte=since
    ).order_by("-at")
    latest = found.values_list("at", flat=True).first()
    return (found.count(), latest) if latest else None


def _end_credential(worker: Worker, now: datetime) -> None:
    """Unless other live workers use it too."""
    if worker.credential_id is None:
        return
    if not Worker.objects.filter(LIVE, credential=worker.credential_id).exclude(pk=worker.pk).exists():
        Credential.objects.filter(pk=worker.credential_id, revoked_at=None).update(revoked_at=now)


def _note(worker: Worker, verb: str, before: str, after: str, actor: str, cause: str, now: datetime) -> None:
    Event.objects.create(
        at=now, actor=actor, subject_kind="worker", subject=worker.name, verb=verb, before=before, after=after,
        cause=cause,
    )  # fmt: skip
