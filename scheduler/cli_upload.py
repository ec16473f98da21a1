"""Uploading an archive by its hash: only what the server does not have, from where it stopped."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from gpulayer_site.client import Failure, People
from scheduler.packing import Packed

PART = 1024 * 1024


def upload(people: People, file: IO[bytes], packed: Packed, words: str) -> None:
    """Bring the archive in `file` to the server; what it is (`words`) and how far it is goes to standard error."""
    stored, complete = _known(people, packed)
    if complete:
        click.echo(f"files: {words}, there already", err=True)
        return
    with _progress(packed.size, f"uploading {words}") as bar:
        bar.update(stored)
        while not complete:
            file.seek(stored)
            answer = _put(people, packed, stored, file.read(PART))
            bar.update(answer["stored"] - stored)
            stored, complete = int(answer["stored"]), bool(answer["complete"])


def _known(people: People, packed: Packed) -> tuple[int, bool]:
    """How much of it the server has, and whether that is all."""
    try:
        found = people.get(f"bundles/{packed.sha256}")
    except Failure as failure:
        if failure.code != "no_such_bundle":
            raise
        return 0, False
    return (int(found["stored"]), bool(found["complete"])) if found["size"] == packed.size else (0, False)


def _put(people: People, packed: Packed, offset: int, data: bytes) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = people.put_bytes(f"bundles/{packed.sha256}", data, offset=offset, size=packed.size)
    except Failure as failure:
        if failure.code != "bundle_gap":
            raise
        return {"stored": _known(people, packed)[0], "complete": False}  # two of us upload the same
    return answer


def _progress(size: int, words: str) -> Any:
    if sys.stderr.isatty():
        return click.progressbar(length=size, label=words, file=sys.stderr)
    click.echo(f"{words} …", err=True)
    return click.progressbar(length=size, file=sys.stderr, hidden=True)
