"""The pages of workers in a browser: found, ticked, drained after a look, labelled while the page lives on."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser import fleet
from tests.browser.conftest import Installation, start
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ("looked-at-1", "looked-at-2")


@pytest.fixture
def workers(installation: Installation) -> Iterator[tuple[str, ...]]:
    """Two simulated workers, one of them with sixteen devices, to which only jobs come that name them."""
    documents = [fleet.worker(name, "remote", gpus, "H100") for name, gpus in zip(NAMES, (2, 16), strict=True)]
    path = installation.data / "looked-at.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    simulator = start("worker", "simulate", str(path), env=installation.env)
    try:
        simulator.wait_for("registered")
        yield NAMES
    finally:
        simulator.stop()


def test_workers_are_found_ticked_looked_at_and_changed(pages: Page, workers: tuple[str, ...]) -> None:
    first, second = workers
    pinned = {"target": "remote", "worker_ids": first}
    running = submit(pages, name="holds-it", command="sleep 900", timeout_s="2h", gpus="2", **pinned)
    waiting = submit(pages, name="waits", command="sleep 1", gpus="1", **pinned)

    pages.goto("/workers")
    pages.get_by_label("Search workers").fill("looked-at")
    rows = pages.locator("#rows tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1).locator(".devs.many .d")).to_have_count(16)
    pages.get_by_label("Order").select_option("Most free first")
    expect(rows.first).to_contain_text(second)
    pages.get_by_label("Free devices").select_option("≥ 8 free")
    expect(rows).to_have_count(1)
    pages.get_by_label("Tick all on this page").check()
    expect(pages.locator("#picked")).to_have_text("1 selected")
    pages.get_by_label("Search workers").fill(running)
    expect(pages.locator("#rows")).to_contain_text("matches without the free devices")
    pages.get_by_role("link", name="clear the free devices").click()
    expect(pages.locator("#rows tbody tr")).to_have_count(1)

    pages.locator("#rows").get_by_role("link", name=first).click()
    expect(pages.get_by_role("region", name="Device table")).to_contain_text(running)
    expect(pages.locator("section:has(#cal) svg.gantt")).to_be_visible()
    pages.get_by_text("The same as a table").click()
    expect(pages.get_by_role("region", name="Table of the next 24 hours")).to_contain_text("at the latest")
    here = pages.locator("#not-here")
    expect(here).to_contain_text("needs 1 GPU", timeout=15 * SECONDS)
    pages.get_by_label("New label").fill("shelf=top")
    with pages.expect_response("**/workers/*", timeout=15 * SECONDS):
        pass
    expect(pages.get_by_label("New label")).to_have_value("shelf=top")
    pages.get_by_role("button", name="Set…").click()
    dialog = pages.locator("dialog[open]")
    expect(dialog).to_contain_text(f"Labels of {first}")
    expect(dialog.get_by_label("Set", exact=True)).to_have_value("shelf=top")
    dialog.get_by_role("button", name="Save labels").click()
    expect(pages.locator(".lbl.own")).to_contain_text("shelf=top")
    pages.get_by_role("link", name="Take off label shelf=top").click()
    pages.locator("dialog[open]").get_by_role("button", name="Save labels").click()
    expect(pages.locator(".lbl.own")).to_have_count(0)

    pages.get_by_role("link", name="Drain…").click()
    expect(pages.locator("dialog[open] #what-if")).to_contain_text(waiting, timeout=15 * SECONDS)
    pages.locator("dialog[open]").get_by_text("Keep", exact=True).click()
    expect(pages.locator("dialog[open]")).to_have_count(0)
    here.get_by_role("link", name=waiting).click()
    pages.wait_for_url(f"**/jobs/{waiting}/why-not/{first}*")


def test_they_are_accessible_and_keep_their_width(pages: Page, workers: tuple[str, ...]) -> None:
    found: list[str] = []
    for path in ("/workers?q=looked-at&sort=free", f"/workers/{workers[1]}", f"/workers/{workers[1]}/not-here"):
        pages.goto(path)
        found += complaints(pages)
    assert found == []
