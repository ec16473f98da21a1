"""Every kind of text at once tries to be something else, in Chromium: one walk over all pages, and nothing happens.

What the pages are made of is read in tests/security/test_stored_text.py, without a browser. (S9, S10, S13, S27, S28)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import fleet
from tests.browser.conftest import Installation, start
from tests.security.payloads import ALL, MARK, PAYLOADS, some

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORKER = f"w-{MARK}"
TEAM = "\"><img src=x onerror=alert('zq9')>"
MOST_PAGES = 70
LEADS_OF = "what => [...document.querySelectorAll(what)].map(x => x.getAttribute('href'))"
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SAYS = "() => document.body.textContent + [...document.querySelectorAll('input,textarea')].map(x => x.value).join()"
LEADS = "() => [...document.querySelectorAll('a[href]')].map(x => x.getAttribute('href'))"


@pytest.fixture(scope="module")
def people(installation: Installation) -> Iterator[httpx.Client]:
    """The API, as this installation's own command line calls it."""
    config = json.loads((installation.data / "cli.json").read_text())
    headers = {"Authorization": f"Bearer {config['token']}"}
    with httpx.Client(base_url=f"{installation.url}/api/v1/", headers=headers, timeout=60, trust_env=False) as client:
        yield client


def put(people: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = people.post(path, json=body)
    assert answer.status_code < 300, (path, answer.text)
    return dict(answer.json())


@pytest.fixture(scope="module")
def stored(installation: Installation, people: httpx.Client) -> Iterator[list[str]]:
    """Everything that has a text, with payloads in it; gives the pages that are about them."""
    document = fleet.worker(WORKER, "remote", 2, "H100")
    document |= {"provider": some(6, 400), "region": some(7, 400), "labels": {some(4, 200): some(5, 200)}}
    for device in document["devices"]:
        device |= {"model": some(0, 490), "health": "unhealthy", "health_note": some(10, 490)}
    path = installation.data / "hostile.jsonl"
    path.write_text(json.dumps(document) + "\n")
    simulator = start("worker", "simulate", str(path), env=installation.env)
    try:
        assert simulator.wait_for("registered|Error")[0] == "registered"
        yield from rows(installation, people)
    finally:
        simulator.stop()


def rows(installation: Installation, people: httpx.Client) -> Iterator[list[str]]:
    """The rows, while they are looked at: a notice would stand on the pages of every other test."""
    base: dict[str, Any] = {"command": ["echo", ALL], "env": {"A": ALL}, "target": "local"}
    waits = [
        put(people, "jobs", **base, name=some(at, 250), resources={"gpus": 64},
            placement={"worker_labels": {"zone": PAYLOADS[at]}})
        for at in range(0, len(PAYLOADS), 6)
    ]  # fmt: skip
    here = {"worker_ids": [installation.host]}
    failed = put(people, "jobs", **base, name=some(19, 250), workdir=f"/{MARK}{some(2, 200)}", placement=here)
    put(people, "teams", name=TEAM)
    token = put(people, "tokens", note=some(21, 99))
    put(people, "worker-tokens", note=some(22, 190))
    put(people, f"workers/{WORKER}/labels", labels={some(8, 200): some(9, 200)})
    reserved = put(people, "reservations", worker=WORKER, holder=f"team:{TEAM}", note=some(17, 190))
    notice = put(people, "notices", text=some(23, 490))
    put(people, f"workers/{WORKER}/drain", note=some(14, 190))
    jobs = [waits[0]["job_id"], waits[-1]["job_id"], failed["job_id"]]
    pages = [f"/jobs/{job}{tail}" for job in jobs for tail in ("", "/why", "/spec", "/log", "/changes")]
    yield [*pages, f"/workers/{WORKER}", "/workers", "/jobs", "/profile", "/reservations", "/audit",
           f"/jobs/new?like={jobs[0]}", f"/jobs/new?like={jobs[1]}&as=yaml", f"/jobs?q={quote(PAYLOADS[3])}",
           f"/search?q={quote(PAYLOADS[2])}", "/people", "/teams",
           "/enrolment"]  # fmt: skip
    put(people, f"notices/{notice['id']}/end")
    put(people, f"reservations/{reserved['id']}/end")
    people.delete(f"tokens/{token.get('id', 0)}")
    for job in waits:
        people.post(f"jobs/{job['job_id']}/cancel")


FILES = re.compile(r"\.(txt|csv|json)\b")
"""Addresses that give out a file, which no page shows; tests/security looks at these."""


class Seen:
    """What a page did that only a payload could have made it do."""

    def __init__(self, page: Page, host: str) -> None:
        self.wrong: list[str] = []
        page.on("dialog", lambda dialog: (self.wrong.append(f"{page.url}: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self._request(request.url, host))
        page.on("popup", lambda popup: self.wrong.append(f"{page.url} opened {popup.url}"))

    def _request(self, url: str, host: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and (parts.netloc != host or parts.path.startswith(f"/{MARK}")):
            self.wrong.append(url)


def test_nothing_happens_on_any_page(
    browser: Browser, installation: Installation, signed_in: dict[str, Any], stored: list[str], open_page: Any
) -> None:
    page = open_page(user_agent=some(30, 190))
    seen, shown = Seen(page, urlsplit(installation.url).netloc), ""
    todo, done = list(stored), set()
    while todo and len(done) < MOST_PAGES:
        path = todo.pop(0)
        if path in done or path.startswith("/api/v1") or FILES.search(path):
            continue
        done.add(path)
        page.goto(path, wait_until="domcontentloaded")
        page.evaluate(PAINTED)
        shown += page.evaluate(SAYS)
        assert "gpulayer" in page.title(), path
        todo += [
            link for link in page.evaluate(LEADS) if link.startswith("/") and MARK not in link and link not in done
        ]
    assert seen.wrong == []
    assert f"{MARK}49" not in shown
    assert [each for each in PAYLOADS if each not in shown] == [], "all of it is shown as it is"
    assert len(done) > len(stored)


def test_nothing_happens_in_the_administration(open_page: Any, installation: Installation, stored: list[str]) -> None:
    """Every list, a row of each, every form; what their scripts bring up too: calendars, and what is searched for."""
    page, shown, used = open_page(viewport={"width": 1440, "height": 900}), "", set[str]()
    seen = Seen(page, urlsplit(installation.url).netloc)
    page.goto("/admin/")
    todo = page.evaluate(LEADS_OF, "#content-main th a, #content-main a.addlink")
    assert len(todo) > 20
    while todo:
        page.goto(todo.pop(), wait_until="load")
        page.evaluate(PAINTED)
        shown += page.evaluate(SAYS)
        todo += page.evaluate(LEADS_OF, "#result_list tbody tr:first-child th a")[:1]
        used |= bring_up(page)
    assert used == {"calendar", "search", "rows"}
    assert seen.wrong == []
    assert f"{MARK}49" not in shown
    assert MARK in shown


def bring_up(page: Page) -> set[str]:
    """What a page shows when it is used; which of it there was."""
    used = set()
    if (icon := page.locator(".date-icon")).count():
        icon.first.click()
        expect(page.locator(".calendarbox").first).to_be_visible()
        page.locator(".calendarbox:visible .calendar td a").first.click()
        used.add("calendar")
    if (field := page.locator(".select2-selection")).count():
        field.first.click()
        expect(page.locator(".select2-results__option:not(.loading-results)").first).to_be_visible()
        page.keyboard.press("Enter")
        used.add("search")
    if (every := page.locator("#action-toggle")).count():
        every.check()
        expect(page.locator(".action-counter")).to_have_text(re.compile(r"(\d+) of \1 selected"))
        used.add("rows")
    return used


def test_no_other_page_shows_ours_in_a_frame(open_page: Any, installation: Installation) -> None:
    page = open_page(quiet=False)
    for path in ("/signin", "/jobs"):
        page.goto(f"data:text/html,<iframe src='{installation.url}{path}'></iframe>", wait_until="load")
        (frame,) = page.frames[1:]
        assert frame.locator("form, nav, main").count() == 0
        assert not frame.url.startswith("http") or frame.locator("body").inner_text() == ""
