"""What the tests of both HTTP interfaces share: callers, and the life of an agent up to a placed task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django.fixtures import Settings

from tests.api.callers import Caller, Placed, a_document, place
from tests.api.gangs import Time
from workers.auth import create_enrolment_token


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.GPULAYER_DATA = tmp_path


@pytest.fixture
def mira(db: None) -> User:
    return User.objects.create_user("mira", password="a long enough password")


@pytest.fixture
def enrolment(db: None) -> Callable[..., Caller]:
    """A caller with a new enrolment token."""

    def make(uses: int = 1, *, origin: str = "", simulated: bool = False) -> Caller:
        secret, _ = create_enrolment_token(
            uses=uses, origin=origin, simulated=simulated, note="a test", created_by=None, now=timezone.now()
        )
        return Caller(secret)

    return make


@pytest.fixture
def agent(enrolment: Callable[..., Caller]) -> Caller:
    """The agent of a registered worker named w1 with two GPUs."""
    return enrolled(enrolment(), "w1")


@pytest.fixture
def fleet(enrolment: Callable[..., Caller]) -> Callable[[int], tuple[Caller, list[str]]]:
    """A registered fleet of simulated workers, and their names."""

    def make(count: int) -> tuple[Caller, list[str]]:
        names = [f"sim-{number:04}" for number in range(count)]
        caller = enrolled(enrolment(count, simulated=True), *names)
        return caller, names

    return make


@pytest.fixture
def placed(agent: Caller, mira: User) -> Placed:
    """A job of mira's that was just placed on w1."""
    return place(agent, "w1", owner=mira)


def enrolled(token: Caller, *names: str, **facts: Any) -> Caller:
    """Enrol these workers with the token and register each; the caller holds their credential and epochs."""
    simulated = len(names) > 1
    agent = token.enrol(*names, simulated=simulated)
    if simulated:
        for start in range(0, len(names), 200):
            agent.register_fleet(names[start : start + 200])
    else:
        agent.register(names[0], a_document(names[0], **facts))
    return agent


@pytest.fixture
def clock(db: None, monkeypatch: pytest.MonkeyPatch) -> Time:
    """The clocks of a server that has been up for long, in the test's hands. Ask for it before what has an instant."""
    time = Time()
    monkeypatch.setattr(timezone, "now", lambda: time.now)
    time.passes(70, every=5)
    return time


@pytest.fixture
def pair(clock: Time, enrolment: Callable[..., Caller]) -> list[Caller]:
    """The agents of two registered workers, w1 and w2, that can reach each other."""
    return [enrolled(enrolment(), f"w{number}", advertise_address=f"10.0.0.{number}") for number in (1, 2)]
