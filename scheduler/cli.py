"""`gpulayer job …`: submit, look, follow, wait. Over HTTP; no Django here."""

import uuid
from pathlib import Path
from typing import Any

import click

from gpulayer_site.client import Failure, People, connect
from gpulayer_site.terminal import say, say_if_full, table, write_json
from scheduler.cli_acts import COMMANDS as ACTS
from scheduler.cli_follow import exit_as, follow, page_of, text_of
from scheduler.cli_logs import logs
from scheduler.cli_options import TEAM
from scheduler.cli_outputs import outputs
from scheduler.cli_paths import job_path
from scheduler.cli_replay import replay
from scheduler.cli_status import print_status
from scheduler.cli_whys import changes, explain, rollup, why_not


@click.group()
def job() -> None:
    """Submit jobs, see where they run or why they wait, read their logs, end them.

    \b
    Exit codes: 0 done, 1 the answer is no, 2 wrong usage or document,
    3 the server cannot be reached or does not allow it.
    """


for _command in (logs, *ACTS, outputs, explain, why_not, changes, rollup, replay):
    job.add_command(_command)


@job.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--watch", is_flag=True, help="Follow the job and its log; exit as `job wait` does.")
@TEAM
@click.option("--json", "as_json", is_flag=True, help="Print the job as JSON.")
def submit(file: Path, watch: bool, team: str | None, as_json: bool) -> None:
    """Submit the job that FILE describes.

    FILE is YAML or JSON; - reads standard input.

    \b
    Examples:
      gpulayer job submit train.yaml
      gpulayer job submit train.yaml --watch
      echo '{name: hello, command: [echo, hi], target: local}' | gpulayer job submit -
    """
    text = text_of(file)
    kind = "application/json" if file.suffix == ".json" else "application/yaml"
    people = connect()
    made = people.post_text("jobs", text, kind, {"Idempotency-Key": str(uuid.uuid4())}, team=team)
    if as_json:
        write_json(made)
    elif watch:
        click.echo(f"{made['job_id']} submitted: {page_of(people, made)}", err=True)
    else:
        click.echo(f"{made['job_id']} submitted")
        say(f"{page_of(people, made)}")
    if watch:
        exit_as(follow(people, made["job_id"], with_log=True))


@job.command("list")
@click.option("--state", help="Only jobs in this state: queued, running, failed … active, over.")
@click.option("--search", "-q", "query", help="Only jobs whose id or name has this text.")
@click.option("--team", help="Only jobs of this team.")
@click.option("--limit", type=click.IntRange(1, 1000), default=30, show_default=True, help="How many, newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print the jobs as JSON.")
def list_jobs(state: str | None, query: str | None, team: str | None, limit: int, as_json: bool) -> None:
    """List jobs, newest first, each with its short answer.

    \b
    Examples:
      gpulayer job list
      gpulayer job list --state queued
    """
    jobs = connect().pages("jobs", limit=limit, state=state, q=query, team=team)
    if as_json:
        write_json(jobs)
    elif not jobs:
        click.echo("no jobs" if not (state or query or team) else "no such jobs")
    else:
        rows = [(each["job_id"], each["state"], each["name"], each["owner"], each["short_answer"]) for each in jobs]
        table(("JOB", "STATE", "NAME", "OWNER", "ANSWER"), rows)
        say_if_full(jobs, limit)


@job.command()
@click.argument("job_id")
@click.option("--all", "every", is_flag=True, help="Each candidate worker by itself, with all its reasons.")
@click.option("--json", "as_json", is_flag=True, help="Print the job and its decision as JSON.")
def status(job_id: str, every: bool, as_json: bool) -> None:
    """Show where a job runs, or why it waits.

    The answer, how the fleet narrows down, and what every candidate worker lacks.

    \b
    Examples:
      gpulayer job status j-7
      gpulayer job status j-7 --all
      gpulayer job status j-7 --json | jq .decision.outcome
    """
    people = connect()
    found = people.get(job_path(job_id))
    decision = _decision(people, job_id, grouped=not every)
    if as_json:
        write_json({"job": found, "decision": decision})
    else:
        print_status(found, decision, every=every)


@job.command()
@click.argument("job_id")
def wait(job_id: str) -> None:
    """Wait until a job has ended, and exit with its exit code.

    \b
    Other ends: 124 it ran into its time limit, 125 it never ran or nobody
    knows its exit code, 130 it was cancelled, 128 + N signal N ended it,
    3 the server cannot be reached.

    \b
    Example:
      gpulayer job wait j-7 && echo done
    """
    exit_as(follow(connect(), job_id, with_log=False))


def _decision(people: People, job_id: str, *, grouped: bool) -> dict[str, Any] | None:
    """The latest decision; none before the first pass."""
    try:
        document: dict[str, Any] = people.get(job_path(job_id, "decision"), grouped="true" if grouped else "false")
    except Failure as failure:
        if failure.code == "no_decision":
            return None
        raise
    return document
