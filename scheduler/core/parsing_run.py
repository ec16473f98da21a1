"""How a job runs: with which files, how often again, or as a hold in place of a command."""

from __future__ import annotations

import re

from scheduler.core.readers import checked, line, list_of, one_of, whole
from scheduler.core.reading import At, Section
from scheduler.core.spec import Retries, RetryOn

MOST_RETRIES = 1_000
SHORTEST_LEASE, LONGEST_LEASE = 180, 24 * 3600
SHORTEST_HOLD, LONGEST_HOLD = 60, 7 * 24 * 3600
_SHA256 = re.compile(r"[0-9a-f]{64}")
_BESIDE_A_HOLD = ("command", "files", "workdir", "env", "secrets", "timeout_s", "distributed", "retries")

files_hash = checked(
    line(what="hashes", longest=1_000),
    lambda text: text if _SHA256.fullmatch(text) else None,
    "the sha256 of uploaded files, 64 digits 0-9 a-f; `gpulayer run` uploads them",
)
hold_seconds = whole(SHORTEST_HOLD, LONGEST_HOLD)


def read_retries(value: object, at: At) -> Retries:
    """A reader of how often an attempt may be repeated, after what, and how long its host may be out of contact."""
    retries = Section(value, at, ("max", "on", "lease_s"))
    after = retries.read("on", list_of(one_of(RetryOn), most=len(RetryOn), distinct=True))
    most = retries.read_or("max", whole(0, MOST_RETRIES), 0)
    lease = retries.read("lease_s", whole(SHORTEST_LEASE, LONGEST_LEASE))
    on = Retries().on if after is None else tuple(sorted(after))
    return Retries(max=most, on=on, lease_s=lease)


def check_together(job: Section) -> None:
    """Note what cannot stand in one document: files beside a working directory, a hold beside anything that runs."""
    if "files" in job and "workdir" in job:
        job.at.below("files").note(
            "files beside a workdir", "one of the two: files are unpacked into a private directory, and it runs there"
        )
    if "hold_s" not in job:
        return
    for name in _BESIDE_A_HOLD:
        if name in job:
            job.at.below(name).note(f"{name} beside hold_s", "one of the two: a hold runs nothing, it ends by itself")
