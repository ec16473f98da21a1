"""`gpulayer audit`: who did what, to what, from where; and whether the trail is as it was written. No Django here."""

from collections.abc import Iterator
from typing import Any

import click

from gpulayer_site.client import FAILED, People, connect
from gpulayer_site.terminal import say_if_full, table, write_json

SECONDS = len("2026-11-30T12:00:00")


@click.group(invoke_without_command=True)
@click.option("--who", help="Only acts of this actor: mira, worker:gpu-07.")
@click.option("--what", help="Only what was done with this: j-12, gpu-07, reservation:7.")
@click.option("--verb", help="Only this act: intent, created, revoked.")
@click.option("--search", "-q", "query", help="Only events with these words.")
@click.option("--since", help="Not before this time, UTC: 2026-11-30 18:00.")
@click.option("--until", help="Not after this time, UTC.")
@click.option("--refused", is_flag=True, help="Only what was refused. For administrators.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=50, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines, the newest first.")
@click.pass_context
def audit(context: click.Context, limit: int, as_json: bool, **asked: str | bool | None) -> None:
    """See who did what, to what, when and from where.

    Operators see what is done with the fleet; administrators also what is done with people, tokens and at the doors.

    \b
    Examples:
      gpulayer audit --what gpu-07
      gpulayer audit --who mira --since "2026-11-30 08:00"
      gpulayer audit --refused --json
      gpulayer audit verify
    """
    if context.invoked_subcommand is not None:
        return
    found = _events(connect(), limit, {("q" if name == "query" else name): value for name, value in asked.items()})
    if as_json:
        for event in found:
            write_json(event, lines=True)
        return
    rows = [_row(event) for event in found]
    if not rows:
        click.echo("no such events")
        return
    table(("WHEN (UTC)", "WHO", "WHAT", "ACT", "BEFORE", "AFTER", "FROM", "BECAUSE"), rows)
    say_if_full(rows, limit)


@audit.command()
@click.option("--anchor", "anchors", multiple=True, metavar="LAST:DIGEST", help="A digest that you kept; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def verify(anchors: tuple[str, ...], as_json: bool) -> None:
    """Check every event against its seal.

    An event that was changed, removed or put in is named. The last line is the newest seal: kept elsewhere and given
    as --anchor later, it proves that nothing before it was changed since, not even together with its seals.

    \b
    Exit codes: 0 as it was sealed, 1 something is not.

    \b
    Example:
      gpulayer audit verify
    """
    checked = _verified(connect(), anchors)
    if as_json:
        write_json(checked)
    else:
        for finding in checked["findings"]:
            click.echo(f"NO    {finding['text']}")
        under = f"{checked['seals']:,} seal{'' if checked['seals'] == 1 else 's'}"
        click.echo(f"{checked['events']:,} events under {under}, {_verdict(checked['findings'])}")
        if checked["seals"]:
            click.echo(f"sealed up to {checked['upto']}:{checked['digest']}")
    if checked["findings"]:
        click.get_current_context().exit(FAILED)


def _events(people: People, limit: int, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    before: int | None = None
    left = limit
    params = {name: "true" if value is True else value for name, value in asked.items() if value}
    while left > 0:
        page = people.get("audit", before=before, **params)
        yield from page["items"][:left]
        left -= len(page["items"])
        before = page["older"]
        if before is None:
            return


def _verified(people: People, anchors: tuple[str, ...]) -> dict[str, Any]:
    """All calls together."""
    whole: dict[str, Any] = {"seals": 0, "events": 0, "upto": 0, "digest": "", "findings": []}
    while True:
        part = people.get("audit/verify", after=whole["upto"], anchor=",".join(anchors))
        whole["seals"] += part["seals"]
        whole["events"] += part["events"]
        whole["findings"] += part["findings"]
        whole["upto"], whole["digest"] = part["upto"], part["digest"] or whole["digest"]
        if part["complete"]:
            return whole


def _verdict(findings: list[Any]) -> str:
    if not findings:
        return "as they were sealed"
    return f"{len(findings)} thing{'s are' if len(findings) > 1 else ' is'} not as sealed"


def _row(event: dict[str, Any]) -> tuple[object, ...]:
    at = str(event["at"])[:SECONDS].replace("T", " ")
    came = " ".join(filter(None, (event["address"], event["via"])))
    what = f"{event['subject_kind']} {event['subject']}"
    return at, event["actor"], what, event["verb"], event["before"], event["after"], came, event["cause"]
