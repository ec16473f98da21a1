"""A restored database is older than the world: what has to be done before anybody uses it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from gpulayer_site.accounts.models import BrowserSession, SignInCode
from scheduler.services.restored import make_safe
from workers.caller import on_the_server
from workers.models import Event
from workers.services.restored import hold_all

ACTOR = "server"


@dataclass(frozen=True, slots=True)
class Older:
    """What was done."""

    workers: int
    """That are held until their agents have said what runs there."""
    attempts: int
    """That went back to the queue, because they may have started since."""
    sessions: int


@transaction.atomic
def make_safe_again(*, made_at: str, now: datetime) -> Older:
    """Numbers jump, workers are held, sessions and codes of then open no door any more. All of it or nothing."""
    with on_the_server():
        attempts = make_safe(actor=ACTOR, now=now)
        workers = hold_all(actor=ACTOR, now=now)
        sessions, _ = BrowserSession.objects.all().delete()
        SignInCode.objects.filter(used_at=None).delete()
        Event.objects.create(
            at=now, actor=ACTOR, subject_kind="site", subject="database", verb="restored", before=made_at[:200],
            cause="gpulayer restore", detail={"workers": workers, "attempts": attempts, "sessions": sessions},
        )  # fmt: skip
    return Older(workers, attempts, sessions)
