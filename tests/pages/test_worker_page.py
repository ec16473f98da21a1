"""One worker's page: who has which device until when, the next day, why jobs are not there, labels, capabilities."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler.models import DeviceHold, Task
from scheduler.views import worker_panels
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed
from workers.models import Device, Label

pytestmark = pytest.mark.django_db
LONG = "ml-gpu-compute-node-0017.rack12.dc-frankfurt-2.research.example"


def html(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def words(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def panel(shown: str, key: str) -> str:
    """The words of the panel with this heading's id."""
    found = re.search(rf'aria-labelledby="{key}".*?</section>', shown, re.DOTALL)
    assert found, key
    return words(found[0])


def running(**fields: Any) -> Any:
    """A job that a pass has placed and whose task has begun."""
    job = a_job(**fields)
    a_pass(timezone.now())
    Task.objects.filter(attempt__job=job).update(started_at=timezone.now())
    return changed(job, state="running")


def test_each_device_says_who_has_it_and_when_it_is_free_at_the_latest(page: Client) -> None:
    a_worker("w1", gpus="4xA100")
    limited, endless = running(gpus=2, timeout_s=3600, name="limited"), running(gpus=1, name="endless")
    shown = html(page, "/workers/w1")
    rows = [words(row) for row in re.findall(r"<tr.*?</tr>", shown.partition('id="dv"')[2], re.DOTALL)][:5]
    at = (Task.objects.get(attempt__job=limited).started_at + timedelta(hours=1)).strftime("%H:%M")
    assert rows[0] == "# State Holder Owner Memory Free at"
    assert rows[1] == f"0 in use {limited.job_id} limited mira 85.9 GB {at}"
    assert rows[3] == f"2 in use {endless.job_id} endless mira 85.9 GB no time limit"
    assert rows[4] == "3 free 85.9 GB"
    assert re.search(r'<time datetime="[^"]+" title="[^"]+">' + at, shown)


def test_a_device_that_its_holder_does_not_use_says_for_how_long(page: Client) -> None:
    a_worker("w1")
    running(name="asleep")
    Device.objects.update(utilisation=0, read_at=timezone.now())
    DeviceHold.objects.update(idle_since=timezone.now() - timedelta(minutes=34))
    assert "held but idle 34 min" in panel(html(page, "/workers/w1"), "dv")


def test_of_hidden_jobs_neither_id_name_owner_nor_limit_is_told(page: Client, settings: Any) -> None:
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    worker = a_worker("w1", gpus="2xA100")
    job = running(owner=a_user("noa"), timeout_s=5 * 3600, name="secret-plan")
    hidden_waiting = a_job(owner=a_user("noa"), gpus=2, name="secret-too")
    a_job(gpus=2)
    a_pass(timezone.now())
    a_reservation(worker, "team:vision", starts_at=timezone.now() + timedelta(hours=1))
    ends = Task.objects.get(attempt__job=job).started_at + timedelta(hours=5)
    for path in ("/workers/w1", "/workers/w1/not-here", "/reservations", "/workers"):
        shown = html(page, path)
        for secret in (job.job_id, hidden_waiting.job_id, "secret", "noa", ends.strftime("%H:%M")):
            assert not re.search(rf"\b{re.escape(secret)}\b", words(shown) + "".join(re.findall(r'"[^"]*"', shown))), (
                path
            )
    told = panel(html(page, "/workers/w1"), "dv")
    assert "another team's job 85.9 GB not told" in told
    assert "1 waiting job," in panel(html(page, "/workers/w1"), "nh")
    operator = Client()
    operator.force_login(a_user("ada", staff=True))
    assert "2 waiting jobs," in panel(html(operator, "/workers/w1"), "nh")
    assert job.job_id in html(operator, "/workers/w1")


def test_the_next_day_is_a_picture_and_a_table(page: Client) -> None:
    worker = a_worker("w1", gpus="4xA100")
    job = running(gpus=2, timeout_s=3600, name="limited")
    now = timezone.now()
    a_reservation(
        worker, "team:core", devices=(0, 1, 2), starts_at=now + timedelta(hours=8), ends_at=now + timedelta(hours=12)
    )
    a_reservation(worker, "user:noa", starts_at=now + timedelta(hours=30))
    shown = html(page, "/workers/w1")
    lanes = re.findall(r'text-anchor="end">([^<]+)</text>', shown)
    assert lanes == ["devices 0, 1", "device 2", "device 3"]
    assert re.search(rf"{job.job_id} limited, until \S+ \S+ UTC at the latest", shown)
    told = panel(shown, "cal")
    assert "devices 0–2 r-" in told
    assert "for team core" in told
    assert "user noa" not in told
    assert f"devices 0, 1 {job.job_id} limited" in told


def test_a_day_with_nothing_says_so(page: Client) -> None:
    a_worker("w1")
    assert "Nothing runs here, and nothing is reserved" in panel(html(page, "/workers/w1"), "cal")


