"""What `gpulayer worker start` and `worker probe` do: run this host's agent, or show what it would report."""

import getpass
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from gpulayer_site.client import FAILED, NO_ACCESS, WRONG_DOCUMENT, Failure, refusal_text
from gpulayer_site.redaction import RedactingFormatter
from workers.agent.client import AgentClient
from workers.agent.credentials import Credentials
from workers.agent.environments import NoPythonError, environments
from workers.agent.folder import AgentFolder, FolderInUseError
from workers.agent.host import machine_id
from workers.agent.loop import Agent, CredentialRefusedError, OnStop
from workers.agent.preparing import Host
from workers.agent.probe import Identity, Probe
from workers.agent.reporting import Session
from workers.agent.rules import Rules
from workers.agent.transport import AddressError, RefusedError, Transport, UnreachableError, checked_url

ENROLMENT_PREFIX = "gle_"
ANSWER_BYTES = 8 * 1024 * 1024
"""The longest answer of the server that an agent reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What `worker start` was asked to do."""

    url: str
    identity: Identity
    data: Path
    token_file: Path | None
    environments: dict[str, Path]
    allow_http: bool
    ca_file: Path | None = None
    rules: Rules = field(default_factory=Rules)
    on_stop: OnStop = "end"
    allow_root: bool = False


