"""A person's own files and devices, by hand in Chromium: a folder that runs, what it leaves, and a hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.looks import complaints
from tests.browser.test_walk import SECONDS, answer

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TRAIN = """
import os, pathlib
from tools.words import TEXT
pathlib.Path(os.environ["GPULAYER_OUTPUT_DIR"], "report.txt").write_text(TEXT)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a program, a package, and what nobody wants."""
    folder = tmp_path / "work"
    for path, text in {
        "train.py": TRAIN, "tools/words.py": "TEXT = 'hello from a folder'\n", "tools/__init__.py": "",
        ".git/config": "x", "tools/__pycache__/words.pyc": "x", f"{'deep/' * 30}ü.txt": "far down",
    }.items():  # fmt: skip
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def only_on(page: Page, worker: str) -> None:
    """Ask for this worker alone."""
    page.locator("summary", has_text="Only some workers").click()
    page.get_by_label("Only these workers").fill(worker)


def test_a_folder_is_chosen_and_what_it_leaves_is_downloaded(
    open_page: Any, installation: Installation, work: Path
) -> None:
    page = open_page()
    page.goto("/jobs/new")
    page.get_by_label("Name", exact=True).fill("from a folder")
    page.get_by_label("Command").fill("python train.py")
    only_on(page, installation.host)
    page.get_by_label("Files that I upload").check()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose a folder…").click()
    chooser.value.set_files(work)
    expect(page.locator(".picked")).to_contain_text("4 files of work")
    page.get_by_role("button", name="Submit", exact=True).last.click()
    expect(answer(page)).to_contain_text("Succeeded", timeout=30 * SECONDS)
    page.get_by_role("link", name="Outputs").click()
    expect(page.get_by_role("rowheader", name="report.txt")).to_be_visible(timeout=15 * SECONDS)
    expect(page.get_by_text("all of it")).to_be_visible(timeout=15 * SECONDS)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download report.txt").click()
    assert Path(download.value.path()).read_text() == "hello from a folder"
    looked_at = open_page(quiet=False)
    looked_at.goto(page.url)
    assert complaints(looked_at) == []


def test_the_forms_are_accessible(open_page: Any, installation: Installation) -> None:
    page = open_page(quiet=False)
    for address in ("/jobs/new?as=hold", "/jobs/new"):
        page.goto(address)
        assert complaints(page) == []


def test_devices_are_held_extended_and_released(open_page: Any, installation: Installation) -> None:
    page = open_page(quiet=False)
    page.goto("/jobs/new")
    page.get_by_role("button", name="Hold devices").click()
    page.get_by_label("Name", exact=True).fill("debug")
    page.get_by_label("Hold them for").fill("2 h")
    only_on(page, installation.host)
    expect(page.locator("#preview")).to_contain_text(f"Would hold {installation.host}")
    page.locator("#go").click()
    page.wait_for_url("**/devices")
    expect(page.get_by_text("export CUDA_VISIBLE_DEVICES=")).to_be_visible(timeout=30 * SECONDS)
    expect(answer(page)).to_contain_text("Held by admin until")
    address = page.url
    assert complaints(page) == []
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("link", name="Extend…").click()
    page.get_by_label("Longer by").select_option("2 h")
    page.get_by_role("button", name="Extend", exact=True).click()
    expect(page.get_by_text("is held until")).to_be_visible()
    page.goto(address)
    page.get_by_role("link", name="Release…").click()
    page.get_by_role("button", name="Release", exact=True).click()
    expect(answer(page)).to_contain_text("Held by admin until", timeout=15 * SECONDS)
    expect(page.locator(".pill").first).to_contain_text("Succeeded", timeout=30 * SECONDS)
