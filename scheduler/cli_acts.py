"""`gpulayer job pause`, `resume`, `cancel`, `clone`, `retry`, `give-up`, `delete`. Over HTTP; no Django here."""

import uuid
from typing import Any

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import write_json
from scheduler.cli_paths import job_path

Document = dict[str, Any]
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the job as JSON.")
YES = click.option("--yes", "-y", is_flag=True, help="Do not ask first.")


@click.command()
@click.argument("job_id")
@AS_JSON
def pause(job_id: str, as_json: bool) -> None:
    """Keep a waiting job from being placed.

    It keeps its place in the queue; `gpulayer job resume` lets it be placed again. A running job cannot be paused.

    \b
    Example:
      gpulayer job pause j-7
    """
    _say(connect().post(job_path(job_id, "pause")), as_json)


@click.command()
@click.argument("job_id")
@AS_JSON
def resume(job_id: str, as_json: bool) -> None:
    """Let a paused job be placed again.

    \b
    Example:
      gpulayer job resume j-7
    """
    _say(connect().post(job_path(job_id, "resume")), as_json)


@click.command()
@click.argument("job_id")
@AS_JSON
def cancel(job_id: str, as_json: bool) -> None:
    """End a job.

    A waiting one ends at once, a running one as soon as its worker has stopped it.

    \b
    Example:
      gpulayer job cancel j-7
    """
    answer = connect().post(job_path(job_id, "cancel"))
    if as_json:
        write_json(answer)
    else:
        state = _state(answer)
        click.echo(f"{job_id} {state}" if state in ("cancelled", "cancelling") else f"{job_id} was over: {state}")


@click.command()
@click.argument("job_id")
@AS_JSON
def clone(job_id: str, as_json: bool) -> None:
    """Submit the same document as a new job of yours.

    Whatever state the job is in. Its secrets and files go along where it is your own job; nobody sees them. To change
    something first, use *Clone* on its page.

    \b
    Example:
      gpulayer job clone j-7
    """
    _say_made(_submitted(job_id, "clone"), "clone", job_id, as_json)


@click.command()
@click.argument("job_id")
@AS_JSON
def retry(job_id: str, as_json: bool) -> None:
    """Submit a job that is over once more.

    The new job is its owner's, with the same document, secrets and files; the old one stays as it ended.

    \b
    Example:
      gpulayer job retry j-7
    """
    _say_made(_submitted(job_id, "retry"), "retry", job_id, as_json)


@click.command("give-up")
@click.argument("job_id")
@YES
@AS_JSON
def give_up(job_id: str, yes: bool, as_json: bool) -> None:
    """Give up a job whose worker is out of contact.

    It may still be running there. Its devices are given to other jobs at once, so make sure first that the machine is
    off, or that nothing of the job is left on it.

    \b
    Example:
      gpulayer job give-up j-7
    """
    if not yes:
        click.confirm(f"{job_id} may still run on its worker. Give it up, and its devices to others?", abort=True)
    _say(connect().post(job_path(job_id, "give-up"), {"confirm": True}), as_json)


@click.command()
@click.argument("job_id")
@YES
def delete(job_id: str, yes: bool) -> None:
    """Delete a job that is over, with its log and outputs.

    This cannot be undone.

    \b
    Example:
      gpulayer job delete j-7
    """
    if not yes:
        click.confirm(f"Delete {job_id} with its log and outputs? This cannot be undone", abort=True)
    connect().delete(job_path(job_id))
    click.echo(f"{job_id} deleted")


COMMANDS = (pause, resume, cancel, clone, retry, give_up, delete)


def _submitted(job_id: str, how: str) -> Document:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    made: Document = connect().post(job_path(job_id, how), headers=key)
    return made


def _say(found: Document, as_json: bool) -> None:
    if as_json:
        write_json(found)
    else:
        click.echo(f"{found['job_id']} {_state(found)}")


def _say_made(made: Document, how: str, of: str, as_json: bool) -> None:
    if as_json:
        write_json(made)
    else:
        click.echo(f"{made['job_id']} submitted, a {how} of {of}")


def _state(found: Document) -> str:
    return str(found["state"]).replace("_", " ")
