"""No secret's value anywhere but in the answer to the agent that claims the task (invariant I14)."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from scheduler.models import Event, Job
from scheduler.services.jobs import submit_job
from scheduler.services.passes import run_pass
from scheduler.services.sealing import drop_old, seal_anew
from tests.api.callers import Caller, Placed, place

pytestmark = pytest.mark.django_db

CANARY = "canary-Zk3vQ9-hunter2"
SECRETS = {"HF_TOKEN": CANARY}
DOCUMENT: dict[str, Any] = {"name": "a job", "command": ["true"], "target": "local", "secrets": SECRETS}


def traces(text: str | bytes) -> list[str]:
    """How the canary shows in it: plain, or in one of the three shifts of base64."""
    data = text.encode() if isinstance(text, str) else text
    shifts = {f"base64, {n}": base64.b64encode(b" " * n + CANARY.encode())[4:-4] for n in range(3)}
    return [name for name, sign in {"plain": CANARY.encode(), **shifts}.items() if sign in data]


@pytest.fixture
def owner(mira: User) -> Client:
    client = Client()
    client.force_login(mira)
    return client


@pytest.fixture
def operator(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    return client


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    with caplog.at_level(logging.DEBUG):
        yield lambda: "\n".join(f"{record.getMessage()} {record.args}" for record in caplog.records)


def dump() -> str:
    """Every row of every table, as the database gives it."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows = []
        for table in tables:
            cursor.execute(f'SELECT * FROM "{table}"')
            rows += [bytes(cell).hex() + str(bytes(cell)) if isinstance(cell, bytes | memoryview) else str(cell)
                     for row in cursor.fetchall() for cell in row]  # fmt: skip
    return "\n".join(rows)


def test_the_agent_that_claims_the_task_gets_the_values(agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, secrets=SECRETS)
    assert agent.ok(placed.path("claim"), placed.guard)["secrets"] == SECRETS
    assert agent.ok(placed.path("claim"), placed.guard)["secrets"] == SECRETS, "and again, if the answer got lost"


def test_another_agent_does_not(enrolment: Callable[..., Caller], agent: Caller, mira: User) -> None:
    placed = place(agent, "w1", owner=mira, secrets=SECRETS)
    other = enrolment().enrol("w2")
    other.register("w2")
    answer = other.post(placed.path("claim"), {**placed.guard, "epoch": other.epochs["w2"]})
    assert answer.status_code == 404
    assert traces(answer.content) == []


def test_the_whole_life_of_a_job_leaves_no_trace_of_the_value(
    agent: Caller, owner: Client, operator: Client, logged: Callable[[], str]
) -> None:
    submitted = owner.post("/api/v1/jobs", json.dumps(DOCUMENT), "application/json", headers={"Idempotency-Key": "k"})
    assert submitted.status_code == 201, submitted.content
    job_id = submitted.json()["job_id"]
    run_pass(now=timezone.now, holder="test")
    job = Job.objects.get()
    task = job.attempts.get().tasks.get()
    placed = Placed(job, task.pk, job.attempts.get().fence, agent.epochs["w1"])
    assert agent.ok(placed.path("claim"), placed.guard)["secrets"] == SECRETS
    shown = {path: owner.get(path).content for path in pages_of(job_id)}
    shown |= {f"operator: {path}": operator.get(path).content for path in [*pages_of(job_id), *admin_of(job)]}
    for call in ("clone", "cancel"):
        shown[call] = owner.post(f"/api/v1/jobs/{job_id}/{call}").content
    assert {where: traces(content) for where, content in shown.items() if traces(content)} == {}
    assert b"HF_TOKEN" in shown[f"/jobs/{job_id}/spec"]
    assert traces(dump()) == []
    assert traces(logged()) == []


def pages_of(job_id: str) -> list[str]:
    job = f"/jobs/{job_id}"
    pages = [job, f"{job}/live", f"{job}/candidates", f"{job}/spec", f"{job}/log", "/jobs", f"/jobs/new?like={job_id}",
             f"/jobs/new?like={job_id}&as=yaml"]  # fmt: skip
    calls = ["", "/decision", "/replay", "/replay?today=true", "/why"]
    return [*pages, *(f"/api/v1{job}{call}" for call in calls), "/api/v1/jobs"]


def admin_of(job: Job) -> list[str]:
    kinds = {"scheduler_job": job.pk, "scheduler_decision": job.decision_id}
    one = [reverse(f"admin:{name}_change", args=[pk]) for name, pk in kinds.items()]
    return [*one, *(reverse(f"admin:{name}_changelist") for name in (*kinds, "workers_event"))]


