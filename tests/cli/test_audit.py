"""`gpulayer audit` and `gpulayer audit verify`, against the real server."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from tests.cli.conftest import Commands
from workers.models import Event, TrailSeal
from workers.services import trail_search
from workers.services.seals import seal_events

pytestmark = pytest.mark.django_db(transaction=True)

WRITTEN_ONCE = """
CREATE TRIGGER workers_event_written_once BEFORE UPDATE ON workers_event
BEGIN SELECT RAISE(ABORT, 'workers_event rows are written once'); END
"""


@pytest.fixture
def events() -> list[Event]:
    start = timezone.now() - timedelta(days=1)
    return [
        Event.objects.create(
            at=start + timedelta(minutes=number), actor="user:mira", subject_kind="worker", subject=f"gpu-{number:02}",
            verb="intent", before="active", after="draining", cause="new \x1b[31mfans\n", address="10.1.2.3",
        )
        for number in range(4)
    ]  # fmt: skip


def test_it_lists_who_did_what_from_where_without_moving_the_cursor(cli: Commands, events: list[Event]) -> None:
    said = cli("audit", "--who", "mira").stdout
    assert said.splitlines()[0].split() == [
        "WHEN", "(UTC)", "WHO", "WHAT", "ACT", "BEFORE", "AFTER", "FROM", "BECAUSE",
    ]  # fmt: skip
    assert len(said.splitlines()) == 5
    assert r"new \x1b[31mfans\n" in said
    assert "10.1.2.3" in said
    assert "\x1b" not in said


def test_json_lines_go_over_as_many_pages_as_it_takes(
    cli: Commands, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trail_search, "ROWS", 2)
    lines = cli("audit", "--who", "mira", "--limit", 3, "--json").stdout.splitlines()
    assert [json.loads(line)["subject"] for line in lines] == ["gpu-03", "gpu-02", "gpu-01"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--what", "gpu-02"], "gpu-02"),
        (["--search", "fans", "--verb", "intent"], "gpu-03"),
        (["--who", "nobody"], "no such events"),
        (["--refused"], "no such events"),
        (["--since", "yesterday"], "expected a date and time such as"),
    ],
)
def test_it_finds(cli: Commands, events: list[Event], words: list[str], said: str) -> None:
    assert said in cli("audit", *words).output


def test_verify_says_what_was_looked_at_and_what_is_wrong(cli: Commands, events: list[Event]) -> None:
    seal_events(now=timezone.now() + timedelta(minutes=10))
    result = cli("audit", "verify")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "5 events under 1 seal, as they were sealed")
    anchor = result.stdout.split()[-1]
    assert anchor == f"{events[-1].pk}:{TrailSeal.objects.get().digest}"
    assert cli("audit", "verify", "--anchor", anchor).exit_code == 0
    assert cli("audit", "verify", "--anchor", anchor[:-1] + ("0" if anchor[-1] != "0" else "1")).exit_code == 1


def tamper(statement: str) -> None:
    """As somebody who owns the database: without what guards it."""
    off, on = "DROP TRIGGER workers_event_written_once", WRITTEN_ONCE
    if connection.vendor == "postgresql":
        off, on = (f"ALTER TABLE workers_event {word} TRIGGER ALL" for word in ("DISABLE", "ENABLE"))
    with connection.cursor() as cursor:
        for each in (off, statement, on):
            cursor.execute(each)


def test_verify_names_an_event_that_was_changed(cli: Commands, events: list[Event]) -> None:
    seal_events(now=timezone.now() + timedelta(minutes=10))
    tamper(f"UPDATE workers_event SET actor = 'user:noor' WHERE id = {events[1].pk}")
    result = cli("audit", "verify")
    assert result.exit_code == 1
    assert f"NO    event {events[1].pk}" in result.stdout
    assert [each["event"] for each in json.loads(cli("audit", "verify", "--json").stdout)["findings"]] == [events[1].pk]
