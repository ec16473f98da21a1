"""The trail can only grow: the database refuses the rest, and seals tell when somebody got around it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction

from tests.factories import NOW, later
from workers.models import Event, TrailSeal
from workers.services import seals
from workers.services.seals import digest_of, pack_marks, read_marks, seal_events
from workers.services.trail_check import check_trail, latest_checked
from workers.services.trail_door import removing
from workers.services.trail_removal import remove, stretches

pytestmark = pytest.mark.django_db

LONG_AFTER = later(hours=1)


@pytest.fixture
def events() -> list[Event]:
    """Seven that are settled, under three seals."""
    return [an_event(number) for number in range(7)]


@pytest.fixture
def sealed(events: list[Event], monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    monkeypatch.setattr(seals, "LONGEST", 3)
    assert seal_events(now=LONG_AFTER) == 7
    return events


def an_event(number: int = 0, *, at: datetime | None = None) -> Event:
    return Event.objects.create(
        at=at or later(seconds=number), actor="user:mira", subject_kind="worker", subject=f"gpu-{number}",
        verb="intent", before="active", after="draining", detail={"number": number, "half": 0.5, "name": "é"},
    )  # fmt: skip


def run(statement: str) -> None:
    """As somebody who has the database."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture
def tampering() -> None:
    """As somebody who owns the database and drops what guards it."""
    on = " ON workers_event" if connection.vendor == "postgresql" else ""
    names = ("written_once", "kept") if on else ("written_once", "kept", "not_replaced")
    for name in names:
        run(f"DROP TRIGGER workers_event_{name}{on}")


class TestTheDatabaseRefuses:
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE workers_event SET actor = 'user:noor'",
            "DELETE FROM workers_event",
            "UPDATE workers_trailseal SET digest = ''",
            "DELETE FROM workers_trailseal",
        ],
    )
    def test_a_statement(self, sealed: list[Event], statement: str) -> None:
        with pytest.raises(DatabaseError):
            run(statement)
        assert (Event.objects.count(), TrailSeal.objects.count()) == (7, 3)

    def test_putting_another_row_in_its_place(self, sealed: list[Event]) -> None:
        verb = "INSERT" if connection.vendor == "postgresql" else "INSERT OR REPLACE"
        end = " ON CONFLICT (id) DO UPDATE SET actor = 'x'" if verb == "INSERT" else ""
        names = "id, at, actor, subject_kind, subject, verb, before, after, cause, detail, address, via"
        row = f"{sealed[0].pk}, '2026-01-01', 'x', 'x', 'x', 'x', '', '', '', '{{}}', '', ''"
        with pytest.raises(DatabaseError):
            run(f"{verb} INTO workers_event ({names}) VALUES ({row}){end}")
        assert Event.objects.get(pk=sealed[0].pk).actor == "user:mira"

    def test_emptying_it(self, sealed: list[Event]) -> None:
        if connection.vendor != "postgresql":
            return  # SQLite has no other way than DELETE
        with pytest.raises(DatabaseError):
            run("TRUNCATE workers_event, workers_trailseal")

    def test_the_orm(self, sealed: list[Event]) -> None:
        with pytest.raises(DatabaseError), transaction.atomic():
            Event.objects.all().delete()
        with pytest.raises(DatabaseError), transaction.atomic():
            sealed[0].delete()
        assert Event.objects.count() == 7

    def test_but_not_through_the_one_door_which_closes_again(self, sealed: list[Event]) -> None:
        with removing():
            Event.objects.filter(pk=sealed[0].pk).delete()
        assert Event.objects.count() == 6
        with pytest.raises(DatabaseError):
            run("DELETE FROM workers_event")

    def test_nor_after_the_door_was_left_by_an_error(self, sealed: list[Event]) -> None:
        with pytest.raises(ZeroDivisionError), removing():
            1 / 0  # noqa: B018
        with pytest.raises(DatabaseError):
            run("DELETE FROM workers_event")


@pytest.mark.django_db(transaction=True)
class TestForeignConnections:
    def test_one_that_is_not_ours_removes_nothing(self, events: list[Event]) -> None:
        if connection.vendor != "sqlite":
            return  # PostgreSQL's trigger asks the session, whosever it is
        import sqlite3

        other = sqlite3.connect(connection.settings_dict["NAME"])
        with pytest.raises(sqlite3.OperationalError, match="gpulayer_removing"):
            other.execute("DELETE FROM workers_event")
        other.close()

    def test_tests_begin_with_nothing(self, events: list[Event]) -> None:
        call_command("flush", interactive=False, verbosity=0)
        assert Event.objects.count() == 0


