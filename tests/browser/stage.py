"""What every page is looked at with: jobs in several states, a person, a team, a reservation; gone afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx
from playwright.sync_api import Page, expect

from tests.browser.conftest import Installation

WORKER, OTHER_WORKER = "lab-v100-00", "lab-v100-01"
RESERVED = "lab-v100-15"
TEAM = "team-on-stage"
STANDS = {"running": "Running", "held": "Held", "done": "Succeeded", "never": "Never fits"}
"""Where a job is to be looked at: what its page says then."""
MILLISECONDS = 60_000
_LOCAL = {"target": "local", "command": ["sleep", "900"]}
_JOBS: Mapping[str, dict[str, Any]] = {
    "running": {**_LOCAL, "resources": {"gpus": 8}, "placement": {"worker_ids": ["lab-v100-17"]}},
    "held": {"target": "local", "hold_s": 3600, "resources": {"gpus": 2}, "placement": {"worker_ids": ["lab-v100-16"]}},
    "never": {**_LOCAL, "resources": {"gpus": 8, "gpu_memory_gb": 800}},
    "gang": {
        "target": "remote", "command": ["sleep", "900"], "resources": {"gpus": 8},
        "distributed": {"num_workers": 2, "procs_per_worker": 8},
    },
    "done": {"target": "local", "command": ["echo", "one line of output"]},
}  # fmt: skip
"""By name: the job document without its name."""


@contextmanager
def staged(installation: Installation, page: Page) -> Iterator[dict[str, str]]:
    """Everything made; gives what stands for the words in braces of `tests.browser.places`."""
    with calls(installation) as api:
        names = {"worker": WORKER, "other_worker": OTHER_WORKER, "host": installation.host}
        here = {"done": {"placement": {"worker_ids": [installation.host]}}}
        jobs = {
            name: submitted(api, f"staged-{name}", **document, **here.get(name, {})) for name, document in _JOBS.items()
        }
        _answer(api.post("teams", json={"name": TEAM}))
        body = {"worker": RESERVED, "holder": f"team:{TEAM}", "note": "for the walk"}
        reservation = str(_answer(api.post("reservations", json=body))["id"])
        try:
            _wait(page, jobs)
            yield {
                **names, **jobs, "reservation": reservation, "team": _key(page, "/teams", TEAM),
                "person": _key(page, "/people", "admin"),
            }  # fmt: skip
        finally:
            api.post(f"reservations/{reservation}/end")
            for name, job in jobs.items():
                api.post(f"jobs/{job}/hold/release" if name == "held" else f"jobs/{job}/cancel")
            api.delete(f"teams/{TEAM}")


@contextmanager
def calls(installation: Installation) -> Iterator[httpx.Client]:
    """The API, as this installation's own command line calls it."""
    config = json.loads((installation.data / "cli.json").read_text())
    headers = {"Authorization": f"Bearer {config['token']}"}
    with httpx.Client(base_url=f"{installation.url}/api/v1/", headers=headers, timeout=60, trust_env=False) as client:
        yield client


def submitted(api: httpx.Client, name: str, **document: Any) -> str:
    """The id of a new job."""
    return str(_answer(api.post("jobs", json={**document, "name": name}))["job_id"])


def _answer(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code < 300, answer.text
    return dict(answer.json())


def _wait(page: Page, jobs: Mapping[str, str]) -> None:
    for name, words in STANDS.items():
        page.goto(f"/jobs/{jobs[name]}")
        expect(page.locator(".head .pill").first).to_contain_text(words, timeout=MILLISECONDS)


def _key(page: Page, where: str, name: str) -> str:
    """The key in the link of this name in a list."""
    page.goto(where)
    link = page.get_by_role("link", name=re.compile(f"^{name}$")).first
    return str(link.get_attribute("href")).rsplit("/", 1)[1]