def test_what_is_wrong_with_a_document_shows_no_value(owner: Client) -> None:
    wrong: dict[str, Any] = {**DOCUMENT, "secrets": {"HF_TOKEN": [CANARY], "B": CANARY + "\0"}, "gpu": 1}
    for body, kind in (
        (json.dumps(wrong), "json"),
        (f"secrets: {{A: {CANARY}\n", "yaml"),
        (f"secrets: {CANARY}", "yaml"),
    ):
        answer = owner.post("/api/v1/jobs", body, f"application/{kind}")
        assert answer.status_code == 422
        assert traces(answer.content) == []


class TestAnIdempotencyKey:
    def send(self, owner: Client, value: str) -> Any:
        body = json.dumps({**DOCUMENT, "secrets": {"HF_TOKEN": value}})
        return owner.post("/api/v1/jobs", body, "application/json", headers={"Idempotency-Key": "k"})

    def test_belongs_to_the_values_too(self, owner: Client) -> None:
        first = self.send(owner, CANARY).json()["job_id"]
        assert self.send(owner, CANARY).json()["job_id"] == first
        assert self.send(owner, "another").json()["code"] == "idempotency_key_reused"

    def test_its_digest_cannot_be_guessed_from_the_row(self, owner: Client) -> None:
        from hashlib import sha256

        from scheduler.core.codec import canonical_bytes

        self.send(owner, "a")
        guesses = [{**DOCUMENT, "secrets": {"HF_TOKEN": value}} for value in ("a", "(not shown)")]
        assert Job.objects.get().idempotency_digest not in {sha256(canonical_bytes(one)).hexdigest() for one in guesses}


class TestClones:
    def test_of_ones_own_job_have_its_secrets(self, agent: Caller, owner: Client, mira: User) -> None:
        job = submit_job(document=DOCUMENT, owner=mira, now=timezone.now())
        made = Job.objects.get(job_id=owner.post(f"/api/v1/jobs/{job.job_id}/clone").json()["job_id"])
        assert (made.cloned_from, made.owner) == (job, mira)
        assert opened(agent, made) == SECRETS

    def test_of_anothers_job_need_the_values_anew(self, operator: Client, mira: User) -> None:
        """An operator who could run them under another command could read them."""
        job = submit_job(document=DOCUMENT, owner=mira, now=timezone.now())
        answer = operator.post(f"/api/v1/jobs/{job.job_id}/clone")
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "secrets.HF_TOKEN")
        assert Job.objects.count() == 1

    def test_of_anothers_job_do_not_have_its_env(self, owner: Client) -> None:
        job = submit_job(document={**DOCUMENT, "secrets": {}, "env": {"A": "1"}}, owner=User.objects.create_user("noa"),
                         now=timezone.now())  # fmt: skip
        answer = owner.post(f"/api/v1/jobs/{job.job_id}/clone")
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "env")

    def test_the_sign_for_a_hidden_value_is_no_value(self, owner: Client) -> None:
        body = json.dumps({**DOCUMENT, "secrets": {"HF_TOKEN": "(not shown)"}})
        answer = owner.post("/api/v1/jobs", body, "application/json")
        assert answer.status_code == 422
        assert answer.json()["problems"] == [{
            "path": "secrets.HF_TOKEN", "found": "the sign for a hidden value",
            "expected": "the value itself: it is not kept here, or no longer",
        }]  # fmt: skip


