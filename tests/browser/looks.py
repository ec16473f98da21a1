"""What a page is looked at for: what axe finds, and that it keeps its width.

Every day in two looks that differ in everything, and at a few widths between them; with `GPULAYER_LOOKS=all`, as
`make soak` has it, in the whole product.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Literal
from zlib import crc32

from playwright.sync_api import Page

Theme = Literal["light", "dark"]
Look = tuple[Theme, int]

ALL = os.environ.get("GPULAYER_LOOKS") == "all"
EVERY_LOOK: tuple[Look, ...] = tuple(product(("light", "dark"), (1440, 390)))
LOOKS: tuple[Look, ...] = EVERY_LOOK if ALL else (("light", 1440), ("dark", 390))
WIDTHS = (320, 360, 390, 640, 768, 1024, 1088, 1280, 1440) if ALL else (320, 768, 1088)
_AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
_OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "resultTypes": ["violations"],
    # It would put style sheets into the page, which the page's policy forbids and the console tells.
    "preload": False,
}


def complaints(page: Page, *, looks: Sequence[Look] = LOOKS, widths: Sequence[int] = WIDTHS) -> list[str]:
    """What axe finds in every look, and each width at which the page scrolls sideways."""
    page.evaluate(_AXE)  # goes in beside the page, past its content policy
    found: list[str] = []
    for theme, width in looks:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # no colour half-way to another
        page.set_viewport_size({"width": width, "height": 900})
        result = page.evaluate("options => axe.run(document, options)", _OPTIONS)
        found += [
            f"{page.url} {theme} {width}: {each['id']}: {each['nodes'][0]['html'][:200]}"
            for each in result["violations"]
        ]
    for width in sorted({*widths, *(width for _, width in looks)}):
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{page.url} scrolls sideways at {width}")
    return found


def pointed_at(page: Page, what: str, theme: Theme) -> list[str]:
    """What axe finds of the first of these while the pointer is on it: colours are others there."""
    page.evaluate(_AXE)
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    shown = page.locator(what).locator("visible=true").first
    shown.hover()
    options = {"runOnly": {"type": "rule", "values": ["color-contrast"]}, "preload": False}
    result = shown.evaluate("(element, options) => axe.run(element, options)", options)
    return [f"{page.url} {theme} {what}: {each['nodes'][0]['failureSummary']}" for each in result["violations"]]


def one_look(name: str) -> Sequence[Look]:
    """Of many pages each in one look every day, and every look with some of them; in `make soak` each in all."""
    return EVERY_LOOK if ALL else (EVERY_LOOK[crc32(name.encode()) % len(EVERY_LOOK)],)
