"""`python -m benchmarks.logs`: how fast what a job writes gets to the server, and whether it is the same there.

A whole installation runs: the job writes, its shim stores it on the host, its agent sends it over HTTP, the server
syncs it to the disk and counts it, and it is read back as a file and compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks.running import NotReadyError, running
from gpulayer_site.client import People
from scheduler.services.log_frames import decode

MEGABYTE = 1_000_000
WANTED = 20.0
"""Megabytes a second."""
LOOK_SECONDS = 0.1
END_SECONDS = 300.0
ENDED = ("succeeded", "failed", "cancelled", "timed_out")

BLOCKS = """
import sys
block = b"".join(b"%06d loss 1.2345 lr 1.0e-05 tokens/s 18420 %s\\n" % (n, b"." * 30) for n in range(12500))
for _ in range({count}): sys.stdout.buffer.write(block)
"""
LINES = """
import os
for n in range({count}): os.write(1 + n % 2, b"%06d loss 1.2345 lr 1.0e-05 tokens/s 18420 %s\\n" % (n, b"." * 30))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One way of writing. `seconds`: from its start to its end by the server, its log included."""

    name: str
    size: int
    seconds: float
    read_seconds: float
    same: bool

    @property
    def rate(self) -> float:
        """Megabytes a second."""
        return self.size / MEGABYTE / self.seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; 1 where a log is not what was written."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.logs", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500, help="written in large blocks")
    parser.add_argument("--lines", type=int, default=200_000, help="written one by one, to both streams in turn")
    options = parser.parse_args(arguments)
    print(f"Logs of a real agent, over HTTP: wanted are {WANTED:.0f} MB/s", flush=True)
    try:
        with running() as people:
            found = [measure(people, *each) for each in _ways(options)]
    except NotReadyError as error:
        print(error, file=sys.stderr)
        return 1
    return 0 if all(figures.same for figures in found) else 1


def _ways(options: argparse.Namespace) -> list[tuple[str, str]]:
    return [
        ("in large blocks", BLOCKS.format(count=options.megabytes)),
        ("a line at a time, both streams", LINES.format(count=options.lines)),
    ]


def measure(people: People, name: str, program: str) -> Figures:
    """Run it as a job, and here to know what it writes; print what was found."""
    expected, size = _written_by(program)
    document = {"name": "a flood", "command": ["python", "-c", program], "target": "local"}
    job = people.post("jobs", document)["job_id"]
    ended = _end_of(people, job)
    began = time.perf_counter()
    stored = _stored(people, job)
    read = time.perf_counter() - began
    seconds = (
        datetime.fromisoformat(ended["finished_at"]) - datetime.fromisoformat(ended["started_at"])
    ).total_seconds()
    figures = Figures(name=name, size=size, seconds=seconds, read_seconds=read, same=stored == expected)
    verdict = "the same" if figures.same else f"NOT THE SAME ({ended['state']})"
    print(
        f"  {name:<32} {size / MEGABYTE:7.1f} MB in {seconds:6.2f} s: {figures.rate:6.1f} MB/s; "
        f"read back at {size / MEGABYTE / read:6.1f} MB/s; sha256 {verdict}",
        flush=True,
    )
    return figures


def _written_by(program: str) -> tuple[dict[str, str], int]:
    """The hash of each stream that the program writes, and how much that is in all."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=dict(os.environ))
    hashes = {
        name: hashlib.sha256(data).hexdigest() for name, data in (("stdout", done.stdout), ("stderr", done.stderr))
    }
    return hashes, len(done.stdout) + len(done.stderr)


def _end_of(people: People, job: str) -> dict[str, Any]:
    deadline = time.monotonic() + END_SECONDS
    while True:
        found: dict[str, Any] = people.get(f"jobs/{job}")
        if found["state"] in ENDED:
            return found
        if time.monotonic() > deadline:
            raise NotReadyError(f"{job} has not ended within {END_SECONDS:.0f} s: {found['state']}, {found['answer']}")
        time.sleep(LOOK_SECONDS)


def _stored(people: People, job: str) -> dict[str, str]:
    """The hash of each stream as the server has it, read in pages as the command line reads them."""
    hashes = {stream: hashlib.sha256() for stream in ("stdout", "stderr")}
    offset, size = 0, 1
    while offset < size:
        page = people.response(f"jobs/{job}/log", format="frames", offset=offset)
        about = json.loads(page.headers["Gpulayer-Log"])
        for frame in decode(page.content):
            hashes[frame.stream].update(frame.data)
        offset, size = about["next"], about["size"]
    return {stream: digest.hexdigest() for stream, digest in hashes.items()}


if __name__ == "__main__":
    sys.exit(main())
