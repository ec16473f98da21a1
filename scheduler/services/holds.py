"""Jobs that hold devices for a person: when that begins, how it is made longer, and how it ends."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from scheduler.core.words import Clock, devices
from scheduler.models import Event, Job, JobState, Task
from scheduler.services import hold_limits
from scheduler.services.jobs import cancel_job
from workers.refusals import Refused

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/-]*")
"""What may become part of a line that a person copies into a shell: workers say their addresses themselves."""


@dataclass(frozen=True, slots=True)
class Access:
    """How the person gets at one worker of a hold: `ssh user@host`, and which devices are theirs."""

    worker: str
    ssh: str
    """Empty where the host has not said how it is reached."""
    devices: tuple[str, ...]
    """UUIDs, or indices where a device has none."""

    @property
    def tunnel(self) -> str:
        """The line that brings the host's port 8888, a notebook's, to the person's own machine."""
        return self.ssh.replace("ssh ", "ssh -L 8888:localhost:8888 ", 1)

    @property
    def export(self) -> str:
        """The line to type there first."""
        return f"export CUDA_VISIBLE_DEVICES={','.join(self.devices)}"


def seconds_asked(job: Job) -> int | None:
    """For how long the job is to hold devices; None for one that runs a command."""
    asked = job.spec.get("hold_s")
    return int(asked) if asked else None


def is_held(job: Job) -> bool:
    """Whether devices are a person's just now."""
    return job.state == JobState.RUNNING and job.hold_until is not None


def begin(job: Job, *, now: datetime) -> None:
    """The devices are the person's from now on. Call it in the transaction that lets the job run; again is fine."""
    seconds = seconds_asked(job)
    if seconds is not None and job.hold_until is None:
        job.hold_until = now + timedelta(seconds=seconds)
        Job.objects.filter(pk=job.pk, hold_until=None).update(hold_until=job.hold_until)


def for_claim(job: Job, *, now: datetime) -> dict[str, Any] | None:
    """What an agent is told of a hold: how many seconds are left, until when, for which account of the host."""
    seconds = seconds_asked(job)
    if seconds is None:
        return None
    left = (job.hold_until - now).total_seconds() if job.hold_until else float(seconds)
    until = job.hold_until.isoformat() if job.hold_until else None
    return {"seconds": max(left, 0.0), "until": until, "user": account_of(job)}


def account_of(job: Job) -> str:
    """The owner's account on the hosts, as an administrator has set it; empty where none is known."""
    account = getattr(job.owner, "unix_account", None)
    return str(account.name) if account else ""


def sentence(job: Job, task: Task | None, *, now: datetime, clock: Clock) -> str | None:
    """Who holds what until when, in place of where a command runs; None for other jobs, and before it has begun."""
    if job.hold_until is None or task is None or job.state not in (JobState.RUNNING, JobState.SUCCEEDED):
        return None
    place = f"{task.worker.name}, {devices(tuple(task.devices))}" if task.devices else task.worker.name
    who = f"Held by {job.owner.get_username()}"
    if job.is_over:
        return f"{who} until {clock(job.finished_at or job.hold_until)} on {place}."
    if job.hold_until <= now:
        return f"{who} until now, and being let go: {place}."
    return f"{who} until {clock(job.hold_until)}: {place}."


def release_hold(*, job: Job, actor: str, now: datetime) -> Job:
    """End a hold now: its agent lets go of the devices, and the job has succeeded. One that waits is cancelled.

    Again, or after its end, it changes nothing. Refused: `no_hold`.
    """
    _check_hold(job)
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).select_related("owner").get(pk=job.pk)
        if not is_held(job):
            return cancel_job(job=job, actor=actor, now=now) if not job.is_over else job
        if job.hold_until and job.hold_until > now:
            _set_until(job, now, actor=actor, now=now, verb="hold_released")
    return job


def extend_hold(*, job: Job, seconds: int, actor: str, now: datetime) -> Job:
    """Let a hold last so much longer than it would. Refused: `no_hold`, `not_held`, `hold_too_long`."""
    _check_hold(job)
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).select_related("owner").get(pk=job.pk)
        if job.state != JobState.RUNNING or job.hold_until is None or job.hold_until <= now:
            raise Refused("not_held", f"{job.job_id} holds nothing now; only a running hold can be extended")
        until = job.hold_until + timedelta(seconds=seconds)
        hold_limits.check(job, until, now=now)
        _set_until(job, until, actor=actor, now=now, verb="hold_extended")
    return job


def access(job: Job) -> list[Access]:
    """How the job's owner reaches what it holds now; nothing before it has begun and after its end."""
    if job.hold_until is None or job.is_over:
        return []
    rows = Task.objects.filter(attempt__job=job, attempt__active=True).select_related("worker")
    account, tasks = account_of(job), rows.prefetch_related("worker__devices").order_by("rank")
    return [Access(task.worker.name, _ssh(task.worker.host, account), _devices(task)) for task in tasks]


def _ssh(host: dict[str, Any], account: str) -> str:
    address, user = _plain(host.get("address") or host.get("hostname")), account or _plain(host.get("user"))
    return " ".join(["ssh", f"{user}@{address}" if user else address]) if address else ""


def _devices(task: Task) -> tuple[str, ...]:
    uuid = {device.index: _plain(device.uuid) for device in task.worker.devices.all()}
    return tuple(uuid.get(index) or str(index) for index in task.devices)


def _plain(text: object) -> str:
    return text if isinstance(text, str) and _PLAIN.fullmatch(text) else ""


def _check_hold(job: Job) -> None:
    if seconds_asked(job) is None:
        raise Refused("no_hold", f"{job.job_id} runs a command; it holds no devices for a person")


def _set_until(job: Job, until: datetime, *, actor: str, now: datetime, verb: str) -> None:
    before, job.hold_until = job.hold_until, until
    Job.objects.filter(pk=job.pk).update(hold_until=until)
    Event.objects.create(
        at=now, actor=actor, subject_kind="job", subject=job.job_id, verb=verb,
        before=before.isoformat() if before else "", after=until.isoformat(),
    )  # fmt: skip
