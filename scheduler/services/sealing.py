"""Secrets of jobs: encrypted at rest, opened only for the agent that runs the job, shown to nobody.

A job's stored document names them; in place of each value stands `HIDDEN_VALUE`. The values lie beside it, encrypted
together, until the job is deleted or they are too old (`drop_old`): a retry needs them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db.models import Q

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.spec import JobSpec
from scheduler.models import Event, Job
from scheduler.models.jobs import JOB_OVER
from workers.refusals import Refused

HIDDEN_VALUE = "(not shown)"
"""Stands for a secret's value wherever a document is stored or shown."""
DRAFT_LIFE = timedelta(days=1)

Values = Mapping[str, str]

logger = logging.getLogger(__name__)


def seal(values: Values, *, owner_id: int) -> bytes:
    """The values, encrypted for jobs of this owner: no other owner's row can be opened with them."""
    inside = {"owner": owner_id, "values": dict(values)}
    return _fernet().encrypt(json.dumps(inside, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def unseal(sealed: bytes, *, owner_id: int, life: timedelta | None = None) -> dict[str, str]:
    """What `seal` encrypted, if it is no older than `life`. Raises InvalidToken."""
    seconds = None if life is None else int(life.total_seconds())
    inside = json.loads(_fernet().decrypt(sealed, ttl=seconds))
    if inside["owner"] != owner_id:
        raise InvalidToken
    return dict(inside["values"])


def seal_draft(values: Values, *, owner_id: int) -> str:
    """The same as text, for a form that travels to its own writer and back; empty without values."""
    return seal(values, owner_id=owner_id).decode("ascii") if values else ""


def unseal_draft(sealed: str, *, owner_id: int) -> dict[str, str]:
    """The values of a draft; none where it is too old, another's, or no draft at all."""
    if not sealed:
        return {}
    try:
        return unseal(sealed.encode("utf-8", "replace"), owner_id=owner_id, life=DRAFT_LIFE)
    except InvalidToken:
        return {}


def secret_names(job: Job) -> tuple[str, ...]:
    """What its secrets are called."""
    return tuple(job.spec.get("secrets") or ())


def secrets_of(job: Job) -> dict[str, str]:
    """The values, for the agent that runs the job and for nobody else.

    Refused (503) where no key opens them: the agent asks again, and an operator finds the reason in the log.
    """
    names = secret_names(job)
    if not names:
        return {}
    found = kept_secrets(job)
    if missing := [name for name in names if name not in found]:
        logger.error("the secrets of %s cannot be opened: %s; is GPULAYER_SECRETS_KEY complete?", job.job_id, missing)
        raise Refused("secrets_unavailable", f"the secrets of {job.job_id} cannot be opened", status=503)
    return {name: found[name] for name in names}


def hand_out(job: Job, *, task_id: int, worker: str, now: datetime) -> dict[str, str]:
    """The values for the agent that has just claimed this task, and an event that says whose hands they are in."""
    found = secrets_of(job)
    if found:
        Event.objects.create(
            at=now, actor=f"worker:{worker}", subject_kind="job", subject=job.job_id, verb="secrets",
            after=", ".join(sorted(found)), cause="handed to the agent that runs it", detail={"task": task_id},
        )  # fmt: skip
    return found


def kept_secrets(job: Job) -> dict[str, str]:
    """The values that are still there and can be opened, for another job of the same owner."""
    if job.secrets is None:
        return {}
    try:
        return unseal(bytes(job.secrets), owner_id=job.owner_id)
    except InvalidToken:
        return {}


def with_kept(spec: JobSpec, kept: Values) -> JobSpec:
    """The spec with what stands for hidden values replaced by those that are kept.

    Raises `DocumentError` for one that nobody kept: it would be given to the job as its value.
    """
    hidden = [name for name, value in spec.secrets if value == HIDDEN_VALUE]
    if lacking := [name for name in hidden if name not in kept]:
        expected = "the value itself: it is not kept here, or no longer"
        raise DocumentError([Problem(f"secrets.{name}", "the sign for a hidden value", expected) for name in lacking])
    if not hidden:
        return spec
    return replace(
        spec,
        secrets=tuple((name, kept[name] if value == HIDDEN_VALUE else value) for name, value in spec.secrets),
    )


def without_values(spec: JobSpec) -> JobSpec:
    """The spec as it is stored and shown."""
    return replace(spec, secrets=tuple((name, HIDDEN_VALUE) for name, _ in spec.secrets))


def masked(document: Any) -> Any:
    """A document as a page may show it: a secret keeps its name; of what is no mapping of names nothing stays."""
    if not isinstance(document, dict) or "secrets" not in document:
        return document
    found = document["secrets"]
    return {**document, "secrets": dict.fromkeys(found, HIDDEN_VALUE) if isinstance(found, dict) else None}


def drop_old(*, before: datetime) -> int:
    """Forget the secrets of jobs that were over before this instant; return of how many."""
    over = Q(state__in=JOB_OVER, finished_at__lt=before, secrets__isnull=False)
    return Job.objects.filter(over).update(secrets=None)


def seal_anew(*, now: datetime) -> int:
    """Encrypt everything with the first key, so that the others can be taken away; return how many rows there were.

    Raises InvalidToken, before anything more is written, for a row that no key opens.
    """
    count = 0
    for job in Job.objects.filter(secrets__isnull=False).only("pk", "secrets").iterator():
        sealed = job.secrets or b""
        Job.objects.filter(pk=job.pk, secrets=sealed).update(secrets=_fernet().rotate(bytes(sealed)))
        count += 1
    Event.objects.create(
        at=now, actor="server", subject_kind="server", subject="secrets", verb="sealed_anew", after=f"{count} jobs",
        cause="encrypted with the first of the keys",
    )  # fmt: skip
    return count


def _fernet() -> MultiFernet:
    return MultiFernet([Fernet(key) for key in settings.GPULAYER_SECRETS_KEYS])