class TestSealing:
    def test_makes_one_chain_over_all_that_is_settled(self, sealed: list[Event]) -> None:
        rows = list(TrailSeal.objects.order_by("last"))
        assert [(seal.first, seal.last, seal.events) for seal in rows] == [
            (sealed[0].pk, sealed[2].pk, 3), (sealed[3].pk, sealed[5].pk, 3), (sealed[6].pk, sealed[6].pk, 1),
        ]  # fmt: skip
        assert [seal.previous for seal in rows] == ["", rows[0].digest, rows[1].digest]

    def test_leaves_what_may_still_be_preceded(self, events: list[Event]) -> None:
        young = an_event(8, at=LONG_AFTER - timedelta(minutes=1))
        an_event(9)
        assert seal_events(now=LONG_AFTER) == 7
        assert seal_events(now=LONG_AFTER) == 0
        assert seal_events(now=LONG_AFTER + timedelta(minutes=10)) == 2
        assert TrailSeal.objects.filter(first=young.pk).exists()

    def test_is_not_held_up_by_an_event_of_a_clock_that_was_wrong(self, events: list[Event]) -> None:
        an_event(8, at=LONG_AFTER + timedelta(days=3650))
        last = an_event(9)
        seal_events(now=LONG_AFTER)
        assert TrailSeal.objects.get().last == last.pk

    def test_twice_at_once_makes_one_seal(self, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(seals, "last_seal", lambda: None)
        assert seal_events(now=LONG_AFTER) == 7
        assert seal_events(now=LONG_AFTER) == 0
        assert TrailSeal.objects.count() == 1

    def test_marks_come_back_as_they_were(self) -> None:
        marks = [(1, b"12345678"), (2**40, b"abcdefgh")]
        assert list(read_marks(pack_marks(marks))) == marks
        assert list(read_marks(b"cut off")) == []


class TestChecking:
    def test_finds_nothing_where_nothing_was_done(self, sealed: list[Event]) -> None:
        checked = check_trail()
        assert (checked.findings, checked.seals, checked.events, checked.complete) == ([], 3, 7, True)
        assert (checked.upto, checked.digest) == (sealed[-1].pk, TrailSeal.objects.get(last=checked.upto).digest)

    @pytest.mark.parametrize(
        "change",
        [
            "actor = 'user:noor'", "after = ''", "at = '2026-11-30 11:59:59'", "subject = 'gpu-99'", "cause = 'x'",
            "address = '10.9.9.9'", "via = 'session'", "detail = '{\"number\": 1}'", "before = 'x'", "verb = 'x'",
        ],
    )  # fmt: skip
    def test_names_an_event_that_was_changed(self, sealed: list[Event], tampering: None, change: str) -> None:
        run(f"UPDATE workers_event SET {change} WHERE id = {sealed[4].pk}")
        [finding] = check_trail().findings
        assert (finding.what, finding.event) == ("changed", sealed[4].pk)
        assert f"event {sealed[4].pk}" in finding.text

    @pytest.mark.parametrize("place", [0, 2, 3, 6])
    def test_names_an_event_that_was_removed(self, sealed: list[Event], tampering: None, place: int) -> None:
        run(f"DELETE FROM workers_event WHERE id = {sealed[place].pk}")
        found = [(finding.what, finding.event) for finding in check_trail().findings]
        assert found == [("missing", sealed[place].pk)]

    def test_names_an_event_that_was_put_in(self, sealed: list[Event], tampering: None) -> None:
        free = sealed[0].pk - 1
        run(
            "INSERT INTO workers_event SELECT "
            + ", ".join(str(free) if each.column == "id" else each.column for each in Event._meta.local_fields)
            + f" FROM workers_event WHERE id = {sealed[5].pk}"
        )
        assert [(finding.what, finding.event) for finding in check_trail().findings] == [("inserted", free)]

    def test_names_a_seal_that_was_taken_out(self, sealed: list[Event]) -> None:
        with removing():
            TrailSeal.objects.filter(last=sealed[2].pk).delete()
        assert check_trail().findings[0].what == "chain"

    def test_names_a_stretch_that_was_removed_without_a_word(self, sealed: list[Event]) -> None:
        with removing():
            Event.objects.filter(pk__lte=sealed[2].pk).delete()
            TrailSeal.objects.filter(last=sealed[2].pk).delete()
        assert [finding.what for finding in check_trail().findings] == ["chain"]

    @pytest.mark.parametrize("places", [(0,), (1,), (0, 1)], ids=["the first", "one in the middle", "two"])
    def test_follows_the_chain_where_retention_said_what_it_removed(
        self, sealed: list[Event], places: tuple[int, ...]
    ) -> None:
        for stretch in [list(stretches())[place] for place in places]:
            assert remove(stretch, now=NOW) == 3
        checked = check_trail()
        assert (checked.findings, checked.events) == ([], 7 - 3 * len(places))

    def test_notices_a_whole_new_chain_by_a_digest_that_was_kept(self, sealed: list[Event], tampering: None) -> None:
        kept = {TrailSeal.objects.latest("last").last: TrailSeal.objects.latest("last").digest}
        run(f"UPDATE workers_event SET actor = 'user:noor' WHERE id = {sealed[0].pk}")
        with removing():
            TrailSeal.objects.all().delete()
        seal_events(now=LONG_AFTER)
        assert check_trail().findings == []
        [finding] = check_trail(anchors=kept).findings
        assert "not the one that you kept" in finding.text

    def test_goes_on_where_it_stopped(self, sealed: list[Event]) -> None:
        first = check_trail(most=3)
        assert (first.complete, first.upto) == (False, sealed[2].pk)
        rest = check_trail(after=first.upto)
        assert (rest.complete, rest.seals, rest.findings) == (True, 2, [])

    def test_looks_at_the_latest_alone(self, sealed: list[Event]) -> None:
        assert (latest_checked(2).seals, latest_checked(2).events, latest_checked(9).events) == (2, 4, 7)

    def test_is_the_same_for_what_both_databases_give_back(self, sealed: list[Event]) -> None:
        event = Event.objects.get(pk=sealed[0].pk)
        event.pk = 1
        assert digest_of(event).hex() == "f9fadb19f6a958b92a9450f077e9267d425ac607b6f6553236984aebc46a895c"
