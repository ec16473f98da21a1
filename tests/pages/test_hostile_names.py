"""Names that try to be markup stay names, wherever they are shown."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.factories import a_job, a_pass, a_reservation, a_user, a_worker, later

pytestmark = pytest.mark.django_db

EVIL = "<script>alert(1)</script>'\"><img src=x onerror=alert(2)>{{ 7000|add:7033 }}"
NAME = "w'\"<b onmouseover=alert(3)>"


@pytest.fixture
def hostile(mira):
    worker = a_worker(
        NAME,
        labels={"zone": EVIL},
        facts={"provider": EVIL, "environments": {"train": {"python": "3.12", "frameworks": {"torch": EVIL}}}},
    )
    worker.devices.update(model=EVIL, health_note=EVIL)
    other = a_worker("w2", intent="draining", intent_note=EVIL, facts={"region": EVIL})
    other.devices.update(healthy=False, health_note=EVIL)
    a_reservation(a_worker("w3"), f"team:{EVIL}"[:200], starts_at=later(hours=-1))
    job = a_job(
        owner=a_user("jonas<b>"), name=EVIL, command=["echo", EVIL], env={"A": EVIL},
        placement={"worker_labels": {"zone": EVIL}},
    )  # fmt: skip
    waiting = a_job(owner=mira, name=EVIL, gpus=4)
    a_pass(at=timezone.now())
    return job, waiting, worker


def test_no_page_runs_them(page, hostile):
    job, waiting, worker = hostile
    urls = [
        "/jobs",
        "/workers",
        f"/workers/{worker.name}",
        "/workers/w2",
        "/workers/w3",
        f"/jobs?q={EVIL}",
        f"/workers?q={EVIL}",
    ]
    for each in (job, waiting):
        urls += [f"/jobs/{each.job_id}{tail}" for tail in ("", "/spec", "/log", "/cancel", "?v=all", f"?q={EVIL}")]
        urls.append(f"/jobs/new?like={each.job_id}")
    for url in urls:
        answer = page.get(url)
        html = answer.content.decode()
        assert answer.status_code in (200, 403), url
        for raw in ("<script>alert", "<img src=x", "<b onmouseover", "14033", "jonas<b>"):
            assert raw not in html, (url, raw)


def test_nor_does_the_submit_page_give_them_back_alive(page):
    for fields in (
        {"name": EVIL, "command": EVIL, "env_name": EVIL, "env_value": EVIL, "target": EVIL, "rest": EVIL},
        {"yaml": EVIL},
    ):
        for act in ("submit", "yaml", "form", "shell"):
            html = page.post("/jobs/new", {**fields, "act": act}).content.decode()
            assert "<script>alert" not in html
            assert "<img src=x" not in html
