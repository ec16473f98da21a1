"""An installation in which others' jobs are hidden, and one team's job stands in the way of another's."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.utils import timezone

from scheduler.services.jobs import cancel_job
from tests.factories import a_job, a_pass, a_user, a_worker

NAME = "classified"
"""The name of mira's jobs, which is nowhere to be read for jonas."""


class Hidden:
    """mira's job of team vision holds the only device; jonas of team speech has one that waits for it."""

    def __init__(self) -> None:
        self.mira = a_user("mira", teams=("vision",))
        self.noa, self.jonas = a_user("noa", teams=("vision",)), a_user("jonas", teams=("speech",))
        self.ada = a_user("ada", staff=True)
        a_worker("w1", gpus="1xA100", seen=timezone.now())
        self.over = a_job(owner=self.mira, name=NAME, at=timezone.now())
        cancel_job(job=self.over, actor="user:mira", now=timezone.now())
        self.job = a_job(owner=self.mira, name=NAME, at=timezone.now(), env={"EPOCHS": "3"})
        a_pass(timezone.now())
        self.own = a_job(owner=self.jonas, name="speech-1", at=timezone.now())
        self.later = a_job(owner=self.mira, name=NAME, at=timezone.now())
        a_pass(timezone.now())

    def get(self, user: Any, path: str, **query: str) -> Any:
        """The answer to this user's browser."""
        client = Client()
        client.force_login(user)
        return client.get(path, query)
