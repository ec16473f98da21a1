"""The overview: every number is there and leads to what it counts, for nobody, a few and very many workers."""

from __future__ import annotations

import gzip
import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from scheduler import memory
from scheduler.models import DeviceHold, Job, QueueRollUp
from scheduler.services import idleness
from scheduler.services.jobs import cancel_job
from scheduler.views import overview
from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed
from tests.pages.conftest import many_jobs, many_workers
from workers.models import Device, Worker

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
SECTION = r'<section class="panel"[^>]*aria-labelledby="{}".*?</section>'


def html(client: Client, url: str = "/") -> str:
    answer = client.get(url)
    assert answer.status_code == 200, url
    return answer.content.decode()


def words(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text)).strip()


def panel(page: str, heading: str) -> str:
    found = re.search(SECTION.format(heading), page, re.DOTALL)
    assert found, heading
    return words(found[0])


def queries(client: Client, url: str = "/") -> int:
    client.get(url)
    with CaptureQueriesContext(connection) as context:
        assert client.get(url).status_code == 200
    return len(context)


@pytest.fixture
def mixed(mira: User) -> dict[str, Any]:
    """Five workers in every state there is, and a queue that waits for different things."""
    made: dict[str, Any] = {
        "busy": a_worker("busy", gpus="2xA100"),
        "broken": a_worker("broken", gpus="4xT4"),
        "gone": a_worker("gone", gpus="2xT4", seen=timezone.now() - timedelta(hours=1)),
        "kept": a_worker("kept", gpus="1xH100", origin="remote"),
        "plain": a_worker("plain", gpus="", facts={"devices": [], "memory": None}),
    }
    Device.objects.filter(worker=made["broken"], index=3).update(healthy=False, health_note="Xid 79: fell off the bus")
    Device.objects.filter(worker=made["broken"], index=2).update(foreign_memory=9 * 10**9)
    a_reservation(made["kept"], "team:vision")
    made["holder"] = a_job(owner=mira, gpus=2, resources={"gpu_memory_gb": 80})
    a_pass()
    made["waits"] = a_job(owner=mira, gpus=2, resources={"gpu_memory_gb": 80})
    made["never"] = a_job(owner=mira, gpus=16)
    a_pass()
    return made


