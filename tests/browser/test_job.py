"""The page of a job in Chromium: its history, an earlier decision, its tasks and document, and a second click."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, answer, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def ended(installation: Installation, signed_in: dict[str, Any], browser: Any) -> str:
    """A job that could not run anywhere, then failed on this host: two decisions, one task."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in)
    page = context.new_page()
    job_id = submit(page, name="to-look-at", command="sh -c 'echo here; exit 3'")
    expect(answer(page)).to_contain_text("exit code 3", timeout=40 * SECONDS)
    context.close()
    return job_id


@pytest.mark.parametrize("tab", ["", "/tasks", "/timeline", "/spec", "/log"])
def test_is_accessible_and_within_its_width(open_page: Any, ended: str, tab: str) -> None:
    page = open_page()
    page.goto(f"/jobs/{ended}{tab}")
    assert complaints(page) == []


def test_one_walks_from_the_answer_through_its_tabs_by_keyboard(pages: Page, ended: str) -> None:
    pages.goto(f"/jobs/{ended}")
    expect(pages.get_by_role("heading", name="How the decision changed")).to_be_visible()
    expect(pages.locator("#timeline")).to_contain_text("Submitted by")
    for tab, shown in (("Tasks", "exit code 3"), ("Log", "This run"), ("Spec", "# default")):
        link = pages.get_by_role("navigation", name="Job").get_by_role("link", name=re.compile(f"^{tab}"))
        link.focus()
        pages.keyboard.press("Enter")
        expect(pages.locator("#tab")).to_contain_text(shown)


def test_a_decision_of_then_is_read_at_its_own_address(pages: Page, ended: str) -> None:
    pages.goto(f"/jobs/{ended}")
    pages.locator("#timeline").get_by_role("link", name=re.compile("^Pass ")).last.click()
    expect(pages).to_have_url(re.compile(rf"/jobs/{ended}\?d=\d+$"))
    expect(pages.locator("#candidates")).to_be_visible()


def test_two_clicks_on_retry_make_one_job(pages: Page, ended: str, installation: Installation) -> None:
    pages.goto(f"/jobs/{ended}")
    pages.get_by_role("button", name="Retry").dblclick()
    expect(pages.get_by_text(f"is a retry of {ended}")).to_be_visible()
    pages.goto(f"/jobs/{ended}")
    again = pages.get_by_text("Made again as")
    expect(again).to_be_visible()
    expect(again.get_by_role("link")).to_have_count(1)


def test_without_a_script_its_links_lead_to_all_of_it(open_page: Any, ended: str) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"/jobs/{ended}")
    page.get_by_role("link", name=re.compile("^Tasks")).click()
    expect(page.locator("#tab")).to_contain_text("exit code 3")
    page.get_by_role("link", name=re.compile("^Log of rank 0|^Log")).last.click()
    expect(page.locator("#tab")).to_contain_text("here")
