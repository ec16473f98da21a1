"""Candidates in Chromium: found, opened and walked by keyboard; a newer pass moves nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Installation
from tests.browser.fleet import FIRST_WITH_EIGHT
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, answer, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def many(installation: Installation, simulated_fleet: int, signed_in: dict[str, Any], browser: Any) -> Iterator[str]:
    """A job that waits for the only host that it may run on, which another job has."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in)
    page = context.new_page()
    holder = submit(page, name="holder", command="sleep 900", gpus="8", timeout_s="3000", worker_ids=FIRST_WITH_EIGHT)
    expect(answer(page)).to_contain_text("Runs on", timeout=40 * SECONDS)
    job_id = submit(page, name="wants-eight", command="sleep 900", gpus="8", worker_ids=FIRST_WITH_EIGHT)
    expect(answer(page)).to_contain_text("Waiting", timeout=40 * SECONDS)
    context.close()
    yield job_id
    for each in (job_id, holder):
        installation.run("job", "cancel", each)


def rows(page: Page) -> Locator:
    return page.locator("#cand-rows .cand > tbody > tr:not(.opened)")


def open_candidates(page: Page, job_id: str) -> None:
    page.goto(f"/jobs/{job_id}?#candidates")
    expect(rows(page).first).to_be_visible()
    expect(page.locator("section#whys")).to_have_count(0, timeout=40 * SECONDS)


def test_by_keyboard_rows_are_walked_filtered_and_opened(pages: Page, many: str) -> None:
    open_candidates(pages, many)
    pages.keyboard.press("f")
    expect(pages.get_by_label("Search candidates")).to_be_focused()
    pages.keyboard.type("lab-")
    expect(pages).to_have_url(re.compile(r"[?&]q=lab-"))
    expect(pages.get_by_label("Search candidates")).to_be_focused()
    expect(pages.get_by_label("Search candidates")).to_have_value("lab-")
    pages.evaluate("document.activeElement.blur()")
    names = pages.locator("#cand-rows th.w a")
    first = pages.locator("table.stack > tbody > tr").locator("th a").first
    while not names.first.evaluate("element => element === document.activeElement"):
        pages.keyboard.press("j")
        if names.last.evaluate("element => element === document.activeElement"):
            pytest.fail(f"j never came to the first candidate, but began at {first.inner_text()}")
    pages.keyboard.press("j")
    expect(names.nth(1)).to_be_focused()
    pages.keyboard.press("k")
    expect(names.first).to_be_focused()
    pages.keyboard.press("o")
    opened = pages.locator("#cand-rows tr.opened")
    expect(opened).to_be_visible()
    expect(opened.locator("table.req")).to_contain_text("Required")
    expect(opened.get_by_role("link", name=re.compile("as a page to share"))).to_be_visible()
    pages.keyboard.press("o")
    expect(opened).to_be_hidden()
    pages.keyboard.press("o")
    expect(opened).to_be_visible()
    assert complaints(pages) == []


def test_a_number_leads_to_its_rows_and_a_press_takes_the_filter_away(pages: Page, many: str) -> None:
    open_candidates(pages, many)
    facet = pages.locator(".facets a").first
    number = facet.locator(".n").inner_text()
    facet.click()
    expect(pages.locator("#cand-rows")).to_have_attribute("data-say", re.compile(rf"^{number} candidate"))
    expect(pages.locator(".facets a[aria-current]")).to_have_count(1)
    pages.locator(".chosen a").click()
    expect(pages.locator(".chosen")).to_have_count(0)
    cell = pages.locator("#checks td.f a").first
    number = re.sub(r"\D+.*$", "", cell.inner_text().removeprefix("all "))
    cell.click()
    expect(pages.locator("#cand-rows")).to_have_attribute("data-say", re.compile(rf"^{number} candidate"))
    expect(pages.locator("#candidates")).to_be_in_viewport()


def test_sorted_and_paged_the_address_says_so_and_comes_back(pages: Page, many: str) -> None:
    open_candidates(pages, many)
    everybody = pages.get_by_role("group", name="Verdict").get_by_role("link", name=re.compile("^All"))
    everybody.click()
    expect(everybody).to_have_attribute("aria-current", "true")
    pages.get_by_label("Sort", exact=True).select_option("worker")
    expect(pages).to_have_url(re.compile("sort=worker"))
    expect(pages).to_have_url(re.compile("verdict=all"))
    names = pages.locator("#cand-rows th.w a").all_inner_texts()
    assert names == sorted(names)
    address = pages.url
    pages.goto(address)
    assert pages.locator("#cand-rows th.w a").all_inner_texts() == names
    expect(pages.get_by_label("Sort", exact=True)).to_have_value("worker")


def test_a_newer_pass_is_told_and_moves_no_row(pages: Page, many: str, installation: Installation) -> None:
    open_candidates(pages, many)
    before = pages.locator("#cand-rows th.w a").all_inner_texts()
    installation.run("worker", "drain", FIRST_WITH_EIGHT)
    try:
        banner = pages.locator("#cand-newer .cand-newer")
        expect(banner).to_contain_text("is newer", timeout=40 * SECONDS)
        assert pages.locator("#cand-rows th.w a").all_inner_texts() == before
        expect(banner.get_by_role("link", name=re.compile("^Show pass"))).to_be_visible()
        banner.get_by_role("link", name="What changed").click()
        expect(pages).to_have_url(re.compile(r"/changes\?earlier="))
    finally:
        installation.run("worker", "undrain", FIRST_WITH_EIGHT)


def test_without_a_script_rows_are_searched_and_checks_a_link_away(open_page: Any, many: str) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"/jobs/{many}/candidates?verdict=all")
    page.get_by_label("Search candidates").fill("lab-v100")
    page.get_by_role("button", name="Show", exact=True).last.click()
    expect(page.locator("#cand-rows th.w a").first).to_contain_text("lab-v100")
    page.locator("#cand-rows summary", has_text="Checks").first.click()
    page.locator("#cand-rows").get_by_role("link", name=re.compile("^All checks of lab-v100")).first.click()
    expect(page.locator("#ans")).to_contain_text("lab-v100")


@pytest.mark.parametrize("tail", ["/why-not/lab-v100-03", "/candidates?verdict=never", "/checks?by=tier"])
def test_is_accessible_and_within_its_width(open_page: Any, many: str, tail: str) -> None:
    page = open_page()
    page.goto(f"/jobs/{many}{tail}")
    expect(page.locator("section#whys")).to_have_count(0, timeout=40 * SECONDS)
    assert complaints(page) == []
