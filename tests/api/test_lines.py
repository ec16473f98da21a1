"""What people write in one line: of characters that are seen, and none that turns the text around."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.api.test_people import Person, caller_of
from tests.factories import a_worker

pytestmark = pytest.mark.django_db

AROUND = "all \u202edewolla"


@pytest.fixture
def as_administrator(db: None) -> Person:
    return caller_of(User.objects.create_superuser("root"))


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("reservations", {"worker": "w1", "holder": "user:mira", "note": AROUND}, "note"),
        ("notices", {"text": AROUND}, "text"),
        ("tokens", {"note": AROUND}, "note"),
        ("teams", {"name": AROUND}, "name"),
        ("people", {"username": AROUND}, "username"),
        ("people", {"username": "mira", "full_name": AROUND}, "full_name"),
        ("workers/w1/drain", {"note": AROUND}, "note"),
    ],
)
def test_is_refused_with_a_word(as_administrator: Person, path: str, body: dict[str, Any], field: str) -> None:
    a_worker("w1")
    answer = as_administrator("POST", path, body)
    assert answer.status_code == 422, answer.content
    (error,) = [each for each in answer.json()["problems"] if each["path"] == field]
    assert error["expected"] == "only characters that can be seen, on one line"
