"""Pictures of every page, on a busy fleet of 1,200 simulated workers, in both themes, wide and on a phone.

`python -m tests.browser.shots FOLDER` starts an installation of its own, fills it by `tests.browser.demo_fill`, and
writes a picture of each page in each look; some minutes. With `--docs` it writes only those that the documentation
shows. Not collected as a test.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests import chromium
from tests.browser import demo
from tests.browser.conftest import Installation, free_port, start

Theme = Literal["light", "dark"]

QUALITY = 75
TALLEST = 1_500
"""Pixels of a picture for the documentation, from the top."""
THEMES: tuple[Theme, ...] = ("light", "dark")
LOOKS = tuple(product(THEMES, (1440, 390)))
PLACES: Mapping[str, str] = {
    "overview": "/", "jobs": "/jobs", "jobs-all": "/jobs?state=all", "jobs-none": "/jobs?q=nothing",
    "submit": "/jobs/new", "submit-yaml": "/jobs/new?as=yaml", "submit-hold": "/jobs/new?as=hold",
    "job-waiting": "/jobs/{moe-pretrain-s2-39}", "job-gang": "/jobs/{llama-70b-sft}",
    "job-gang-placed": "/jobs/{moe-pretrain-s1}", "job-never": "/jobs/{blackwell-port}",
    "job-placed": "/jobs/{train-here}", "job-failed": "/jobs/{smoke-test}", "job-log": "/jobs/{train-here}/log",
    "job-spec": "/jobs/{moe-pretrain-s1}/spec", "job-changes": "/jobs/{moe-pretrain-s2-39}/changes",
    "why-not": "/jobs/{moe-pretrain-s2-39}/why-not/" + demo.LONG, "why-not-form": "/why-not",
    "workers": "/workers", "worker": "/workers/hpc-1010", "worker-long-name": "/workers/" + demo.LONG,
    "worker-mixed": "/workers/mixed-16", "worker-drain": "/workers/hpc-1010/drain", "fleet-labels": "/fleet/labels",
    "reservations": "/reservations", "reservation-new": "/reservations/new", "enrolment": "/enrolment",
    "notices": "/notices", "people": "/people", "teams": "/teams", "audit": "/audit", "profile": "/profile",
    "shortcuts": "/shortcuts", "not-found": "/nothing", "admin": "/admin/", "admin-jobs": "/admin/scheduler/job/",
}  # fmt: skip
"""Name of the picture and address; a job is named in braces."""
SHOWN = ("overview", "job-waiting", "job-gang", "why-not", "submit", "worker", "reservations")
"""What the documentation shows."""


def main(arguments: list[str]) -> None:
    """Start, fill, take the pictures, stop."""
    parser = argparse.ArgumentParser(prog="python -m tests.browser.shots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--docs", action="store_true", help="only the pictures that the documentation shows")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    with installation() as there, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.program(), args=["--no-sandbox"])
        state = sign_in(browser, there)
        places = {name: place.format_map(_jobs(there)) for name, place in PLACES.items()}
        if options.docs:
            files = {options.folder / f"{name}.webp": places[name] for name in SHOWN}
            shoot(browser, there, state, files, *LOOKS[0], tallest=TALLEST)
        else:
            for theme, width in LOOKS:
                files = {options.folder / f"{name}-{width}-{theme}.webp": place for name, place in places.items()}
                shoot(browser, there, state, files, theme, width)
        browser.close()


@contextmanager
def installation() -> Iterator[Installation]:
    """`gpulayer up` with the demo fleet, filled."""
    with tempfile.TemporaryDirectory(prefix="gpulayer-shots-") as folder:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        env = {**kept, "GPULAYER_DATA": folder, "PORT": str(free_port())}
        up = start("up", env=env)
        try:
            url, host = up.wait_for(r"ready: (http://\S+)")[1], up.wait_for(r"registered as (\S+)")[1]
            path = demo.write(Path(folder) / "fleet.jsonl")
            simulator = start("worker", "simulate", str(path), env=env)
            try:
                simulator.wait_for("registered")
                _fill(env, host)
                yield Installation(url, env, Path(folder), host)
            finally:
                simulator.stop()
        finally:
            up.stop()


def _fill(env: Mapping[str, str], host: str) -> None:
    """In a process of its own: Django is set up there for this installation."""
    subprocess.run([sys.executable, "-m", "tests.browser.demo_fill", host], env=dict(env), check=True)


def _jobs(there: Installation) -> dict[str, str]:
    """Ids by name."""
    listed = json.loads(there.run("job", "list", "--json", "--limit", "1000"))
    return {job["name"]: job["job_id"] for job in listed}


def sign_in(browser: Browser, there: Installation) -> str:
    """A file with the session's cookies."""
    page = browser.new_page(base_url=there.url)
    page.goto("/signin")
    page.get_by_label("One-time code").fill(there.code())
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_load_state()
    state = there.data / "state.json"
    page.context.storage_state(path=state)
    page.context.close()
    return str(state)


def shoot(
    browser: Browser, there: Installation, state: str, files: Mapping[Path, str], theme: Theme, width: int,
    *, tallest: int = 20_000,
) -> None:  # fmt: skip
    """Every place in one look, down to this height."""
    context = browser.new_context(
        base_url=there.url, storage_state=state, color_scheme=theme, viewport={"width": width, "height": 900},
        reduced_motion="reduce",
    )  # fmt: skip
    page = context.new_page()
    for file, place in files.items():
        page.goto(place)
        page.evaluate("document.fonts.ready")
        page.wait_for_load_state("networkidle")
        write(page, file, tallest)
        print(file.name, flush=True)
    context.close()


def write(page: Page, file: Path, tallest: int) -> None:
    """As WebP: a third of what PNG would take."""
    height = min(tallest, page.evaluate("document.documentElement.scrollHeight"))
    size = {"x": 0, "y": 0, "width": page.evaluate("innerWidth"), "height": height, "scale": 1}
    given = {"format": "webp", "quality": QUALITY, "clip": size, "captureBeyondViewport": True}
    answer = page.context.new_cdp_session(page).send("Page.captureScreenshot", given)
    file.write_bytes(base64.b64decode(answer["data"]))


if __name__ == "__main__":
    main(sys.argv[1:])
