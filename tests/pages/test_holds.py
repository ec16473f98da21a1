"""A hold: made in the form, shown with the way to its devices, extended and released on its page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from gpulayer_site.accounts.models import UnixAccount
from scheduler.models import DeviceHold, Event, Job, Task
from scheduler.services import holds
from scheduler.services.machines import move_attempt, move_job, move_task
from tests.factories import a_job, a_pass, a_user, a_worker, changed
from workers.models import Device, Worker

pytestmark = pytest.mark.django_db


def text_of(client: Client, address: str, **more: str) -> str:
    answer = client.get(address, **more)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


@pytest.fixture
def held(mira) -> Job:
    """Two devices of gpu-065 that are mira's for four hours."""
    host = {"hostname": "gpu-065", "user": "agent", "address": "gpu-065.lab.example"}
    worker = a_worker("gpu-065", gpus="4xA100", host=host)
    Device.objects.filter(worker=worker, index=0).update(
        utilisation=7, memory_used=2_000_000_000, processes=[{"pid": 51204, "user": "mira", "memory": 400_000_000}]
    )
    job = a_job(name="debug-nccl", command=None, hold_s=4 * 3600, gpus=2, owner=mira)
    a_pass(timezone.now())
    task, at = Task.objects.get(), timezone.now()
    for to in ("claimed", "running"):
        fields = {"claimed_at": at} if to == "claimed" else {"started_at": at}
        assert move_task(task, to, frm=task.state, actor="test", now=at, **fields)
    assert move_attempt(task.attempt, "running", frm="assigned", actor="test", now=at)
    job.refresh_from_db()
    assert move_job(job, "running", frm="assigned", actor="test", now=at, started_at=at)
    holds.begin(job, now=at)
    job.refresh_from_db()
    return job


def test_the_form_makes_a_hold(page):
    form = text_of(page, "/jobs/new?as=hold")
    assert "<h1>Hold devices</h1>" in form
    assert 'name="command"' not in form
    made = page.post("/jobs/new", {"mode": "hold", "name": "debug", "hold_s": "4 h", "gpus": "2", "target": "local"})
    job = Job.objects.get()
    assert made.headers["Location"] == f"/jobs/{job.job_id}/devices"
    assert job.spec == {"name": "debug", "target": "local", "resources": {"gpus": 2}, "hold_s": 14400}


def test_changing_over_to_a_hold_keeps_what_is_asked_for(page):
    sent = {
        "act": "hold",
        "name": "x",
        "command": "python train.py",
        "gpus": "2",
        "target": "remote",
        "files": "f" * 64,
    }
    form = page.post("/jobs/new", sent).content.decode()
    assert 'name="gpus" value="2"' in form
    assert 'name="hold_s" value="4 h"' in form
    assert "invalid-feedback" not in form
    aside = {
        "name": "x",
        "mode": "hold",
        "hold_s": "4 h",
        "gpus": "2",
        "target": "remote",
        "command": "python train.py",
    }
    assert '<input type="hidden" name="command" value="python train.py">' in form
    assert 'name="command" rows="2"' in page.post("/jobs/new", {**aside, "act": "form"}).content.decode()
    page.post("/jobs/new", aside)
    assert "command" not in Job.objects.get().spec


@pytest.mark.parametrize(
    ("typed", "said"), [("", "how long"), ("10", "from 60"), ("8 d", "from 60"), ("soon", "from 60")]
)
def test_how_long_has_to_be_said(page, typed, said):
    form = page.post("/jobs/new", {"mode": "hold", "name": "x", "hold_s": typed, "target": "local"})
    assert form.status_code == 200
    found = re.search(r'id="f-hold_s-error">(.*?)</div></div>', form.content.decode(), re.DOTALL)
    assert found
    assert said in found[1]
    assert not Job.objects.exists()


def test_the_page_says_who_holds_what_until_when_and_how_to_get_there(page, held):
    text = text_of(page, f"/jobs/{held.job_id}/devices")
    until = held.hold_until.strftime("%H:%M")
    assert f"Held until {until}" in text
    assert "Held by mira until" in text
    assert "ssh agent@gpu-065.lab.example" in text
    assert "CUDA_VISIBLE_DEVICES=GPU-gpu-065-0,GPU-gpu-065-1" in text
    assert "ssh -L 8888:localhost:8888 agent@gpu-065.lab.example" in text
    assert "51204, mira, 400 MB" in text
    assert ">Log</a>" not in text
    assert "Release…" in text


def test_the_persons_own_account_is_named_where_it_is_known(page, held):
    UnixAccount.objects.create(user=held.owner, name="mira")
    assert "ssh mira@gpu-065.lab.example" in text_of(page, f"/jobs/{held.job_id}/devices")


@pytest.mark.parametrize("address", ["x; rm -rf ~", "$(id)", "-oProxyCommand=x", "a b", "`id`", "a\nb"])
def test_an_address_that_a_shell_would_run_is_no_line_to_copy(page, held, address):
    changed(Worker.objects.get(), host={"address": address, "user": "agent"})
    text = text_of(page, f"/jobs/{held.job_id}/devices")
    assert "ssh" not in text
    assert "has not said how it is reached" in text


