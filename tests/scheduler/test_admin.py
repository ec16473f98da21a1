"""The administration: labels and reservations to set, everything else to look at."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from scheduler.models import Attempt, Decision, Event, Job, Reservation, SchedulingPass, Task
from tests.factories import NOW, a_job, a_pass, a_reservation, a_user, a_worker, later, placed, states
from workers.models import Label, TrailSeal, Worker

pytestmark = pytest.mark.django_db
FOR_ADMINISTRATORS = (TrailSeal,)
OURS = [
    model
    for model in admin.site._registry
    if model._meta.app_label in ("workers", "scheduler") and model not in FOR_ADMINISTRATORS
]


@pytest.fixture
def operator(client):
    """A client signed in as an operator who is no superuser."""
    user = a_user("ada", staff=True)
    user.is_superuser = False
    user.save()
    client.force_login(user)
    return client


def url(model, page="changelist", *keys):
    """An address in the administration."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=keys)


def errors(response):
    """What the form says is wrong."""
    assert response.status_code == 200, "a form that was taken leads elsewhere"
    return {field: " ".join(messages) for field, messages in response.context["adminform"].form.errors.items()}


def reservation_form(worker, /, **said):
    """What the form sends."""
    form = {
        "worker": worker.pk, "devices": "", "holder": "user:noa", "note": "",
        "starts_at_0": "2026-11-30", "starts_at_1": "12:00:00", "ends_at_0": "", "ends_at_1": "",
    }  # fmt: skip
    return {**form, **said}


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_every_list_and_page_opens_for_an_operator(operator, model):
    worker = a_worker("a", gpus="2xA100", labels={"zone": "a"})
    a_reservation(worker, "user:noa", devices=(1,))
    a_job()
    a_pass()
    assert operator.get(url(model)).status_code == 200
    assert operator.get(f"{url(model)}?q=a").status_code == 200
    row = model.objects.first()
    if row is not None:
        assert operator.get(url(model, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)
def test_nobody_else_gets_in(client, model):
    assert client.get(url(model)).status_code == 302
    client.force_login(a_user("mira"))
    assert client.get(url(model)).status_code == 403


@pytest.mark.parametrize(
    "model", [Job, Attempt, Task, Decision, SchedulingPass, Event], ids=lambda model: model.__name__
)
def test_evidence_cannot_be_added_changed_or_deleted(operator, model):
    a_worker("a")
    a_job()
    a_pass()
    row = model.objects.first()
    assert operator.get(url(model, "add")).status_code == 403
    assert operator.post(url(model, "change", row.pk), {"state": "failed"}).status_code == 403
    assert operator.post(url(model, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert operator.post(url(model), {"action": "delete_selected", "_selected_action": [row.pk]}).status_code in (
        200,
        302,
    )
    assert model.objects.filter(pk=row.pk).exists()


def test_a_reservation_keeps_others_off_and_is_in_the_trail(operator):
    worker = a_worker("a", gpus="4xA100", seen=timezone.now())
    form = reservation_form(worker, devices="0, 2-3", ends_at_0="2031-01-01", ends_at_1="09:30")
    answer = operator.post(url(Reservation, "add"), form, follow=True)
    assert [str(message).split(";")[0].split(" “")[0] for message in answer.context["messages"]] == [
        "Nobody is called user:noa yet",
        "The reservation",
    ]
    made = Reservation.objects.get()
    assert (made.devices, made.holder, made.created_by.username) == ([0, 2, 3], "user:noa", "ada")
    assert Event.objects.get(subject_kind="reservation").actor == "user:ada"
    worker.refresh_from_db()
    assert worker.version == 1
    job = a_job(gpus=2)
    a_pass(timezone.now())
    assert states(job) == ["queued"]


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        ({"holder": "group:x"}, "holder", "expected job:j-12, user:mira or team:vision"),
        ({"devices": "0, x"}, "devices", "Found “x”; expected indices such as 0, 2-3."),
        ({"devices": "7"}, "devices", "The worker has no device 7; it has 0–3."),
        ({"ends_at_0": "2026-11-30", "ends_at_1": "11:00"}, "ends_at", "The end must be after the start."),
        ({"ends_at_0": "soon", "ends_at_1": ""}, "ends_at", "Enter a valid date."),
        ({"worker": "999"}, "worker", "Select a valid choice"),
        ({"worker": ""}, "worker", "required"),
    ],
)
def test_a_wrong_reservation_is_told_beside_its_field(operator, said, field, words):
    worker = a_worker("a", gpus="4xA100")
    found = errors(operator.post(url(Reservation, "add"), reservation_form(worker, **said)))
    assert words in found[field]
    assert not Reservation.objects.exists()


def test_an_overlap_names_what_is_in_the_way(operator):
    worker = a_worker("a", gpus="4xA100")
    a_reservation(worker, "team:vision", devices=(1,))
    found = errors(operator.post(url(Reservation, "add"), reservation_form(worker)))
    assert "reserved for team:vision" in found["worker"]


def test_a_reservation_can_be_changed_and_ended_and_then_stays_as_it_is(operator):
    worker = a_worker("a", gpus="4xA100", seen=timezone.now())
    made = a_reservation(worker, "user:noa")
    form = reservation_form(worker, holder="team:vision", note="demo")
    assert operator.post(url(Reservation, "change", made.pk), form).status_code == 302
    made.refresh_from_db()
    assert (made.holder, made.note, made.worker_id) == ("team:vision", "demo", worker.pk)
    operator.post(url(Reservation), {"action": "end_chosen", "_selected_action": [made.pk]})
    made.refresh_from_db()
    assert made.cancelled_at is not None
    assert operator.post(url(Reservation, "change", made.pk), form).status_code == 403
    job = a_job()
    a_pass(timezone.now())
    assert placed(job) == [("a", [0])]


@pytest.mark.parametrize(
    ("phase", "holders"), [("now", ["user:now"]), ("later", ["user:later"]), ("over", ["user:over"])]
)
def test_reservations_are_found_by_phase(operator, phase, holders):
    worker, now = a_worker("a", gpus="3xA100"), timezone.now()
    hour = later(hours=1) - NOW
    a_reservation(worker, "user:now", starts_at=now - hour, devices=(0,))
    a_reservation(worker, "user:later", starts_at=now + hour, devices=(1,))
    a_reservation(worker, "user:over", starts_at=now - 2 * hour, ends_at=now - hour, devices=(2,))
    page = operator.get(f"{url(Reservation)}?phase={phase}")
    assert [row.holder for row in page.context["cl"].result_list] == holders


def test_an_operators_label_is_set_changed_and_taken_off(operator):
    worker = a_worker("a", labels={"zone": "b"})
    add = {"worker": worker.pk, "key": "zone", "value": "a"}
    assert operator.post(url(Label, "add"), add).status_code == 302
    label = Label.objects.get(source="operator")
    job = a_job(placement={"worker_labels": {"zone": "a"}})
    a_pass()
    assert states(job) == ["assigned"]
    assert operator.post(url(Label, "change", label.pk), {"value": "c"}).status_code == 302
    label.refresh_from_db()
    assert (label.value, label.created_by.username) == ("c", "ada")
    assert operator.post(url(Label, "delete", label.pk), {"post": "yes"}).status_code == 302
    worker.refresh_from_db()
    assert worker.version == 3
    changes = Event.objects.filter(subject_kind="label").order_by("pk").values_list("before", "after")
    assert list(changes) == [("", "a"), ("a", "c"), ("c", "")]


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        ({"key": "gpulayer.dev/reserved-for"}, "key", "belong to the system"),
        ({"key": "a\u202eb"}, "key", "one line of text"),
        ({"value": "a\u0007"}, "value", "one line of text"),
        ({"key": "x" * 254}, "key", "at most 253"),
        ({"key": ""}, "key", "required"),
        ({"key": "rack"}, "key", "already has"),
    ],
)
def test_a_wrong_label_is_told_beside_its_field(operator, said, field, words):
    worker = a_worker("a")
    Label.objects.create(worker=worker, key="rack", value="7", source="operator")
    form = {"worker": worker.pk, "key": "zone", "value": "a", **said}
    assert words in errors(operator.post(url(Label, "add"), form))[field]
    assert Label.objects.count() == 1


