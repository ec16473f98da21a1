"""What the tests of access share."""

from __future__ import annotations

import pytest

from workers.services import trail
from workers.services.refusal_cap import Cap


@pytest.fixture(autouse=True)
def nobody_was_refused_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matrix is refused so often that what comes after it would not be written down."""
    monkeypatch.setattr(trail, "cap", Cap())
