"""`gpulayer worker label`, `drain`, `undrain`, `limits`: for operators, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import quote

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import clip_list, write_json
from scheduler.core.errors import DocumentError
from scheduler.core.quantities import parse_size
from workers.cli_times import INSTANT
from workers.cli_whatif import AS_JSON, DRY_RUN, tell_what_if
from workers.label_words import label_words

AGENT = "agent"
"""Said of a limit: what the agent says counts again."""


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="NAME... KEY=VALUE... KEY-...")
@DRY_RUN
@AS_JSON
def label(words: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Set labels of workers, or take them off.

    KEY=VALUE sets a label, over what the worker's agent says. KEY- takes it
    off again: then the agent's own counts, if it has one. A name alone lists
    the worker's labels and who says so.

    \b
    Examples:
      gpulayer worker label gpu-07 gpu-08 zone=b rack=r12
      gpulayer worker label gpu-07 zone- --dry-run
      gpulayer worker label gpu-07
    """
    names = [word for word in words if "=" not in word and not word.endswith("-")]
    try:
        labels, removed = label_words(word for word in words if word not in names)
    except DocumentError as error:
        raise click.UsageError(str(error)) from error
    if not names:
        raise click.UsageError("name a worker: gpulayer worker label gpu-07 zone=b")
    if not labels and not removed:
        _list(names, as_json)
    elif dry_run:
        tell_what_if({"workers": names, "labels": labels, "remove": list(removed)}, as_json=as_json)
    else:
        _set(names, labels, list(removed), as_json)


def _list(names: list[str], as_json: bool) -> None:
    found = [connect().get(_path(name, "labels")) for name in names]
    if as_json:
        write_json(found)
        return
    for worker in found:
        click.echo(f"{worker['name']}:{'' if worker['items'] else ' no labels'}")
        for each in worker["items"]:
            click.echo(f"  {each['key']}={each['value']}  ({_who(each)})")


def _who(each: dict[str, Any]) -> str:
    if each["read_only"]:
        return "the system's, read-only"
    if each["source"] == AGENT:
        return "the agent's"
    agents = f"; the agent says {each['agents_value']}" if each["agents_value"] is not None else ""
    return f"set by {each['set_by'] or 'an operator'}{agents}"


def _set(names: list[str], labels: dict[str, str], removed: list[str], as_json: bool) -> None:
    answer = connect().post("worker-labels", {"workers": names, "labels": labels, "remove": removed})
    if as_json:
        write_json(answer)
    elif answer["changed"]:
        click.echo(f"changed: {clip_list(answer['changed'])}")
    else:
        click.echo("nothing to change: they have these labels already")


NAMES = click.argument("names", nargs=-1, required=True, metavar="NAME...")


@click.command()
@NAMES
@click.option("--reason", "--note", "note", default="", help="Why; shown to everybody.")
@click.option("--until", type=INSTANT, help="When it is to be empty: 18:00, 2026-12-01 18:00, or ISO 8601.")
@click.option("--stop", is_flag=True, help="Stop what still runs then; else it is waited for.")
@DRY_RUN
@AS_JSON
def drain(names: tuple[str, ...], note: str, until: datetime | None, stop: bool, dry_run: bool, as_json: bool) -> None:
    """Give workers no more work.

    What runs there runs on. With --until and --stop what still runs at that
    time is stopped like a cancelled job, and goes back to the queue as its
    retries say. `gpulayer worker undrain` lets them have work again.

    \b
    Examples:
      gpulayer worker drain gpu-07 --reason "new fans"
      gpulayer worker drain gpu-07 gpu-08 --until 18:00 --stop
      gpulayer worker drain gpu-07 --dry-run
    """
    if stop and until is None:
        raise click.UsageError("--stop needs --until: when is what still runs to be stopped?")
    if dry_run:
        tell_what_if({"workers": names, "drain": True}, as_json=as_json)
        return
    document = {"workers": names, "note": note, "until": until.isoformat() if until else None, "stop": stop}
    answer = connect().post("worker-drains", document)
    if as_json:
        write_json(answer)
        return
    one = len(names) == 1
    then = (
        ""
        if until is None
        else f"; what still runs at {until.astimezone():%Y-%m-%d %H:%M} is " + ("stopped" if stop else "waited for")
    )
    what = "is draining: it gets" if one else "are draining: they get"
    click.echo(f"{clip_list(names)} {what} no more work{then}")


@click.command()
@NAMES
@DRY_RUN
@AS_JSON
def undrain(names: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Let drained workers have work again.

    \b
    Example:
      gpulayer worker undrain gpu-07
    """
    if dry_run:
        tell_what_if({"workers": names, "drain": False}, as_json=as_json)
        return
    answer = connect().post("worker-undrains", {"workers": names})
    if as_json:
        write_json(answer)
    else:
        click.echo(f"{clip_list(names)} may have work again")


@click.command()
@click.argument("name")
@click.option("--tasks", metavar="N", help="At most so many tasks at once; `agent`: as its agent says.")
@click.option("--foreign", metavar="SIZE", help="What others may use of a device: 2GB; `agent`: as its agent says.")
@DRY_RUN
@AS_JSON
def limits(name: str, tasks: str | None, foreign: str | None, dry_run: bool, as_json: bool) -> None:
    """Show or set a worker's limits, over what its agent says.

    \b
    Examples:
      gpulayer worker limits gpu-07
      gpulayer worker limits gpu-07 --tasks 4 --foreign 2GB
      gpulayer worker limits gpu-07 --tasks agent
    """
    wanted: dict[str, int | None] = {}
    if tasks is not None:
        wanted["max_concurrent_tasks"] = _tasks(tasks)
    if foreign is not None:
        wanted["foreign_allowance_bytes"] = _size(foreign)
    if dry_run and wanted:
        tell_what_if({"workers": [name], "limits": wanted}, as_json=as_json)
        return
    people = connect()
    answer = people.post(_path(name, "limits"), wanted) if wanted else people.get(_path(name, "limits"))
    if as_json:
        write_json(answer)
        return
    for each in answer["items"]:
        beside = f"  (set by an operator; the agent says {each['agents']})" if each["by_operator"] else ""
        click.echo(f"{each['name']}: {each['value']}{beside}")


def _tasks(text: str) -> int | None:
    if text == AGENT:
        return None
    if not (text.isascii() and text.isdecimal()):
        raise click.BadParameter(f"{text!r} is no whole number; write 4, or agent", param_hint="--tasks")
    return int(text)


def _size(text: str) -> int | None:
    if text == AGENT:
        return None
    try:
        found = parse_size(float(text), at_least=False)
    except ValueError:
        found = parse_size(text, at_least=False)
    if found is None:
        raise click.BadParameter(f"{text!r} is no size; write 2GB, 512MiB, 0 or agent", param_hint="--foreign")
    return found


COMMANDS = (label, drain, undrain, limits)


def _path(name: str, act: str) -> str:
    return f"workers/{quote(name, safe='')}/{act}"
