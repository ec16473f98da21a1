"""Following a job to its end: what changes, what it writes, and the exit code that tells how it ended."""

import sys
from pathlib import Path
from time import sleep
from typing import Any

import click

from gpulayer_site.client import Failure, People
from scheduler.cli_hint import Hint, give
from scheduler.cli_logs import ENDED, POLL_SECONDS, LogCopy
from scheduler.cli_paths import job_path

TIMED_OUT, NEVER_RAN, CANCELLED, LEFT = 124, 125, 130, 130


def follow(people: People, job_id: str, *, with_log: bool, hint: Hint | None = None) -> dict[str, Any]:
    """Wait for the job's end, telling what changes on standard error; the answer is the job then.

    `hint` is asked with each news until it has something to say.
    """
    copy, told = LogCopy(people, job_id), ""
    try:
        while True:
            found: dict[str, Any] = people.get(job_path(job_id))
            over = found["state"] in ENDED
            if with_log and over:  # all that it wrote, then how it ended
                copy.more()
            news = _news(found)
            if news != told:
                click.echo(news, err=True)
                told = news
                hint = give(hint, people, found)
            if over:
                return found
            if with_log:
                copy.more()
            sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        click.echo(f"\n{job_id} goes on; `gpulayer job cancel {job_id}` ends it", err=True)
        sys.exit(LEFT)


def _news(found: dict[str, Any]) -> str:
    state = found["state"].replace("_", " ")
    why = "" if state == "succeeded" else found["short_answer"] or ""
    return f"{found['job_id']} {why if why.startswith(state) else f'{state}: {why}'.removesuffix(': ')}"


def exit_as(found: dict[str, Any]) -> None:
    """End as the job has ended."""
    sys.exit(exit_code_of(found))


def exit_code_of(found: dict[str, Any]) -> int:
    """The exit code with which `job wait` ends for a job that has ended."""
    state, code, signal = found["state"], found.get("exit_code"), found.get("signal")
    if state == "succeeded":
        return 0
    if state in ("cancelled", "timed_out"):
        return CANCELLED if state == "cancelled" else TIMED_OUT
    if signal:
        return 128 + int(signal)
    return int(code) if code else NEVER_RAN


def page_of(people: People, found: dict[str, Any]) -> str:
    """The address of its page."""
    address = str(found.get("url") or f"/jobs/{found['job_id']}")
    return address if "://" in address else people.url + address


def text_of(file: Path) -> str:
    """The text of a file, `-` for standard input. Raises Failure."""
    try:
        return (sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()).decode("utf-8-sig")
    except OSError as error:
        raise Failure(f"{file}: {error.strerror}", 2) from error
    except UnicodeDecodeError as error:
        raise Failure(f"{file}: no UTF-8 text (byte {error.start:,})", 2) from error