class TestWhatItTells:
    def test_totals_are_what_the_fleet_has_and_lead_to_the_workers(self, page: Client, mixed: dict[str, Any]) -> None:
        told = html(page)
        assert "9 devices on 5 workers" in words(told)
        for look, text, count in (
            ("free", "free", 2), ("use", "in use", 2), ("rsv", "reserved", 1), ("frn", "used outside gpulayer", 1),
            ("bad", "unhealthy", 1), ("off", "offline or draining", 2),
        ):  # fmt: skip
            link = re.search(rf'href="/\?device={look}"[^>]*>(.*?)</a>', told)
            assert link, look
            assert words(link[1]).startswith(f"{text} {count} "), look

    @pytest.mark.parametrize(
        ("query", "left"),
        [
            ("device=bad", {"broken"}), ("device=rsv", {"kept"}), ("device=use", {"busy"}), ("tier=remote", {"kept"}),
            ("worker=offline", {"gone"}), ("worker=ram-unknown", {"plain"}), ("by=gpu&in=Tesla+T4", {"broken", "gone"}),
            ("device=bad&tier=remote", set()),
            ("device=nonsense&worker=x", {"busy", "broken", "gone", "kept", "plain"}),
        ],
    )  # fmt: skip
    def test_a_filter_leaves_the_workers_it_names(
        self, page: Client, mixed: dict[str, Any], query: str, left: set[str]
    ) -> None:
        told = html(page, f"/?{query}")
        assert set(re.findall(r'<article class="tile">.*?href="/workers/([^"]+)"', told)) == left
        assert ("Show all" in told) == (query not in ("tier=remote", "device=nonsense&worker=x"))

    def test_why_jobs_wait_and_what_would_help(self, page: Client, mixed: dict[str, Any]) -> None:
        told = html(page)
        queue = panel(told, "qu")
        assert "2 queued" in queue
        assert re.search(rf"1 Devices in use \d s {mixed['waits'].job_id} : ", queue)
        assert re.search(rf"1 Never fits: number of GPUs \d s {mixed['never'].job_id} : ", queue)
        assert 'href="/jobs?state=queued&amp;reason=gpu_in_use"' in told
        ends = f"The end of {mixed['holder'].job_id} on busy would let 1 job start ( {mixed['waits'].job_id} )"
        assert ends in panel(told, "he")

    def test_a_reason_leads_to_the_jobs_that_it_counts(self, page: Client, mixed: dict[str, Any]) -> None:
        listed = html(page, "/jobs?state=queued&reason=gpu_in_use")
        assert mixed["waits"].job_id in listed
        assert f'href="/jobs/{mixed["never"].job_id}"' not in listed

    def test_what_needs_an_operator(self, page: Client, mixed: dict[str, Any]) -> None:
        needs = panel(html(page), "at")
        for told in (
            "1 worker offline", "1 device unhealthy on broken; Xid 79: fell off the bus",
            "1 device used outside gpulayer on broken", "1 worker with unknown RAM",
        ):  # fmt: skip
            assert told in needs

    def test_held_but_idle(self, page: Client, mixed: dict[str, Any]) -> None:
        now = timezone.now()
        Device.objects.filter(worker=mixed["busy"]).update(utilisation=3, read_at=now)
        idleness.note_idle(now)
        memory.forget()
        assert "under 10 % busy, for less than 30 min" in panel(html(page), "ut")
        assert "idle" not in panel(html(page), "at")
        DeviceHold.objects.filter(released_at=None).update(idle_since=now - timedelta(minutes=40))
        memory.forget()
        told = html(page)
        assert f"2 devices held but idle over 30 min {mixed['holder'].job_id} mira 40 min" in panel(told, "at")
        assert "2 held but idle over 30 min" in panel(told, "ut")
        Device.objects.filter(worker=mixed["busy"], index=0).update(utilisation=97)
        idleness.note_idle(now)
        assert DeviceHold.objects.filter(idle_since=None, released_at=None).count() == 1, "the other one is still idle"

    def test_events_and_charts(self, page: Client, mixed: dict[str, Any]) -> None:
        assert "No job has started in the last 24 hours" in html(page)
        now = timezone.now()
        changed(mixed["holder"], state="running", started_at=now, submitted_at=now - timedelta(minutes=7))
        memory.forget()
        told = html(page)
        assert 'aria-label="Jobs started per hour over the last 24 hours: between 0 and 1, 1 in the last hour"' in told
        assert "Median wait over the last 24 hours: between 7 min and 7 min" in told

    def test_a_job_that_no_pass_has_seen_is_said_to_be_undecided(self, page: Client, mira: User) -> None:
        a_worker("w1")
        a_job(owner=mira)
        assert "1 not decided yet" in panel(html(page), "qu")
        Job.objects.all().delete()
        assert "No job waits." in panel(html(page), "qu")


