"""`gpulayer team`: who shares jobs with whom; for administrators, over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import say_if_full, table, write_json

JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.group()
def team() -> None:
    """Make teams, whose members share their jobs. For administrators."""


@team.command("list")
@click.option("--limit", type=click.IntRange(1), default=100, show_default=True, help="How many at most.")
@JSON
def list_teams(limit: int, as_json: bool) -> None:
    """Show every team, with how many are in it."""
    found = connect().pages("teams", limit=limit)
    if as_json:
        write_json(found)
        return
    table(("TEAM", "MEMBERS"), [(each["name"], each["members"]) for each in found])
    say_if_full(found, limit)


@team.command()
@click.argument("name")
@JSON
def show(name: str, as_json: bool) -> None:
    """Show who is in a team."""
    found = connect().get(_path(name))
    if as_json:
        write_json(found)
    else:
        table(("MEMBER",), [(member,) for member in found["members"]])


@team.command()
@click.argument("name")
@click.argument("members", nargs=-1)
def add(name: str, members: tuple[str, ...]) -> None:
    """Make a team of these members.

    \b
    Example:
      gpulayer team add vision mira noor
    """
    connect().post("teams", {"name": name, "members": list(members)})
    click.echo(f"team {name} is made")


@team.command()
@click.argument("name")
@click.argument("new_name")
def rename(name: str, new_name: str) -> None:
    """Call a team something else; its reservations go with it."""
    connect().patch(_path(name), {"name": new_name})
    click.echo(f"team {name} is called {new_name} now")


@team.command()
@click.argument("name")
@click.argument("members", nargs=-1)
def members(name: str, members: tuple[str, ...]) -> None:
    """Let exactly these be in the team. Sessions of who joins or leaves end.

    \b
    Example:
      gpulayer team members vision mira
    """
    connect().patch(_path(name), {"members": list(members)})
    click.echo(f"team {name} has {len(members)} member{'' if len(members) == 1 else 's'} now")


@team.command()
@click.argument("name")
def delete(name: str) -> None:
    """End a team that has neither jobs nor reservations."""
    connect().delete(_path(name))
    click.echo(f"team {name} is deleted")


def _path(name: str) -> str:
    return f"teams/{quote(name, safe='')}"
