"""What is refused is written down: who, from where, by which door, what and why; a flood is cut short."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from gpulayer_site.audit.signins import NOBODY
from tests.factories import NOW, a_user, a_worker
from workers.auth import create_credential, create_enrolment_token
from workers.caller import calling, came_by
from workers.models import Credential, Event
from workers.refusals import Refused
from workers.services import trail
from workers.services.refusal_cap import Cap, place_of
from workers.services.trail import note_refusal

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail, "cap", Cap())


def refusals() -> list[Event]:
    return list(Event.objects.filter(subject_kind="access", verb="refused").order_by("pk"))


def only() -> Event:
    [event] = refusals()
    return event


class TestAtTheDoors:
    def test_a_call_without_any_token(self, client: Client) -> None:
        assert client.get("/api/v1/jobs", REMOTE_ADDR="10.1.2.3").status_code == 401
        event = only()
        assert (event.actor, event.address, event.via, event.after) == ("anonymous", "10.1.2.3", "", "unauthorized")
        assert event.detail == {"method": "GET", "path": "/api/v1/jobs", "status": 401}

    def test_an_unknown_token_leaves_only_its_beginning(self, client: Client) -> None:
        secret = "glu_abcdefghijklmnopqrstuvwxyz0123456789"
        assert client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
        event = only()
        assert (event.actor, event.via, event.after) == ("anonymous", "token glu_abcd", "token_unknown")
        assert secret not in str(vars(event))

    def test_something_else_in_its_place_leaves_nothing(self, client: Client) -> None:
        assert client.get("/api/v1/jobs", headers={"Authorization": "Bearer my-own-password"}).status_code == 401
        assert "password" not in str(vars(only()))

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            pytest.param({"expires_at": NOW.replace(year=2020)}, "token_expired", id="expired"),
            pytest.param({"uses_left": 0}, "token_used_up", id="used up"),
        ],
    )
    def test_an_enrolment_token_that_is_worth_nothing(self, client: Client, change: dict, reason: str) -> None:
        secret, row = create_enrolment_token(
            uses=1, origin="", simulated=False, note="", created_by=None, now=timezone.now()
        )
        type(row).objects.filter(pk=row.pk).update(**change)
        answer = client.post(
            "/api/agent/v1/enroll", "{}", "application/json", headers={"Authorization": f"Bearer {secret}"}
        )
        assert answer.status_code == 401
        assert (only().actor, only().after) == (f"enrolment:{row.prefix}", reason)

    def test_a_workers_revoked_credential_names_the_worker(self, client: Client) -> None:
        secret, credential = create_credential(fleet=False, now=NOW)
        a_worker("gpu-07", credential=credential)
        Credential.objects.filter(pk=credential.pk).update(revoked_at=NOW)
        call = client.post(
            "/api/agent/v1/heartbeat", "{}", "application/json", headers={"Authorization": f"Bearer {secret}"}
        )
        assert call.status_code == 401
        assert (only().actor, only().after) == ("worker:gpu-07", "credential_revoked")

    def test_a_form_without_its_token_is_refused_by_name(self) -> None:
        browser = Client(enforce_csrf_checks=True)
        browser.force_login(a_user("mira"))
        assert browser.post("/profile/theme").status_code == 403
        assert (only().actor, only().via, only().subject) == ("user:mira", "session", "/profile/theme")


class TestSigningIn:
    def test_a_wrong_password_for_somebody_who_is_there(self, client: Client) -> None:
        a_user("mira")
        client.post("/signin", {"username": "mira", "password": "not mine"}, REMOTE_ADDR="10.1.2.3")
        event = refusals()[0]
        assert (event.actor, event.subject, event.after) == ("anonymous", "user:mira", "wrong_password")
        assert event.address == "10.1.2.3"

    def test_a_password_typed_as_a_name_is_not_kept(self, client: Client) -> None:
        client.post("/signin", {"username": "correct horse", "password": "battery staple"})
        assert {event.subject for event in refusals()} == {f"user:{NOBODY}"}
        assert "horse" not in str(list(Event.objects.values()))

    def test_and_one_that_succeeds(self, client: Client) -> None:
        user = a_user("mira")
        user.set_password("correct horse")
        user.save()
        client.post("/signin", {"username": "mira", "password": "correct horse"}, REMOTE_ADDR="10.1.2.3")
        client.post("/signout")
        said = Event.objects.filter(subject_kind="user", verb__in=("signed_in", "signed_out")).order_by("pk")
        assert [(event.actor, event.verb) for event in said] == [
            ("user:mira", "signed_in"), ("user:mira", "signed_out"),
        ]  # fmt: skip
        assert said[0].address == "10.1.2.3"


@transaction.atomic
def refused_within_a_transaction() -> None:
    note_refusal(actor="user:noor", subject="j-12", reason="not_seen", now=NOW)
    raise Refused("not_yours", "it belongs to mira", status=403)


class TestNoting:
    def test_what_is_rolled_back_during_a_call_is_kept_until_its_end(self) -> None:
        with calling("10.1.2.3") as noted:
            came_by("session")
            with pytest.raises(Refused):
                refused_within_a_transaction()
            assert not refusals()
        trail.write_refusals(noted)
        assert (only().subject, only().address, only().via) == ("j-12", "10.1.2.3", "session")

    def test_outside_of_calls_it_is_written_at_once(self) -> None:
        note_refusal(actor="user:noor", subject="j-12", reason="not_seen", now=NOW)
        assert only().after == "not_seen"

    def test_hostile_names_stay_on_their_line(self) -> None:
        hostile = "j-1\r\n2026 INFO all is well\x1b[2J\u202eevil\x00\ud800\x9b" + "x" * 500
        note_refusal(actor="user:noor", subject=hostile, reason="not_seen", now=NOW, detail={"k\n": [hostile]})
        event = only()
        assert event.subject.startswith(r"j-1\r\n2026 INFO all is well\x1b[2J\u202eevil\x00\ud800\x9bxxx")
        assert len(event.subject) == 300
        assert event.subject.isprintable()
        assert event.detail["k\\n"][0].isprintable()


class TestTheCap:
    def test_a_flood_is_cut_short_and_counted(self) -> None:
        cap = Cap(burst=3, every=10)
        assert [cap.take("10.0.0.1", now) for now in (0, 0, 0, 0, 0)] == [0, 0, 0, None, None]
        assert cap.take("10.0.0.1", 10.0) == 2
        assert cap.take("10.0.0.1", 10.0) is None

    def test_one_place_leaves_the_others_their_share(self) -> None:
        cap = Cap(burst=2, every=10)
        flood = [cap.take("10.0.0.1", 0) for _ in range(100)]
        assert flood.count(None) == 98
        assert cap.take("10.0.0.2", 0) == 0

    def test_many_places_together_have_an_end_too(self) -> None:
        cap = Cap(burst_of_all=50)
        taken = [cap.take(f"10.0.{n // 200}.{n % 200}", 0) for n in range(1000)]
        assert taken.count(0) == 50

    @pytest.mark.parametrize(
        ("address", "place"),
        [
            ("10.0.0.1", "10.0.0.1"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"), ("::ffff:10.0.0.1", "10.0.0.1"),
            ("", ""), ("unix", "unix"),
        ],
    )  # fmt: skip
    def test_an_ipv6_line_is_one_place(self, address: str, place: str) -> None:
        assert place_of(address) == place

    def test_the_event_says_how_many_were_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(trail, "cap", Cap(burst=1, every=timedelta(microseconds=1).total_seconds()))
        trail.cap.take("", 0)
        trail.cap._places[""].left_out = 7
        note_refusal(actor="anonymous", subject="/", reason="unauthorized", now=NOW)
        assert only().detail == {"left_out_before": 7}


class TestBeingLockedOut:
    def test_is_told_apart_from_a_wrong_password(self, client: Client) -> None:
        user = a_user("mira")
        user.set_password("correct horse")
        user.save()
        for _ in range(7):
            client.post("/signin", {"username": "mira", "password": "not mine"})
        client.post("/signin", {"username": "mira", "password": "correct horse"})
        reasons = [event.after for event in refusals()]
        assert (len(reasons), set(reasons[:4]), set(reasons[5:])) == (8, {"wrong_password"}, {"locked_out"})
        assert {event.subject for event in refusals()} == {"user:mira"}
