"""A hostile log in Chromium: shown as what it is, run as nothing, on screen at once, whatever its size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.looks import complaints

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = r"""
import sys, time
out = sys.stdout.buffer
def say(text): out.write(text.encode() if isinstance(text, str) else text); out.write(b"\n"); out.flush()
say("<script>alert(1)</script><img src=x onerror=alert(2)>")
say("'\"><svg/onload=alert(3)> {{7*7}} {% load x %} ${7*7} <%= 7*7 %>")
say('<a href="javascript:alert(4)" hx-get="/signout" hx-trigger="load">x</a>')
say("\x1b]8;;javascript:alert(5)\x1b\\a link\x1b]8;;\x1b\\ and "
    "\x1b]8;;data:text/html,<script>alert(6)</script>\x07another\x1b]8;;\x07")
say("\x1b]52;c;ZXZpbA==\x07\x1b]0;title\x07clipboard and title")
say("\x1b[2J\x1b[H\x1b[10Acursor")
say("\x1b[1;31mred\x1b[0m \x1b[38;5;208morange\x1b[0m "
    "\x1b[48;2;0;0;255mon blue\x1b[0m \x1b[7minverse\x1b[0m \x1b[8mhidden\x1b[0m")
say("\u202egnirts desrever\u202c \u2066isolated\u2069 \u200f.")
say(bytes(range(1, 32)).replace(b"\n", b"").replace(b"\r", b"") + b"\x7f\x80\xff\xfe")
for n in range(101): out.write(b"\rtrain: %3d%%|%s|" % (n, b"#" * (n // 10)))
say("")
print("a warning", file=sys.stderr, flush=True)
say("x" * 1_000_000)
say("(a+)+" * 1_000)
say("the last line")
"""
FLOOD = r"""
import sys
block = b"".join(b"%07d \x1b[32mloss\x1b[0m 1.2345 <b>%s</b>\n" % (n, b"." * 60) for n in range(10_000))
for _ in range(20): sys.stdout.buffer.write(block)
print("the end of the flood")
"""


def ended(installation: Installation, program: str) -> str:
    """The id of a job that ran this program."""
    document = {
        "name": "writes", "command": ["python", "-c", program], "target": "local",
        "placement": {"worker_ids": [installation.host]},
    }  # fmt: skip
    path = installation.data / "writes.json"
    path.write_text(json.dumps(document))
    job_id = str(json.loads(installation.run("job", "submit", str(path), "--json"))["job_id"])
    installation.run("job", "wait", job_id)
    return job_id


@pytest.fixture(scope="module")
def hostile(installation: Installation) -> str:
    return ended(installation, HOSTILE)


def lines(page: Page) -> list[str]:
    return page.locator("#lines li > span").all_text_contents()


def test_shows_every_character_and_runs_nothing(pages: Page, hostile: str) -> None:
    dialogs: list[str] = []
    pages.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    pages.goto(f"/jobs/{hostile}/log?stream=stdout")
    shown = lines(pages)
    assert shown[0] == "<script>alert(1)</script><img src=x onerror=alert(2)>"
    assert "{{7*7}} {% load x %} ${7*7} <%= 7*7 %>" in shown[1]
    assert shown[3] == "a link and another"
    assert shown[4] == "clipboard and title"
    assert shown[5] == "cursor"
    assert shown[6] == "red orange on blue inverse hidden"
    assert shown[7] == "⟨202E⟩gnirts desrever⟨202C⟩ ⟨2066⟩isolated⟨2069⟩ ⟨200F⟩."
    assert shown[9].strip() == "train: 100%|##########|"
    assert "996,000 more characters in the download" in shown[10]
    assert (
        pages.locator("#lines script, #lines img, #lines svg, #lines [href*=javascript], #lines [hx-get]").count() == 0
    )
    assert dialogs == []
    assert pages.title().endswith("gpulayer")


def test_colours_are_classes_of_ours(pages: Page, hostile: str) -> None:
    pages.goto(f"/jobs/{hostile}/log")
    line = pages.locator("#lines li").nth(6)
    assert line.locator("b").evaluate_all("all => all.map(one => one.className)") == [
        "sf1 s-bold", "sf3", "sb4", "sb7",
    ]  # fmt: skip
    plain = pages.locator("#lines li").nth(0).locator("span").evaluate("one => getComputedStyle(one).color")
    red = line.locator("b").first.evaluate("one => getComputedStyle(one).color")
    assert red != plain
    assert pages.locator("[style]").count() == 0


def test_stderr_is_marked_and_not_alarming(pages: Page, hostile: str) -> None:
    pages.goto(f"/jobs/{hostile}/log?stream=stderr")
    assert lines(pages) == ["a warning"]
    marked = pages.locator("#lines li.err span")
    assert "┃" in marked.evaluate("one => getComputedStyle(one, '::before').content")


def test_times_can_be_hidden_and_lines_found(pages: Page, hostile: str) -> None:
    pages.goto(f"/jobs/{hostile}/log")
    expect(pages.locator("#lines time").first).to_be_visible()
    pages.get_by_label("Times").uncheck()
    expect(pages.locator("#lines time").first).to_be_hidden()
    pages.get_by_label("Search this log").fill("THE LAST")
    pages.keyboard.press("Enter")
    expect(pages.get_by_text("1 line with")).to_be_visible()
    pages.locator("#log a").first.click()
    expect(pages.locator("li:target")).to_contain_text("the last line")


def test_a_download_is_the_bytes_that_were_written(pages: Page, hostile: str) -> None:
    pages.goto(f"/jobs/{hostile}/log")
    pages.get_by_text("Download", exact=True).click()
    with pages.expect_download() as caught:
        pages.get_by_role("link", name="Only stdout").click()
    assert caught.value.suggested_filename == f"{hostile}-stdout.log"
    data = Path(caught.value.path()).read_bytes()
    assert data.startswith(b"<script>alert(1)</script>")
    assert data.endswith(b"(a+)+" * 1_000 + b"\nthe last line\n")
    assert b"\x7f\x80\xff\xfe" in data


def test_opened_by_itself_a_log_is_text(open_page: Any, hostile: str) -> None:
    page = open_page(quiet=False)
    answer = page.request.get(f"/jobs/{hostile}/log.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_flood_is_on_screen_at_once(pages: Page, installation: Installation) -> None:
    job_id = ended(installation, FLOOD)
    pages.goto(f"/jobs/{job_id}/log")  # the first look counts the lines
    pages.goto(f"/jobs/{job_id}/log")
    shown = lines(pages)
    assert shown[-1] == "the end of the flood"
    assert 900 <= len(shown) <= 1_000
    took = pages.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    weight = pages.evaluate("document.querySelector('#lines').outerHTML.length")
    assert weight < 1_000_000
    assert took < 10_000
    number = int(re.sub(r"\D", "", pages.locator("#lines li a").last.inner_text()))
    assert number == 200_001


@pytest.mark.parametrize("query", ["", "?q=the", "?q=absent"])
def test_is_accessible_and_within_its_width(open_page: Any, hostile: str, query: str) -> None:
    page = open_page(quiet=False)
    page.goto(f"/jobs/{hostile}/log{query}")
    assert complaints(page) == []