class TestEverySize:
    def test_nobody_yet_is_told_how_to_add_a_worker(self, page: Client, operator: Client) -> None:
        told = html(operator)
        assert "Add the first worker" in told
        assert "gpulayer worker start --url http://testserver" in told
        assert "Make token" in told
        assert "None yet." in told
        assert "Make token" not in html(page)
        assert "Ask an operator" in html(page)

    def test_a_worker_that_has_never_called_is_waited_for(self, operator: Client) -> None:
        changed(a_worker("w1"), liveness="enrolled", last_seen_at=None)
        assert "1 enrolled, no heartbeat yet" in words(html(operator))

    def test_a_few_are_tiles_with_their_devices(self, page: Client) -> None:
        name = "w" * 60
        a_worker(name, gpus="16xA100")
        told = html(page)
        assert told.count('<article class="tile">') == 1
        assert name in told
        assert "devs many" in told

    def test_some_hundreds_are_blocks_within_the_budget(self, page: Client) -> None:
        many_workers(1_200)
        told = html(page)
        assert told.count('role="option"') == 1_200
        assert 'data-w="w-0001" aria-label="w-0001: 4 free"' in told
        assert told.count('role="listbox"') == 1
        assert len(gzip.compress(told.encode())) < 25_000
        assert html(page, "/?device=use").count('role="option"') == 0

    def test_thousands_are_bars_of_which_each_leads_on(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(overview, "MOST_BLOCKS", 100)
        many_workers(101)
        told = html(page)
        assert 'role="option"' not in told
        assert "101 workers" in words(told)
        assert 'aria-label="404 free"' in told
        link = re.search(r'<h3><a href="(/\?in=[^"]+)"', told)
        assert link
        assert len(gzip.compress(told.encode())) < 8_000

    @pytest.mark.parametrize("by", ["gpu", "label:zone"])
    def test_grouped_by_something_else(self, page: Client, by: str) -> None:
        many_workers(70)
        a_worker("other", gpus="1xT4", labels={"zone": "b"})
        told = html(page, f"/?by={by}")
        headings = [words(found) for found in re.findall(r"<h3>(<a.*?)</h3>", told)]
        assert len(headings) == 2
        assert ("zone=b" in " ".join(headings)) == (by == "label:zone")
        if by == "label:zone":
            assert html(page, "/?by=label:zone&in=b").count('<article class="tile">') == 1


class TestWhatItCosts:
    def test_as_many_queries_for_many_as_for_few(self, page: Client, mira: User) -> None:
        many_workers(3)
        many_jobs(3, mira)
        a_pass()
        few = queries(page)
        many_jobs_more(300, mira)
        a_pass()
        assert queries(page) <= few + 1
        assert few <= 26

    def test_nothing_new_costs_a_look_and_is_not_sent_again(self, page: Client, mixed: dict[str, Any]) -> None:
        first = page.get("/", headers=HTMX)
        assert first.content.startswith(b'<div id="overview"')
        tag = first.headers["HX-PTag"]
        with CaptureQueriesContext(connection) as context:
            assert page.get("/", headers={**HTMX, "HX-PTag": tag}).status_code == 304
        assert len(context) <= 6
        a_worker("w9")
        changed(Worker.objects.get(name="w9"), version=1)
        a_job()
        again = page.get("/", headers={**HTMX, "HX-PTag": tag})
        assert again.status_code == 200
        assert again.headers["HX-PTag"] != tag


def many_jobs_more(number: int, owner: User) -> None:
    for _ in range(number // 100):
        a_job(owner=owner)


class TestTheStoredRollUp:
    def test_it_is_kept_with_the_latest_pass_alone(self, mira: User) -> None:
        a_worker("w1", gpus="1xT4")
        a_job(owner=mira)
        a_pass()
        a_job(owner=mira)
        latest = a_pass()
        assert latest is not None
        assert list(QueueRollUp.objects.values_list("pass_row", flat=True)) == [latest.pk]

    def test_it_goes_when_the_queue_is_empty(self, page: Client, mira: User) -> None:
        a_worker("w1", gpus="1xT4")
        job = a_job(owner=mira, gpus=2)
        a_pass()
        assert "1 Never fits" in panel(html(page), "qu")
        cancel_job(job=job, actor="user:mira", now=timezone.now())
        assert "No job waits." in panel(html(page), "qu")


class TestOthersJobs:
    @pytest.fixture(autouse=True)
    def _hidden(self, settings: LazySettings) -> None:
        settings.GPULAYER_OTHERS_JOBS = "hidden"

    def test_only_ones_own_jobs_are_counted_and_named(self, mixed: dict[str, Any]) -> None:
        now = timezone.now()
        DeviceHold.objects.filter(released_at=None).update(idle_since=now - timedelta(minutes=40))
        changed(mixed["holder"], state="running", started_at=now)
        jonas = Client()
        jonas.force_login(a_user("jonas"))
        own = a_job(owner=a_user("jonas"), gpus=1, resources={"gpu_memory_gb": 80})
        a_pass()
        told = html(jonas)
        ids = set(re.findall(r"\bj-\d+\b", told))
        assert ids == {own.job_id}
        assert "1 queued" in panel(told, "qu")
        assert "mira" not in told
        assert "2 devices held but idle over 30 min" in panel(told, "at"), "that they are there, and not whose"
        assert "No job has started" in told
        assert "another team" in told, "the devices say that something runs"
