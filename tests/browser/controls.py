"""Using what a page offers without changing anything: opening what opens, asking what asks, and leaving it again."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.looks import Look, complaints

MOST = 8
"""Of one kind on one page: rows of a list offer the same each."""


def use(page: Page, look: Look) -> list[str]:
    """Open every fold and every question of the page; what axe says of each question."""
    page.set_viewport_size({"width": look[1], "height": 900})
    unfold(page)
    found: list[str] = []
    asks = page.locator("main a[hx-target='#dialogs']:visible")
    for title in dict.fromkeys(asks.evaluate_all("all => all.map(x => x.title || x.textContent.trim())")):
        asking = asks.filter(has_text=title).or_(page.locator(f'main a[hx-target="#dialogs"][title="{title}"]')).first
        asking.click()
        dialog = page.locator("#dialogs dialog[open]")
        expect(dialog).to_be_visible()
        found += complaints(page, looks=(look,), widths=())
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
    return found


def unfold(page: Page) -> None:
    """Open what opens, and close again what lies over others."""
    for summary in page.locator("main details:not([open]) > summary:visible").all()[:MOST]:
        if summary.is_visible():
            summary.click()
    page.keyboard.press("Escape")
