"""Pages that keep themselves up to date, beside people who read, type and lose their connection."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Installation
from tests.browser.stage import calls, submitted
from tests.browser.test_walk import SECONDS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WITHIN = 2 * SECONDS
"""After so long, whoever has the same job open sees what somebody did with it."""
HIDDEN = "is => Object.defineProperty(document, 'hidden', {get: () => is, configurable: true})"
POLLS = "() => [...document.querySelectorAll('[hx-ptag][hx-trigger]')].length"
MOVING = """() => [...document.querySelectorAll('*')].filter(x => {
  const s = getComputedStyle(x);
  return s.animationName !== 'none' || s.transitionDuration.split(', ').some(d => parseFloat(d) > 0);
}).map(x => x.outerHTML.slice(0, 120))"""
WITHOUT_AN_EDGE = """() => [...document.querySelectorAll('.pill, .why, .btn, .form-control, .d')]
  .filter(x => x.checkVisibility() && parseFloat(getComputedStyle(x).borderTopWidth) === 0)
  .map(x => x.outerHTML.slice(0, 120))"""


@pytest.fixture
def submit(installation: Installation) -> Iterator[Callable[[str], str]]:
    """Somebody else, who submits jobs that no worker can run; cancelled in the end."""
    made: list[str] = []
    with calls(installation) as api:

        def make(name: str) -> str:
            made.append(submitted(api, name, command=["true"], target="local", resources={"gpus": 64}))
            return made[-1]

        yield make
        for job in made:
            api.post(f"jobs/{job}/cancel")


@pytest.fixture
def waiting(submit: Callable[[str], str]) -> str:
    """A job that waits."""
    return submit("waits")


def test_a_question_that_was_closed_stays_closed_while_the_page_is_brought_up_to_date(
    pages: Page, waiting: str, submit: Callable[[str], str]
) -> None:
    pages.goto("/jobs")
    pages.locator("tr", has_text=waiting).get_by_role("link", name=re.compile("Cancel")).first.click()
    expect(pages.get_by_role("dialog")).to_be_visible()
    pages.keyboard.press("Escape")
    expect(pages.get_by_role("dialog")).to_have_count(0)
    pages.get_by_role("searchbox", name="Go to").or_(pages.locator("#q")).first.focus()  # out of the rows
    another = submit("comes later")
    expect(pages.locator("#rows")).to_contain_text(another, timeout=15 * SECONDS)
    expect(pages.get_by_role("dialog")).to_have_count(0)


def test_two_people_with_one_job_open_see_a_change_within_two_seconds(
    open_page: Any, pages: Page, waiting: str
) -> None:
    other = open_page()
    other.goto(f"/jobs/{waiting}")
    pill = other.locator(".head .pill").first
    expect(pill).to_contain_text(re.compile("Never fits|Waiting"), timeout=15 * SECONDS)
    pages.goto(f"/jobs/{waiting}/cancel")
    pages.get_by_role("button", name=re.compile("^Cancel j-")).click()
    expect(pages.locator("main .note").first).to_contain_text(f"{waiting} is cancell")
    changed = monotonic()
    expect(pill).to_contain_text("Cancelled", timeout=WITHIN)
    assert monotonic() - changed < WITHIN / SECONDS


@pytest.mark.usefixtures("waiting")
def test_what_is_typed_in_a_filter_is_kept_while_rows_come(pages: Page, submit: Callable[[str], str]) -> None:
    pages.goto("/jobs")
    search = pages.get_by_label("Search jobs")
    search.press_sequentially("typed-", delay=30)
    submit("typed-while-others-work")
    expect(pages.locator("#rows")).to_contain_text("typed-while-others-work", timeout=10 * SECONDS)
    expect(search).to_be_focused()
    expect(search).to_have_value("typed-")
    search.press_sequentially("while", delay=30)
    expect(search).to_have_value("typed-while")
    expect(pages.locator("#rows tbody tr")).to_have_count(1)
    expect(pages.locator("#announce")).to_have_text("1 job")


def test_rows_a_person_is_in_stay_until_they_are_left(pages: Page, waiting: str, submit: Callable[[str], str]) -> None:
    pages.goto("/jobs?state=all")
    row = pages.locator(f"#{waiting} th a").first
    row.focus()
    submit("a-newer-one")
    note = pages.locator("p.newer")
    expect(note).to_contain_text("This list has changed.", timeout=10 * SECONDS)
    expect(row).to_be_focused()
    expect(pages.locator("#rows")).not_to_contain_text("a-newer-one")
    note.get_by_role("button", name="Show").click()
    expect(pages.locator("#rows")).to_contain_text("a-newer-one")
    expect(note).to_have_count(0)


class TestTheConnection:
    def test_lost_it_says_since_when_and_how_old_the_page_is_by_now(self, open_page: Any) -> None:
        page = open_page(quiet=False)
        page.goto("/jobs")
        page.context.set_offline(True)
        bar = page.locator("#stale")
        expect(bar).to_contain_text(re.compile(r"No connection since \d\d:\d\d:\d\d\."), timeout=10 * SECONDS)
        expect(bar).to_contain_text(re.compile(r"state of then, [4-9] s ago\."), timeout=10 * SECONDS)
        expect(page.locator(".live").first).to_contain_text("State of ")
        page.context.set_offline(False)
        expect(bar).to_be_hidden(timeout=15 * SECONDS)
        expect(page.locator(".live").first).to_have_text("Live")

    def test_asks_less_often_while_it_is_lost(self, open_page: Any) -> None:
        page = open_page(quiet=False)
        page.goto("/jobs")
        asked: list[float] = []

        def refuse(route: Route) -> None:
            asked.append(monotonic())
            route.abort()

        page.route("**/jobs?*", refuse)
        expect(page.locator("#stale")).to_contain_text("Next try in 7 s", timeout=20 * SECONDS)
        assert len(asked) == 3
        assert asked[2] - asked[1] > asked[1] - asked[0]


def test_a_hidden_tab_asks_for_nothing(pages: Page) -> None:
    pages.goto("/jobs")
    assert pages.evaluate(POLLS)
    with pages.expect_response(lambda response: "/jobs" in response.url):
        pass
    pages.evaluate(HIDDEN, True)
    asked: list[str] = []
    pages.on("request", lambda request: asked.append(request.url))
    pages.wait_for_timeout(3 * SECONDS)
    assert asked == []
    with pages.expect_response(lambda response: "/jobs" in response.url):
        pages.evaluate(HIDDEN, False)


def test_nothing_moves_where_less_motion_is_asked_for(open_page: Any, waiting: str) -> None:
    page = open_page(reduced_motion="reduce")
    for path in ("/", "/jobs", f"/jobs/{waiting}", "/workers", "/jobs/new"):
        page.goto(path)
        assert page.evaluate(MOVING) == [], path


def test_with_the_systems_own_colours_everything_has_an_edge(open_page: Any, waiting: str) -> None:
    page = open_page(forced_colors="active")
    for path in ("/jobs", f"/jobs/{waiting}", "/workers", "/jobs/new"):
        page.goto(path)
        assert page.evaluate(WITHOUT_AN_EDGE) == [], path


def test_single_keys_are_turned_off_in_the_profile(pages: Page) -> None:
    off, dialog = re.compile("off"), pages.get_by_role("dialog", name="Keyboard shortcuts")
    pages.goto("/profile")
    pages.get_by_label("Single-key shortcuts").uncheck()
    pages.get_by_role("button", name="Save", exact=True).click()
    expect(pages.locator("html")).to_have_attribute("data-keys", off)
    pages.keyboard.press("?")
    expect(dialog).to_be_hidden()
    pages.get_by_label("Single-key shortcuts").check()
    pages.get_by_role("button", name="Save", exact=True).click()
    expect(pages.locator("html")).not_to_have_attribute("data-keys", off)
    pages.keyboard.press("?")
    expect(dialog).to_be_visible()
