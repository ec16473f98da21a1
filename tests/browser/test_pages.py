"""What pages do in Chromium with a script and without one. What each looks like: test_every_page.py."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.test_walk import SECONDS, answer, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def never(installation: Installation, simulated_fleet: int, signed_in: Any, browser: Any) -> str:
    """A job that no worker can run."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in)
    page = context.new_page()
    job = submit(page, name="never", gpus="8", gpu_memory_gb="800")
    expect(answer(page)).to_contain_text("Never fits", timeout=15 * SECONDS)
    context.close()
    return job


class TestWithoutAScript:
    def test_a_form_is_submitted_and_its_errors_stand_beside_the_fields(self, open_page: Any) -> None:
        page = open_page(java_script_enabled=False)
        page.goto("/jobs/new")
        page.get_by_label("Name", exact=True).fill("no script")
        page.get_by_label("GPUs", exact=True).fill("two")
        page.locator(".submitbar button").click()
        assert "a whole number" in page.locator("#f-gpus-error").inner_text()
        page.get_by_label("GPUs", exact=True).fill("")
        page.get_by_label("Command").fill("true")
        page.locator(".submitbar button").click()
        page.wait_for_url(re.compile(r"/jobs/j-\d+$"))

    def test_the_two_views_of_a_document_change_over(self, open_page: Any) -> None:
        page = open_page(java_script_enabled=False)
        page.goto("/jobs/new")
        page.get_by_label("Name", exact=True).fill("both")
        page.get_by_role("button", name="YAML").click()
        assert "name: both" in page.get_by_label("Job document").input_value()
        page.get_by_role("button", name="Form").click()
        assert page.get_by_label("Name", exact=True).input_value() == "both"

    def test_lists_are_filtered_and_paged(self, open_page: Any, never: str) -> None:
        page = open_page(java_script_enabled=False)
        page.goto("/workers")
        page.get_by_role("link", name="Next page of workers").click()
        assert "26–50 of" in page.locator(".pager").inner_text()
        page.get_by_label("Search workers").fill("lab-v100")
        page.get_by_role("button", name="Filter").click()
        assert "of 20" in page.locator(".pager").inner_text()
        page.goto(f"/jobs/{never}")
        page.get_by_role("link", name=re.compile("^Outside target")).click()
        assert "1–25 of 6" in page.locator(".pager").inner_text()

    def test_a_job_is_cancelled(self, open_page: Any) -> None:
        page = open_page(java_script_enabled=False)
        page.goto("/jobs/new")
        page.get_by_label("Name", exact=True).fill("to cancel")
        page.get_by_label("Command").fill("sleep 600")
        page.get_by_label("GPUs", exact=True).fill("8")
        page.locator(".submitbar button").click()
        page.get_by_role("link", name="Cancel job…").click()
        page.get_by_role("button", name=re.compile("^Cancel j-")).click()
        assert re.search(r"j-\d+ is cancell", page.locator("main .note").first.inner_text())


@pytest.mark.usefixtures("simulated_fleet")
class TestLive:
    def test_typing_in_a_filter_asks_once_and_keeps_the_focus(self, pages: Page) -> None:
        asked: list[str] = []
        pages.goto("/workers")
        pages.on("request", lambda request: asked.append(request.url) if "q=lab-v100" in request.url else None)
        search = pages.get_by_label("Search workers")
        search.press_sequentially("lab-v100", delay=30)
        expect(pages.locator("#rows .pager")).to_contain_text("of 20")
        expect(search).to_be_focused()
        expect(search).to_have_value("lab-v100")
        assert len([url for url in asked if "state=" in url]) == 1
        expect(pages).to_have_url(re.compile("q=lab-v100"))

    def test_nothing_new_changes_nothing_on_the_page(self, pages: Page) -> None:
        pages.goto("/workers?q=lab-v100-1")
        pages.evaluate(
            "() => { window.changes = 0; new MutationObserver(all => { window.changes += all.length }).observe("
            "document.querySelector('#rows table'), {subtree: true, childList: true, characterData: true}) }"
        )
        # A worker that is late, on a busy machine, is news: looked at are two looks in a row between which nothing was.
        for _ in range(10):
            with pages.expect_response(lambda response: "/workers" in response.url and response.status == 304):
                pass
            pages.evaluate("window.changes = 0")
            with pages.expect_response(lambda response: "/workers" in response.url) as caught:
                pass
            if caught.value.status == 304:
                break
        assert caught.value.status == 304
        assert pages.evaluate("window.changes") == 0

    def test_the_document_beside_the_form_follows_it(self, pages: Page) -> None:
        pages.goto("/jobs/new")
        pages.get_by_label("Name", exact=True).fill("followed")
        pages.get_by_label("Command").fill("python a.py && echo done")
        pages.locator("summary", has_text="The document it makes").click()
        expect(pages.locator("#preview")).to_contain_text("name: followed")
        expect(pages.locator("#av .argv").first).to_contain_text("a.py")
        expect(pages.locator("#av")).to_contain_text("Run in a shell")

    def test_a_session_that_ended_leads_to_signing_in(self, open_page: Any) -> None:
        page = open_page(quiet=False)
        page.goto("/jobs")
        page.context.clear_cookies()
        page.wait_for_url(re.compile("/signin"), timeout=10 * SECONDS)

    def test_keys_go_to_places_and_the_list_of_them_opens(self, pages: Page) -> None:
        pages.goto("/jobs")
        pages.keyboard.press("?")
        expect(pages.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        pages.keyboard.press("Escape")
        pages.keyboard.press("g")
        pages.keyboard.press("w")
        pages.wait_for_url("**/workers")

    def test_a_theme_is_kept_and_the_system_is_followed_again(self, pages: Page) -> None:
        pages.goto("/profile")
        pages.get_by_label("Theme").select_option("dark")
        pages.get_by_role("button", name="Save", exact=True).click()
        expect(pages.locator("html")).to_have_attribute("data-theme", "dark")
        pages.get_by_label("Theme").select_option("system")
        pages.get_by_role("button", name="Save", exact=True).click()
        expect(pages.locator("html")).not_to_have_attribute("data-theme", re.compile("."))