def test_what_an_agent_says_is_not_an_operators_to_change(operator):
    a_worker("a", labels={"zone": "b"})
    label = Label.objects.get()
    assert operator.post(url(Label, "change", label.pk), {"value": "c"}).status_code == 403
    assert operator.post(url(Label, "delete", label.pk), {"post": "yes"}).status_code == 403


def test_workers_are_completed_by_name(operator):
    for name in ("gpu-01", "gpu-02", "cpu-01"):
        a_worker(name)
    asked = {"app_label": "scheduler", "model_name": "reservation", "field_name": "worker", "term": "gpu"}
    answer = operator.get(f"{reverse('admin:autocomplete')}?{urlencode(asked)}").json()
    assert [found["text"] for found in answer["results"]] == ["gpu-01", "gpu-02"]


def test_workers_are_drained_and_jobs_cancelled_through_their_services(operator):
    worker = a_worker("a")
    job = a_job()
    operator.post(url(Worker), {"action": "drain_chosen", "_selected_action": [worker.pk]})
    worker.refresh_from_db()
    assert (worker.intent, worker.version) == ("draining", 1)
    operator.post(url(Worker), {"action": "undrain_chosen", "_selected_action": [worker.pk]})
    worker.refresh_from_db()
    assert worker.intent == "active"
    operator.post(url(Job), {"action": "cancel_chosen", "_selected_action": [job.pk]})
    assert states(job) == ["cancelled"]


@pytest.mark.parametrize("model", [Job, Worker, Reservation, Label], ids=lambda model: model.__name__)
def test_a_list_costs_the_same_for_twenty_rows_as_for_one(operator, model):
    def cost():
        with CaptureQueriesContext(connection) as captured:
            operator.get(url(model))
        return len(captured)

    def more(start, stop):
        for number in range(start, stop):
            a_reservation(a_worker(f"w{number}", labels={"zone": "a"}), "user:noa")
            a_job(owner=a_user(f"u{number}"))

    more(0, 1)
    one = cost()
    more(1, 20)
    assert cost() == one
