"""What the database makes impossible about workers, and what is written only once."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction

from tests.factories import NOW, a_worker, changed, later, new_facts, worker_document
from workers.machine import HEALTH, INTENT, LIVENESS, IllegalMoveError
from workers.models import AppendOnlyError, Credential, Device, EnrolmentToken, Event, Label, WorkerFacts

pytestmark = pytest.mark.django_db


def refused(act):
    """The database refuses it."""
    with pytest.raises(IntegrityError), transaction.atomic():
        act()


@pytest.mark.parametrize(
    "fields",
    [
        {"origin": "moon"},
        {"liveness": "asleep"},
        {"intent": "maybe"},
        {"health": "fine"},
        {"name": ""},
        {"epoch": -1},
        {"version": -1},
        {"heartbeat_seconds": 0},
        {"last_seen_at": None},
        {"facts": None},
    ],
    ids=str,
)
def test_workers(fields):
    worker = a_worker("a")
    refused(lambda: changed(worker, **fields))


def test_a_live_name_is_taken_once():
    worker = a_worker("a")
    refused(lambda: a_worker("a"))
    changed(worker, liveness="revoked")
    again = a_worker("a")
    changed(again, intent="retired")
    a_worker("a")


def test_a_credential_is_one_real_workers_or_a_simulated_fleets():
    credential = Credential.objects.create(hash="x", prefix="glw_ab", created_at=NOW)
    a_worker("a", credential=credential)
    refused(lambda: a_worker("b", credential=credential))
    fleet = Credential.objects.create(hash="y", prefix="glw_cd", fleet=True, created_at=NOW)
    a_worker("c", credential=fleet, simulated=True)
    a_worker("d", credential=fleet, simulated=True)


def test_hashes_are_unique():
    Credential.objects.create(hash="x", prefix="glw_ab", created_at=NOW)
    refused(lambda: Credential.objects.create(hash="x", prefix="glw_ab", created_at=NOW))
    token = {"hash": "x", "prefix": "gle_ab", "expires_at": later(hours=1), "created_at": NOW}
    EnrolmentToken.objects.create(**token)
    refused(lambda: EnrolmentToken.objects.create(**token))
    refused(lambda: EnrolmentToken.objects.create(**{**token, "hash": "y", "origin": "moon"}))
    refused(lambda: EnrolmentToken.objects.create(**{**token, "hash": "y", "uses_left": -1}))


def test_devices_of_one_worker_have_their_own_uuid_and_index():
    worker = a_worker("a", gpus="1xA100")
    uuid = worker.devices.get().uuid
    refused(lambda: Device.objects.create(worker=worker, index=1, uuid=uuid))
    refused(lambda: Device.objects.create(worker=worker, index=0, uuid="other"))
    Device.objects.create(worker=worker, index=0, uuid="gone", present=False)
    Device.objects.create(worker=worker, index=1, uuid=None)
    Device.objects.create(worker=worker, index=2, uuid=None)
    refused(lambda: changed(worker.devices.get(uuid=uuid), utilisation=101))
    refused(lambda: changed(worker.devices.get(uuid=uuid), foreign_memory=-1))


def test_a_label_is_said_once_by_each_source():
    worker = a_worker("a", labels={"zone": "a"})
    Label.objects.create(worker=worker, key="zone", value="b", source="operator")
    refused(lambda: Label.objects.create(worker=worker, key="zone", value="c", source="operator"))
    refused(lambda: Label.objects.create(worker=worker, key="", value="c"))


def test_facts_are_numbered_and_never_changed():
    worker = a_worker("a")
    facts = new_facts(worker, worker_document("a", gpus="2xA100"))
    assert facts.number == 2
    refused(lambda: WorkerFacts.objects.create(worker=worker, number=2, document={}, digest="x", created_at=NOW))
    facts.digest = "other"
    with pytest.raises(AppendOnlyError):
        facts.save()
    with pytest.raises(AppendOnlyError):
        WorkerFacts.objects.update(digest="other")
    with pytest.raises(AppendOnlyError):
        WorkerFacts.objects.bulk_update([facts], ["digest"])


@pytest.mark.parametrize("table", ["workers_workerfacts", "workers_event"])
def test_the_database_itself_refuses_to_change_what_is_written_once(table):
    a_worker("a")
    Event.objects.create(at=NOW, actor="user:mira", subject_kind="worker", subject="a", verb="state")
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET id = id + 100")


def test_an_event_says_who_and_what():
    refused(lambda: Event.objects.create(at=NOW, actor="", subject_kind="worker", subject="a", verb="state"))


@pytest.mark.parametrize(
    ("machine", "frm", "to", "legal"),
    [
        (LIVENESS, "enrolled", "online", True),
        (LIVENESS, "online", "suspect", True),
        (LIVENESS, "suspect", "online", True),
        (LIVENESS, "lost", "online", True),
        (LIVENESS, "revoked", "online", False),
        (LIVENESS, "online", "enrolled", False),
        (INTENT, "active", "draining", True),
        (INTENT, "draining", "active", True),
        (INTENT, "active", "drained", False),
        (INTENT, "retired", "active", False),
        (HEALTH, "ok", "unhealthy", True),
        (HEALTH, "unhealthy", "ok", True),
        (HEALTH, "ok", "ok", False),
    ],
)
def test_the_lives_of_a_worker(machine, frm, to, legal):
    worker = changed(a_worker("a"), **{machine.field: frm})
    if not legal:
        with pytest.raises(IllegalMoveError):
            machine.move(worker, to, frm=frm, actor="x", now=NOW)
        return
    assert machine.move(worker, to, frm=frm, actor="operator:ada", now=later(seconds=5), cause="test")
    worker.refresh_from_db()
    assert (getattr(worker, machine.field), worker.state_since) == (to, later(seconds=5))
    event = Event.objects.get()
    assert (event.subject, event.verb, event.before, event.after) == ("a", machine.field, frm, to)
    assert machine.move(worker, to, frm=frm, actor="x", now=NOW) is False
