"""Every page of the site in Chromium: accessible, silent, within its width, and whole without a script.

What there is to look at is said in `tests/browser/places.py`; that nothing is missing there, in
`tests/pages/test_places.py`.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Installation, Watch
from tests.browser.controls import use
from tests.browser.looks import ALL, WIDTHS, Theme, complaints, one_look, pointed_at
from tests.browser.places import OPENED, WRONG
from tests.browser.stage import staged

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PATHS = tuple(path for paths in OPENED.values() for path in (paths if ALL else paths[:1]))
FIRST_ROWS = "#result_list tbody tr:first-child th a"
ADMINISTRATION = ("/admin/", "/admin/scheduler/job/", "/admin/scheduler/reservation/add/", "/admin/auth/user/")
"""What of the administration is looked at every day: a list, a form with every kind of field, what has filters."""
BUDGETS = {"/": 25_000, "/jobs/{": 15_000, "/api/docs": 25_000}
"""Bytes of a page as it is sent, compressed, beside some twelve hundred workers; any other may weigh `MOST_BYTES`."""
MOST_BYTES = 8_000
POINTED_AT = {
    "/jobs/{running}": ("a.btn:not(.btn-primary)", "a.btn-primary", ".tabs a:not([aria-current])", "nav a"),
    "/jobs/{running}/cancel": (".btn-danger",),
    "/jobs": (".seg a:not([aria-current])", "tbody tr"),
    "/admin/scheduler/job/": (".paginator a, #result_list tbody tr",),
    "/admin/scheduler/reservation/add/": (".submit-row input:first-child", ".submit-row input:last-child"),
}
"""One of each kind of what changes its colours there."""
LEADS = "what => [...document.querySelectorAll(what)].map(x => x.getAttribute('href'))"


@pytest.fixture(scope="module")
def walker(browser: Browser, installation: Installation, signed_in: Any, simulated_fleet: int) -> Iterator[Page]:
    """One page for the whole walk, so that what all pages share is fetched once."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in)
    page = context.new_page()
    page.set_default_timeout(30_000)
    yield page
    context.close()


@pytest.fixture(scope="module")
def watch(walker: Page) -> Watch:
    """What its pages complain about."""
    return Watch(walker)


@pytest.fixture(scope="module")
def stage(installation: Installation, walker: Page) -> Iterator[dict[str, str]]:
    """What there is to be seen."""
    with staged(installation, walker) as made:
        yield made


@pytest.mark.parametrize("path", PATHS)
def test_is_accessible_silent_and_within_its_width(walker: Page, watch: Watch, stage: Any, path: str) -> None:
    watch.complaints.clear()
    answer = walker.goto(path.format(**stage))
    assert answer
    assert answer.status == HTTPStatus.OK, path
    looks = one_look(path)
    found = complaints(walker, looks=looks, widths=WIDTHS if ALL else (320,))
    for look in looks if ALL else ():
        found += use(walker, look)
    assert found + watch.complaints == []


@pytest.mark.parametrize("path", ["/jobs", "/jobs/{running}", "/workers/{worker}", "/reservations", "/jobs/new"])
def test_whatever_it_offers_can_be_opened(walker: Page, watch: Watch, stage: Any, path: str) -> None:
    watch.complaints.clear()
    walker.goto(path.format(**stage))
    assert use(walker, one_look(path)[0]) + watch.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_the_pointer_is_on_can_be_read(walker: Page, stage: Any, theme: Theme) -> None:
    walker.set_viewport_size({"width": 1440, "height": 900})
    found = []
    for path, kinds in POINTED_AT.items():
        walker.goto(path.format(**stage))
        for kind in kinds:
            found += pointed_at(walker, kind, theme)
    assert found == []


@pytest.mark.parametrize("path", WRONG)
def test_what_is_not_there_has_an_accessible_page_too(walker: Page, path: str) -> None:
    answer = walker.goto(path)
    assert answer
    assert answer.status == WRONG[path]
    assert complaints(walker, looks=one_look(path)) == []


def test_the_administration_is_accessible_and_silent(walker: Page, watch: Watch, stage: Any) -> None:
    watch.complaints.clear()
    found, todo, done = [], list(ADMINISTRATION), set[str]()
    while todo:
        path = todo.pop(0)
        done.add(path)
        walker.goto(path)
        found += complaints(walker, looks=one_look(path), widths=WIDTHS if ALL else (320,))
        leads = walker.evaluate(LEADS, f"{FIRST_ROWS}, #content-main th[scope=row] a, a.addlink" if ALL else FIRST_ROWS)
        todo += [lead for lead in dict.fromkeys(leads[:1] if not ALL else leads) if lead not in (*done, *todo)]
    assert found + watch.complaints == []


def test_every_page_is_whole_without_a_script_and_not_heavy(
    browser: Browser, installation: Installation, signed_in: Any, stage: Any
) -> None:
    """What htmx fetches as a piece is a page of its own for everybody else."""
    context = browser.new_context(base_url=installation.url, storage_state=signed_in, java_script_enabled=False)
    page, lacking, heavy = context.new_page(), [], []
    for pattern in (path for paths in OPENED.values() for path in paths):
        path = pattern.format(**stage)
        answer = page.goto(path, wait_until="domcontentloaded")
        headings = page.locator("main h1").count()
        if not answer or answer.status != HTTPStatus.OK or headings != 1 or "gpulayer" not in page.title():
            lacking.append(f"{path}: {answer.status if answer else None}, {headings} headings")
        weight = len(gzip.compress(answer.body())) if answer else 0
        if weight > budget(pattern):
            heavy.append(f"{path}: {weight:,} bytes of {budget(pattern):,}")
    context.close()
    assert (lacking, heavy) == ([], [])


def budget(pattern: str) -> int:
    return BUDGETS.get(pattern) or (BUDGETS["/jobs/{"] if pattern.startswith("/jobs/{") else MOST_BYTES)
