"""Before it is saved, a change says which waiting jobs it is about: a drain, a label, many workers at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("simulated_fleet")]

HOST = "lab-v100-05"


@pytest.fixture
def queued(pages: Page, installation: Installation) -> Iterator[str]:
    """A job that waits for all devices of the one worker that it names, behind another."""
    jobs = [submit(pages, name=f"{name}-on-05", command="sleep 900", gpus="8", worker_ids=HOST)
            for name in ("first", "second")]  # fmt: skip
    expect(pages.locator("#answer .lead")).to_contain_text("Waiting", timeout=30 * SECONDS)
    yield jobs[1]
    for job in jobs:
        installation.run("job", "cancel", job)
    installation.run("worker", "undrain", HOST)


def test_a_drain_names_the_job_that_would_have_no_worker_left(
    pages: Page, installation: Installation, queued: str
) -> None:
    pages.goto(f"/workers/{HOST}")
    pages.get_by_role("link", name="Drain…").click()
    dialog = pages.get_by_role("dialog", name=f"Drain {HOST}?")
    row = dialog.get_by_role("row").filter(has_text=queued)
    expect(row).to_contain_text("no worker would be left that takes it", timeout=15 * SECONDS)
    expect(row).to_contain_text("1 → 0")
    assert complaints(pages) == []
    pages.set_viewport_size({"width": 1440, "height": 900})
    dialog.get_by_label("Reason").fill("new fans")
    dialog.get_by_role("button", name=f"Drain {HOST}").click()
    expect(pages.locator("#live")).to_contain_text("new fans")
    pages.goto(f"/jobs/{queued}")
    expect(pages.locator("#answer")).to_contain_text("(new fans)", timeout=30 * SECONDS)
    pages.goto(f"/workers/{HOST}")
    pages.get_by_role("link", name="Undrain…").click()
    expect(pages.get_by_role("dialog")).to_contain_text("would have a worker again", timeout=15 * SECONDS)
    pages.get_by_role("dialog").get_by_role("link", name="Keep").click()
    expect(pages.get_by_role("dialog")).to_have_count(0)


def test_labels_are_looked_at_while_they_are_typed(pages: Page) -> None:
    pages.goto(f"/workers/{HOST}")
    pages.get_by_role("link", name="Edit labels…").click()
    dialog = pages.get_by_role("dialog", name=f"Labels of {HOST}")
    dialog.get_by_label("Set").fill("rack")
    expect(dialog.locator("#what-if")).to_contain_text("key=value to set a label", timeout=15 * SECONDS)
    dialog.get_by_label("Set").fill("rack=r12")
    expect(dialog.locator("#what-if")).to_contain_text("waiting", timeout=15 * SECONDS)
    expect(dialog.get_by_label("Set")).to_be_focused()
    dialog.get_by_role("button", name="Save labels").click()
    expect(pages.locator("#live")).to_contain_text("rack=r12")


def test_ticks_stay_while_the_list_is_brought_up_to_date(pages: Page) -> None:
    pages.goto("/workers?q=lab-v100")
    pages.get_by_label("Tick lab-v100-01").check()
    for _ in range(2):
        with pages.expect_response(lambda response: "/workers?" in response.url):
            pass
    pages.evaluate("document.querySelector('#rows').setAttribute('hx-ptag', 'another')")
    with pages.expect_response(lambda response: "/workers?" in response.url):
        pass
    expect(pages.get_by_label("Tick lab-v100-01")).to_be_checked()
    pages.get_by_label("Tick lab-v100-02").check()
    pages.get_by_role("button", name="Labels…").click()
    expect(pages.get_by_role("heading", name="Labels of 2 workers")).to_be_visible()


def test_a_preview_is_a_step_of_its_own_without_scripts(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(f"/workers/{HOST}/labels")
    page.get_by_label("Set").fill("floor=2")
    page.get_by_role("button", name="Preview").click()
    assert "waiting" in page.locator("#what-if").inner_text()
    assert page.get_by_label("Set").input_value() == "floor=2"
    page.get_by_role("button", name="Save labels").click()
    assert "floor=2" in page.locator("#lb").locator("xpath=../..").inner_text()
