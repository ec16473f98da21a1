"""What operators do with workers from the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from tests.cli.conftest import Commands
from tests.live import Server
from workers.auth import create_credential
from workers.models import EnrolmentToken, Worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def gpu_07(a_machine: Callable[..., Worker]) -> Worker:
    return a_machine("gpu-07", credential=create_credential(fleet=False, now=timezone.now())[1])


def now(worker: Worker) -> tuple[str, str, str]:
    worker.refresh_from_db()
    return worker.liveness, worker.intent, worker.health


def test_drain_and_undrain(cli: Commands, gpu_07: Worker) -> None:
    assert cli("worker", "drain", "gpu-07", "--note", "new fans").stdout == (
        "gpu-07 is draining: it gets no more work\n"
    )  # fmt: skip
    assert (now(gpu_07)[1], gpu_07.intent_note) == ("draining", "new fans")
    assert cli("worker", "undrain", "gpu-07").exit_code == 0
    assert now(gpu_07)[1] == "active"


def test_rotate_asks_the_agent(cli: Commands, gpu_07: Worker) -> None:
    assert "at its next call" in cli("worker", "rotate", "gpu-07").stdout
    gpu_07.refresh_from_db()
    assert gpu_07.credential is not None
    assert gpu_07.credential.rotation_asked_at is not None


@pytest.mark.parametrize(("act", "after"), [("revoke", ("revoked", "active")), ("retire", ("online", "retired"))])
def test_what_cannot_be_undone_asks_first(cli: Commands, gpu_07: Worker, act: str, after: tuple[str, str]) -> None:
    refused = cli("worker", act, "gpu-07", input="n\n")
    assert refused.exit_code == 1
    assert now(gpu_07)[:2] == ("online", "active")
    assert cli("worker", act, "gpu-07", input="y\n").exit_code == 0
    assert now(gpu_07)[:2] == after
    assert cli("worker", act, "gpu-07", "--yes").exit_code == 1, "there is no such worker any more"


def test_tokens_are_listed_and_ended(cli: Commands) -> None:
    assert cli("worker", "tokens").stdout == "no live tokens\n"
    secret = cli("worker", "token", "--note", "gpu-08").stdout.strip()
    listed = cli("worker", "tokens").stdout
    assert "gpu-08" in listed
    assert secret not in listed
    row = EnrolmentToken.objects.get()
    assert cli("worker", "tokens", "--revoke", row.pk).stdout == f"{row.prefix}… is revoked\n"
    assert cli.json("worker", "tokens") == []


@pytest.mark.parametrize(
    "words", [("drain", "gpu-07"), ("rotate", "gpu-07"), ("revoke", "gpu-07", "-y"), ("retire", "gpu-07", "-y"),
              ("tokens",)]
)  # fmt: skip
def test_others_may_not(cli: Commands, server: Server, gpu_07: Worker, words: tuple[str, ...]) -> None:
    somebody = server.user_token(User.objects.create_user("somebody"))
    result = cli("worker", *words, GPULAYER_TOKEN=somebody)
    assert (result.exit_code, result.stderr) == (3, "Error: not allowed: only operators may do this\n")
    assert now(gpu_07) == ("online", "active", "ok")
