"""`gpulayer schedule` and `gpulayer compat`: the rules over files, without a server."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import click

from gpulayer_site.terminal import say, write_json
from scheduler.cli_why import print_explained, print_roll_up, print_why_not
from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.explain import asks_for, short_answer
from scheduler.core.rollup import roll_up
from scheduler.core.spec import QueueEntry
from scheduler.core.why import to_document
from scheduler.core.words import counted
from scheduler.offline import (
    Given,
    Turn,
    WrongDocumentsError,
    checks_document,
    decide,
    decision_document,
    explained,
    read_given,
    read_pair,
    turn_of,
    why_not_alone,
)
from workers.cli_times import INSTANT

WRONG = 2
_FILE = click.Path(path_type=Path)
_AT = click.option(
    "--at",
    type=INSTANT,
    help="From when reservations are looked at that have yet to begin; left out: as the workers say (seen_at), or now.",
)
_OUTCOMES = {Outcome.PLACED: "placed", Outcome.WAITING: "waiting", Outcome.UNSCHEDULABLE: "never fits"}
Decided = Iterator[tuple[QueueEntry, SchedulingDecision]]


@click.command()
@click.option("--workers", required=True, type=_FILE, help="Worker documents: YAML, JSON or JSON lines.")
@click.option("--jobs", required=True, type=_FILE, help="Job documents or a queue, in the same formats.")
@click.option("--json", "as_json", is_flag=True, help="One JSON list of decisions; with --rollup one document.")
@click.option("--jsonl", "as_lines", is_flag=True, help="One decision a line, each as soon as it is made.")
@click.option("--explain", metavar="JOB", help="Only this job: its answer, everything behind it, what would help.")
@click.option(
    "--group-by",
    "grouping",
    default="gpu",
    show_default=True,
    metavar="WHAT",
    help="With --explain, how checks are counted: by gpu, tier, torch, worker or label:KEY.",
)
@click.option("--rollup", is_flag=True, help="What keeps the queue waiting, and what would let most of it start.")
@_AT
def schedule(
    workers: Path,
    jobs: Path,
    as_json: bool,
    as_lines: bool,
    explain: str | None,
    grouping: str,
    rollup: bool,
    at: datetime | None,
) -> None:
    """Decide jobs against workers from files: one pass of the real rules, in the order of submission.

    The exit code is 0 whatever becomes of the jobs, and 2 for documents that are wrong.

    \b
    Examples:
      gpulayer schedule --workers fleet.yaml --jobs queue.yaml
      gpulayer schedule --workers fleet.yaml --jobs queue.yaml --explain j-7
      gpulayer schedule --workers fleet.yaml --jobs queue.yaml --rollup
    """
    if rollup and (explain is not None or as_lines):
        raise click.UsageError("--rollup speaks of the whole queue: give it without --explain and --jsonl")
    try:
        given = read_given(workers, jobs, at)
    except WrongDocumentsError as error:
        _refuse(error.complaints)
    if explain is not None:
        _explain_one(explain, given, jobs, grouping, as_json=as_json, as_lines=as_lines)
    elif rollup:
        _roll_up(given, as_json=as_json)
    elif as_lines:
        for _, decision in decide(given):
            write_json(decision_document(decision, given), lines=True)
    elif as_json:
        _write_list(decision_document(decision, given) for _, decision in decide(given))
    else:
        _write_table(decide(given), given)


@click.command()
@click.option("--worker", required=True, type=_FILE, help="One worker document.")
@click.option("--job", required=True, type=_FILE, help="One job document.")
@click.option("--json", "as_json", is_flag=True, help="Every check as JSON.")
@_AT
def compat(worker: Path, job: Path, as_json: bool, at: datetime | None) -> None:
    """Say of one worker and one job which checks pass, which fail and why, and which are not asked.

    Beside each: what is required and what there is; at the end what would have to give. The exit code is 0 whatever
    comes out, and 2 for documents that are wrong.
    """
    try:
        entry, view = read_pair(worker, job, at)
    except WrongDocumentsError as error:
        _refuse(error.complaints)
    found = why_not_alone(entry, view)
    if as_json:
        write_json(checks_document(entry, view, found))
        return
    say(f"{entry.job_id} ({entry.spec.name}) asks for {asks_for(entry.spec)}")
    say(f"{view.id}: {found.verdict}")
    print_why_not(found)


def _refuse(complaints: tuple[str, ...]) -> NoReturn:
    for line in complaints:
        click.echo(line, err=True)
    raise SystemExit(WRONG)


def _turn(job_id: str, given: Given, jobs: Path) -> Turn:
    """That job's turn; those before it are decided too, for what they are given is gone."""
    ids = [entry.job_id for entry in given.queue]
    if job_id not in ids:
        near = get_close_matches(job_id, ids, n=1)
        _refuse((f"{jobs}: no job {job_id}" + (f"; did you mean {near[0]}?" if near else ""),))
    return turn_of(job_id, given)


def _explain_one(job_id: str, given: Given, jobs: Path, grouping: str, *, as_json: bool, as_lines: bool) -> None:
    turn = _turn(job_id, given, jobs)
    try:
        why = explained(turn, grouping)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--group-by") from error
    if as_json or as_lines:
        document = decision_document(turn.decision, given) | {"why": to_document(why)}
        if as_lines:
            write_json(document, lines=True)
        else:
            _write_list([document])
    else:
        say(f"{turn.entry.job_id}  {turn.entry.spec.name}  asks for {asks_for(turn.entry.spec)}")
        print_explained(turn.decision, why)


def _roll_up(given: Given, *, as_json: bool) -> None:
    found = roll_up(decide(given), given.fleet)
    if as_json:
        write_json({"version": 1} | to_document(found))
    else:
        print_roll_up(found)


def _write_list(documents: Iterable[dict[str, object]]) -> None:
    """A JSON list, an element a line, written as it is made."""
    before = "["
    for document in documents:
        click.echo(before)
        click.echo(json.dumps(document, ensure_ascii=False), nl=False)
        before = ","
    click.echo("[]" if before == "[" else "\n]")


def _write_table(decided: Decided, given: Given) -> None:
    """A line for each job as soon as it is decided, then what it comes to."""
    job_width = max((len(entry.job_id) for entry in given.queue), default=0)
    tally = dict.fromkeys(Outcome, 0)
    for entry, decision in decided:
        tally[decision.outcome] += 1
        outcome = _OUTCOMES[decision.outcome]
        click.echo(f"{entry.job_id:<{job_width}}  {outcome:<10}  {_where(decision)}{short_answer(entry, decision)}")
    click.echo()
    outcomes = ", ".join(f"{number:,} {_OUTCOMES[outcome]}" for outcome, number in tally.items() if number)
    jobs, workers = counted(len(given.queue), "job"), counted(len(given.fleet.workers), "worker")
    say(f"{jobs} on {workers}{f': {outcomes}' if outcomes else ''}")
    if tally[Outcome.WAITING] or tally[Outcome.UNSCHEDULABLE]:
        say("--explain JOB shows every worker beside its reasons")


def _where(decision: SchedulingDecision) -> str:
    """`gpu-07 [0,1]  `; of a gang the first worker and how many more."""
    if not decision.assignments:
        return ""
    first, *rest = decision.assignments
    chosen = f" [{','.join(str(index) for index in first.devices)}]" if first.devices else ""
    more = f" and {len(rest):,} more" if rest else ""
    return f"{first.worker}{chosen}{more}  "
