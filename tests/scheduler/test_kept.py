"""What `gpulayer doctor` says of what is kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from gpulayer_site import doctor_server
from gpulayer_site.keeping import Keep
from scheduler.models import Upkeep
from scheduler.services.retention import run_retention
from tests.scheduler.test_retention import ran

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def own_data_folder(settings: Settings, tmp_path: Path) -> None:
    settings.GPULAYER_DATA = tmp_path


def said() -> dict[str, tuple[str, str]]:
    return {subject: (verdict, text) for subject, verdict, text, _ in doctor_server.kept()}


def test_each_kind_says_how_much_of_it_there_is_and_may_be(settings: Settings) -> None:
    settings.GPULAYER_KEEP = {**settings.GPULAYER_KEEP, "events": Keep(0, 0)}
    ran(text="x" * 1_987, at=timezone.now() - timedelta(days=3))
    found = said()
    assert found["kept logs"] == ("ok", "1 with 2 KB, the oldest 3 d old (at most 90 days, 100 GB)")
    assert found["kept outputs"] == ("ok", "1 with 6 B, the oldest 3 d old (at most 30 days, 100 GB)")
    assert found["kept decisions"][1] == "1, the oldest 3 d old (at most 90 days, 1,000,000)"
    assert found["kept events"][1].endswith("(without limit)")


def test_retention_that_never_ran_is_worth_a_note() -> None:
    assert said()["retention"] == ("note", "nothing old was looked for yet")


def test_retention_says_what_it_removed_last() -> None:
    ran(at=timezone.now() - timedelta(days=99))
    run_retention(now=timezone.now(), clock=lambda: 0.0)
    verdict, text = said()["retention"]
    assert verdict == "ok"
    assert text.startswith("last ran ")
    assert "1 logs, 1 outputs" in text


def test_retention_that_has_not_run_for_long_is_wrong() -> None:
    run_retention(now=timezone.now() - timedelta(hours=2), clock=lambda: 0.0)
    assert said()["retention"] == ("wrong", "last ran 2 h ago, removed nothing")


def test_retention_that_was_not_done_in_time_says_so() -> None:
    Upkeep.objects.create(pk=1, began_at=timezone.now(), finished_at=timezone.now(), removed={"events": 20_000})
    assert said()["retention"][0] == "note"
    assert said()["retention"][1].endswith("removed 20,000 events, and has more to remove")