def test_why_waiting_jobs_are_not_here(page: Client) -> None:
    a_worker("w1", gpus="2xA100", labels={"zone": "a"})
    running(gpus=1)
    for _ in range(4):
        a_job(gpus=2)
    never = a_job(gpus=4)
    elsewhere = a_job(gpus=8)
    a_pass(timezone.now())
    told = panel(html(page, "/workers/w1"), "nh")
    assert "6 waiting jobs" in told
    assert re.search(r"\b4 needs 2 GPUs, 1 of 2", told)
    assert "needs 4 GPUs, has 2" in told
    link = f'href="/jobs/{never.job_id}/why-not/w1"'
    assert link in html(page, "/workers/w1")
    assert page.get(f"/jobs/{never.job_id}/why-not/w1").status_code == 200
    assert elsewhere.job_id in told


def test_of_many_jobs_the_panel_comes_by_a_request_of_its_own(page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_panels, "AT_ONCE", 1)
    a_worker("w1", gpus="2xA100")
    for _ in range(2):
        a_job(gpus=8)
    a_pass(timezone.now())
    shown = html(page, "/workers/w1")
    assert 'hx-get="/workers/w1/not-here" hx-trigger="load"' in shown
    assert "What keeps each of 2 waiting jobs off w1" in panel(shown, "nh")
    assert "needs 8 GPUs, has 2" in panel(html(page, "/workers/w1/not-here"), "nh")


def test_the_panel_is_a_piece_of_its_own_and_a_page(page: Client) -> None:
    a_worker("w1")
    a_job(gpus=8)
    a_pass(timezone.now())
    answer = page.get("/workers/w1/not-here", headers={"HX-Request": "true"})
    assert answer.content.decode().startswith('<section class="panel" id="not-here"')
    again = page.get("/workers/w1/not-here", headers={"HX-Request": "true", "HX-PTag": answer.headers["HX-PTag"]})
    assert again.status_code == 304
    assert "<h1" in html(page, "/workers/w1/not-here")
    assert page.get("/workers/w9/not-here").status_code == 404


def test_no_queue_and_no_pass(page: Client) -> None:
    a_worker("w1")
    assert "No pass has seen this worker yet" in panel(html(page, "/workers/w1"), "nh")
    running()
    assert "No job waits" in panel(html(page, "/workers/w1"), "nh")


def test_labels_tell_who_set_them_and_are_changed_after_a_look(page: Client, operator: Client) -> None:
    worker = a_worker("w1", labels={"zone": "a", "rack": "r1"})
    Label.objects.create(worker=worker, key="zone", value="b", source="operator", created_by=a_user("ada", staff=True))
    told = panel(html(page, "/workers/w1"), "lb")
    assert "set by an operator: zone=b" in told
    assert "zone: ada says b, the agent a; the operator’s counts." in told
    assert "Set…" not in told
    shown = html(operator, "/workers/w1")
    assert 'href="/workers/w1/labels?label=zone-"' in shown
    assert "label=rack-" not in shown, "the agent's stay"
    asked = operator.get("/workers/w1/labels", {"label": "team=core"}, headers={"HX-Request": "true"}).content.decode()
    assert asked.startswith("<dialog")
    assert "team=core" in asked
    assert not Label.objects.filter(key="team").exists()


def test_capabilities_mark_what_is_unknown_and_tell_the_rule(page: Client) -> None:
    worker = a_worker("w1", gpus="2xA100", facts={"driver": None, "disk": None})
    changed(worker, unknown={"driver": "no nvidia-smi"}, host={"user": "gpu"})
    shown = html(page, "/workers/w1")
    told = panel(shown, "cp")
    assert "Driver ? unknown (no nvidia-smi)" in told
    assert "GPU memory 85.9 GB (81,920 MiB)" in told
    assert "2 values are unknown. An unknown value never satisfies a requirement." in told
    assert "jobs run as user gpu" in words(shown)


def test_sixteen_devices_of_two_models_and_a_long_name(page: Client) -> None:
    a_worker(LONG, gpus="12xA100+4xT4", labels={f"topology.example.net/{place}": "a" for place in range(40)})
    shown = html(page, f"/workers/{LONG}")
    assert 'class="devs many"' in shown
    assert "# Model State Memory" in words(shown)
    assert "GPU memory 85.9 GB (81,920 MiB); 16.1 GB (15,360 MiB)" in panel(shown, "cp")
    assert 'class="labels" tabindex="0" role="region" aria-label="All labels"' in shown


def test_as_many_queries_for_one_task_as_for_sixteen(page: Client) -> None:
    def queries(name: str) -> int:
        html(page, f"/workers/{name}")
        with CaptureQueriesContext(connection) as counted:
            html(page, f"/workers/{name}")
        return len(counted)

    a_worker("w1")
    running()
    few = queries("w1")
    now = timezone.now()
    big = a_worker("w2", gpus="16xA100")
    for _ in range(16):
        running()
    for hours in range(1, 20, 2):
        a_reservation(
            big, "user:noa", starts_at=now + timedelta(hours=hours), ends_at=now + timedelta(hours=hours + 1)
        )  # fmt: skip
    for _ in range(10):
        a_job(gpus=4)
    a_pass(now)
    assert queries("w2") <= few + 6 <= 50, "the reservations there are a few more"
