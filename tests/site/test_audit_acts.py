"""Every act that changes something, or that only the trusted may do, leaves an event: who, before, after."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.utils import timezone

from gpulayer_site.accounts import people, teams
from gpulayer_site.accounts.tokens import create_token, revoke_token
from scheduler.services import deleting
from scheduler.services.jobs import cancel_job
from scheduler.services.pausing import pause_job, resume_job
from scheduler.services.reservations import amend, end_reservation, reserve
from scheduler.services.sealing import hand_out, seal_anew
from tests.factories import NOW, a_job, a_user, a_worker, later
from workers import services
from workers.auth import create_credential, create_enrolment_token, credential_of
from workers.models import Event
from workers.roles import Role
from workers.services.limits import set_limits
from workers.services.notices import end_notice, post_notice
from workers.services.operator_labels import remove_label, set_label

pytestmark = pytest.mark.django_db

BY = {"actor": "user:ada", "now": NOW}


def told(subject: str, verb: str) -> list[tuple[str, str, str]]:
    """Who, before and after, of every such event."""
    return [
        (event.actor, event.before, event.after)
        for event in Event.objects.filter(subject=subject, verb=verb).order_by("pk")
    ]


class TestOnMachines:
    def test_labels(self) -> None:
        worker = a_worker("gpu-07")
        label = set_label(worker=worker, key="site", value="lund", **BY)
        label = set_label(worker=worker, key="site", value="oslo", **BY)
        remove_label(label=label, **BY)
        assert [each[1:] for each in told("gpu-07", "label site")] == [("", "lund"), ("lund", "oslo"), ("oslo", "")]

    def test_drains_limits_and_trust(self) -> None:
        worker = a_worker("gpu-07")
        services.drain(name="gpu-07", note="fans", **BY)
        services.undrain(name="gpu-07", **BY)
        set_limits([worker.pk], limits={"max_concurrent_tasks": 2}, **BY)
        services.trust(name="gpu-07", **BY)
        assert [each[1:] for each in told("gpu-07", "intent")] == [("active", "draining"), ("draining", "active")]
        assert told("gpu-07", "limits") == [("user:ada", "as the agent says", "max_concurrent_tasks 2")]
        assert told("gpu-07", "trusted") == [("user:ada", "", "2026-11-30T12:00:00+00:00")]

    def test_their_credentials(self) -> None:
        _, credential = create_credential(fleet=False, now=NOW)
        worker = a_worker("gpu-07", credential=credential)
        services.ask_to_rotate(name="gpu-07", **BY)
        new = services.rotate(credential=credential, epoch=worker.epoch, now=NOW)
        assert credential_of(new, now=NOW) is not None
        assert [each[0] for each in told("gpu-07", "credential")] == ["user:ada", "worker:gpu-07", "worker:gpu-07"]
        assert told("gpu-07", "credential")[-1][1:] == (credential.prefix, new[:10])
        services.revoke(name="gpu-07", **BY)
        assert told("gpu-07", "liveness") == [("user:ada", "online", "revoked")]

    def test_enrolment_tokens(self) -> None:
        _, token = create_enrolment_token(
            uses=2, origin="", simulated=False, note="rack", created_by=a_user("ada"), now=timezone.now()
        )
        services.revoke_token(token_id=token.pk, actor="user:ada", now=timezone.now())
        assert told(token.prefix, "created") == [("user:ada", "", "2 uses")]
        assert told(token.prefix, "revoked") == [("user:ada", "2 left", "")]

    def test_reservations_and_notices(self) -> None:
        kept = reserve(worker=a_worker("gpu-07"), holder="user:noor", starts_at=NOW, ends_at=later(hours=2), **BY)
        kept.ends_at = later(hours=3)
        amend(reservation=kept, **BY)
        end_reservation(reservation=kept, **BY)
        [(_, before, after)] = told(str(kept.pk), "changed")
        assert before != after
        assert before
        assert told(str(kept.pk), "ended")[0][0] == "user:ada"
        notice = post_notice(text="new switch", **BY)
        end_notice(notice_id=notice.pk, **BY)
        assert [told(str(notice.pk), verb)[0][0] for verb in ("created", "ended")] == ["user:ada", "user:ada"]


class TestOnJobs:
    def test_their_lives(self) -> None:
        job = a_job()
        pause_job(job=job, **BY)
        resume_job(job=job, **BY)
        deleting.delete_job(job=cancel_job(job=job, **BY), **BY)
        moves = [("queued", "paused"), ("paused", "queued"), ("queued", "cancelled")]
        assert [each[1:] for each in told(job.job_id, "state")] == moves
        assert told(job.job_id, "deleted") == [("user:ada", "cancelled", "")]

    def test_who_got_their_secrets_by_name_and_never_the_values(self) -> None:
        job = a_job(secrets={"TOKEN": "hunter2hunter2", "KEY": "hunter3hunter3"})
        assert hand_out(job, task_id=7, worker="gpu-07", now=NOW)["TOKEN"] == "hunter2hunter2"
        assert told(job.job_id, "secrets") == [("worker:gpu-07", "", "KEY, TOKEN")]
        seal_anew(now=NOW)
        assert told("secrets", "sealed_anew") == [("server", "", "1 jobs")]
        assert "hunter" not in str(list(Event.objects.values()))


class TestOnPeople:
    def test_from_coming_to_being_kept_out(self) -> None:
        team = teams.create_team(name="vision", **BY)
        user, password = people.create_person(username="noor", role=Role.VIEWER, teams=[team], **BY)
        people.set_role(user=user, role=Role.OPERATOR, **BY)
        people.set_unix_user(user=user, name="noor", **BY)
        people.set_active(user=user, active=False, **BY)
        assert told("noor", "created") == [("user:ada", "", "viewer")]
        assert told("noor", "role") == [("user:ada", "viewer", "operator")]
        assert told("noor", "unix_account") == [("user:ada", "", "noor")]
        assert told("noor", "access") == [("user:ada", "enabled", "disabled")]
        assert password not in str(list(Event.objects.values()))

    def test_tokens(self) -> None:
        token, secret = create_token(user=a_user("mira"), note="", now=NOW, expires_at=NOW + timedelta(days=1))
        revoke_token(token=token, now=NOW, actor="user:ada")
        assert [told(token.prefix, verb)[0][0] for verb in ("created", "revoked")] == ["user:mira", "user:ada"]
        assert secret not in str(list(Event.objects.values()))

    def test_commands_on_the_server(self, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("admin_code")
        code = capsys.readouterr().out.strip()
        call_command("api_token", note="ci")
        admin = User.objects.get()
        assert told(admin.username, "created") == [("server", "", "administrator")]
        assert told(admin.username, "sign_in_code") == [("server", "", "")]
        assert {event.via for event in Event.objects.filter(verb="sign_in_code")} == {"command on the server"}
        assert code not in str(list(Event.objects.values()))
