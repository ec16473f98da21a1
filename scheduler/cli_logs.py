"""`gpulayer job logs`: what a job writes, byte for byte, on the streams it came from. Over HTTP; no Django here."""

import json
import sys
from dataclasses import dataclass, field
from time import sleep
from typing import Any

import click

from gpulayer_site.client import Failure, People, connect
from gpulayer_site.terminal import write_json
from scheduler.cli_paths import job_path
from scheduler.services.log_frames import STREAMS, as_records, decode

ENDED = frozenset({"succeeded", "failed", "cancelled", "timed_out"})
POLL_SECONDS = 0.7


@click.command()
@click.argument("job_id")
@click.option("--follow", "-f", is_flag=True, help="Go on until the job has ended, over all its attempts.")
@click.option(
    "--rank", type=click.IntRange(min=0), default=0, show_default=True, help="Of a distributed job, this one."
)
@click.option("--attempt", type=click.IntRange(min=1), help="This attempt only. [default: the latest]")
@click.option(
    "--stream", type=click.Choice(["both", *STREAMS.values()]), default="both", show_default=True, help="Only this one."
)
@click.option("--json", "as_json", is_flag=True, help="Print each record as one line of JSON: stream, time, text.")
def logs(job_id: str, follow: bool, rank: int, attempt: int | None, stream: str, as_json: bool) -> None:
    """Print what a job has written, byte for byte.

    Its output goes to standard output, its errors go to standard error.

    \b
    Examples:
      gpulayer job logs j-7
      gpulayer job logs j-7 -f
      gpulayer job logs j-7 --rank 3 --attempt 1 --stream stderr
    """
    copy = LogCopy(connect(), job_id, rank=rank, attempt=attempt, stream=stream, as_json=as_json)
    while not copy.more(waiting=follow) and follow:
        sleep(POLL_SECONDS)


@dataclass(slots=True, kw_only=True)
class _Shown:
    """How far one attempt's log was copied."""

    attempt: int | None = None
    offset: int = 0
    told: set[str] = field(default_factory=set)


class LogCopy:
    """Copies a log to this process's own streams, a piece at a time; after an attempt's end the next one's."""

    def __init__(
        self, people: People, job_id: str, *, rank: int = 0, attempt: int | None = None, stream: str = "both",
        as_json: bool = False,
    ) -> None:  # fmt: skip
        self._people = people
        self._job_id = job_id
        self._rank = rank
        self._asked = attempt
        self._stream = stream
        self._as_json = as_json
        self._shown = _Shown(attempt=attempt)

    def more(self, *, waiting: bool = True) -> bool:
        """Copy what is new; True once there will be no more. Raises Failure; `waiting`: not for what may still come."""
        while True:
            about = self._page(waiting)
            if about is None:
                return False
            if about["next"] < about["size"]:
                continue
            if not about["ended"]:
                return False
            self._tell(about)
            if self._asked is not None:
                return True
            found = self._job()
            if not self._turns_to(found["attempt"]):
                return found["state"] in ENDED

    def _page(self, waiting: bool) -> dict[str, Any] | None:
        """Copy one page; what it is part of, or None where there is no such log yet."""
        try:
            answer = self._people.response(
                job_path(self._job_id, "log"), format="frames", offset=self._shown.offset, rank=self._rank,
                attempt=self._shown.attempt,
            )  # fmt: skip
        except Failure as failure:
            if failure.code == "no_such_log" and waiting and self._job()["state"] not in ENDED:
                return None
            raise
        about: dict[str, Any] = json.loads(answer.headers["Gpulayer-Log"])
        self._put(answer.content)
        self._shown.attempt = about["attempt"]
        self._shown.offset = about["next"]
        return about

    def _put(self, frames: bytes) -> None:
        chosen = [frame for frame in decode(frames) if self._stream in ("both", frame.stream)]
        if self._as_json:
            for record in as_records(chosen):
                write_json({"stream": record.stream, "at_ms": record.at_ms, "text": record.text}, lines=True)
            return
        streams = {"stdout": sys.stdout.buffer, "stderr": sys.stderr.buffer}
        for frame in chosen:
            streams[frame.stream].write(frame.data)
            streams[frame.stream].flush()

    def _tell(self, about: dict[str, Any]) -> None:
        """Say, once, why this is not all that was written."""
        notices = {
            "cut": "this log reached the server's limit: what was written after this was not kept",
            "removed_at": f"this log was removed at {str(about['removed_at'])[:16].replace('T', ' ')} UTC",
        }
        for name, text in notices.items():
            if about[name] and name not in self._shown.told:
                self._shown.told.add(name)
                click.echo(f"gpulayer: {text}", err=True)

    def _turns_to(self, newest: int | None) -> bool:
        """Whether there is a later attempt; that is the one to copy from now on."""
        if newest is None or self._shown.attempt is None or newest <= self._shown.attempt:
            return False
        click.echo(f"gpulayer: attempt {newest}", err=True)
        self._shown = _Shown(attempt=newest)
        return True

    def _job(self) -> dict[str, Any]:
        found: dict[str, Any] = self._people.get(job_path(self._job_id))
        return found
