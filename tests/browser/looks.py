"""What a page is looked at for: what axe finds, and that it keeps its width.

Every day in two looks that differ in everything, and at a few widths between them; with `GPULAYER_LOOKS=all`, as
`make soak` has it, in the whole product.
"""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path

from playwright.sync_api import Page

_ALL = os.environ.get("GPULAYER_LOOKS") == "all"
LOOKS = tuple(product(("light", "dark"), (1440, 390))) if _ALL else (("light", 1440), ("dark", 390))
WIDTHS = (320, 360, 390, 640, 768, 1024, 1088, 1280, 1440) if _ALL else (320, 768, 1088)
_AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
_OPTIONS = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]},
    "resultTypes": ["violations"],
}


def complaints(page: Page) -> list[str]:
    """What axe finds in every look, and each width at which the page scrolls sideways."""
    page.evaluate(_AXE)  # goes in beside the page, past its content policy
    found: list[str] = []
    for theme, width in LOOKS:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # no colour half-way to another
        page.set_viewport_size({"width": width, "height": 900})
        result = page.evaluate("options => axe.run(document, options)", _OPTIONS)
        found += [
            f"{page.url} {theme} {width}: {each['id']}: {each['nodes'][0]['html'][:200]}"
            for each in result["violations"]
        ]
    for width in sorted({*WIDTHS, *(width for _, width in LOOKS)}):
        page.set_viewport_size({"width": width, "height": 900})
        if page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(f"{page.url} scrolls sideways at {width}")
    return found
