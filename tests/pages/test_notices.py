"""What operators tell everybody, and what the server says of itself, at the head of every page."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from scheduler.models import Watch
from workers.models import Notice

pytestmark = pytest.mark.django_db

PLACES = ("/jobs", "/workers", "/jobs/new", "/profile", "/notices", "/nothing-here")


def up(client: Client, **fields: str) -> int:
    return client.post("/notices/new", {"text": "Power cut at 18:00", "level": "warning", **fields}).status_code


def test_a_notice_stands_on_every_page_until_it_is_taken_down(page: Client, operator: Client) -> None:
    assert up(operator) == 302
    for place in PLACES:
        assert "Power cut at 18:00" in page.get(place).content.decode(), place
    assert "Power cut" not in Client().get("/signin").content.decode(), "not to strangers"
    operator.post(f"/notices/{Notice.objects.get().pk}/end")
    assert "Power cut" not in page.get("/jobs").content.decode()
    assert "Power cut" in page.get("/notices").content.decode(), "among those that were"


def test_it_goes_by_itself_when_its_time_is_over(page: Client, operator: Client) -> None:
    up(operator, until="2100-01-01T18:00")
    assert "until <time" in page.get("/jobs").content.decode()
    Notice.objects.update(created_at=timezone.now() - timedelta(hours=2), ends_at=timezone.now() - timedelta(hours=1))
    assert "Power cut" not in page.get("/jobs").content.decode()


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"text": "x" * 501},
        {"text": "a\u202eb"},
        {"level": "loud"},
        {"until": "2020-01-01T00:00"},
        {"until": "soon"},
    ],
)
def test_a_mistake_is_told_beside_its_field(operator: Client, fields: dict[str, str]) -> None:
    assert up(operator, **fields) == 422
    assert not Notice.objects.exists()


def test_only_operators_put_them_up(page: Client, operator: Client) -> None:
    assert up(page) == 403
    up(operator)
    assert page.post(f"/notices/{Notice.objects.get().pk}/end").status_code == 403
    assert "Tell everybody" not in page.get("/notices").content.decode()
    assert "no notice 99" in operator.post("/notices/99/end", follow=True).content.decode()


@pytest.mark.parametrize(("ago", "is_said"), [(1, True), (20, False)])
def test_the_server_says_that_its_clock_was_set(page: Client, ago: int, is_said: bool) -> None:
    now = timezone.now()
    Watch.objects.create(
        pk=1, wall_at=now, boottime_ms=1, up_since=now, grace_until=now, note="the server's clock was set back by 60 s",
        noted_at=now - timedelta(minutes=ago),
    )  # fmt: skip
    assert ("clock was set back by 60 s" in page.get("/jobs").content.decode().replace("&#x27;", "'")) == is_said
