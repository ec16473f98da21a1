"""Reservations in a browser: a worker kept for a job, the other job's reason, conflicts and their buttons."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import fleet
from tests.browser.conftest import Installation, start
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORKER = "kept-1"
PINNED = {"target": "remote", "worker_ids": WORKER, "gpus": "2"}


@pytest.fixture
def worker(installation: Installation) -> Iterator[str]:
    """A simulated worker with two devices that only jobs which name it come to."""
    document = fleet.worker(WORKER, "remote", 2, "H100")
    path = installation.data / "kept.jsonl"
    path.write_text(json.dumps(document) + "\n")
    simulator = start("worker", "simulate", str(path), env=installation.env)
    try:
        simulator.wait_for("registered")
        yield WORKER
    finally:
        simulator.stop()


def in_hours(hours: int) -> str:
    """As the form's field has it."""
    return (datetime.now(UTC) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M")


def test_a_worker_is_reserved_for_a_job_and_the_other_jobs_reason_changes(
    pages: Page, open_page: Any, worker: str
) -> None:
    running = submit(pages, name="holds-it", command="sleep 900", timeout_s="2h", **PINNED)
    mine, other = (submit(pages, name=name, command="sleep 1", **PINNED) for name in ("mine", "theirs"))
    expect(pages.locator("main")).to_contain_text("in use", timeout=30 * SECONDS)
    expect(pages.locator("main")).not_to_contain_text(f"eserved for job {mine}")

    pages.goto(f"/jobs/{mine}")
    pages.get_by_role("link", name="Reserve for it…").click()
    expect(pages.get_by_label("Which", exact=True)).to_have_value(mine)
    pages.get_by_label("Worker", exact=True).fill(worker)
    panel = pages.locator("#reservation-check")
    expect(panel.locator("#what-if")).to_contain_text(other, timeout=15 * SECONDS)  # without an end it never fits
    pages.get_by_label("Until", exact=True).fill(in_hours(9))
    expect(panel.locator("#what-if")).not_to_contain_text(other, timeout=15 * SECONDS)
    expect(panel).to_contain_text("Nothing is stopped.")
    expect(panel).to_contain_text(f"begins when {running}")
    assert complaints(pages) == []
    pages.locator("form .btn-primary").last.click()
    expect(pages.locator("#rows")).to_contain_text(f"Waits for {running}")
    assert complaints(pages) == []

    pages.goto(f"/jobs/{other}")
    expect(pages.locator("main")).to_contain_text(f"eserved for job {mine}", timeout=30 * SECONDS)

    _a_conflict_is_fixed_by_its_button(pages, worker)
    _without_a_script_it_is_ended(open_page(java_script_enabled=False), mine)


def _a_conflict_is_fixed_by_its_button(pages: Page, worker: str) -> None:
    pages.goto(f"/workers/{worker}")
    pages.get_by_role("link", name="Reserve…").click()
    expect(pages.get_by_label("Worker", exact=True)).to_have_value(worker)
    pages.get_by_label("Holder", exact=True).select_option("team")
    pages.get_by_label("Which", exact=True).fill("vision")
    conflict = pages.locator("#conflict")
    expect(conflict).to_contain_text("is reserved already.", timeout=15 * SECONDS)
    assert complaints(pages) == []
    conflict.get_by_role("button", name=re.compile("^Start at ")).click()
    expect(pages.locator("#reservation-check")).to_contain_text("Nothing is stopped.")
    pages.locator("form .btn-primary").last.click()
    expect(pages.locator("#rows")).to_contain_text("Planned")


def _without_a_script_it_is_ended(page: Page, job: str) -> None:
    page.goto(f"/reservations?q={job}")
    name = page.locator("#rows tbody th").first.inner_text()
    page.get_by_role("link", name=f"End {name}").click()
    assert f"End {name} now?" in page.locator("main").inner_text()
    page.get_by_role("button", name=f"End {name}").click()
    assert f"{name} has ended." in page.locator("main").inner_text()
