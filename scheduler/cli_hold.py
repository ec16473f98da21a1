"""`gpulayer hold`: devices for a person, with nothing run on them. Over HTTP; no Django here."""

from __future__ import annotations

import sys
import uuid
from datetime import datetime
from time import sleep
from typing import Any

import click

from gpulayer_site.client import FAILED, Failure, People, connect
from gpulayer_site.terminal import write_json
from scheduler.cli_follow import ENDED, LEFT, POLL_SECONDS, page_of
from scheduler.cli_hint import Hint, give, hint_for
from scheduler.cli_options import DURATION, put_into, where_it_may_run
from scheduler.cli_paths import job_path
from scheduler.core.words import in_utc

Document = dict[str, Any]


@click.group(invoke_without_command=True)
@where_it_may_run
@click.option("--for", "seconds", type=DURATION, help="How long: 90min, 4h, 2d; at most 7d.")
@click.option("--detach", "-d", is_flag=True, help="Do not wait until they are yours.")
@click.option("--json", "as_json", is_flag=True, help="Print the job as JSON.")
@click.pass_context
def hold(ctx: click.Context, seconds: int | None, detach: bool, as_json: bool, **asked: Any) -> None:
    """Hold devices for yourself, to log in and work on them.

    They are placed like any job, and are yours until the time is over or you
    release them. Prints how to get there, once they are yours.

    \b
    Examples:
      gpulayer hold --gpus 2 --for 4h
      gpulayer hold extend j-7 --by 2h
      gpulayer hold release j-7
    """
    if ctx.invoked_subcommand is not None:
        return
    if seconds is None:
        raise click.UsageError("--for is missing: how long do you want them? gpulayer hold --gpus 1 --for 4h")
    asked["name"] = asked["name"] or "hold"
    people = connect()
    document = put_into({"hold_s": seconds}, asked)
    made = people.post("jobs", document, {"Idempotency-Key": str(uuid.uuid4())})
    if not as_json:
        click.echo(f"{made['job_id']} submitted: {page_of(people, made)}", err=True)
    if not detach:
        made = _until_held(people, made["job_id"], hint_for({}, asked))
    if as_json:
        write_json(made)
    elif detach:
        click.echo(made["job_id"])
    else:
        _tell(made)


@hold.command()
@click.argument("job_id")
@click.option("--json", "as_json", is_flag=True, help="Print the job as JSON.")
def release(job_id: str, as_json: bool) -> None:
    """Let go of held devices; others get them within seconds.

    \b
    Example:
      gpulayer hold release j-7
    """
    answer = connect().post(job_path(job_id, "hold/release"))
    if as_json:
        write_json(answer)
    else:
        click.echo(f"{job_id} cancelled" if answer["state"] == "cancelled" else f"{job_id} released")


@hold.command()
@click.argument("job_id")
@click.option("--by", "seconds", type=DURATION, required=True, help="How much longer: 30min, 2h.")
@click.option("--json", "as_json", is_flag=True, help="Print the job as JSON.")
def extend(job_id: str, seconds: int, as_json: bool) -> None:
    """Keep held devices longer: at most 24 hours past the first end, 7 days in all, and not into what others reserved.

    \b
    Example:
      gpulayer hold extend j-7 --by 2h
    """
    answer = connect().post(job_path(job_id, "hold/extend"), {"seconds": seconds})
    if as_json:
        write_json(answer)
    else:
        click.echo(f"{job_id} is yours until {_instant(answer['hold']['until'])}")


def _until_held(people: People, job_id: str, hint: Hint | None) -> Document:
    """The job once its devices are held. Raises Failure where that never comes."""
    told = ""
    try:
        while True:
            found: Document = people.get(job_path(job_id))
            if found["state"] == "running" and found["hold"]["access"]:
                return found
            if found["state"] in ENDED:
                raise Failure(f"{job_id} {found['state']}: {found['answer'] or found['failure_text']}", FAILED)
            if (news := f"{job_id} {found['state']}: {found['short_answer'] or ''}".removesuffix(": ")) != told:
                click.echo(news, err=True)
                told = news
                hint = give(hint, people, found)
            sleep(POLL_SECONDS)
    except KeyboardInterrupt:
        click.echo(f"\n{job_id} stays in the queue; `gpulayer hold release {job_id}` ends it", err=True)
        sys.exit(LEFT)


def _instant(text: str) -> str:
    """An instant of the server's, as people say it."""
    return in_utc(datetime.fromisoformat(text))


def _tell(found: Document) -> None:
    job_id, held = found["job_id"], found["hold"]
    click.echo(f"{job_id} is yours until {_instant(held['until'])}", err=True)
    for each in held["access"]:
        click.echo(f"# {each['worker']}" if each["ssh"] else f"# {each['worker']}: log in as you do, then")
        if each["ssh"]:
            click.echo(each["ssh"])
        click.echo(each["export"])
    click.echo(
        f"`gpulayer hold release {job_id}` ends it, `gpulayer hold extend {job_id} --by 2h` keeps them", err=True
    )
