"""What a job's pages say beyond its candidates, in Chromium: by eye, by keyboard, on a phone, and without a script."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, answer, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOST = "lab-v100-03"


@pytest.fixture(scope="module")
def waiting(installation: Installation, simulated_fleet: int, signed_in: dict[str, Any], browser: Any) -> str:
    """A job that waits for a whole host, while a later one starts there."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in)
    page = context.new_page()
    submit(page, name="first", command="sleep 900", gpus="4", timeout_s="3000", worker_ids=HOST)
    expect(answer(page)).to_contain_text("Runs on", timeout=40 * SECONDS)
    job_id = submit(page, name="whole-host", command="sleep 900", gpus="8", worker_ids=HOST)
    expect(answer(page)).to_contain_text("Waiting", timeout=40 * SECONDS)
    submit(page, name="later", command="sleep 900", gpus="1", timeout_s="600", worker_ids=HOST)
    expect(answer(page)).to_contain_text("Runs on", timeout=40 * SECONDS)
    context.close()
    return job_id


def places(job_id: str) -> dict[str, str]:
    """Every kind of page about why."""
    return {
        "placement": f"/jobs/{job_id}", "why": f"/jobs/{job_id}/why", "checks": f"/jobs/{job_id}/checks?by=torch",
        "why not": f"/jobs/{job_id}/why-not/lab-v100-04", "changes": f"/jobs/{job_id}/changes",
        "a worker": f"/workers/{HOST}",
    }  # fmt: skip


NAMES = ("placement", "why", "checks", "why not", "changes", "a worker")


def open_whole(page: Page, place: str) -> None:
    """The page with the panels that come by themselves."""
    page.goto(place)
    expect(page.locator("#whys[hx-get]")).to_have_count(0)


@pytest.mark.parametrize("name", NAMES)
def test_is_accessible_and_within_its_width_everywhere(open_page: Any, waiting: str, name: str) -> None:
    page = open_page()
    open_whole(page, places(waiting)[name])
    assert complaints(page) == []


def test_a_newcomer_finds_what_helps_and_submits_it(pages: Page, waiting: str) -> None:
    for _ in range(3):  # others' jobs come and go: what helps may be something else by the time of the click
        open_whole(pages, f"/jobs/{waiting}")
        sooner = pages.locator("section", has=pages.get_by_role("heading", name="What would start it sooner"))
        expect(sooner).to_contain_text("starts now")
        sooner.get_by_role("link", name=re.compile(r"^Edit copy with .*GPUs 8")).first.click()
        if "/edited" in pages.url:
            break
    expect(pages.get_by_label("Name", exact=True)).to_have_value("whole-host")
    expect(pages.get_by_label("GPUs", exact=True)).not_to_have_value("8")
    pages.locator(".submitbar button").click()
    expect(pages).to_have_url(re.compile(r"/jobs/j-\d+$"))
    expect(pages.locator("h1")).to_contain_text("whole-host")


def test_what_is_in_the_way_and_who_went_ahead(pages: Page, waiting: str) -> None:
    open_whole(pages, f"/jobs/{waiting}")
    expect(pages.locator("#whys")).to_contain_text(re.compile(r"reach(es)? (its|their) time limit"))
    expect(pages.get_by_role("heading", name=re.compile("^Passed over: "))).to_be_visible()
    pages.locator("#whys").get_by_role("link", name=HOST, exact=True).first.click()
    expect(answer(pages)).to_contain_text(f"{HOST} can run it, not now")


def test_checks_are_counted_anew_by_keyboard_and_the_focus_stays(pages: Page, waiting: str) -> None:
    open_whole(pages, f"/jobs/{waiting}")
    choice = pages.get_by_label("Group by", exact=True)
    choice.focus()
    pages.keyboard.press("ArrowDown")
    expect(pages.locator("#checks thead")).to_contain_text("local")
    expect(pages.get_by_label("Group by", exact=True)).to_be_focused()
    expect(pages.get_by_label("Group by", exact=True)).to_have_value("tier")


def test_without_a_script_everything_is_a_link_away(open_page: Any, waiting: str) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"/jobs/{waiting}")
    page.get_by_role("link", name=re.compile("^Show what would help")).click()
    expect(page.get_by_role("heading", name="What would start it sooner")).to_be_visible()
    page.get_by_label("Group by", exact=True).select_option("torch")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_label("Group by", exact=True)).to_have_value("torch")
    page.goto(f"/workers/{HOST}")
    page.get_by_label("Job", exact=True).fill(waiting)
    page.get_by_role("button", name="Show every check").click()
    expect(page.locator("#ans")).to_contain_text(f"{HOST} can run it, not now")
    page.get_by_role("link", name=re.compile("^Failed")).click()
    expect(page.locator("table.chk tbody th[scope=row]")).to_have_count(1)
