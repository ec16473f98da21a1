"""People in a browser: an administrator lets each role in, each sees and can do its part; a token from end to end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import Installation, Watch
from tests.browser.looks import complaints

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NEW = "correct horse battery staple"
ROLES = ("viewer", "submitter", "operator", "administrator")
PARTS = {
    # role: what the menu has, and the statuses of three pages
    "viewer": (set(), {"/jobs/new": 403, "/enrolment": 403, "/people": 403}),
    "submitter": ({"Submit job"}, {"/jobs/new": 200, "/enrolment": 403, "/people": 403}),
    "operator": ({"Submit job", "Admin"}, {"/jobs/new": 200, "/enrolment": 200, "/people": 403}),
    "administrator": ({"Submit job", "Admin", "People"}, {"/jobs/new": 200, "/enrolment": 200, "/people": 200}),
}


@pytest.fixture
def visit(browser: Browser, installation: Installation) -> Iterator[Any]:
    """Make pages of nobody yet."""
    contexts: list[BrowserContext] = []

    def make() -> Page:
        context = browser.new_context(base_url=installation.url)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        return page

    yield make
    for context in contexts:
        context.close()


def let_in(page: Page, name: str, role: str) -> str:
    """As the administrator: somebody new, and the temporary password."""
    page.goto("/people")
    page.get_by_role("link", name="Add person").first.click()
    page.get_by_label("User name").fill(name)
    page.get_by_role("combobox", name="Role").select_option(role)
    page.get_by_role("button", name="Add person").click()
    return page.locator(".cmd code").inner_text()


def sign_in(page: Page, name: str, password: str) -> None:
    page.goto("/signin")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def choose_password(page: Page) -> None:
    """A temporary password lets nobody do anything but choose another."""
    expect(page.get_by_role("heading", name="Choose a password")).to_be_visible()
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("New password confirmation").fill(NEW)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_role("heading", name="Profile and tokens")).to_be_visible()


@pytest.mark.parametrize("role", ROLES)
def test_each_role_sees_and_can_do_its_part(pages: Page, visit: Any, role: str) -> None:
    name = f"walk-{role}"
    password = let_in(pages, name, role)
    page = visit()
    sign_in(page, name, password)
    choose_password(page)
    menu, statuses = PARTS[role]
    page.goto("/jobs")
    offered = {link.strip() for link in page.locator(".bar-top nav a, .bar-top a.btn-primary").all_inner_texts()}
    assert offered & {"Submit job", "Admin", "People"} == menu
    answers = {path: page.goto(path) for path in statuses}
    assert {path: answer.status for path, answer in answers.items() if answer} == statuses


def test_what_an_administrator_takes_away_is_gone_from_an_open_page(pages: Page, visit: Any) -> None:
    page = visit()
    sign_in(page, "walk-taken", let_in(pages, "walk-taken", "operator"))
    choose_password(page)
    page.goto("/jobs")
    there = pages.url
    pages.get_by_role("combobox", name="Role").select_option("viewer")
    pages.get_by_role("button", name="Save role").click()
    expect(pages.locator("main")).to_contain_text("walk-taken is viewer now.")
    assert pages.url == there
    page.wait_for_url(re.compile("/signin"))  # the page looks again by itself, and finds the session over
    sign_in(page, "walk-taken", NEW)
    expect(page.locator(".bar-top nav")).not_to_contain_text("Admin")


def test_a_token_is_made_used_and_revoked(pages: Page, installation: Installation) -> None:
    pages.goto("/profile")
    pages.get_by_label("Name", exact=True).fill("notebook")
    pages.get_by_label("May", exact=True).select_option("read")
    pages.get_by_role("button", name="Make token").click()
    secret = pages.locator(".cmd code").inner_text()
    row = pages.get_by_role("row", name=re.compile("notebook"))
    expect(row).to_contain_text("administrator: read")
    pages.reload()
    expect(row).to_have_count(1)
    assert secret not in pages.content()

    def call(method: str, path: str) -> int:
        headers = {"Authorization": f"Bearer {secret}"}
        return httpx.request(method, f"{installation.url}/api/v1/{path}", headers=headers).status_code

    assert (call("GET", "workers"), call("GET", "people"), call("POST", "tokens")) == (200, 403, 403)
    pages.reload()
    expect(row).to_contain_text("127.0.0.1")
    pages.get_by_role("button", name="Revoke notebook").click()
    expect(row).to_have_count(0)
    assert call("GET", "workers") == 401


def test_times_are_those_of_the_browser(browser: Browser, installation: Installation, signed_in: Any) -> None:
    context = browser.new_context(base_url=installation.url, storage_state=signed_in, timezone_id="Asia/Tokyo")
    page = context.new_page()
    watch = Watch(page)
    page.goto("/jobs")
    page.goto("/profile")
    expect(page.locator("footer.site")).to_have_text("Times are in Asia/Tokyo.")
    context.close()
    assert watch.complaints == []


def test_the_pages_are_accessible_and_within_their_width(open_page: Any) -> None:
    page = open_page()
    name = "a-name-that-is-as-long-as-names-get-" + "x" * 40
    let_in(page, name, "submitter")
    person = page.url
    page.goto("/teams")
    page.get_by_label("Name").fill("a team with a long name " + "x" * 40)
    page.get_by_role("button", name="Make team").click()
    page.get_by_label("Add a person").fill(name)
    page.get_by_role("button", name="Add to team").click()
    team = page.url
    for address in (person, team, "/people", "/people/new", "/teams", "/profile", "/profile/password"):
        page.goto(address)
        page.wait_for_load_state("networkidle")
        assert complaints(page) == []
