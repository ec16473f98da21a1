"""Names and arguments as long as people make them: every page keeps its width, stays accessible, and is silent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation, start
from tests.browser.fleet import worker
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOST = "gpu-compute-node-with-a-very-long-name-0123.rack-17.dc.example"
TEAM = "computational-linguistics-group-of-the-institute-for-everything"
ARGUMENT = "print('" + "x" * 1_500 + "')\n" * 3
PINNED = {"target": "cloud", "placement": {"worker_ids": [HOST]}}


@pytest.fixture(scope="module")
def long_host(installation: Installation) -> Iterator[str]:
    """One simulated machine with a long name and a long label."""
    document = worker(HOST, "cloud", 2, "H100", zone=TEAM)
    path = installation.data / "long.json"
    path.write_text(json.dumps(document))
    simulator = start("worker", "simulate", str(path), env=installation.env)
    try:
        simulator.wait_for("registered")
        yield HOST
    finally:
        simulator.stop()


@pytest.fixture(scope="module")
def places(installation: Installation, long_host: str) -> dict[str, str]:
    """An address for every page on which they stand."""
    held = submitted(installation, name="held-" + "n" * 60, hold_s=3600, resources={"gpus": 1}, **PINNED)
    waits = submitted(
        installation, name="waits", command=["python", "-c", ARGUMENT], resources={"gpus": 2}, **PINNED
    )  # fmt: skip
    host, job, hold = f"/workers/{HOST}", f"/jobs/{waits}", f"/jobs/{held}"
    return {
        "jobs": "/jobs", "workers": "/workers", "a worker": host, "enrolment": "/enrolment", "waits": job,
        "its document": f"{job}/spec", "why": f"{job}/why", "checks": f"{job}/checks?by=torch",
        "why not": f"{job}/why-not/{HOST}", "changes": f"{job}/changes", "a clone": f"/jobs/new?like={waits}",
        "asked why not": f"/why-not?job={waits}", "outputs": f"{job}/outputs", "a hold": hold,
        "its devices": f"{hold}/devices", "extend": f"{hold}/act/extend", "release": f"{hold}/act/release",
        "cancel": f"{job}/cancel", "drain": f"{host}/drain", "revoke": f"{host}/act/revoke",
        "retire": f"{host}/retire", "in YAML": "/jobs/new?as=yaml",
    }  # fmt: skip


NAMES = (
    "jobs", "workers", "a worker", "enrolment", "waits", "its document", "why", "checks", "why not", "changes",
    "a clone", "asked why not", "outputs", "a hold", "its devices", "extend", "release", "cancel", "drain", "revoke",
    "retire", "in YAML",
)  # fmt: skip


def submitted(installation: Installation, **document: Any) -> str:
    """The id of a new job."""
    path = installation.data / "long-job.json"
    path.write_text(json.dumps(document))
    return str(json.loads(installation.run("job", "submit", str(path), "--json"))["job_id"])


@pytest.mark.parametrize("name", NAMES)
def test_is_accessible_silent_and_within_its_width(open_page: Any, places: dict[str, str], name: str) -> None:
    page = open_page()
    page.goto(places[name])
    expect(page.locator("#whys[hx-get]")).to_have_count(0, timeout=15 * SECONDS)
    assert complaints(page) == []


def test_the_edited_copy_of_a_job_says_the_same(open_page: Any, places: dict[str, str]) -> None:
    page = open_page()
    page.goto(places["why"])
    page.get_by_role("link", name="Edit copy with").first.click(timeout=15 * SECONDS)
    expect(page.get_by_label("Name", exact=True)).to_have_value("waits")
    assert complaints(page) == []


def test_the_example_in_yaml_is_found_right(pages: Page) -> None:
    pages.goto("/jobs/new?as=yaml")
    expect(pages.locator("#preview")).to_contain_text("can run it")
    expect(pages.get_by_label("Job document")).not_to_have_attribute("aria-invalid", "true")


def test_the_manage_menu_is_reached_and_closed_by_keyboard(pages: Page, long_host: str) -> None:
    pages.goto(f"/workers/{long_host}")
    pages.locator("#manage > summary").focus()
    pages.keyboard.press("Enter")
    last = pages.locator("#manage").get_by_role("link", name="Retire…")
    expect(last).to_be_visible()
    for _ in pages.locator("#manage a").all():
        if last.evaluate("link => link === document.activeElement"):
            break
        pages.keyboard.press("Tab")
    expect(last).to_be_focused()
    pages.keyboard.press("Enter")
    dialog = pages.get_by_role("dialog")
    expect(dialog).to_contain_text(f"Retire {long_host}?")
    pages.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
