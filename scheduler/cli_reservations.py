"""`gpulayer reservation list`, `add`, `change`, `end`: keep workers for somebody. Over HTTP; no Django here."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import say_if_full, table, write_json
from scheduler.cli_options import DURATION
from scheduler.core.words import in_utc
from workers.local_time import LocalTimeError, TwiceError, read_local, said

Document = dict[str, Any]
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
STATES = click.Choice(("live", "active", "planned", "over", "all"))
_INDICES = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


class _Devices(click.ParamType):
    """`0-3,6` as indices."""

    name = "devices"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Each of them; `all` is none in particular."""
        if isinstance(value, list) or value == "all":
            return [] if value == "all" else value
        found: set[int] = set()
        for part in filter(None, re.split(r"[,\s]+", str(value))):
            match = _INDICES.fullmatch(part)
            if match is None or int(match[2] or match[1]) < int(match[1]):
                self.fail(f"found {part!r}; expected indices such as 0-3,6 or all", param, ctx)
            found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
        return sorted(found)


class _Number(click.ParamType):
    """`r-41` or 41."""

    name = "reservation"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number alone."""
        text = str(value).removeprefix("r-")
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            self.fail(f"found {value!r}; expected a reservation such as r-41", param, ctx)
        return int(text)


@click.group()
def reservation() -> None:
    """Keep workers, or some of their devices, for a job, a person or a team.

    Nothing that runs is stopped: a reservation begins when the tasks there have ended. Making and ending them is for
    operators.

    \b
    Exit codes: 0 done, 1 the answer is no, 2 wrong usage or document,
    3 the server cannot be reached or does not allow it.
    """


@reservation.command("list")
@click.option("--state", type=STATES, default="live", show_default=True, help="live: in force and to come.")
@click.option("--worker", help="Only those of this worker.")
@click.option("--search", "-q", "query", help="Only those whose worker, holder or note has this text.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many, newest first.")
@AS_JSON
def list_reservations(state: str, worker: str | None, query: str | None, limit: int, as_json: bool) -> None:
    """List reservations, newest first. Times are those of this machine's zone.

    \b
    Examples:
      gpulayer reservation list
      gpulayer reservation list --state all --worker gpu-07 --json
    """
    found = connect().pages("reservations", limit=limit, state=state, worker=worker, q=query)
    if as_json:
        write_json(found)
    elif not found:
        click.echo("no reservations" if state == "live" and not (worker or query) else "no such reservations")
    else:
        table(
            ("RESERVATION", "STATE", "FOR", "WORKER", "DEVICES", "FROM", "UNTIL", "NOTE"),
            [_row(each) for each in found],
        )
        say_if_full(found, limit)


@reservation.command()
@click.argument("worker")
@click.option("--for", "holder", required=True, help="job:j-12, user:mira or team:vision; a bare value means a job.")
@click.option("--devices", type=_Devices(), default="all", show_default=True, help="Indices such as 0-3,6.")
@click.option("--from", "start", metavar="TIME", help="A date and time such as 2026-12-01T18:00.  [default: now]")
@click.option("--until", "end", metavar="TIME", help="When it ends.  [default: it has no end]")
@click.option("--lasting", "seconds", type=DURATION, help="Instead of --until: how long, as 90min, 4h, 2d.")
@click.option("--zone", help="The zone of both times, such as Europe/Berlin.  [default: this machine's]")
@click.option("--note", default="", help="Why; shown to everybody.")
@click.option("--end-first", type=_Number(), multiple=True, help="Another reservation that is ended for it.")
@AS_JSON
def add(
    worker: str, holder: str, devices: list[int], start: str | None, end: str | None, seconds: int | None,
    zone: str | None, note: str, end_first: tuple[int, ...], as_json: bool,
) -> None:  # fmt: skip
    """Reserve a worker, or some of its devices.

    Where others have reserved the same, the answer names them and the nearest ways out.

    \b
    Examples:
      gpulayer reservation add gpu-07 --for j-12 --lasting 4h
      gpulayer reservation add gpu-07 --for team:vision --devices 0-3 --from 2026-12-01T18:00 --until 2026-12-02T08:00
    """
    if end and seconds:
        raise click.UsageError("say either --until or --lasting")
    starts_at, ends_at = _instant(start, zone, "--from"), _instant(end, zone, "--until")
    if seconds:
        ends_at = (starts_at or datetime.now(UTC)) + timedelta(seconds=seconds)
    document = {
        "worker": worker, "holder": holder, "devices": devices, "note": note, "end_first": list(end_first),
        **({"starts_at": starts_at.isoformat()} if starts_at else {}),
        **({"ends_at": ends_at.isoformat()} if ends_at else {}),
    }  # fmt: skip
    made = connect().post("reservations", document)
    if as_json:
        write_json(made)
        return
    _say_kept(made)
    if made["waits_for"]:
        click.echo(
            f"it begins when {', '.join(task['job_id'] for task in made['waits_for'])} ended; nothing is stopped"
        )


@reservation.command()
@click.argument("number", type=_Number(), metavar="RESERVATION")
@click.option("--until", "end", metavar="TIME", help="When it ends: a time such as 2026-12-01T18:00, or never.")
@click.option("--lasting", "seconds", type=DURATION, help="Instead of --until: how long from now, as 90min, 4h, 2d.")
@click.option("--zone", help="The zone of that time, such as Europe/Berlin.  [default: this machine's]")
@click.option("--note", help="Why; shown to everybody.")
@click.option("--end-first", type=_Number(), multiple=True, help="Another reservation that is ended for it.")
@AS_JSON
def change(
    number: int, end: str | None, seconds: int | None, zone: str | None, note: str | None, end_first: tuple[int, ...],
    as_json: bool,
) -> None:  # fmt: skip
    """Change the end or the note of a reservation that is not over; what is not said stays.

    \b
    Examples:
      gpulayer reservation change r-41 --lasting 2h
      gpulayer reservation change r-41 --until never --note "longer than planned"
    """
    if end and seconds:
        raise click.UsageError("say either --until or --lasting")
    if end is None and seconds is None and note is None:
        raise click.UsageError("say what is to be different: --until, --lasting or --note")
    document: Document = {"end_first": list(end_first), **({} if note is None else {"note": note})}
    if seconds:
        document["ends_at"] = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    elif end:
        instant = None if end == "never" else _instant(end, zone, "--until")
        document["ends_at"] = instant.isoformat() if instant else None
    changed = connect().patch(f"reservations/{number}", document)
    if as_json:
        write_json(changed)
        return
    _say_kept(changed)


@reservation.command()
@click.argument("number", type=_Number(), metavar="RESERVATION")
@AS_JSON
def end(number: int, as_json: bool) -> None:
    """End a reservation now, or take back one that has not begun.

    \b
    Example:
      gpulayer reservation end r-41
    """
    ended = connect().post(f"reservations/{number}/end")
    if as_json:
        write_json(ended)
    else:
        click.echo(f"r-{number} is over" + (f": {ended['ended_cause']}" if ended["ended_cause"] else ""))


def _say_kept(kept: Document) -> None:
    until = f"until {in_utc(datetime.fromisoformat(kept['ends_at']))}" if kept["ends_at"] else "without an end"
    click.echo(f"r-{kept['id']} keeps {kept['worker']} for {kept['holder']} {until}")


def _row(each: Document) -> tuple[object, ...]:
    waits = ", ".join(task["job_id"] for task in each["waits_for"])
    state = f"waits for {waits}" if each["phase"] == "waits" else each["phase"]
    devices = ",".join(map(str, each["devices"])) or "all"
    times = (_shown(each["starts_at"]), _shown(each["ends_at"]) if each["ends_at"] else None)
    return f"r-{each['id']}", state, each["holder"], each["worker"], devices, *times, each["note"]


def _shown(text: str) -> str:
    return said(datetime.fromisoformat(text), now=datetime.now(UTC), zone=None)


def _instant(text: str | None, zone: str | None, option: str) -> datetime | None:
    if text is None:
        return None
    try:
        return read_local(text, ZoneInfo(zone) if zone else None)
    except LocalTimeError as error:
        hint = "; write its offset to choose, as in 2026-10-25T02:30+01:00" if isinstance(error, TwiceError) else ""
        raise click.BadParameter(f"{error}{hint}", param_hint=option) from error
    except (KeyError, ValueError, OSError) as error:
        raise click.BadParameter(
            f"found {zone!r}; expected a zone such as Europe/Berlin", param_hint="--zone"
        ) from error
