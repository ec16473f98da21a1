"""`--dry-run`: what a command would change for the jobs that wait, without doing it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import say, table, write_json

DRY_RUN = click.option("--dry-run", is_flag=True, help="Only say what it would change for the jobs that wait.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
Document = dict[str, Any]
Command = Callable[..., None]


def tell_what_if(change: Document, *, as_json: bool = False) -> None:
    """Ask the server what this change (the document of `POST what-if`) would mean, and print it. Nothing is saved."""
    found = connect().post("what-if", change)
    if as_json:
        write_json(found)
        return
    say(found["summary"])
    if found["jobs"]:
        click.echo("")
        table(("JOB", "NAME", "OWNER", "CAN RUN IT", "THEN"), [_row(each) for each in found["jobs"]])
    if found["more"]:
        click.echo(f"and {found['more']:,} more jobs")
    if found["hidden"]:
        click.echo(f"{found['hidden']:,} of them are jobs that you may not see")
    click.echo("nothing is saved", err=True)


def _row(each: Document) -> tuple[object, ...]:
    before, after = each["can_run"]
    can = f"{before:,}" if before == after else f"{before:,} -> {after:,}"
    return each["job_id"], each["name"], each["owner"], can, each["then"]
