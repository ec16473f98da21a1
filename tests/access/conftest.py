"""What the tests of access share."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from tests import factories
from tests.access.hidden import Hidden
from workers.services import trail
from workers.services.refusal_cap import Cap


@pytest.fixture(autouse=True)
def nobody_was_refused_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix is refused so often that what comes after it would not be written down."""
    monkeypatch.setattr(trail, "cap", Cap())


@pytest.fixture
def hidden(db: None, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Hidden:
    """Others' jobs are hidden, and there are some."""
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    monkeypatch.setattr(factories, "NOW", timezone.now())
    return Hidden()
