"""The pages on which operators let machines in, and what they do with a worker; nothing needs a script."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.utils import timezone

from tests.factories import a_job, a_pass, a_worker, changed
from workers.auth import create_credential, create_enrolment_token
from workers.models import EnrolmentToken, Event, Worker

pytestmark = pytest.mark.django_db


class TestEnrolment:
    def test_a_token_is_shown_once_with_the_command_for_the_new_machine(self, operator: Client) -> None:
        answer = operator.post("/enrolment", {"note": "gpu-07", "uses": "1", "origin": ""})
        shown = answer.content.decode()
        found = re.search(r"<code>(gle_[A-Za-z0-9_-]{43})</code>", shown)
        assert found
        row = EnrolmentToken.objects.get()
        assert (row.note, row.uses_left, row.created_by and row.created_by.username) == ("gpu-07", 1, "ada")
        assert "worker start --url http://testserver --allow-http" in html.unescape(shown)
        assert found[1] not in operator.get("/enrolment").content.decode()
        assert "no-store" in answer.headers["Cache-Control"]

    def test_the_command_never_holds_the_token(self, operator: Client) -> None:
        shown = operator.post("/enrolment", {"uses": "1"}).content.decode()
        commands = re.findall(r"<code>([^<]*worker start[^<]*)</code>", shown)
        assert commands
        assert not [command for command in commands if "gle_" in command]

    def test_the_list_has_live_tokens_only_and_ends_them(self, operator: Client) -> None:
        for note in ("first", "second"):
            operator.post("/enrolment", {"note": note, "uses": "2"})
        EnrolmentToken.objects.filter(note="first").update(expires_at=timezone.now())
        shown = operator.get("/enrolment").content.decode()
        assert ("first" in shown, "second" in shown, "2 uses left" in shown) == (False, True, True)
        operator.post(f"/enrolment/{EnrolmentToken.objects.get(note='second').pk}/revoke")
        assert "None." in operator.get("/enrolment").content.decode()
        operator.post("/enrolment/99/revoke")

    @pytest.mark.parametrize(
        ("field", "value"),
        [("uses", "0"), ("uses", "many"), ("uses", "10001"), ("note", "x" * 201), ("origin", "moon")],
    )
    def test_a_mistake_is_told_beside_its_field(self, operator: Client, field: str, value: str) -> None:
        answer = operator.post("/enrolment", {"uses": "1", field: value})
        assert answer.status_code == 422
        assert "invalid-feedback" in answer.content.decode()
        assert not EnrolmentToken.objects.exists()

    def test_others_are_told_to_ask_an_operator(self, page: Client) -> None:
        assert page.get("/enrolment").status_code == 403
        assert page.post("/enrolment", {"uses": "1"}).status_code == 403
        assert "Ask an operator for an enrolment token" in page.get("/workers").content.decode()
        secret, row = create_enrolment_token(
            uses=1, origin="", simulated=False, note="", created_by=None, now=timezone.now()
        )
        assert page.post(f"/enrolment/{row.pk}/revoke").status_code == 403
        row.refresh_from_db()
        assert row.expires_at > timezone.now()
        assert secret

    def test_the_workers_page_makes_one_too(self, operator: Client) -> None:
        assert 'action="/enrolment"' in operator.get("/workers").content.decode(), "while there are none"
        a_worker("w1")
        assert 'action="/enrolment"' in operator.get("/workers").content.decode()


def where(key: str) -> str:
    return f"/workers/w1/{'' if key in ('drain', 'undrain', 'retire') else 'act/'}{key}"


class TestActs:
    def test_are_for_operators(self, page: Client, operator: Client) -> None:
        a_worker("w1")
        assert "Revoke credential" not in page.get("/workers/w1").content.decode()
        assert "Revoke credential" in operator.get("/workers/w1").content.decode()
        for key in ("drain", "undrain", "trust", "rotate", "revoke", "retire"):
            assert page.get(where(key)).status_code == 403
            assert page.post(where(key)).status_code == 403
        assert Worker.objects.get().liveness == "online"
        assert operator.post("/workers/w1/act/explode").status_code == 404

    def test_asking_does_nothing(self, operator: Client) -> None:
        a_worker("w1", credential=create_credential(fleet=False, now=timezone.now())[1])
        for key in ("drain", "rotate", "revoke", "retire"):
            assert "?</h1>" in operator.get(where(key)).content.decode()
            shown = operator.get(where(key), headers={"HX-Request": "true"}).content.decode()
            assert shown.startswith("<dialog")
        assert not Event.objects.filter(subject="w1").exists()

    def test_drain_and_undrain_keep_the_note(self, operator: Client) -> None:
        a_worker("w1")
        shown = operator.post("/workers/w1/drain", {"note": "new fans"}, follow=True).content.decode()
        assert "new fans" in shown
        assert Worker.objects.get().intent == "draining"
        operator.post("/workers/w1/undrain")
        assert Worker.objects.get().intent == "active"

    def test_revoking_names_what_runs_there(self, operator: Client) -> None:
        a_worker("w1")
        job = a_job()
        a_pass()
        asked = operator.get("/workers/w1/act/revoke").content.decode()
        assert job.job_id in asked
        shown = operator.post("/workers/w1/act/revoke", follow=True).content.decode()
        assert "The credential of w1 is revoked." in shown
        assert Worker.objects.get().liveness == "revoked"

    def test_retiring_waits_for_what_runs_there(self, operator: Client) -> None:
        a_worker("w1")
        job = a_job()
        a_pass()
        shown = operator.post("/workers/w1/retire", follow=True).content.decode()
        assert f"w1 still runs {job.job_id}" in shown
        assert Worker.objects.get().intent == "active"

    def test_an_unhealthy_worker_is_cleared(self, operator: Client) -> None:
        changed(a_worker("w1"), health="unhealthy", health_note="3 jobs in a row failed")
        assert "Clear as healthy" in operator.get("/workers/w1").content.decode()
        operator.post("/workers/w1/act/trust")
        assert Worker.objects.get().health == "ok"

    def test_the_credential_is_shown_by_its_first_characters(self, operator: Client, page: Client) -> None:
        secret, row = create_credential(fleet=False, now=timezone.now())
        a_worker("w1", credential=row)
        shown = operator.get("/workers/w1").content.decode()
        assert f"{row.prefix}…" in shown
        assert secret not in shown
        assert row.hash not in shown
        assert row.prefix not in page.get("/workers/w1").content.decode()

    def test_another_machine_with_its_credential_is_told(self, operator: Client, page: Client) -> None:
        a_worker("w1")
        assert "Another machine" not in operator.get("/workers/w1").content.decode()
        Event.objects.create(at=timezone.now(), actor="worker:w1", subject_kind="worker", subject="w1",
                             verb="machine_conflict")  # fmt: skip
        assert "Another machine tried to speak as w1" in operator.get("/workers/w1").content.decode()
        assert "Another machine" not in page.get("/workers/w1").content.decode()
