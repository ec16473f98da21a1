"""Every page has an entry in what the browser tests look at, so that none is forgotten."""

from __future__ import annotations

from gpulayer_site.access.table import PAGES
from tests.browser.places import NO_PAGE, OPENED, pages_of_the_site


def test_every_address_that_a_browser_can_open_is_looked_at_or_says_why_not() -> None:
    there = set(pages_of_the_site())
    assert there - {*OPENED, *NO_PAGE} == set(), "a new page: say in tests/browser/places.py how to see it"
    assert {*OPENED, *NO_PAGE} - there == set(), "a page that is gone"
    assert set(OPENED) & set(NO_PAGE) == set()


def test_no_entry_is_for_an_address_that_is_never_asked_for_with_get() -> None:
    assert all("GET" in (PAGES.of(route) or {}) for route in OPENED)
