"""Every page in Chromium: accessible in both themes and on a phone, within its width, without noise or a script."""

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
def places(installation: Installation, simulated_fleet: int, signed_in: dict[str, Any], browser: Any) -> dict[str, str]:
    """An address for every kind of page, with jobs in several states."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in)
    page = context.new_page()
    done = submit(page, name="done", command="python -c 'print(1)'")
    expect(answer(page)).to_contain_text("exit code", timeout=15 * SECONDS)
    running = submit(page, name="running", command="sleep 900", gpus="8", worker_ids="lab-v100-17", fallback_1="remote")
    never = submit(page, name="never", gpus="8", gpu_memory_gb="800")
    expect(answer(page)).to_contain_text("Never fits", timeout=15 * SECONDS)
    context.close()
    return {
        "jobs": "/jobs", "no job": "/jobs?q=nothing-is-called-this", "a placed job": f"/jobs/{running}",
        "an ended job": f"/jobs/{done}", "a job that never fits": f"/jobs/{never}", "its log": f"/jobs/{done}/log",
        "its document": f"/jobs/{done}/spec", "cancelling": f"/jobs/{running}/cancel", "submit": "/jobs/new",
        "submit in YAML": "/jobs/new?as=yaml", "a clone": f"/jobs/new?like={running}", "workers": "/workers",
        "a worker": "/workers/lab-v100-00", "no such page": "/nothing", "keys": "/shortcuts", "profile": "/profile",
        "sign in": "/signin", "notices": "/notices", "draining": "/workers/lab-v100-00/drain",
        "labels of many": "/fleet/labels?worker=lab-v100-00&worker=lab-v100-01&label=rack%3Dr1",
        "limits": "/workers/lab-v100-00/limits",
    }  # fmt: skip


NAMES = (
    "jobs", "no job", "a placed job", "an ended job", "a job that never fits", "its log", "its document", "cancelling",
    "submit", "submit in YAML", "a clone", "workers", "a worker", "no such page", "keys", "profile", "sign in",
    "notices", "draining", "labels of many", "limits",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_is_accessible_silent_and_within_its_width(open_page: Any, places: dict[str, str], name: str) -> None:
    page = open_page(quiet=name != "no such page")  # Chromium itself reports that answer
    page.goto(places[name])
    page.wait_for_load_state("networkidle") if name in ("keys", "profile", "sign in") else page.wait_for_timeout(1_000)
    assert complaints(page) == []


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

    def test_lists_are_filtered_and_paged(self, open_page: Any, places: dict[str, str]) -> None:
        page = open_page(java_script_enabled=False)
        page.goto("/workers")
        page.get_by_role("link", name="Next page of workers").click()
        assert "26–50 of" in page.locator(".pager").inner_text()
        page.get_by_label("Search workers").fill("lab-v100")
        page.get_by_role("button", name="Filter").click()
        assert "of 20" in page.locator(".pager").inner_text()
        page.goto(places["a job that never fits"])
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
        expect(pages.locator("#av .argv")).to_contain_text("a.py")
        expect(pages.locator("#av")).to_contain_text("Run in a shell")

    def test_a_server_that_is_away_is_said_and_forgotten_when_it_is_back(self, open_page: Any) -> None:
        page = open_page(quiet=False)
        page.goto("/jobs")
        page.context.set_offline(True)
        expect(page.locator("#stale")).to_contain_text("No answer from the server", timeout=10 * SECONDS)
        page.context.set_offline(False)
        expect(page.locator("#stale")).to_be_hidden(timeout=10 * SECONDS)

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
