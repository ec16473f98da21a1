"""`gpulayer notice …`: what operators tell everybody on every page. Over HTTP; no Django here."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import table, write_json
from workers.cli_times import INSTANT

MINUTES = len("2026-11-30T12:00")


@click.group()
def notice() -> None:
    """Tell everybody something, on every page."""


@notice.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_notices(as_json: bool) -> None:
    """List the notices that are up.

    \b
    Example:
      gpulayer notice list
    """
    found = connect().get("notices")["items"]
    if as_json:
        write_json(found)
    elif not found:
        click.echo("no notices")
    else:
        table(("ID", "LEVEL", "UNTIL (UTC)", "BY", "TEXT"), [_row(each) for each in found])


@notice.command()
@click.argument("text")
@click.option("--warning", is_flag=True, help="Louder.")
@click.option("--until", type=INSTANT, help="When it goes by itself: 18:00, 2026-12-01 18:00, or ISO 8601.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def add(text: str, warning: bool, until: datetime | None, as_json: bool) -> None:
    """Put up a notice. For operators.

    \b
    Examples:
      gpulayer notice add "Rack 12 gets new switches on Tuesday"
      gpulayer notice add "Power cut at 18:00" --warning --until 20:00
    """
    level = "warning" if warning else "info"
    document = {"text": text, "level": level, "ends_at": until.isoformat() if until else None}
    made = connect().post("notices", document)
    if as_json:
        write_json(made)
    else:
        click.echo(f"notice {made['id']} is up")


@notice.command()
@click.argument("notice_id", type=click.IntRange(1), metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def end(notice_id: int, as_json: bool) -> None:
    """Take a notice down. For operators.

    \b
    Example:
      gpulayer notice end 3
    """
    ended = connect().post(f"notices/{notice_id}/end")
    if as_json:
        write_json(ended)
    else:
        click.echo(f"notice {notice_id} is down")


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    until = str(each["ends_at"] or "")[:MINUTES].replace("T", " ")
    return each["id"], each["level"], until, each["created_by"], each["text"]
