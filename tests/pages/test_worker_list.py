"""The list of workers: what it can be asked for, in which order, and what is said where nothing matches."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, changed
from tests.pages.conftest import many_workers
from workers.models import Device, Worker

pytestmark = pytest.mark.django_db


def text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return str(answer.content.decode())


def names(shown: str) -> list[str]:
    return re.findall(r'<th role="rowheader"[^>]*class="w"><a href="/workers/[^"]*">([^<]*)</a>', shown)


def a_fleet() -> None:
    """One that is free, one half in use, one reserved, one with a reserved, a bad and a foreign device; more."""
    a_worker("busy", gpus="2xA100", labels={"zone": "b"})
    a_job(gpus=1, name="train")
    a_pass()
    a_worker("free", gpus="4xA100", labels={"zone": "a"})
    kept = a_worker("kept", gpus="2xA100")
    a_reservation(kept, "team:vision")
    mixed = a_worker("mixed", gpus="4xA100")
    a_reservation(mixed, "team:vision", devices=(0,))
    Device.objects.filter(worker=mixed, index=1).update(healthy=False)
    Device.objects.filter(worker=mixed, index=2).update(foreign_memory=9 * 10**9)
    a_worker("leaving", gpus="8xA100", intent="draining")
    changed(a_worker("quiet", gpus="1xA100", liveness="lost"), unknown={"driver": "no nvidia-smi"})


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["busy", "free", "kept", "leaving", "mixed", "quiet"]),
        ("free=1", ["busy", "free", "mixed"]),
        ("free=2", ["free"]),
        ("free=8", []),
        ("free=many", ["busy", "free", "kept", "leaving", "mixed", "quiet"]),
        ("state=reserved", ["kept", "mixed"]),
        ("state=devices", ["mixed"]),
        ("state=unknown", ["quiet"]),
        ("state=draining", ["leaving"]),
        ("q=zone%3Da", ["free"]),
        ("q=zone%3Da&state=reserved", []),
        ("sort=free", ["free", "busy", "mixed", "kept", "leaving", "quiet"]),
        ("sort=newest", ["quiet", "leaving", "mixed", "kept", "free", "busy"]),
        ("sort=loudest", ["busy", "free", "kept", "leaving", "mixed", "quiet"]),
    ],
)
def test_filters_and_orders(page: Client, query: str, found: list[str]) -> None:
    a_fleet()
    assert names(text(page, f"/workers?{query}")) == found


def test_what_is_free_is_what_the_boxes_show(page: Client) -> None:
    a_fleet()
    shown = text(page, "/workers?sort=free")
    free = [int(number) for number in re.findall(r'data-l="Free">(\d+)<', shown)]
    boxes = [row.count('class="d d-free"') for row in shown.partition("</tbody>")[0].split("<tr")[2:]]
    assert free == boxes == [4, 1, 1, 0, 0, 0]


def test_a_reservation_to_come_or_over_keeps_nothing_yet(page: Client) -> None:
    worker, now = a_worker("w1", gpus="2xA100"), timezone.now()
    a_reservation(worker, "team:vision", starts_at=now + timedelta(hours=1))
    a_reservation(worker, "team:vision", starts_at=now - timedelta(hours=2), ends_at=now - timedelta(hours=1))
    a_reservation(worker, "team:vision", cancelled_at=now)
    assert names(text(page, "/workers?free=2")) == ["w1"]
    assert names(text(page, "/workers?state=reserved")) == []


def test_a_worker_is_found_by_the_job_that_runs_there(page: Client, settings: Any) -> None:
    a_worker("w1")
    job = a_job(owner=a_user("noa"))
    a_pass()
    a_worker("w2")
    assert names(text(page, f"/workers?q={job.job_id}")) == ["w1"]
    settings.GPULAYER_OTHERS_JOBS = "hidden"
    assert names(text(page, f"/workers?q={job.job_id}")) == []
    noa = Client()
    noa.force_login(a_user("noa"))
    assert names(text(noa, f"/workers?q={job.job_id}")) == ["w1"]


def test_every_worker_is_on_one_page_whatever_the_order(page: Client) -> None:
    many_workers(60)
    Device.objects.filter(worker__name__in=[f"w-{place:04d}" for place in range(0, 60, 7)]).update(healthy=False)
    for sort in ("", "free", "newest"):
        found, query = [], f"sort={sort}"
        while query:
            shown = text(page, f"/workers?{query}")
            found += names(shown)
            after = re.search(r'rel="next" href="/workers\?([^"]*)"', shown)
            query = after[1].replace("&amp;", "&") if after else ""
        assert len(found) == len(set(found)) == 60, sort
    shown = text(page, "/workers?sort=free")
    after = re.search(r'rel="next" href="/workers\?([^"]*)"', shown)
    assert after
    back = re.search(r'rel="prev" href="/workers\?([^"]*)"', text(page, f"/workers?{after[1].replace('&amp;', '&')}"))
    assert back
    assert names(text(page, f"/workers?{back[1].replace('&amp;', '&')}")) == names(shown)


@pytest.mark.parametrize("query", ["", "q=zone%3Da", "free=1&sort=free", "state=reserved"])
def test_as_many_queries_for_three_rows_as_for_three_hundred(page: Client, query: str) -> None:
    def queries() -> int:
        text(page, f"/workers?{query}")
        with CaptureQueriesContext(connection) as counted:
            text(page, f"/workers?{query}")
        return len(counted)

    many_workers(3)
    few = queries()
    Worker.objects.update(name=Concat(Value("x-"), F("name")))
    many_workers(300)
    assert queries() <= few + 1 <= 20, "one for the page before"


def test_no_match_says_which_filter_hides_most(page: Client) -> None:
    a_fleet()
    shown = text(page, "/workers?q=busy&tier=cloud")
    assert "1 worker matches without the tier" in shown
    assert 'href="/workers?q=busy"' in shown
    assert "Clear all filters" in shown
    assert "Nothing has all of that" in text(page, "/workers?q=nothing&tier=cloud")


def test_nobody_yet(page: Client) -> None:
    shown = text(page, "/workers")
    assert "No worker yet" in shown
    assert "gpulayer worker simulate --demo 12" in shown


def test_long_names_sixteen_devices_and_mixed_models_fit(page: Client) -> None:
    name = "ml-gpu-compute-node-0017.rack12.dc-frankfurt-2.research.example"
    assert len(name) == 63
    a_worker(name, gpus="12xA100+4xT4", labels={f"topology.example.net/{place}": "a" for place in range(40)})
    shown = text(page, "/workers")
    assert names(shown) == [name]
    assert 'class="devs many"' in shown
    assert "12 × A100-SXM4-80GB" in shown
    assert "4 × Tesla T4" in shown
    assert "16.1 GB" in shown, "the model does not say its memory"
    assert f'<a class="sm nowrap" href="/workers/{name}">+37</a>' in shown


def test_ticked_workers_and_all_that_match_are_for_operators(page: Client, operator: Client) -> None:
    a_worker("w1")
    assert "Ticked workers" not in text(page, "/workers")
    shown = text(operator, "/workers?free=1&sort=free")
    assert "/fleet/drain?all=1&amp;free=1&amp;count=1" in shown
    assert names(shown) == ["w1"]
    asked = operator.get("/fleet/drain?all=1&free=1&count=1")
    assert "Drain w1?" in asked.content.decode()
