"""Acts in a browser: an enrolment token, pausing, resuming, cloning with a secret, and every question it asks."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, answer, submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CANARY = "canary-Zk3vQ9"
NEVER = {"target": "cloud", "gpus": "8"}


def test_an_operator_makes_a_token_and_ends_it(pages: Page, installation: Installation) -> None:
    pages.goto("/workers")
    pages.get_by_text("Add worker").click()
    pages.get_by_label("What for").fill("gpu-07, rack 12")
    pages.get_by_role("button", name="Make token").click()
    expect(pages.get_by_text("Token made.")).to_be_visible()
    token = pages.locator("code", has_text=re.compile(r"^gle_")).inner_text()
    assert len(token) == 47
    expect(pages.locator("code", has_text="worker start --url")).to_contain_text(installation.url)
    pages.goto("/enrolment")
    assert token not in pages.content()
    listed = pages.locator("li", has_text="gpu-07, rack 12")
    expect(listed).to_contain_text("1 use left")
    listed.get_by_role("button", name="Revoke").click()
    expect(pages.get_by_text("is revoked")).to_be_visible()
    expect(pages.locator("li", has_text="gpu-07, rack 12")).to_have_count(0)


def test_pausing_and_resuming_from_the_page_and_the_list(pages: Page) -> None:
    job = submit(pages, name="to-pause", **NEVER)
    pages.get_by_role("button", name="Pause").click()
    expect(answer(pages)).to_contain_text("Paused by")
    pages.goto("/jobs")
    row = pages.locator("tr", has_text=job)
    expect(row).to_contain_text("paused by")
    row.get_by_role("button", name="Resume").click()
    expect(pages).to_have_url(re.compile(r"/jobs$"))
    expect(pages.locator("tr", has_text=job)).not_to_contain_text("paused by", timeout=15 * SECONDS)
    pages.locator("tr", has_text=job).get_by_role("link", name="Cancel job").click()
    dialog = pages.get_by_role("dialog", name=f"Cancel {job}")
    dialog.get_by_role("link", name="Keep").click()
    expect(dialog).to_be_hidden()


def test_a_clone_takes_a_secret_along_that_no_page_shows(pages: Page) -> None:
    first = submit(pages, name="with-a-secret", secrets=f"TOKEN={CANARY}", command="printenv TOKEN")
    expect(answer(pages)).to_contain_text("exit code 0", timeout=30 * SECONDS)
    pages.get_by_role("link", name="Clone").click()
    expect(pages.get_by_label("TOKEN")).to_be_checked()
    assert CANARY not in pages.content()
    pages.locator("[name=name]").fill("the-clone")
    pages.locator(".submitbar button").click()
    expect(pages).to_have_url(re.compile(rf"/jobs/(?!{first}$)j-\d+$"), timeout=30 * SECONDS)
    expect(answer(pages)).to_contain_text("exit code 0", timeout=30 * SECONDS)
    expect(pages.get_by_text("Made from")).to_contain_text(first)
    for tab in ("", "/log", "/spec"):
        pages.goto(pages.url.split("/log")[0].split("/spec")[0] + tab)
        assert CANARY not in pages.content()


def test_a_retry_leads_to_the_new_job_and_delete_asks(pages: Page) -> None:
    first = submit(pages, name="to-retry", command="sh -c 'exit 3'")
    expect(answer(pages)).to_contain_text("exit code 3", timeout=30 * SECONDS)
    pages.get_by_role("button", name="Retry").click()
    expect(pages.get_by_text(f"is a retry of {first}")).to_be_visible()
    pages.goto(f"/jobs/{first}")
    expect(pages.get_by_text("Made again as")).to_be_visible()
    pages.get_by_role("link", name="Delete").click()
    pages.get_by_role("dialog").get_by_role("button", name=f"Delete {first}").click()
    expect(pages.get_by_text(f"{first} is deleted.")).to_be_visible()
    expect(pages).to_have_url(re.compile(r"/jobs$"))


def test_a_menu_stays_open_while_the_page_is_brought_up_to_date(pages: Page, installation: Installation) -> None:
    pages.goto(f"/workers/{installation.host}")
    pages.locator("#manage > summary").click()
    installation.run("worker", "drain", installation.host, "--note", "a test")
    try:
        expect(pages.get_by_role("link", name="Undrain")).to_be_visible(timeout=15 * SECONDS)
        expect(pages.locator("#manage")).to_have_attribute("open", "")
        pages.get_by_role("link", name="Undrain").click()
        pages.get_by_role("dialog").get_by_role("button", name="Undrain").click()
        expect(pages.get_by_text("may have work again")).to_be_visible()
    finally:
        installation.run("worker", "undrain", installation.host)


def test_acts_work_without_any_script(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    job = submit_plainly(page)
    page.get_by_role("button", name="Pause").click()
    assert f"{job} is paused." in page.content()
    page.get_by_role("link", name="Cancel job").click()
    page.get_by_role("button", name=f"Cancel {job}").click()
    assert f"{job} is cancelled." in page.content()


def submit_plainly(page: Page) -> str:
    page.goto("/jobs/new")
    page.locator("[name=name]").fill("plain")
    page.locator("[name=command]").fill("true")
    page.get_by_role("button", name="Add cloud").click()
    page.get_by_role("button", name="Remove local").click()
    page.locator(".submitbar button").click()
    return page.url.rsplit("/", 1)[1]


@pytest.mark.parametrize("name", ["enrolment", "pause", "delete", "revoke", "worker"])
def test_is_accessible_and_within_its_width(open_page: Any, installation: Installation, name: str) -> None:
    page = open_page(quiet=False, viewport={"width": 1440, "height": 900})
    job = submit(page, name="looked-at", **NEVER)
    if name == "pause":
        page.get_by_role("button", name="Pause").click()
    if name == "delete":
        installation.run("job", "cancel", job)
    page.goto({
        "enrolment": "/enrolment", "pause": f"/jobs/{job}", "delete": f"/jobs/{job}/act/delete",
        "revoke": f"/workers/{installation.host}/act/revoke", "worker": f"/workers/{installation.host}",
    }[name])  # fmt: skip
    assert complaints(page) == []
