"""Screenshots of every page in both themes, wide and on a phone, from a running server.

`python -m tests.browser.shots URL CODE FOLDER [JOB ...]` signs in with a one-time code. Not collected as a test.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests import chromium

PLACES = {
    "jobs": "/jobs", "jobs-all": "/jobs?state=all", "jobs-none": "/jobs?q=nothing", "submit": "/jobs/new",
    "submit-yaml": "/jobs/new?as=yaml", "workers": "/workers", "profile": "/profile", "keys": "/shortcuts",
    "not-found": "/nothing", "admin": "/admin/", "reservations": "/admin/scheduler/reservation/",
}  # fmt: skip
TABS = {"": "", "-log": "/log", "-spec": "/spec", "-cancel": "/cancel"}


def main(url: str, code: str, folder: Path, jobs: list[str]) -> None:
    """Write one picture for each page and look."""
    folder.mkdir(parents=True, exist_ok=True)
    places = PLACES | {f"{job}{name}": f"/jobs/{job}{tail}" for job in jobs for name, tail in TABS.items()}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.program(), args=["--no-sandbox"])
        state = sign_in(browser, url, code, folder)
        for theme in ("light", "dark"):
            for width in (1440, 390):
                shoot(browser, url, state, folder, places, theme=theme, width=width)
        browser.close()


def sign_in(browser: Browser, url: str, code: str, folder: Path) -> str:
    """A file with the session's cookies; on the way, the sign-in page."""
    page = browser.new_page(base_url=url, viewport={"width": 1440, "height": 900})
    page.goto("/signin")
    page.screenshot(path=folder / "signin-1440-light.png")
    page.get_by_label("One-time code").fill(code)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/jobs")
    state = folder / "state.json"
    page.context.storage_state(path=state)
    page.context.close()
    return str(state)


def shoot(
    browser: Browser, url: str, state: str, folder: Path, places: dict[str, str], *, theme: str, width: int
) -> None:
    """Every place in one look."""
    context = browser.new_context(
        base_url=url, storage_state=state, color_scheme=theme, viewport={"width": width, "height": 900}
    )
    page = context.new_page()
    for name, place in places.items():
        page.goto(place)
        page.evaluate("document.fonts.ready")
        page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
    context.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4:])
