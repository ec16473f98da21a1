"""`gpulayer run`: the folder one works in becomes a job. Over HTTP; no Django here."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

import click

from gpulayer_site.client import Failure, People, connect
from scheduler.cli_follow import LEFT, exit_as, follow, page_of, text_of
from scheduler.cli_hint import hint_for
from scheduler.cli_options import DURATION, PAIR, TEAM, Document, put, put_into, where_it_may_run
from scheduler.cli_upload import upload
from scheduler.core.errors import DocumentError
from scheduler.documents import read_text
from scheduler.folders import files_of
from scheduler.packing import PackingError, check_size, files_in, look_at, megabytes, pack

LIMIT = 200 * 10**6
"""Bytes of an archive, as a server takes them that says nothing else."""
_NAMED = 5


@click.command(context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False})
@where_it_may_run
@click.option("--env", multiple=True, type=PAIR, help="A variable of the command; seen by you and operators.")
@click.option("--secret", multiple=True, metavar="NAME", help="A variable of yours, handed on encrypted.")
@click.option("--timeout", type=DURATION, help="End it after so long: 3600, 90min, 6h, 2d.")
@click.option("--retries", type=click.IntRange(0), help="How often it may be run again where it was lost.")
@click.option("--workdir", metavar="PATH", help="Run in this folder of the worker, without files of yours.")
@click.option("--spec", type=click.Path(path_type=Path), help="A job document to begin with; options go before it.")
@TEAM
@click.option("--no-files", is_flag=True, help="Upload nothing.")
@click.option("--detach", "-d", is_flag=True, help="Do not follow it.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def run(
    command: tuple[str, ...], env: tuple[tuple[str, str], ...], secret: tuple[str, ...], timeout: int | None,
    retries: int | None, workdir: str | None, spec: Path | None, team: str | None, no_files: bool, detach: bool,
    **asked: Any,
) -> None:  # fmt: skip
    """Run a command on a GPU worker, with the files of this folder.

    Packs what git tracks or would add here (without git: all but caches and
    environments; .gpulayerignore leaves out more), uploads it once, follows
    the log and exits as the command did. What it writes to
    $GPULAYER_OUTPUT_DIR is fetched with `gpulayer job outputs`.

    \b
    Examples:
      gpulayer run -- python train.py
      gpulayer run --gpus 1 --gpu-memory 24 -- python train.py --epochs 3
      gpulayer run --target remote --env EPOCHS=3 --secret HF_TOKEN -- python train.py
    """
    base = _base(spec)
    hint = hint_for(base, asked)
    document = put_into(base, asked)
    _complete(document, command, env=env, secret=secret, timeout=timeout, retries=retries, workdir=workdir)
    people = connect()
    if not (no_files or document.get("workdir") or document.get("files")):
        document["files"] = _bring_files(people, Path.cwd())
    key = {"Idempotency-Key": str(uuid.uuid4())}
    made = people.post_text("jobs", json.dumps(document), "application/json", key, team=team)
    click.echo(f"{made['job_id']} submitted: {page_of(people, made)}", err=True)
    if detach:
        click.echo(made["job_id"])
        return
    found = follow(people, made["job_id"], with_log=True, hint=hint)
    _tell_outputs(people, found)
    exit_as(found)


def _base(spec: Path | None) -> Document:
    """The document to begin with."""
    if spec is None:
        return {}
    try:
        document = read_text(text_of(spec))
    except DocumentError as error:
        raise Failure(f"{spec}: {error}", 2) from error
    if not isinstance(document, dict):
        raise Failure(f"{spec}: a job document is a mapping of fields", 2)
    return document


def _complete(document: Document, command: tuple[str, ...], **more: Any) -> None:
    """Put what runs into the document."""
    if command:
        document["command"] = list(command)
    if not document.get("command"):
        raise click.UsageError("a command is missing: gpulayer run -- python train.py")
    document.setdefault("name", name_for(document["command"]))
    if more["env"]:
        put(document, "env", dict(more["env"]))
    if more["secret"]:
        put(document, "secrets", {name: _secret(name) for name in more["secret"]})
    for name, path in (("timeout", "timeout_s"), ("workdir", "workdir"), ("retries", "retries.max")):
        if more[name] is not None:
            put(document, path, more[name])


def name_for(command: object) -> str:
    """A name for what has none: the script that is run, else the program."""
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    script = next((word for word in words[1:] if word.endswith((".py", ".sh"))), words[0] if words else "job")
    clean = "".join(letter for letter in Path(script).name if letter.isprintable())
    return clean[:100] or "job"


def _secret(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise click.UsageError(
            f"--secret {name}: there is no such variable here; set it, so that it is on no command line"
        )
    return value


def _bring_files(people: People, folder: Path) -> str:
    """Pack the folder and upload it, unless the server has it; the answer is its hash."""
    try:
        found = look_at(folder, files_of(folder))
        for line in found.left_out[:_NAMED]:
            click.echo(f"left out: {line}", err=True)
        if len(found.left_out) > _NAMED:
            click.echo(f"left out: {len(found.left_out) - _NAMED:,} more", err=True)
        check_size(found.entries, LIMIT)
        with tempfile.TemporaryFile() as file:
            packed = pack(found.entries, file, files_in(folder))
            words = f"{packed.files:,} file{'' if packed.files == 1 else 's'}, {megabytes(packed.size)}"
            upload(people, file, packed, words)
    except PackingError as error:
        hint = "hint: .gitignore or .gpulayerignore leaves files out; --workdir runs in a folder of the worker"
        raise Failure(f"{error}\n\n{hint}", 2) from error
    except KeyboardInterrupt:
        click.echo("\nnothing was submitted; the same command goes on with the upload where it stopped", err=True)
        sys.exit(LEFT)
    return packed.sha256


def _tell_outputs(people: People, found: dict[str, Any]) -> None:
    try:
        outputs = people.get(f"jobs/{found['job_id']}/outputs")
    except Failure:
        return  # it is about how the job ended, which is known
    if outputs["runs"]:
        click.echo(f"it left outputs: gpulayer job outputs {found['job_id']} --download .", err=True)
