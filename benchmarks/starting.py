"""`python -m benchmarks.starting`: how long it takes from submitting a job until it runs on an idle agent.

A whole installation runs, with its agent, beside a simulated fleet that registers and calls as real workers do. One
job after the other, each on the idle agent: from just before the call that submits it to the instant at which the
server has been told that its process runs. One machine, so one clock.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.running import NotReadyError, running
from gpulayer_site.client import People
from workers.agent.demo import demo_fleet

WANTED_MEDIAN, WANTED_P99 = 1.0, 3.0
"""Seconds."""
REGISTER_SECONDS = 300.0
END_SECONDS = 60.0
LOOK_SECONDS = 0.1
BETWEEN_SECONDS = 0.5
"""Jobs come at random instants, not in step with anything that the server does at intervals."""
ENDED = ("succeeded", "failed", "cancelled", "timed_out")
STOP_SECONDS = 20.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a job did not run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.starting", description=__doc__)
    parser.add_argument("--simulated", type=int, default=1000, help="workers beside the agent")
    parser.add_argument("--jobs", type=int, default=200)
    options = parser.parse_args(arguments)
    print(
        f"Submit to running on an idle agent beside {options.simulated:,} simulated workers: wanted are a median of "
        f"{WANTED_MEDIAN:.0f} s and a p99 of {WANTED_P99:.0f} s",
        flush=True,
    )
    try:
        with running() as people, _fleet(people, options.simulated):
            seconds = sorted(_seconds_of(people) for _ in range(options.jobs))
    except NotReadyError as error:
        print(error, file=sys.stderr)
        return 1
    print(
        f"  {options.jobs} jobs: median {statistics.median(seconds):.2f} s, p90 {_part(seconds, 0.9):.2f} s, "
        f"p99 {_part(seconds, 0.99):.2f} s, slowest {seconds[-1]:.2f} s",
        flush=True,
    )
    return 0


def _part(ordered: list[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _seconds_of(people: People) -> float:
    """Submit one job at a random instant, wait for its end."""
    time.sleep(random.uniform(0, BETWEEN_SECONDS))
    began = time.time()
    job = people.post("jobs", {"name": "a start", "command": ["true"], "target": "local"})["job_id"]
    ended = _end_of(people, job)
    return datetime.fromisoformat(ended["started_at"]).timestamp() - began


def _end_of(people: People, job: str) -> dict[str, Any]:
    deadline = time.monotonic() + END_SECONDS
    while (found := people.get(f"jobs/{job}"))["state"] not in ENDED:
        if time.monotonic() > deadline:
            raise NotReadyError(f"{job} has not ended within {END_SECONDS:.0f} s: {found['state']}, {found['answer']}")
        time.sleep(LOOK_SECONDS)
    if found["state"] != "succeeded":
        raise NotReadyError(f"{job} {found['state']}: {found['answer']}")
    return dict(found)


@contextmanager
def _fleet(people: People, count: int) -> Iterator[None]:
    """That many simulated workers, all of them in a cloud where no job of this measurement may go."""
    assert people.data is not None
    with tempfile.TemporaryDirectory(prefix="gpulayer-fleet-") as folder:
        file, printed = Path(folder) / "workers.jsonl", Path(folder) / "printed"
        file.write_text("".join(f"{json.dumps(each)}\n" for each in demo_fleet(count, 1, "cloud")))
        with printed.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "gpulayer_site.cli", "worker", "simulate", str(file)],
                cwd=folder, env=os.environ | {"GPULAYER_DATA": str(people.data)}, stdout=output, stderr=output,
            )  # fmt: skip
        try:
            _wait_for(process, printed)
            yield
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(process: subprocess.Popen[bytes], printed: Path) -> None:
    deadline = time.monotonic() + REGISTER_SECONDS
    while "simulated workers in" not in printed.read_text():
        if process.poll() is not None or time.monotonic() > deadline:
            raise NotReadyError(printed.read_text())
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