def pairs(texts: Iterable[str], what: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping. Raises click.BadParameter."""
    found = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name or not value:
            raise click.BadParameter(f"{text!r} is not {what}")
        found[name] = value
    return found


def default_data(name: str) -> Path:
    """Where an agent of this name keeps what is its own."""
    home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return home / "gpulayer" / "agents" / re.sub(r"[^A-Za-z0-9._-]", "_", name)


def run_agent(start: Start) -> None:
    """Run until SIGTERM or SIGINT. Raises Failure for everything that a person can put right."""
    _check_user(start)
    folder = AgentFolder(start.data)
    try:
        checked_url(start.url, allow_http=start.allow_http)  # before a token is asked for
        with ExitStack() as stack:
            stack.enter_context(closing(folder.lock()))
            probe_environments = environments(start.environments, folder.root)
            credential = _credential(start, folder)
            transport = stack.enter_context(closing(_transport(start, credential)))
            host = Host(session=Session(AgentClient(transport)), folder=folder, environments=probe_environments,
                        rules=start.rules)  # fmt: skip
            probe = Probe(start.identity, probe_environments, start.data)
            check_accelerators(probe.read().document)
            name = start.identity.name
            credentials = Credentials(folder, transport, name)
            agent = Agent(host, name, probe, credentials, on_stop=start.on_stop, about=_about(start))
            on_signals(agent.stop)
            log_to_stderr()
            agent.run()
    except (FolderInUseError, NoPythonError, AddressError) as error:
        raise Failure(str(error), WRONG_DOCUMENT) from error
    except CredentialRefusedError as error:
        raise _forgotten(start, folder, str(error)) from error
    except RefusedError as error:
        if error.status == 401:
            raise _forgotten(start, folder, error.detail) from error
        raise Failure(refusal_text(error), WRONG_DOCUMENT if error.status == 422 else FAILED) from error
    except UnreachableError as error:
        raise Failure(str(error), NO_ACCESS) from error


def probe_of(identity: Identity, given: dict[str, Path]) -> Probe:
    """The probe of this host, for looking only."""
    data = default_data(identity.name)
    while not data.exists():
        data = data.parent
    try:
        return Probe(identity, environments(given, default_data(identity.name)), data)
    except NoPythonError as error:
        raise Failure(str(error), WRONG_DOCUMENT) from error


def check_accelerators(document: Mapping[str, Any]) -> None:
    """Only CPU and CUDA are executed: an environment for anything else is refused, not taken for one without GPUs.

    `document`: the worker document of this host. Raises Failure.
    """
    environments = {"default": document, **(document.get("environments") or {})}
    wrong = [
        f"environment {name}: its torch is built for {kind}"
        for name, facts in environments.items()
        if (kind := _other_accelerator(facts))
    ]
    if wrong:
        raise Failure(
            "\n".join(wrong) + "\n\nhint: this agent runs jobs on CPU and on NVIDIA GPUs (CUDA); "
            "name a Python with such a build by --env",
            WRONG_DOCUMENT,
        )


def _other_accelerator(facts: Mapping[str, Any]) -> str:
    """ROCm or XPU, by what torch says of its build or by the tag of its version; empty for CUDA and CPU."""
    if (facts.get("torch_build") or {}).get("hip"):
        return "ROCm"
    tag = str((facts.get("frameworks") or {}).get("torch") or "").partition("+")[2]
    return next((name for start, name in (("rocm", "ROCm"), ("xpu", "XPU")) if tag.startswith(start)), "")


def on_signals(stop: Callable[[], None]) -> None:
    """SIGTERM and SIGINT end the work in order; a second SIGINT ends it at once."""

    def handle(number: int, _frame: object) -> None:
        if number == signal.SIGINT:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        stop()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)


def log_to_stderr() -> None:
    """The agent's own log, without any token."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(message)s", "%H:%M:%S"))
    logger = logging.getLogger("workers.agent")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def _credential(start: Start, folder: AgentFolder) -> str:
    """The one kept from an earlier start, else the one that the enrolment token buys."""
    name, origin = start.identity.name, start.identity.origin
    kept = folder.credential(start.url, name)
    if kept:
        return kept
    token = read_token(start.token_file)
    _warn(start)
    with closing(_transport(start, token)) as transport:
        asked = {"name": name, "origin": origin, "simulated": False}
        credential = AgentClient(transport).enroll([asked], machine_id())
    folder.keep_credential(start.url, name, credential)
    click.echo(f"{name} is enrolled at {start.url}", err=True)
    return credential


def read_token(file: Path | None) -> str:
    """The enrolment token, from a file (`-`: standard input) or asked for. Never from the command's own words."""
    if file is None:
        if not sys.stdin.isatty():
            raise Failure("an enrolment token is needed: give --token-file (`gpulayer worker token` makes one)", 2)
        token = str(click.prompt("Enrolment token (from `gpulayer worker token`)", hide_input=True))
    else:
        try:
            token = sys.stdin.readline() if str(file) == "-" else file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise Failure(f"the token file {file} cannot be read: {_reason(error)}", WRONG_DOCUMENT) from error
    token = token.strip()
    if not token.startswith(ENROLMENT_PREFIX):
        raise Failure(f"that is no enrolment token: it begins with {ENROLMENT_PREFIX}", WRONG_DOCUMENT)
    return token


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "it is no UTF-8 text"


def _transport(start: Start, token: str) -> Transport:
    return Transport(start.url, token, allow_http=start.allow_http, ca_file=start.ca_file, answer_bytes=ANSWER_BYTES)


def _check_user(start: Start) -> None:
    """Root's rights are given to no job by accident."""
    root = os.geteuid() == 0
    if sys.platform != "linux":
        raise Failure(f"the agent runs on Linux; this is {sys.platform}", WRONG_DOCUMENT)
    if start.rules.run_as_submitter and not root:
        raise Failure("--run-as-submitter needs root: only root can start jobs as other users", WRONG_DOCUMENT)
    if root and not (start.rules.run_as_submitter or start.allow_root):
        raise Failure(
            "as root, every job would have all rights on this host\n\n"
            "hint: start it as a user made for jobs; or as root with --run-as-submitter, which runs each job as its "
            "submitter's account; --allow-root if you want it so",
            WRONG_DOCUMENT,
        )


def _about(start: Start) -> dict[str, Any]:
    """What people are told of this host."""
    return {
        "hostname": socket.gethostname()[:253], "user": getpass.getuser()[:100], "uid": os.geteuid(),
        "run_as_submitter": start.rules.run_as_submitter, "address": start.identity.advertise_address,
    }  # fmt: skip


def _warn(start: Start) -> None:
    """At the first start: what jobs may do here."""
    host, user = socket.gethostname(), getpass.getuser()
    if start.rules.run_as_submitter:
        rights = f"Each job will run on {host} as its submitter's own account, set by an administrator of the server"
    else:
        root = ", with all the rights of root" if os.geteuid() == 0 else ""
        rights = f"Jobs will run on {host} as the user {user}{root}, and can read and change whatever {user} can"
    click.echo(f"{rights}: let only people submit whom you trust with that.", err=True)
    click.echo(start.rules.in_words(), err=True)


def _forgotten(start: Start, folder: AgentFolder, why: str) -> Failure:
    if folder.credential(start.url, start.identity.name) is None:
        return Failure(f"the server does not take this enrolment token: {why}", NO_ACCESS)
    folder.forget_credential()
    return Failure(
        f"the server no longer takes this worker's credential: {why}\n\n"
        "hint: start it again with a new enrolment token (`gpulayer worker token`)",
        NO_ACCESS,
    )
