"""`gpulayer schedule` and `gpulayer compat`: the rules over files, without a server."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

import click

from gpulayer_site.terminal import say, table, write_json
from scheduler.cli_candidates import print_each, print_funnel, print_groups
from scheduler.core.checklist import Check, Status, checklist
from scheduler.core.decision import Outcome, SchedulingDecision
from scheduler.core.explain import answer, asks_for, funnel, group_sentence, sentence, short_answer
from scheduler.core.labels import check_label
from scheduler.core.spec import QueueEntry
from scheduler.core.wants import WANTED, wanted
from scheduler.core.words import counted
from scheduler.offline import (
    LARGE_FLEET,
    Given,
    WrongDocumentsError,
    checks_document,
    decide,
    decision_document,
    read_given,
    read_pair,
    verdict_of,
)

WRONG = 2
_FILE = click.Path(path_type=Path)
_OUTCOMES = {Outcome.PLACED: "placed", Outcome.WAITING: "waiting", Outcome.UNSCHEDULABLE: "never fits"}
Decided = Iterator[tuple[QueueEntry, SchedulingDecision]]


@click.command()
@click.option("--workers", required=True, type=_FILE, help="Worker documents: YAML, JSON or JSON lines.")
@click.option("--jobs", required=True, type=_FILE, help="Job documents or a queue, in the same formats.")
@click.option("--json", "as_json", is_flag=True, help="One JSON list of decisions.")
@click.option("--jsonl", "as_lines", is_flag=True, help="One decision a line, each as soon as it is made.")
@click.option("--explain", metavar="JOB", help="Only this job: its answer, and every candidate beside its reasons.")
def schedule(workers: Path, jobs: Path, as_json: bool, as_lines: bool, explain: str | None) -> None:
    """Decide jobs against workers from files: one pass of the real rules, in the order of submission.

    The exit code is 0 whatever becomes of the jobs, and 2 for documents that are wrong.
    """
    try:
        given = read_given(workers, jobs)
    except WrongDocumentsError as error:
        _refuse(error.complaints)
    decided = decide(given)
    if explain is not None:
        decided = _only(explain, decided, given, jobs)
    if as_lines:
        for _, decision in decided:
            write_json(decision_document(decision, given), lines=True)
    elif as_json:
        _write_list(decided, given)
    elif explain is not None:
        for entry, decision in decided:
            _explain(entry, decision)
    else:
        _write_table(decided, given)


@click.command()
@click.option("--worker", required=True, type=_FILE, help="One worker document.")
@click.option("--job", required=True, type=_FILE, help="One job document.")
@click.option("--json", "as_json", is_flag=True, help="Every check as JSON.")
def compat(worker: Path, job: Path, as_json: bool) -> None:
    """Say of one worker and one job which checks pass, which fail and why, and which are not asked.

    The exit code is 0 whatever comes out, and 2 for documents that are wrong.
    """
    try:
        entry, view = read_pair(worker, job)
    except WrongDocumentsError as error:
        _refuse(error.complaints)
    checks = checklist(entry, view)
    if as_json:
        write_json(checks_document(entry, view, checks))
        return
    say(f"{entry.job_id} ({entry.spec.name}) asks for {asks_for(entry.spec)}")
    say(f"{view.id}: {verdict_of(checks)}")
    click.echo()
    table(("CHECK", "RESULT", "DETAIL"), [_row(check, entry) for check in checks])


def _refuse(complaints: tuple[str, ...]) -> NoReturn:
    for line in complaints:
        click.echo(line, err=True)
    raise SystemExit(WRONG)


def _only(job_id: str, decided: Decided, given: Given, jobs: Path) -> Decided:
    """That job's decision; those before it are made too, for what they are given is gone."""
    ids = [entry.job_id for entry in given.queue]
    if job_id not in ids:
        near = get_close_matches(job_id, ids, n=1)
        _refuse((f"{jobs}: no job {job_id}" + (f"; did you mean {near[0]}?" if near else ""),))
    return (pair for pair in decided if pair[0].job_id == job_id)


def _write_list(decided: Decided, given: Given) -> None:
    """A JSON list, an element a line, written as it is made."""
    before = "["
    for _, decision in decided:
        click.echo(before)
        click.echo(json.dumps(decision_document(decision, given), ensure_ascii=False), nl=False)
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


def _explain(entry: QueueEntry, decision: SchedulingDecision) -> None:
    said = answer(entry, decision)
    say(f"{entry.job_id}  {entry.spec.name}  asks for {asks_for(entry.spec)}")
    say(said.lead)
    for text in said.more:
        say(text, indent=2)
    print_funnel([asdict(stage) for stage in funnel(entry, decision)])
    for reason in decision.group_reasons:
        say(group_sentence(reason), indent=2)
    click.echo()
    if sum(decision.counts().values()) > LARGE_FLEET:
        print_groups(decision, each="--json")
    else:
        print_each(decision)


def _row(check: Check, entry: QueueEntry) -> tuple[str, str, str]:
    detail = check.why_not_asked
    if check.status is Status.FAILED:
        detail = "; ".join(sentence(reason) for reason in check.reasons)
    elif check.status is Status.PASSED and check.code in WANTED:
        detail = f"has {wanted(check.code, entry.spec)}"
    return check_label(check.code), str(check.status).replace("_", " "), detail
