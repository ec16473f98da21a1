"""What the security tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from tests import factories
from tests.security.world import World, make_world


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.GPULAYER_DATA = tmp_path


@pytest.fixture
def world(db: None, monkeypatch: pytest.MonkeyPatch) -> World:
    """One of everything, made now."""
    from django.utils import timezone

    monkeypatch.setattr(factories, "NOW", timezone.now())
    return make_world()
