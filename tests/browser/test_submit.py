"""The submit form in a browser: what is typed, the answer beside it, Apply, both views, keys, and no script."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, answer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.usefixtures("simulated_fleet")]


@pytest.fixture
def form(pages: Page) -> Page:
    """A form that asks for two large devices."""
    pages.goto("/jobs/new")
    pages.get_by_label("Name", exact=True).fill("previewed")
    pages.get_by_label("Command").fill("sleep 1")
    pages.get_by_label("GPUs", exact=True).fill("2")
    pages.get_by_label("GPU memory, each").fill("800")
    return pages


def test_type_see_apply_submit(form: Page) -> None:
    answer_now = form.locator("#preview .note strong").first
    expect(answer_now).to_contain_text("Never fits", timeout=20 * SECONDS)
    expect(form.locator("#go")).to_have_text("Submit anyway, and wait")
    expect(form.locator("#said-gpu_memory_gb")).to_contain_text(re.compile(r"^0 of [\d,]+ local workers"))
    form.locator("#preview [data-set*=gpu_memory_gb]").first.click()
    expect(answer_now).not_to_contain_text("Never fits", timeout=20 * SECONDS)
    memory = form.get_by_label("GPU memory, each")
    expect(memory).not_to_have_value("800")
    expect(memory).to_be_focused()
    expect(form.locator("#go")).to_have_text("Submit")
    place = form.locator("#preview .note a").inner_text() if "run now" in answer_now.inner_text() else ""
    form.locator("#go").click()
    expect(form).to_have_url(re.compile(r"/jobs/j-\d+$"), timeout=30 * SECONDS)
    expect(answer(form)).to_contain_text(place, timeout=15 * SECONDS)


def test_an_answer_takes_nothing_from_who_types(form: Page) -> None:
    name = form.get_by_label("Name", exact=True)
    name.press("End")
    for letter in " while answers come in":
        name.press_sequentially(letter, delay=60)
    expect(form.locator("#preview")).to_contain_text("Never fits", timeout=20 * SECONDS)
    expect(name).to_be_focused()
    expect(name).to_have_value("previewed while answers come in")
    assert name.evaluate("field => field.selectionStart") == len("previewed while answers come in")


def test_errors_stand_beside_their_fields_while_one_types(form: Page) -> None:
    memory = form.get_by_label("GPU memory, each")
    memory.fill("40 bananas")
    expect(form.locator("#said-gpu_memory_gb")).to_contain_text("expected a size", timeout=20 * SECONDS)
    expect(memory).to_have_attribute("aria-invalid", "true")
    memory.fill("24")
    expect(form.locator("#said-gpu_memory_gb .invalid-feedback")).to_have_count(0, timeout=20 * SECONDS)
    expect(memory).not_to_have_attribute("aria-invalid", "true")


def test_of_text_every_error_has_its_line_and_comments_survive_the_form(pages: Page) -> None:
    pages.goto("/jobs/new?as=yaml")
    text = pages.get_by_label("Job document")
    text.fill("# mine\nname: a\ncommand: [true]\ntarget: local\nresources:\n  gpu_memory: 40\n")
    expect(pages.locator("#ye")).to_contain_text("Line 6 resources.gpu_memory", timeout=20 * SECONDS)
    expect(pages.locator("#preview")).to_contain_text("Not checked: 2 errors, in lines 3, 6")
    expect(text).to_be_focused()
    text.fill('# mine\nname: a\ncommand: ["true"]\ntarget: local\nresources:\n  gpus: 1\n')
    expect(pages.locator("#preview .note")).to_contain_text("now", timeout=20 * SECONDS)
    pages.get_by_role("button", name="Form").click()
    expect(pages.get_by_label("GPUs", exact=True)).to_have_value("1")
    pages.get_by_role("button", name="YAML").click()
    expect(text).to_have_value(re.compile("^# mine\n"))


def test_targets_and_rows_with_the_keyboard(form: Page) -> None:
    form.get_by_role("button", name="Add remote").press("Enter")
    form.get_by_role("button", name="Move remote up").press("Enter")
    order = "[...document.querySelectorAll('#targets input:enabled')].map(x => `${x.name}=${x.value}`)"
    assert form.evaluate(order) == ["target=remote", "fallback_1=local"]
    expect(form.locator("#announce")).to_have_text("remote is now 1 of 2")
    expect(form.get_by_role("button", name="Move remote down")).to_be_focused()
    form.get_by_role("button", name="Remove local").press("Enter")
    assert form.evaluate(order) == ["target=remote"]
    form.get_by_role("button", name="Add value").press("Enter")
    form.keyboard.type("EPOCHS")
    form.keyboard.press("Tab")
    form.keyboard.type("3")
    form.keyboard.press("Control+Enter")
    expect(form).to_have_url(re.compile(r"/jobs/j-\d+$"), timeout=30 * SECONDS)
    form.goto(f"{form.url}/spec")
    expect(form.locator("main")).to_contain_text("EPOCHS")
    expect(form.locator("main")).to_contain_text("target: remote")


def test_without_a_script_targets_rows_and_the_answer_come_by_buttons(open_page: Any) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/jobs/new")
    page.get_by_label("Name", exact=True).fill("no script")
    page.get_by_label("GPUs", exact=True).fill("1")
    page.get_by_label("GPU memory, each").fill("800")
    page.get_by_role("button", name="Add remote").click()
    page.get_by_role("button", name="Move remote up").click()
    assert "remote" in page.locator("#targets li").first.inner_text()
    page.get_by_role("button", name="Add value").click()
    page.get_by_role("button", name="Check", exact=True).click()
    assert "Never fits" in page.locator("#preview").inner_text()
    assert page.get_by_label("Name", exact=True).input_value() == "no script"
    page.locator("#preview").get_by_role("button", name=re.compile("^Apply GPU memory")).first.click()
    assert page.get_by_label("GPU memory, each").input_value() != "800"


def test_on_a_phone_answer_and_button_stay_at_the_bottom(open_page: Any) -> None:
    page = open_page(viewport={"width": 390, "height": 844})
    page.goto("/jobs/new")
    page.get_by_label("GPUs", exact=True).fill("1")
    bar = page.locator("#submitbar")
    expect(bar.locator(".verdict")).to_contain_text("Would", timeout=20 * SECONDS)
    for down in (0, 2_000):
        page.evaluate(f"window.scrollTo(0, {down})")
        box = bar.bounding_box()
        assert box
        assert box["y"] + box["height"] == 844


@pytest.mark.parametrize("address", ["/jobs/new", "/jobs/new?as=yaml", "/jobs/new?as=hold"])
def test_is_accessible_with_an_answer_and_with_errors(open_page: Any, address: str) -> None:
    page = open_page(quiet=False, viewport={"width": 1440, "height": 900})
    page.goto(address)
    if "yaml" not in address:
        page.get_by_label("GPUs", exact=True).fill("2")
        page.get_by_label("GPU memory, each").fill("800")
        expect(page.locator("#preview")).to_contain_text("Never fits", timeout=20 * SECONDS)
        page.evaluate("document.querySelectorAll('main details.more').forEach(each => { each.open = true })")
        assert complaints(page) == []
        page.get_by_label("GPUs", exact=True).fill("two")
    else:
        page.get_by_label("Job document").fill("name: [")
    page.locator("#go").click()
    expect(page.locator(".invalid-feedback").first).to_be_visible()
    assert complaints(page) == []
