"""`gpulayer token`: keys to the API."""

from __future__ import annotations

from typing import Any

import click

from gpulayer_site.client import Failure, connect
from gpulayer_site.local import manage
from gpulayer_site.terminal import table, write_json

ROLES = ("viewer", "submitter", "operator", "administrator")
SCOPES = ("read", "jobs", "fleet", "people")
MINUTES = len("2026-11-30T12:00")


@click.group()
def token() -> None:
    """Make API tokens for the command line and scripts, see which there are, and end them."""


@token.command()
@click.option("--note", default="", help="Where it will live; shown in the profile.")
@click.option("--role", type=click.Choice(ROLES), help="The most it may do.  [default: what you may]")
@click.option("--scope", "scopes", type=click.Choice(SCOPES), multiple=True,
              help="What it is for; may be given several times.  [default: everything]")  # fmt: skip
@click.option("--days", type=click.IntRange(1, 3650), help="For how long it is good.  [default: without an end]")
@click.option("--user", help="For another user; only on the server's own host.")
def create(note: str, role: str | None, scopes: tuple[str, ...], days: int | None, user: str | None) -> None:
    """Print a new token, this once. Set it as GPULAYER_TOKEN where it is to be used.

    \b
    Examples:
      gpulayer token create --note laptop --days 90
      gpulayer token create --note grafana --role viewer --scope read
    """
    if user:
        if role or scopes or days:
            raise click.UsageError("with --user only --note counts: the token may what its owner may")
        click.echo(manage("api_token", "--user", user, "--note", note))
        return
    asked = {"note": note, "role": role, "scopes": list(scopes), "expires_in_days": days}
    answer = connect().post("tokens", {name: value for name, value in asked.items() if value})
    if not isinstance(answer, dict) or "token" not in answer:
        raise Failure("the server answered without a token; is it of the same version?")
    click.echo(answer["token"])


# What other commands of this kind are called; the first name is the documented one.
token.add_command(click.Command("make", callback=create.callback, params=create.params, hidden=True))


@token.command("list")
@click.option("--user", help="Somebody else's, for administrators.")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_tokens(user: str | None, as_json: bool) -> None:
    """Show the tokens that open the door."""
    found = connect().get("tokens", user=user)["items"]
    if as_json:
        write_json(found)
    else:
        header = ("ID", "TOKEN", "MAY AT MOST", "FOR", "LAST USED (UTC)", "UNTIL (UTC)", "NOTE")
        table(header, [_row(each) for each in found])


@token.command()
@click.argument("number", metavar="ID", type=click.IntRange(1, 2**63 - 1))
def revoke(number: int) -> None:
    """End a token: whoever comes with it is not let in any more. `gpulayer token list` shows the numbers."""
    ended = connect().delete(f"tokens/{number}")
    click.echo(f"token {ended['prefix']}… is revoked")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    used, until = (str(each[name] or "")[:MINUTES].replace("T", " ") for name in ("last_used_at", "expires_at"))
    return each["id"], f"{each['prefix']}…", each["role"], ",".join(each["scopes"]), used, until, each["note"]
