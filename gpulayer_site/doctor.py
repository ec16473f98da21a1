"""`gpulayer doctor`: looks at everything an installation needs, and says what to do about what is wrong."""

import os
import platform
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import click

from gpulayer_site import __version__
from gpulayer_site.client import Config, Failure, People, find_config
from gpulayer_site.data_folder import DATABASE
from gpulayer_site.local import installation, setup
from gpulayer_site.terminal import write_json

_LOW_DISK_BYTES = 1 << 30
_MARKS = {"ok": "ok  ", "note": "note", "wrong": "NO  "}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `verdict` is ok, note (worth knowing) or wrong; `hint` says what to do."""

    subject: str
    verdict: str
    text: str
    hint: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def doctor(as_json: bool) -> None:
    """Look for what is wrong with this installation; exit code 1 when something is."""
    findings: list[Finding] = []
    for finding in examine():
        findings.append(finding)
        if not as_json:
            _show(finding)
    if as_json:
        write_json([asdict(finding) for finding in findings])
    sys.exit(1 if any(finding.verdict == "wrong" for finding in findings) else 0)


def examine() -> Iterator[Finding]:
    """Everything that can be looked at from here, nearest first."""
    yield _versions()
    config: Config | None = None
    try:
        config = find_config()
        yield Finding("configuration", "ok", f"{config.url}, from {config.source}")
    except Failure as error:
        yield Finding("configuration", "wrong", *_halves(error))
    folder = (config.data if config else None) or installation()
    if folder.is_dir():
        yield from _data_folder(folder)
        yield from _server_parts(folder)
    if config:
        yield from _server(config)


def _show(finding: Finding) -> None:
    click.echo(f"{_MARKS[finding.verdict]}  {finding.subject}: {finding.text}")
    if finding.hint:
        click.echo(f"      {finding.hint}")


def _versions() -> Finding:
    text = f"gpulayer {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    if find_spec("django") is None:
        return Finding("versions", "note", text, "command line and agent only; the server needs 'gpulayer[server]'")
    return Finding("versions", "ok", text)


def _data_folder(folder: Path) -> Iterator[Finding]:
    about = folder.stat()
    mode = stat.S_IMODE(about.st_mode)
    if about.st_uid != os.geteuid():
        yield Finding("data folder", "note", f"{folder} belongs to another user", "run this as the user of the server")
    elif mode & 0o077:
        yield Finding("data folder", "wrong", f"{folder} can be read by others (mode {mode:o})", f"chmod 700 {folder}")
    else:
        yield Finding("data folder", "ok", str(folder))
    free = shutil.disk_usage(folder).free
    if free < _LOW_DISK_BYTES:
        yield Finding("disk", "wrong", f"{free >> 20} MiB are free in {folder}", "logs and results need room")


def _server_parts(folder: Path) -> Iterator[Finding]:
    """Database and broker, where they can be asked from here."""
    if find_spec("django") is None or not (os.environ.get("DATABASE_URL") or (folder / DATABASE).exists()):
        return
    try:
        setup(folder)
    except Failure as error:
        yield Finding("settings", "wrong", *_halves(error))
        return
    from gpulayer_site import doctor_server, doctor_trail, doctor_watch

    yield Finding("database", *doctor_server.database())
    yield Finding("broker", *doctor_server.broker())
    yield Finding("watch", *doctor_watch.watch())
    yield Finding("audit", *doctor_trail.trail())
    for subject, *found in doctor_server.kept():
        yield Finding(subject, *found)


def _server(config: Config) -> Iterator[Finding]:
    try:
        people = People(config)
    except Failure as error:
        yield Finding("server", "wrong", *_halves(error))
        return
    try:
        who = people.get("whoami")
        yield Finding("server", "ok", f"{config.url} answers; the token is {who.get('username', 'known')}'s")
        yield _agent(people)
    except Failure as error:
        yield Finding("server", "wrong", *_halves(error))
    finally:
        people.close()


def _agent(people: People) -> Finding:
    """Whether this host takes jobs."""
    name = platform.node().split(".")[0].lower()
    try:
        worker = people.get(f"workers/{name}")
    except Failure as error:
        hint = "start one: gpulayer worker start" if error.code == "no_such_worker" else ""
        return Finding("agent", "note", f"no worker is called {name}: this host takes no jobs", hint)
    state = ", ".join(worker.get("state") or ["unknown"])
    if "offline" in state or "unknown" in state:
        return Finding("agent", "wrong", f"{name} is {state}", "is its agent running? `gpulayer up` starts one")
    return Finding("agent", "ok" if state == "online" else "note", f"{name} is {state}")


def _halves(error: Failure) -> tuple[str, str]:
    """A failure's message and its hint."""
    text, _, hint = error.message.partition("\n\nhint: ")
    return text, hint
