"""`gpulayer reservation` as operators type it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from scheduler.models import Reservation
from tests.factories import a_job, a_reservation, a_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_worker_is_reserved_listed_and_given_back(cli, a_machine):
    a_machine("gpu-07", gpus="8xA100")
    a_user("noa")
    said = cli("reservation", "add", "gpu-07", "--for", "user:noa", "--devices", "0-3,6", "--lasting", "4h").output
    number = re.match(r"(r-\d+) keeps gpu-07 for user:noa until \S+ \S+ UTC", said)[1]
    made = Reservation.objects.get()
    assert made.devices == [0, 1, 2, 3, 6]
    assert timedelta(hours=3, minutes=55) < made.ends_at - made.starts_at <= timedelta(hours=4)
    listed = cli("reservation", "list").output
    assert re.search(rf"{number} +active +user:noa +gpu-07 +0,1,2,3,6 ", listed)
    assert cli("reservation", "end", number).output == f"{number} is over: ended early\n"
    assert cli("reservation", "list").output == "no reservations\n"
    assert cli.json("reservation", "list", "--state", "over")[0]["ended_cause"] == "ended early"


def test_the_end_and_the_note_are_changed(cli, a_machine):
    worker = a_machine("gpu-07")
    kept = a_reservation(worker, "user:noa", starts_at=timezone.now(), note="tests")
    said = cli("reservation", "change", f"r-{kept.pk}", "--lasting", "2h").output
    assert re.match(rf"r-{kept.pk} keeps gpu-07 for user:noa until \S+ \S+ UTC", said)
    kept.refresh_from_db()
    assert timedelta(hours=1, minutes=55) < kept.ends_at - timezone.now() <= timedelta(hours=2)
    assert kept.note == "tests"
    changed = cli.json("reservation", "change", str(kept.pk), "--until", "never", "--note", "longer")
    assert (changed["ends_at"], changed["note"]) == (None, "longer")
    changed = cli.json(
        "reservation", "change", str(kept.pk), "--until", "2031-12-01T10:00", "--zone", "Europe/Berlin"
    )  # fmt: skip
    assert datetime.fromisoformat(changed["ends_at"]).hour == 9


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "say what is to be different: --until, --lasting or --note"),
        (["--until", "2031-01-01", "--lasting", "2h"], "say either --until or --lasting"),
        (["--until", "soon"], "expected a date and time such as"),
    ],
)
def test_a_change_that_is_none_is_told_before_anything_is_sent(without_server, words, told):
    result = without_server("reservation", "change", "r-1", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())


def test_times_are_read_in_a_zone(cli, a_machine):
    a_machine("gpu-07")
    words = ["reservation", "add", "gpu-07", "--for", "team:vision", "--zone", "Europe/Berlin"]
    made = cli.json(*words, "--from", "2031-07-01T10:00", "--until", "2031-12-01 10:00")
    assert datetime.fromisoformat(made["starts_at"]).hour == 8
    assert datetime.fromisoformat(made["ends_at"]).hour == 9


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "2031-03-30T02:30", "--zone", "Europe/Berlin"], "does not exist"),
        (["--until", "2031-10-26T02:30", "--zone", "Europe/Berlin"], "write its offset to choose"),
        (["--until", "soon"], "expected a date and time such as"),
        (["--until", "2031-01-01", "--lasting", "2h"], "say either --until or --lasting"),
        (["--until", "2031-01-01", "--zone", "Berlin"], "expected a zone such as Europe/Berlin"),
        (["--devices", "3-1"], "expected indices such as 0-3,6 or all"),
        (["--end-first", "x"], "expected a reservation such as r-41"),
    ],
)
def test_wrong_words_are_told_before_anything_is_sent(without_server, words, told):
    result = without_server("reservation", "add", "gpu-07", "--for", "user:noa", *words)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())


def test_a_conflict_says_what_is_possible(cli, a_machine):
    worker = a_machine("gpu-07", gpus="8xA100")
    taken = a_reservation(worker, "team:vision", devices=(0, 1), starts_at=timezone.now())
    result = cli("reservation", "add", "gpu-07", "--for", "user:noa", "--devices", "0-1")
    assert result.exit_code == 1
    assert "Devices 0, 1 are reserved for team:vision" in result.output
    assert "  possible: Take devices 2, 3 only\n" in result.output
    assert f"  possible: End r-{taken.pk} now\n" in result.output
    done = cli("reservation", "add", "gpu-07", "--for", "user:noa", "--devices", "0-1", "--end-first", f"r-{taken.pk}")
    assert done.exit_code == 0, done.output


def test_a_job_that_is_not_there_is_told(cli, a_machine):
    a_machine("gpu-07")
    job = a_job()
    assert cli("reservation", "add", "gpu-07", "--for", job.job_id).exit_code == 0
    result = cli("reservation", "add", "gpu-07", "--for", "j-99999")
    assert result.exit_code == 2
    assert "There is no job j-99999." in result.output
