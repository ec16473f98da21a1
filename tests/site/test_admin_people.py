"""The administration by role: operators keep the fleet, administrators also people; nothing there is a secret."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from gpulayer_site.accounts.models import ApiToken, SignInCode, UnixAccount
from gpulayer_site.accounts.services import create_sign_in_code
from gpulayer_site.accounts.tokens import create_token
from scheduler.models import Job
from tests.factories import a_job, a_user, a_worker
from workers.admin_parts import PeoplesEvidence
from workers.auth import create_credential, create_enrolment_token
from workers.models import Credential, EnrolmentToken, Event, Notice, TrailSeal, Worker
from workers.services.notices import post_notice

pytestmark = pytest.mark.django_db

FOR_ADMINISTRATORS = (User, Group, ApiToken, SignInCode, UnixAccount, TrailSeal)


@pytest.fixture
def operator() -> Client:
    user = a_user("olga", staff=True)
    user.is_superuser = False
    user.save()
    return signed_in(user)


@pytest.fixture
def administrator() -> Client:
    return signed_in(a_user("ada", staff=True))


def signed_in(user: User) -> Client:
    client = Client(REMOTE_ADDR="10.1.2.3")
    client.force_login(user)
    return client


def place(model: type, page: str = "changelist", *keys: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=keys)


def act(client: Client, action: str, *rows: object) -> str:
    """Do this with the rows; what the next page says."""
    form = {"action": action, "_selected_action": [row.pk for row in rows]}
    page = client.post(place(type(rows[0])), form, follow=True).content.decode()
    return " ".join(re.findall(r'<ul class="messagelist">(.*?)</ul>', page, re.DOTALL))


@pytest.mark.parametrize("model", FOR_ADMINISTRATORS, ids=lambda model: model.__name__)
def test_operators_do_not_see_people_and_their_keys(operator: Client, administrator: Client, model: type) -> None:
    assert operator.get(place(model)).status_code == 403
    assert administrator.get(place(model)).status_code == 200
    assert place(model) not in operator.get("/admin/").content.decode()


def test_operators_see_the_events_of_the_fleet_alone(operator: Client, administrator: Client) -> None:
    told = Event.objects.create(at=timezone.now(), actor="user:ada", subject_kind="user", subject="noor", verb="role")
    assert "noor" not in operator.get(place(Event)).content.decode()
    assert operator.get(place(Event, "change", told.pk)).status_code == 302
    assert "noor" in administrator.get(place(Event)).content.decode()


def test_no_page_shows_a_secret_or_a_hash(administrator: Client) -> None:
    now = timezone.now()
    mira = a_user("mira")
    mira.set_password("correct horse battery")
    mira.save()
    _, token = create_token(user=mira, note="laptop", now=now)
    code = create_sign_in_code(user=mira, now=now)
    enrolment, _ = create_enrolment_token(uses=1, origin="", simulated=False, note="", created_by=mira, now=now)
    credential, row = create_credential(fleet=False, now=now)
    Credential.objects.filter(pk=row.pk).update(next_hash="f" * 64)
    a_worker("gpu-07", credential=row)
    a_job(owner=mira, secrets={"TOKEN": "hunter2hunter2"}, env={"A": "b"})
    hashes = {mira.password, "f" * 64}
    for model in (ApiToken, SignInCode, EnrolmentToken, Credential):
        hashes |= set(model.objects.values_list("hash", flat=True))
    unsaid = {token, code, enrolment, credential, "hunter2hunter2", *hashes}
    for model in admin.site._registry:
        page = administrator.get(place(model)).content.decode()
        for each in model.objects.all()[:5]:
            page += administrator.get(place(model, "change", each.pk)).content.decode()
        assert not [each for each in unsaid if each in page], model


class TestActs:
    def test_on_people_are_in_the_trail_with_their_address(self, administrator: Client) -> None:
        mira = a_user("mira")
        assert "1 kept out" in act(administrator, "keep_out", mira)
        assert "Nothing had to be done" in act(administrator, "keep_out", mira)
        event = Event.objects.get(subject_kind="user", subject="mira", verb="access")
        assert (event.actor, event.before, event.after) == ("user:ada", "enabled", "disabled")
        assert (event.address, event.via) == ("10.1.2.3", "session")
        for action in ("let_in", "sign_out", "unlock"):
            assert "1 " in act(administrator, action, mira)

    def test_the_last_administrator_stays(self, administrator: Client) -> None:
        assert "last administrator" in act(administrator, "keep_out", User.objects.get(username="ada"))
        assert User.objects.get(username="ada").is_active

    def test_a_token_is_revoked_by_who_did_it(self, administrator: Client) -> None:
        token, _ = create_token(user=a_user("mira"), note="", now=timezone.now())
        assert "1 revoked" in act(administrator, "revoke", token)
        assert Event.objects.get(subject=token.prefix, verb="revoked").actor == "user:ada"

    @pytest.mark.parametrize(
        ("action", "said"),
        [
            ("trust_chosen", "trusted again"), ("drain_chosen", "drained"), ("undrain_chosen", "Nothing"),
            ("revoke_chosen", "1 revoked"), ("rotate_chosen", "simulated fleet"),
        ],
    )  # fmt: skip
    def test_on_a_worker(self, operator: Client, action: str, said: str) -> None:
        assert said in act(operator, action, a_worker("gpu-07"))

    def test_on_a_worker_that_is_gone_say_so(self, operator: Client) -> None:
        worker = a_worker("gpu-07", liveness="revoked")
        assert "No worker" in act(operator, "trust_chosen", worker)
        assert Worker.objects.get().health == "ok"

    def test_on_jobs(self, operator: Client) -> None:
        first, second = a_job(), a_job()
        assert "2 paused" in act(operator, "pause_chosen", first, second)
        assert "1 resumed" in act(operator, "resume_chosen", first)
        assert "2 cancelled" in act(operator, "cancel_chosen", first, second)
        assert "is over (cancelled); only a job that waits" in act(operator, "pause_chosen", first)
        assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}
        assert {event.actor for event in Event.objects.filter(subject_kind="job", verb="state")} == {"user:olga"}

    def test_on_what_lets_machines_in_and_what_everybody_is_told(self, operator: Client) -> None:
        now = timezone.now()
        _, token = create_enrolment_token(uses=3, origin="", simulated=False, note="", created_by=None, now=now)
        notice = post_notice(text="new switch", actor="user:olga", now=now, ends_at=now + timedelta(days=1))
        assert "1 revoked" in act(operator, "revoke_chosen", token)
        assert "1 taken down" in act(operator, "end_chosen", notice)
        assert Notice.objects.get().ended_at is not None


@pytest.mark.parametrize("value", ["NaN", "", "9" * 30, "-1", "a", "\x00", "1.5", "1e3"])
@pytest.mark.parametrize("path", ["workers/label/add/?worker=", "accounts/unixaccount/add/?user="])
def test_an_address_that_fills_in_nonsense_fills_in_nothing(administrator: Client, path: str, value: str) -> None:
    assert administrator.get(f"/admin/{path}{value}").status_code == 200


@pytest.mark.parametrize(
    ("model", "address"),
    [(Worker, "worker%3Agpu-07"), (Job, "job%3Aj-"), (User, "user%3Aada")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_rows_page_leads_to_what_was_done_with_it(administrator: Client, model: type, address: str) -> None:
    a_worker("gpu-07")
    a_job()
    page = administrator.get(place(model, "change", model.objects.earliest("pk").pk)).content.decode()
    assert f"/audit?what={address}" in page


def test_there_is_one_door_and_one_place_for_passwords(client: Client, administrator: Client) -> None:
    assert client.get("/admin/").headers["Location"].startswith("/signin")
    assert client.get("/admin/login/?next=/admin/").headers["Location"].startswith("/signin")
    assert administrator.get("/admin/password_change/").headers["Location"] == "/profile"


def test_what_is_about_people_says_so() -> None:
    models = {model for model, ours in admin.site._registry.items() if model._meta.app_label in ("auth", "accounts")}
    shared = {model for model in models if isinstance(admin.site._registry[model], PeoplesEvidence)}
    assert models - shared == {UnixAccount}
