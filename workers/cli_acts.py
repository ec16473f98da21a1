"""`gpulayer worker trust`, `rotate`, `revoke`, `retire`, `tokens`: for operators, over HTTP."""

from typing import Any
from urllib.parse import quote

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import table, write_json
from workers.cli_whatif import DRY_RUN, tell_what_if

YES = click.option("--yes", "-y", is_flag=True, help="Do not ask first.")
MINUTES = len("2026-11-30T12:00")


@click.command()
@click.argument("name")
def trust(name: str) -> None:
    """Clear a worker on which jobs failed one after the other.

    It counts as healthy again, and failures so far count against it no more.

    \b
    Example:
      gpulayer worker trust gpu-07
    """
    _post(name, "trust")
    click.echo(f"{name} counts as healthy")


@click.command()
@click.argument("name")
def rotate(name: str) -> None:
    """Have a worker's agent replace its credential.

    It asks for a new one at its next call and goes on with it. Nothing is stopped; the old credential works until the
    new one is first used.

    \b
    Example:
      gpulayer worker rotate gpu-07
    """
    _post(name, "rotate")
    click.echo(f"the agent of {name} replaces its credential at its next call")


@click.command()
@click.argument("name")
@YES
def revoke(name: str, yes: bool) -> None:
    """End a worker's credential.

    Its agent is let in no more: it ends what runs there, and goes. The devices are given to nobody until that is
    certain. To come back, the machine needs a new enrolment token.

    \b
    Example:
      gpulayer worker revoke gpu-07
    """
    if not yes:
        click.confirm(f"Revoke the credential of {name}, and end {_running_on(name)}?", abort=True)
    _post(name, "revoke")
    click.echo(f"the credential of {name} is revoked")


@click.command()
@click.argument("name")
@YES
@DRY_RUN
def retire(name: str, yes: bool, dry_run: bool) -> None:
    """Take a worker out for good.

    Its agent is let in no more, and its name is free. While something runs there it is refused: drain it first.

    \b
    Example:
      gpulayer worker retire gpu-07
    """
    if dry_run:
        tell_what_if({"workers": [name], "retire": True})
        return
    if not yes:
        click.confirm(f"Retire {name} for good?", abort=True)
    _post(name, "retire")
    click.echo(f"{name} is retired")


@click.command()
@click.option("--revoke", "revoked", type=click.IntRange(1), metavar="ID", help="End this one instead.")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def tokens(revoked: int | None, as_json: bool) -> None:
    """List the enrolment tokens that still let machines in.

    Of each token only the first characters are known.

    \b
    Examples:
      gpulayer worker tokens
      gpulayer worker tokens --revoke 7
    """
    if revoked is not None:
        ended = connect().post(f"worker-tokens/{revoked}/revoke")
        click.echo(f"{ended['prefix']}… is revoked")
        return
    found = connect().get("worker-tokens")["items"]
    if as_json:
        write_json(found)
    elif not found:
        click.echo("no live tokens")
    else:
        table(("ID", "TOKEN", "USES LEFT", "UNTIL (UTC)", "MADE BY", "NOTE"), [_row(each) for each in found])


COMMANDS = (trust, rotate, revoke, retire, tokens)


def _post(name: str, act: str, document: dict[str, Any] | None = None) -> Any:
    return connect().post(_path(name, act), document)


def _path(name: str, *more: str) -> str:
    return "/".join(["workers", quote(name, safe=""), *more])


def _running_on(name: str) -> str:
    """What a revocation ends, in words."""
    jobs = [str(task["job_id"]) for task in connect().get(_path(name))["tasks"]]
    return ", ".join(jobs) if jobs else "whatever runs there"


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    until = str(each["expires_at"])[:MINUTES].replace("T", " ")
    return each["id"], f"{each['prefix']}…", each["uses_left"], until, each["created_by"] or "server", each["note"]
