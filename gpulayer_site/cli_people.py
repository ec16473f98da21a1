"""`gpulayer person`: people, for administrators, over HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from gpulayer_site.cli_tokens import MINUTES, ROLES
from gpulayer_site.client import connect
from gpulayer_site.terminal import say_if_full, table, write_json

JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.group()
def person() -> None:
    """Let people in, give them roles and teams, keep them out. For administrators."""


@person.command("list")
@click.argument("text", required=False)
@click.option("--role", type=click.Choice(ROLES), help="Only those of this role.")
@click.option("--team", help="Only members of this team.")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="How many at most.")
@JSON
def list_people(text: str | None, role: str | None, team: str | None, limit: int, as_json: bool) -> None:
    """Show everybody, or those with TEXT in their name."""
    found = connect().pages("people", limit=limit, q=text, role=role, team=team)
    if as_json:
        write_json(found)
        return
    table(("NAME", "ROLE", "TEAMS", "STATE", "UNIX USER", "LAST SEEN (UTC)"), [_row(each) for each in found])
    say_if_full(found, limit)


@person.command()
@click.argument("name")
@JSON
def show(name: str, as_json: bool) -> None:
    """Show one person."""
    found = connect().get(f"people/{quote(name, safe='')}")
    if as_json:
        write_json(found)
    else:
        table(("NAME", "ROLE", "TEAMS", "STATE", "UNIX USER", "LAST SEEN (UTC)"), [_row(found)])


@person.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="submitter", show_default=True, help="What they may do.")
@click.option("--team", "teams", multiple=True, help="A team to be in; may be given several times.")
@click.option("--full-name", default="", help="Shown beside the name.")
def add(name: str, role: str, teams: tuple[str, ...], full_name: str) -> None:
    """Let somebody in, and print a temporary password, this once.

    It is good for one sign-in within three days; then they choose their own.

    \b
    Example:
      gpulayer person add mira --team vision
    """
    asked = {"username": name, "role": role, "teams": list(teams), "full_name": full_name}
    click.echo(connect().post("people", asked)["password"])


@person.command()
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
def role(name: str, role: str) -> None:
    """Give another role; the person's sessions end.

    \b
    Example:
      gpulayer person role mira operator
    """
    _change(name, role=role)
    click.echo(f"{name} is {role} now")


@person.command()
@click.argument("name")
@click.argument("teams", nargs=-1)
def team(name: str, teams: tuple[str, ...]) -> None:
    """Put somebody into these teams, and out of all others; the person's sessions end.

    \b
    Example:
      gpulayer person team mira vision core
    """
    _change(name, teams=list(teams))
    click.echo(f"{name} is in {', '.join(teams) or 'no team'} now")


@person.command()
@click.argument("name")
def password(name: str) -> None:
    """Replace somebody's password by a temporary one and print it, this once.

    It is good for one sign-in within three days; then they choose their own.
    """
    click.echo(connect().post(f"people/{quote(name, safe='')}/password")["password"])


@person.command()
@click.argument("name")
def disable(name: str) -> None:
    """Keep somebody out: password, codes, tokens and sessions. Their jobs go on."""
    _change(name, active=False)
    click.echo(f"{name} is kept out")


@person.command()
@click.argument("name")
def enable(name: str) -> None:
    """Let somebody in again who was kept out."""
    _change(name, active=True)
    click.echo(f"{name} may sign in again")


@person.command("unix-user")
@click.argument("name")
@click.argument("account", default="")
def unix_user(name: str, account: str) -> None:
    """Say which account on the hosts somebody's jobs run as; without ACCOUNT: none.

    It counts on hosts whose agent was started with --run-as-submitter.

    \b
    Example:
      gpulayer person unix-user mira mira
    """
    _change(name, unix_user=account)
    click.echo(f"jobs of {name} run as {account or 'no account of their own'}")


def _change(name: str, **change: object) -> None:
    connect().patch(f"people/{quote(name, safe='')}", change)


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    state = "password due" if each["must_change_password"] else ""
    seen = str(each["seen_at"] or "")[:MINUTES].replace("T", " ")
    teams = ", ".join(each["teams"])
    return each["username"], each["role"], teams, state if each["active"] else "disabled", each["unix_user"], seen
