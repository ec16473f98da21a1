"""What the security tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from tests import factories
from tests.api.callers import Caller
from tests.api.conftest import agent, enrolment, mira  # noqa: F401 - fixtures, given on
from tests.api.conftest import enrolled as registered
from tests.security.world import World, make_world
from workers.auth import create_enrolment_token


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.GPULAYER_DATA = tmp_path


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    """One of everything, made now."""
    monkeypatch.setattr(factories, "NOW", timezone.now())
    return make_world()


@pytest.fixture
def enrolled(world: World) -> str:
    """The credential of an agent whose worker is registered."""
    secret, _ = create_enrolment_token(
        uses=1, origin="", simulated=False, note="a test", created_by=None, now=timezone.now()
    )
    return registered(Caller(secret), "w9").secret
