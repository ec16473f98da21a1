"""A small installation with one of everything, so that every address leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from gpulayer_site.accounts.tokens import create_token
from scheduler.models import Job
from tests.factories import a_job, a_pass, a_reservation, a_worker
from tests.security.routes import SAMPLES, Route, routes

PASSWORD = "a long enough password"
_WRITE = re.compile(r'^\s*(INSERT INTO|UPDATE|DELETE FROM|REPLACE INTO)\s+"?(\w+)', re.IGNORECASE)
INCIDENTAL = {"django_session", "accounts_apitoken", "accounts_person", "workers_event", "workers_credential"}
"""What looking may write: that somebody was here, and that something was refused."""


@dataclass(frozen=True, slots=True)
class World:
    """The rows, and who knows them."""

    administrator: User
    mira: User
    job: Job
    routes: list[Route]
    values: dict[str, str]
    """What its addresses are filled with."""

    def client(self, user: User | None = None, **options: Any) -> Client:
        """A browser in which this user, or else the administrator, is signed in."""
        client = Client(**{"raise_request_exception": False, **options})
        client.force_login(user or self.administrator)
        return client

    def filled(self, pattern: str) -> str:
        """A path of an API with something in each of its parameters."""
        known = SAMPLES | self.values
        return re.sub(r"{(?:\w+:)?(\w+)}", lambda found: known.get(found[1], "1"), pattern)

    def token(self, user: User | None = None) -> str:
        """A token of this user, or else the administrator."""
        return create_token(user=user or self.administrator, note="a test", now=timezone.now())[1]


def make_world() -> World:
    """Make it: an administrator, mira with a job placed on one worker, a second worker reserved, tokens."""
    administrator = User.objects.create_superuser("root", password=PASSWORD)
    mira = User.objects.create_user("mira", password=PASSWORD)
    now = timezone.now()
    a_worker("w1", seen=now, labels={"zone": "a"})
    other = a_worker("w2", seen=now)
    reserved = a_reservation(other, "user:mira", starts_at=now)
    job = a_job(owner=mira, at=now)
    a_pass(at=now)
    job.refresh_from_db()
    token, _ = create_token(user=administrator, note="a test", now=now)
    values = {
        "job_id": job.job_id, "name": "w1", "worker": "w1", "worker_name": "w1", "pk": str(token.pk),
        "object_id": str(job.pk), "reservation_id": str(reserved.pk), "task_id": str(job.attempts.get().tasks.get().pk),
    }  # fmt: skip
    return World(administrator, mira, job, routes(values), values)


@contextmanager
def writes() -> Iterator[list[str]]:
    """The tables written to inside, but for those of `INCIDENTAL`."""
    found: list[str] = []
    with CaptureQueriesContext(connection) as queries:
        yield found
    for query in queries:
        wrote = _WRITE.match(query["sql"])
        if wrote and wrote[2] not in INCIDENTAL and not wrote[2].startswith("axes_"):
            found.append(query["sql"][:200])
