"""The overview in Chromium: the map walked by keys and pointer, the legend as a filter, and nothing lost by polling."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def strip(page: Page) -> Any:
    """Who is chosen in the map."""
    return page.locator("#readout a")


def group(page: Page, name: str) -> Any:
    """The drawing of one group."""
    return page.get_by_role("listbox", name=name)


class TestTheMap:
    def test_it_is_walked_by_keys_and_opens_the_worker(self, open_page: Any, simulated_fleet: int) -> None:
        page = open_page()
        page.goto("/?tier=remote")
        drawn = group(page, "H100")
        drawn.focus()
        first = strip(page).inner_text()
        names = drawn.locator("use").evaluate_all("all => all.map(one => one.dataset.w)")
        assert first == names[0]
        columns = int(drawn.get_attribute("data-cols"))
        for key, place in (
            ("ArrowRight", 1), ("ArrowDown", 1 + columns), ("ArrowLeft", columns), ("ArrowUp", 0), ("ArrowUp", 0),
            ("End", len(names) - 1), ("ArrowRight", len(names) - 1), ("Home", 0), ("ArrowRight", 1),
        ):  # fmt: skip
            page.keyboard.press(key)
            expect(strip(page)).to_have_text(names[place])
            assert drawn.locator("use[aria-selected=true]").get_attribute("data-w") == names[place]
            assert drawn.get_attribute("aria-activedescendant") == "chosen"
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(rf"/workers/{re.escape(names[1])}$"), timeout=15 * SECONDS)

    def test_what_is_chosen_stays_chosen_when_the_page_is_drawn_anew(
        self, open_page: Any, simulated_fleet: int, installation: Any
    ) -> None:
        page = open_page()
        page.goto("/?tier=remote")
        drawn = group(page, "H100")
        drawn.focus()
        page.keyboard.press("ArrowDown")
        chosen = strip(page).inner_text()
        tag = page.locator("#overview").get_attribute("hx-ptag")
        installation.run("worker", "drain", "rem-h100-599")
        expect(page.locator("#overview")).not_to_have_attribute("hx-ptag", tag, timeout=30 * SECONDS)
        expect(strip(page)).to_have_text(chosen)
        assert page.evaluate("document.activeElement.id") == drawn.get_attribute("id")
        installation.run("worker", "undrain", "rem-h100-599")

    def test_a_click_names_a_worker_and_its_link_opens_it(self, open_page: Any, simulated_fleet: int) -> None:
        page = open_page()
        page.goto("/?tier=remote")
        third = group(page, "H100").locator("use").nth(2)
        third.click()
        name = third.get_attribute("data-w")
        expect(strip(page)).to_have_text(name)
        strip(page).click()
        expect(page).to_have_url(re.compile(rf"/workers/{re.escape(name)}$"))


class TestEveryNumberLeadsOn:
    def test_the_legend_filters_and_lets_go_again(self, open_page: Any, simulated_fleet: int) -> None:
        page = open_page()
        page.goto("/")
        legend = page.locator("#totals .legend a").filter(has_text="free")
        legend.click()
        expect(page).to_have_url(re.compile(r"/\?device=free$"))
        expect(page.locator("#totals .legend a[aria-current]")).to_contain_text("free")
        expect(page.locator(".part")).to_contain_text("with devices free")
        page.get_by_role("link", name="Show all").click()
        expect(page).to_have_url(re.compile(r"/$"))

    def test_a_small_group_is_named_tiles_that_lead_to_workers(self, open_page: Any, simulated_fleet: int) -> None:
        page = open_page(java_script_enabled=False)
        page.goto("/?tier=local")
        page.locator(".map h3 a").filter(has_text="V100").click()
        tiles = page.locator("article.tile")
        expect(tiles).to_have_count(20)
        tiles.first.get_by_role("link").click()
        expect(page).to_have_url(re.compile(r"/workers/lab-v100-"))


@pytest.mark.parametrize("where", ["/", "/?tier=local&by=label%3Azone", "/?device=free&tier=remote"])
def test_it_is_accessible_silent_and_within_its_width(open_page: Any, simulated_fleet: int, where: str) -> None:
    page = open_page()
    page.goto(where)
    page.wait_for_timeout(1_000)
    assert complaints(page) == []
