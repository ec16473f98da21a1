"""The main job with the keyboard alone: submit, the job, its candidates, the checks of one, cancel."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Installation
from tests.browser.test_walk import SECONDS, answer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MOST_TABS = 250


def tab_to(page: Page, there: Locator) -> None:
    """Press Tab until the focus is there; on the way it is always somewhere that can be seen."""
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if there.evaluate("x => x === document.activeElement"):
            expect(there).to_be_in_viewport()
            return
    raise AssertionError(f"Tab never comes to {there}")


@pytest.fixture
def ended(pages: Page, installation: Installation) -> Iterator[None]:
    """Whatever becomes of the walk, its job holds nothing that others need."""
    yield
    if found := re.search(r"/jobs/(j-\d+)", pages.url):
        installation.run("job", "cancel", found[1])


@pytest.mark.usefixtures("simulated_fleet", "ended")
def test_submit_job_candidates_checks_cancel(pages: Page) -> None:
    pages.goto("/jobs")
    pages.keyboard.press("c")
    pages.wait_for_url("**/jobs/new")
    tab_to(pages, pages.get_by_label("Name", exact=True))
    pages.keyboard.type("by-keys")
    tab_to(pages, pages.get_by_label("Command"))
    pages.keyboard.type("sleep 600")
    tab_to(pages, pages.get_by_label("GPUs", exact=True))
    pages.keyboard.type("8")
    pages.keyboard.press("Control+Enter")
    expect(pages).to_have_url(re.compile(r"/jobs/j-\d+$"), timeout=30 * SECONDS)
    expect(answer(pages)).to_contain_text("Runs on", timeout=15 * SECONDS)

    skip = pages.get_by_role("link", name=re.compile("Skip to.*candidates", re.IGNORECASE))
    tab_to(pages, skip)
    pages.keyboard.press("Enter")
    rows = pages.locator("#cand-rows tbody tr")
    tab_to(pages, rows.first.locator("th a").first)
    pages.keyboard.press("j")
    expect(rows.nth(1).locator("th a").first).to_be_focused()
    pages.keyboard.press("o")
    expect(rows.nth(1).locator(".req, .chk").or_(pages.locator("#cand-rows .req:visible")).first).to_be_visible()

    pages.goto(pages.url.partition("#")[0])
    tab_to(pages, pages.get_by_role("link", name="Cancel job…"))
    pages.keyboard.press("Enter")
    dialog = pages.get_by_role("dialog")
    expect(dialog).to_contain_text("SIGTERM")
    tab_to(pages, dialog.get_by_role("button", name=re.compile("^Cancel j-")))
    pages.keyboard.press("Enter")
    expect(pages.locator(".head .pill").first).to_contain_text("Cancelled", timeout=15 * SECONDS)
