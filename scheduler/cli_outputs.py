"""`gpulayer job outputs`: what a job has left, listed or fetched. Over HTTP; no Django here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from gpulayer_site.client import FAILED, Failure, People, connect
from gpulayer_site.terminal import say, table, write_json
from scheduler.cli_paths import job_path
from scheduler.packing import megabytes

PART = 8 * 1024 * 1024
Document = dict[str, Any]


@click.command("outputs")
@click.argument("job_id")
@click.option(
    "--download", "into", type=click.Path(path_type=Path, file_okay=False), help="Fetch them into this folder."
)
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def outputs(job_id: str, into: Path | None, as_json: bool) -> None:
    """List or fetch what a job has left in $GPULAYER_OUTPUT_DIR.

    A fetch that was stopped goes on where it was; files that are there
    already, whole, are not fetched again.

    \b
    Examples:
      gpulayer job outputs j-7
      gpulayer job outputs j-7 --download results
    """
    people = connect()
    found = people.get(job_path(job_id, "outputs"))
    if as_json:
        write_json(found)
    elif into is None:
        _list(job_id, found)
    if into is not None:
        _fetch(people, job_id, found["items"], into, quiet=as_json)


def _list(job_id: str, found: Document) -> None:
    if found["items"]:
        several = len({(each["attempt"], each["rank"]) for each in found["items"]}) > 1
        rows = [(_name(each, several), megabytes(each["size"])) for each in found["items"]]
        table(("FILE", "SIZE"), rows)
    elif not found["runs"]:
        click.echo(f"{job_id} has left nothing in its output folder")
    for run in found["runs"]:
        say(f"on {run['worker']} (attempt {run['attempt']}, rank {run['rank']}): {run['path']}", indent=0)
        if not run["complete"]:
            say("not all of it is here yet", indent=2)
        for line in run["note"].splitlines():
            say(f"not brought: {line}", indent=2)


def _fetch(people: People, job_id: str, items: Iterable[Document], into: Path, *, quiet: bool) -> None:
    items = list(items)
    several = len({(each["attempt"], each["rank"]) for each in items}) > 1
    for each in items:
        target = into / _name(each, several)
        try:
            _fetch_one(people, job_path(job_id, "outputs", str(each["number"])), each, into, target)
        except OSError as error:
            raise Failure(f"{target}: {error.strerror}", FAILED) from error
        if not quiet:
            click.echo(f"{target}  {megabytes(each['size'])}")
    if not items and not quiet:
        click.echo(f"nothing of {job_id} is here to fetch")


def _name(each: Document, several: bool) -> str:
    """Its path; below a folder for its attempt and rank where there is more than one."""
    parts = str(each["path"]).split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Failure(f"the server names an output {each['path']!r}, which is no path below a folder", FAILED)
    return "/".join([f"attempt-{each['attempt']}-rank-{each['rank']}", *parts] if several else parts)


def _fetch_one(people: People, path: str, each: Document, into: Path, target: Path) -> None:
    """Into a file beside the target first, which becomes the target once it is whole."""
    if target.is_file() and target.stat().st_size == each["size"] and _digest(target) == each["sha256"]:
        return
    _make_folders(into, target)
    part = target.with_name(f".{target.name[:200]}.{each['sha256'][:12]}.part")
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    with os.fdopen(os.open(part, flags, 0o666), "r+b") as file:
        have = file.seek(0, os.SEEK_END)
        while have < each["size"]:
            data = people.get_bytes(path, offset=have, length=min(PART, each["size"] - have))
            if not data:
                raise Failure(f"{each['path']}: the server has only {have:,} bytes of it", FAILED)
            file.write(data)
            have += len(data)
    if _digest(part) != each["sha256"]:
        part.unlink()
        raise Failure(f"{each['path']}: it arrived damaged; fetch it again", FAILED)
    part.replace(target)


def _make_folders(into: Path, target: Path) -> None:
    """The folders above the target, none of which may be a link that leads elsewhere."""
    into.mkdir(parents=True, exist_ok=True)
    folder = into
    for part in target.relative_to(into).parts[:-1]:
        folder = folder / part
        folder.mkdir(exist_ok=True)
        if folder.is_symlink():
            raise Failure(f"{folder} is a link: nothing is written through it", FAILED)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
