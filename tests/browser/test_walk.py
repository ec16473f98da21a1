"""The main job, walked in a browser on the real thing: submit, be placed, see why, see the log; or see why not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation
from tests.browser.fleet import FIRST_WITH_EIGHT, UNDISCLOSED

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECONDS = 1_000


def submit(page: Page, **fields: str) -> str:
    """Submit a job in the form and return its id; the browser stands on its page then."""
    page.goto("/jobs/new")
    page.evaluate("document.querySelectorAll('fieldset details').forEach(each => { each.open = true })")
    for name, value in {"command": "sleep 1", **fields}.items():
        fill(page, name, value)
    page.locator(".submitbar button").click()
    expect(page).to_have_url(re.compile(r"/jobs/j-\d+$"), timeout=30 * SECONDS)
    return page.url.rsplit("/", 1)[1]


def fill(page: Page, name: str, value: str) -> None:
    """One field of the form, or what stands for it there."""
    if name == "fallback_1":
        page.get_by_role("button", name=f"Add {value}").click()
    elif name == "target":
        page.get_by_role("button", name=f"Add {value}").click()
        page.get_by_role("button", name="Remove local").click()
    elif name == "secrets":
        for part, text in zip(("name", "value"), value.split("=", 1), strict=True):
            page.locator(f"[name=secrets_{part}]").first.fill(text)
    else:
        if name == "workdir":
            page.get_by_label("A directory on the host", exact=True).check()
        field = page.locator(f"[name={name}]")
        tag = field.evaluate("element => element.tagName")
        field.select_option(value) if tag == "SELECT" else field.fill(value)


def submit_yaml(page: Page, text: str) -> str:
    """The same with a document."""
    page.goto("/jobs/new?as=yaml")
    page.get_by_label("Job document").fill(text)
    page.locator(".submitbar button").click()
    expect(page).to_have_url(re.compile(r"/jobs/j-\d+$"), timeout=30 * SECONDS)
    return page.url.rsplit("/", 1)[1]


def answer(page: Page) -> Any:
    """The one sentence."""
    return page.locator("#answer .lead")


@pytest.fixture
def two_files(tmp_path: Path) -> Path:
    """A working directory with a script and what it imports."""
    (tmp_path / "helper.py").write_text('WORDS = "two files, one job"\n')
    (tmp_path / "main.py").write_text(
        "import sys\nimport helper\nprint(helper.WORDS, flush=True)\n"
        'print("to stderr <b>", file=sys.stderr)\nsys.exit(int(sys.argv[1]))\n'
    )
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("code", "lead"),
    [
        pytest.param(0, "Succeeded with exit code 0 on", id="that ends well"),
        pytest.param(3, "Failed with exit code 3 on", id="that exits with 3"),
    ],
)
def test_a_script_of_two_files(pages: Page, two_files: Path, code: int, lead: str) -> None:
    job = submit(pages, name=f"two-files-{code}", command=f"python main.py {code}", workdir=str(two_files))
    expect(answer(pages)).to_contain_text(lead, timeout=10 * SECONDS)
    expect(pages.locator("#live .log")).to_contain_text("two files, one job")
    expect(pages.locator("#live .facts")).to_contain_text(f"Exit code{code}")
    expect(pages.locator("#answer")).to_contain_text("Why there:")
    expect(pages.locator("#candidates tbody tr.is-sel")).to_have_count(1)
    expect(pages.locator("#live")).not_to_have_attribute("hx-trigger", re.compile("."))  # it stopped looking
    pages.goto(f"/jobs/{job}/log")
    expect(pages.locator("#lines")).to_contain_text("to stderr <b>")
    expect(pages.locator("#lines li.err")).to_have_count(1)


def test_beside_a_demo_fleet_it_runs_here_and_every_other_candidate_has_its_reasons(
    pages: Page, installation: Installation, demo: int, two_files: Path
) -> None:
    submit(pages, name="here", command="python main.py 0", workdir=str(two_files))
    expect(answer(pages)).to_contain_text(f"Succeeded with exit code 0 on {installation.host}", timeout=10 * SECONDS)
    pages.locator("#cand-tabs").get_by_text("All").click()
    rows = pages.locator("#cand-rows tbody tr")
    workers = len(json.loads(installation.run("worker", "list", "--json")))
    assert workers > demo
    expect(rows).to_have_count(workers)
    expect(rows.filter(has_text="wanted local")).to_have_count(workers - 1)


@pytest.mark.usefixtures("simulated_fleet")
class TestAmongTwelveHundredWorkers:
    def test_eight_cards_of_32_gb_are_found_on_the_first_such_worker_by_id(self, pages: Page) -> None:
        job = submit(pages, name="eight-cards", gpus="8", gpu_memory_gb="32")
        expect(answer(pages)).to_contain_text(f"on {FIRST_WITH_EIGHT}, devices 0–7", timeout=10 * SECONDS)
        expect(answer(pages)).to_contain_text("Succeeded", timeout=15 * SECONDS)
        selected = pages.locator("#candidates tbody tr.is-sel")
        expect(selected).to_contain_text(FIRST_WITH_EIGHT)
        expect(selected.locator(".d-sel")).to_have_count(8)
        expect(pages.locator(".pill", has_text="simulated").or_(pages.locator(".head .sim"))).to_be_visible()
        pages.goto(f"/jobs/{job}?verdict=all")
        expect(pages.locator("#cand-rows .pager")).to_contain_text(re.compile(r"of 1,2\d\d"))

    def test_eight_cards_of_800_gb_never_fit_and_the_page_says_why_per_group(self, pages: Page) -> None:
        submit(pages, name="too-much", gpus="8", gpu_memory_gb="800")
        expect(answer(pages)).to_contain_text("Never fits", timeout=10 * SECONDS)
        groups = pages.locator(".groups")
        expect(groups).to_contain_text("needs GPUs with ≥ 800 GB each")
        expect(groups).to_contain_text(f"{UNDISCLOSED}: needs GPUs")
        expect(groups).to_contain_text("the rest is unknown")
        pages.get_by_label("Search candidates").fill("lab-g3")
        expect(pages.locator("#cand-rows .pager")).to_contain_text(f"1–25 of {UNDISCLOSED}")
        expect(pages.locator("#cand-rows tbody tr").first).to_contain_text("unknown")

    def test_with_on_unschedulable_fail_it_ends_as_failed_with_that_decision(self, pages: Page) -> None:
        submit(pages, name="too-much", gpus="8", gpu_memory_gb="800", on_unschedulable="fail")
        expect(answer(pages)).to_contain_text("Unschedulable", timeout=10 * SECONDS)
        expect(pages.locator(".head .pill")).to_contain_text("Unschedulable")
        expect(pages.locator(".groups")).to_contain_text("needs GPUs with ≥ 800 GB each")

    def test_a_local_job_never_runs_on_a_remote_worker(self, pages: Page) -> None:
        submit(pages, name="local-only", gpus="1", gpu_memory_gb="80")
        expect(answer(pages)).to_contain_text("Never fits: ", timeout=10 * SECONDS)
        pages.locator("#cand-tabs").get_by_text("Outside target").click()
        expect(pages.locator("#cand-rows tbody tr").first).to_contain_text("wanted local")

    def test_unless_its_fallback_says_so(self, pages: Page) -> None:
        submit(pages, name="with-fallback", gpus="1", gpu_memory_gb="80", fallback_1="remote")
        expect(answer(pages)).to_contain_text("on rem-h100-000, device 0", timeout=10 * SECONDS)
        tiers = pages.locator(".tiers li")
        expect(tiers.nth(0)).to_contain_text("no worker could ever run it")
        expect(tiers.nth(1)).to_contain_text("taken")

    def test_the_same_in_yaml(self, pages: Page) -> None:
        submit_yaml(pages, "name: in-yaml\ncommand: [sleep, '1']\ntarget: remote\nresources: {gpus: 8}\n")
        expect(answer(pages)).to_contain_text("on rem-h100-0", timeout=10 * SECONDS)

    def test_cancel_asks_first_and_then_ends_it(self, pages: Page) -> None:
        submit(pages, name="long", command="sleep 600", gpus="1")
        expect(pages.locator(".head .pill")).to_contain_text("Running", timeout=10 * SECONDS)
        pages.get_by_role("link", name="Cancel job…").click()
        dialog = pages.get_by_role("dialog")
        expect(dialog).to_contain_text("gets SIGTERM")
        dialog.get_by_role("button", name=re.compile("^Cancel j-")).click()
        expect(pages.locator(".head .pill")).to_contain_text("Cancelled", timeout=15 * SECONDS)


@pytest.mark.usefixtures("simulated_fleet")
class TestWhatOperatorsDo:
    def test_a_reservation_keeps_others_off_and_the_reason_says_for_whom_and_until_when(self, pages: Page) -> None:
        pages.goto("/workers/lab-v100-19")
        pages.get_by_role("link", name="Reserve…").click()
        expect(pages.get_by_label("Worker", exact=True)).to_have_value("lab-v100-19")
        pages.get_by_label("Holder", exact=True).select_option("team")
        pages.get_by_label("Which", exact=True).fill("vision")
        pages.get_by_label("Until", exact=True).fill("2099-12-31T18:00")
        expect(pages.locator("#reservation-check")).to_contain_text("Nothing is stopped.", timeout=10 * SECONDS)
        pages.locator("form .btn-primary").last.click()
        expect(pages.locator("#rows")).to_contain_text("lab-v100-19")
        submit(pages, name="not-vision", gpus="8", worker_ids="lab-v100-19")
        expect(answer(pages)).to_contain_text("Reserved", timeout=10 * SECONDS)
        expect(pages.locator("#answer .more").first).to_contain_text("eserved for team vision until 2099-12-31 18:00")
        expect(pages.locator(".head .pill")).to_contain_text("Reserved")
        pages.goto("/workers/lab-v100-19")
        expect(pages.locator(".head .pill")).to_contain_text("Reserved until")

    def test_a_label_of_an_operator_counts_at_once(self, pages: Page) -> None:
        pages.goto("/workers/lab-v100-18")
        pages.get_by_role("link", name="Edit labels…").click()
        dialog = pages.get_by_role("dialog", name="Labels of lab-v100-18")
        dialog.get_by_label("Set").fill("burn-in=yes")
        dialog.get_by_role("button", name="Save labels").click()
        expect(pages.locator("#live")).to_contain_text("burn-in=yes")
        submit(pages, name="burn-in", gpus="8", worker_labels="burn-in=yes")
        expect(answer(pages)).to_contain_text("on lab-v100-18, devices 0–7", timeout=10 * SECONDS)