def test_others_see_that_it_is_held_and_not_how_to_get_there(held):
    other = Client()
    other.force_login(a_user("noor"))
    text = text_of(other, f"/jobs/{held.job_id}/devices")
    assert "Held by mira until" in text
    assert "ssh agent" not in text
    assert "Release…" not in text
    assert other.post(f"/jobs/{held.job_id}/act/release").status_code == 403
    assert other.post(f"/jobs/{held.job_id}/act/extend", {"seconds": "3600"}).status_code == 403


def test_releasing_asks_first_and_then_lets_go(page, held):
    assert "Other jobs get 2 devices" in text_of(page, f"/jobs/{held.job_id}/act/release")
    page.post(f"/jobs/{held.job_id}/act/release")
    held.refresh_from_db()
    assert held.hold_until <= timezone.now()
    assert "being let go" in text_of(page, f"/jobs/{held.job_id}/devices")
    assert Event.objects.filter(subject=held.job_id, verb="hold_released").count() == 1


def test_extending_offers_what_is_allowed_and_no_more(page, held):
    before = held.hold_until
    asked = text_of(page, f"/jobs/{held.job_id}/act/extend")
    assert "24 hours past its first end" in asked
    page.post(f"/jobs/{held.job_id}/act/extend", {"seconds": "7200"})
    held.refresh_from_db()
    assert held.hold_until == before + timedelta(hours=2)
    answer = page.post(f"/jobs/{held.job_id}/act/extend", {"seconds": "86400"}, follow=True)
    assert "24 hours past its first end" in answer.content.decode()
    held.refresh_from_db()
    assert held.hold_until == before + timedelta(hours=2)
    for odd in ("", "-1", "1e9", "99999999999999999999", "61"):
        page.post(f"/jobs/{held.job_id}/act/extend", {"seconds": odd})
    held.refresh_from_db()
    assert held.hold_until == before + timedelta(hours=2)


def test_one_that_waits_says_so_and_can_be_cancelled(page, mira):
    job = a_job(command=None, hold_s=3600, owner=mira)
    text = text_of(page, f"/jobs/{job.job_id}/devices")
    assert "They are not yours yet" in text
    assert "Cancel job…" in text


def test_a_job_that_runs_a_command_has_no_devices_page(page, mira):
    job = a_job(owner=mira)
    assert page.get(f"/jobs/{job.job_id}/devices").status_code == 404


def test_unchanged_the_panel_is_not_sent_again(page, held):
    address = f"/jobs/{held.job_id}/devices"
    first = page.get(address, headers={"HX-Request": "true"})
    again = page.get(address, headers={"HX-Request": "true", "HX-PTag": first.headers["HX-PTag"]})
    assert (first.status_code, again.status_code) == (200, 304)


class TestWhoWaitsForThese:
    def test_are_the_jobs_that_nothing_else_keeps_off(self, page, held):
        fits, too_large, other = a_user("jonas"), a_job(gpus=8, name="too-large"), a_job(gpus=4, name="needs-all")
        a_job(gpus=3, name="would-start", owner=fits)
        a_job(gpus=1, distributed={"num_workers": 2}, name="a-gang")
        a_pass(timezone.now())
        text = text_of(page, f"/jobs/{held.job_id}/devices")
        assert "waiting jobs could start here if you released them, each by itself" in text
        assert "would-start, waiting" in text
        assert f'href="/jobs/{other.job_id}"' in text
        assert f'href="/jobs/{too_large.job_id}"' not in text
        assert "a-gang" not in text

    def test_nobody_where_none_does(self, page, held):
        a_pass(timezone.now())
        assert "Nobody: no waiting job is kept off by these devices alone" in text_of(
            page, f"/jobs/{held.job_id}/devices"
        )

    def test_names_no_job_that_is_not_the_viewers_to_see(self, page, held, settings):
        settings.GPULAYER_OTHERS_JOBS = "hidden"
        a_job(gpus=3, name="somebody-elses", owner=a_user("jonas"))
        a_pass(timezone.now())
        assert "somebody-elses" not in text_of(page, f"/jobs/{held.job_id}/devices")


def test_devices_that_do_nothing_are_said_to_in_the_answer(page, held):
    since = timezone.now() - timedelta(minutes=45)
    DeviceHold.objects.filter(device__index=0).update(idle_since=since)
    assert "Held but idle" not in text_of(page, f"/jobs/{held.job_id}")
    DeviceHold.objects.update(idle_since=since)
    assert "Held but idle 45 min: nothing has run on its devices since" in text_of(page, f"/jobs/{held.job_id}")
    assert "Idle since" in text_of(page, f"/jobs/{held.job_id}/devices")


def test_the_page_says_why_these_devices(page, held):
    text = text_of(page, f"/jobs/{held.job_id}/devices")
    assert "Why this one" in text
    assert "All 1 candidate with their reasons" in text
