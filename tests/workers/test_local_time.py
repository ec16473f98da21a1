"""Times as people write them: gaps and repetitions of clocks are told, whatever the zone."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from workers.local_time import GapError, LocalTimeError, TwiceError, offset, read_local, said, written

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "instant"),
    [
        ("2026-12-01T18:00", "UTC", "2026-12-01T18:00+00:00"),
        ("2026-12-01 18:00", "Europe/Berlin", "2026-12-01T17:00+00:00"),
        ("2026-07-01 18:00:30", "Europe/Berlin", "2026-07-01T16:00:30+00:00"),
        (" 2026-12-01T18:00+05:30 ", "Europe/Berlin", "2026-12-01T12:30+00:00"),
        ("2026-12-01T18:00Z", "Asia/Kathmandu", "2026-12-01T18:00+00:00"),
        ("2026-03-29T01:59", "Europe/Berlin", "2026-03-29T00:59+00:00"),
        ("2026-03-29T03:00", "Europe/Berlin", "2026-03-29T01:00+00:00"),
        ("2026-10-25T03:00", "Europe/Berlin", "2026-10-25T02:00+00:00"),
    ],
)
def test_a_time_is_read_in_its_zone(text, zone, instant):
    at = read_local(text, ZoneInfo(zone))
    assert (at, at.utcoffset()) == (datetime.fromisoformat(instant), UTC.utcoffset(None))


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01T00:00", "2026-12-01T25:00", "12:00", "0001-01-01T00:00"])
def test_what_is_no_time_is_told(text):
    with pytest.raises(LocalTimeError, match="expected"):
        read_local(text, ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(
    ("zone", "text", "before", "after"),
    [
        ("Europe/Berlin", "2026-03-29T02:30", "01:59", "03:00"),
        ("Europe/Berlin", "2026-03-29T02:00", "01:59", "03:00"),
        ("America/New_York", "2026-03-08T02:59", "01:59", "03:00"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "01:59", "02:30"),
        ("Pacific/Apia", "2011-12-30T10:00", "23:59", "00:00"),
    ],
)
def test_a_time_that_does_not_exist_has_two_neighbours(zone, text, before, after):
    with pytest.raises(GapError, match=f"after {before} comes {after}") as gap:
        read_local(text, ZoneInfo(zone))
    assert [f"{at.astimezone(ZoneInfo(zone)):%H:%M}" for at in gap.value.instants] == [before, after]


@pytest.mark.parametrize(
    ("zone", "text", "offsets"),
    [
        ("Europe/Berlin", "2026-10-25T02:30", ["UTC+2", "UTC+1"]),
        ("America/St_Johns", "2026-11-01T01:15", ["UTC-2:30", "UTC-3:30"]),
        ("Australia/Lord_Howe", "2026-04-05T01:45", ["UTC+11", "UTC+10:30"]),
    ],
)
def test_a_time_that_comes_twice_is_asked_for_and_then_taken(zone, text, offsets):
    there = ZoneInfo(zone)
    with pytest.raises(TwiceError, match="comes twice") as twice:
        read_local(text, there)
    assert [offset(at, there) for at in twice.value.instants] == offsets
    for which, at in enumerate(twice.value.instants):
        assert read_local(text, there, which=which) == at
        assert written(at, there) == text


@pytest.mark.parametrize(
    ("instant", "zone", "words"),
    [
        ("2026-11-30T20:00+00:00", "UTC", "20:00"),
        ("2026-11-30T23:30+00:00", "Europe/Berlin", "2026-12-01 00:30"),
        ("2026-12-01T18:00+00:00", "America/New_York", "2026-12-01 13:00"),
    ],
)
def test_an_instant_is_said_with_its_day_where_that_is_another_one(instant, zone, words):
    assert said(datetime.fromisoformat(instant), now=NOW, zone=ZoneInfo(zone)) == words