class TestRetries:
    def test_are_their_owners_even_where_an_operator_asks(self, agent: Caller, operator: Client, mira: User) -> None:
        job = over(submit_job(document=DOCUMENT, owner=mira, now=timezone.now()))
        made = Job.objects.get(job_id=operator.post(f"/api/v1/jobs/{job.job_id}/retry").json()["job_id"])
        assert (made.owner, made.cloned_from, made.spec) == (mira, job, job.spec)
        event = Event.objects.get(subject=made.job_id, verb="submitted")
        assert (event.actor, event.cause) == ("user:ada", f"retry of {job.job_id}")
        assert opened(agent, made) == SECRETS

    def test_are_linked_both_ways(self, owner: Client, mira: User) -> None:
        job = over(submit_job(document=DOCUMENT, owner=mira, now=timezone.now()))
        made = owner.post(f"/api/v1/jobs/{job.job_id}/retry").json()
        assert made["cloned_from"] == job.job_id
        assert owner.get(f"/api/v1/jobs/{job.job_id}").json()["clones"] == [made["job_id"]]

    def test_the_same_key_again_makes_no_second(self, owner: Client, mira: User) -> None:
        job = over(submit_job(document=DOCUMENT, owner=mira, now=timezone.now()))
        made = [
            owner.post(f"/api/v1/jobs/{job.job_id}/retry", headers={"Idempotency-Key": "k"}).json()["job_id"]
            for _ in range(2)
        ]
        assert made[0] == made[1]

    def test_need_the_values_anew_once_they_are_too_old(self, owner: Client, mira: User) -> None:
        job = over(submit_job(document=DOCUMENT, owner=mira, now=timezone.now()))
        assert drop_old(before=timezone.now() - timedelta(hours=1)) == 0
        assert drop_old(before=timezone.now() + timedelta(hours=1)) == 1
        answer = owner.post(f"/api/v1/jobs/{job.job_id}/retry")
        assert (answer.status_code, answer.json()["problems"][0]["path"]) == (422, "secrets.HF_TOKEN")


class TestKeys:
    OLD, NEW = (Fernet.generate_key().decode() for _ in range(2))

    def test_a_new_one_in_front_opens_what_the_old_one_closed(
        self, agent: Caller, mira: User, settings: Settings
    ) -> None:
        settings.GPULAYER_SECRETS_KEYS = (self.OLD,)
        placed = place(agent, "w1", owner=mira, secrets=SECRETS)
        settings.GPULAYER_SECRETS_KEYS = (self.NEW, self.OLD)
        assert agent.ok(placed.path("claim"), placed.guard)["secrets"] == SECRETS

    def test_after_sealing_anew_the_old_one_can_go(self, agent: Caller, mira: User, settings: Settings) -> None:
        settings.GPULAYER_SECRETS_KEYS = (self.OLD,)
        placed = place(agent, "w1", owner=mira, secrets=SECRETS)
        settings.GPULAYER_SECRETS_KEYS = (self.NEW, self.OLD)
        assert seal_anew(now=timezone.now()) == 1
        settings.GPULAYER_SECRETS_KEYS = (self.NEW,)
        assert agent.ok(placed.path("claim"), placed.guard)["secrets"] == SECRETS

    def test_sealing_anew_says_when_a_key_is_missing(self, agent: Caller, mira: User, settings: Settings) -> None:
        settings.GPULAYER_SECRETS_KEYS = (self.OLD,)
        place(agent, "w1", owner=mira, secrets=SECRETS)
        settings.GPULAYER_SECRETS_KEYS = (self.NEW,)
        with pytest.raises(CommandError, match="add it behind the first"):
            call_command("reseal_secrets")

    def test_without_the_right_one_the_agent_is_told_to_ask_again(
        self, agent: Caller, mira: User, settings: Settings
    ) -> None:
        settings.GPULAYER_SECRETS_KEYS = (self.OLD,)
        placed = place(agent, "w1", owner=mira, secrets=SECRETS)
        settings.GPULAYER_SECRETS_KEYS = (self.NEW,)
        answer = agent.post(placed.path("claim"), placed.guard)
        assert (answer.status_code, answer.json()["code"]) == (503, "secrets_unavailable")
        settings.GPULAYER_SECRETS_KEYS = (self.OLD,)
        assert agent.ok(placed.path("claim"), placed.guard)["secrets"] == SECRETS

    def test_one_owners_row_opens_nothing_in_anothers(self, agent: Caller, mira: User) -> None:
        theirs = submit_job(document=DOCUMENT, owner=User.objects.create_user("noa"), now=timezone.now())
        placed = place(agent, "w1", owner=mira, secrets={"HF_TOKEN": "mine"})
        Job.objects.filter(pk=placed.job.pk).update(secrets=theirs.secrets)
        assert agent.post(placed.path("claim"), placed.guard).status_code == 503


def over(job: Job) -> Job:
    """The job, ended as if its worker had said so."""
    Job.objects.filter(pk=job.pk).update(state="failed", finished_at=timezone.now(), exit_code=1)
    job.refresh_from_db()
    return job


def opened(agent: Caller, job: Job) -> dict[str, str]:
    """What an agent gets of the job's secrets."""
    from tests.api.callers import assigned

    placed = assigned(agent, job, "w1", now=timezone.now())
    return dict(agent.ok(placed.path("claim"), placed.guard)["secrets"])
