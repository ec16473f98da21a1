"""`gpulayer job replay`: decide a job again from what its decision was made from, here, and compare."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import click

from gpulayer_site.client import Failure, connect
from gpulayer_site.terminal import say, write_json
from scheduler.cli_why import print_difference
from scheduler.core.codec import canonical_bytes, decision_from_document, decision_to_document
from scheduler.core.decision import SchedulingDecision
from scheduler.core.difference import Difference, difference
from scheduler.core.errors import DocumentError
from scheduler.core.explain import answer
from scheduler.core.fleet import Fleet
from scheduler.core.parsing import parse_queue_entry, parse_worker
from scheduler.core.schedule import schedule
from scheduler.core.spec import Policy, QueueEntry
from scheduler.core.why import to_document
from scheduler.core.words import counted

Document = dict[str, Any]
DIFFERS = 1


@dataclass(frozen=True, slots=True)
class Replay:
    """A decision as it is kept, what it was made from, and the decision found here."""

    entry: QueueEntry
    fleet: Fleet
    kept: SchedulingDecision
    again: SchedulingDecision
    same_bytes: bool


@click.command()
@click.argument("job_id")
@click.option("--today", is_flag=True, help="Also decide against the fleet as it is now.")
@click.option("--policy", type=click.Choice([policy.value for policy in Policy]), help="Also decide with this policy.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def replay(job_id: str, today: bool, policy: str | None, as_json: bool) -> None:
    """Decide a job again, and compare.

    From what its latest decision was made from; the two are compared byte for byte.

    The server gives the recorded inputs; the rules that decide are those of this command. With --today or --policy,
    it is also decided against today's fleet, with the other policy or both, and the difference is told.

    \\b
    Exit codes: 0 the same bytes, 1 they differ.
    \\b
    Examples:
      gpulayer job replay j-7
      gpulayer job replay j-7 --today
      gpulayer job replay j-7 --policy most_free_memory
    """
    found = connect().get(f"jobs/{quote(job_id, safe='')}/replay", today="true" if today else "false")
    made = _replayed(found)
    other = _otherwise(made, found, today=today, policy=policy) if today or policy else None
    if as_json:
        write_json(_document(found, made, other))
    else:
        _print(found, made, other, _what(today, policy))
    if not made.same_bytes:
        raise SystemExit(DIFFERS)


def _replayed(found: Document) -> Replay:
    try:
        entry = parse_queue_entry(found["entry"], position=1)
        fleet = _fleet(found["workers"])
        kept = decision_from_document(found["decision"])
    except DocumentError as error:
        raise Failure(f"the recorded inputs cannot be read here, by another version: {error}", DIFFERS) from error
    again = schedule(entry, fleet, entry.job_id)
    same = canonical_bytes(decision_to_document(again)) == canonical_bytes(found["decision"])
    return Replay(entry, fleet, kept, again, same)


def _fleet(documents: Sequence[Document]) -> Fleet:
    return Fleet(tuple(sorted(map(parse_worker, documents), key=lambda worker: worker.id)))


Other = tuple[SchedulingDecision, Difference]


def _otherwise(made: Replay, found: Document, *, today: bool, policy: str | None) -> Other:
    fleet = _without(_fleet(found["today"]), made.entry.job_id) if today else made.fleet
    spec = replace(made.entry.spec, policy=Policy(policy)) if policy else made.entry.spec
    entry = replace(made.entry, spec=spec)
    decision = schedule(entry, fleet, entry.job_id)
    return decision, difference((made.entry, made.again), (entry, decision), fleets=(made.fleet, fleet))


def _without(fleet: Fleet, job_id: str) -> Fleet:
    """The fleet without what the job itself holds by now."""
    return Fleet(
        tuple(
            replace(view, tasks=tuple(task for task in view.tasks if task.job_id != job_id)) for view in fleet.workers
        )
    )


def _what(today: bool, policy: str | None) -> str:
    return " and ".join([*(["today's fleet"] if today else []), *([policy] if policy else [])])


def _print(found: Document, made: Replay, other: Other | None, what: str) -> None:
    made_at = str(found["made_at"])[:19].replace("T", " ")
    say(f"{made.entry.job_id}  {made.entry.spec.name}  decided by pass {found['pass_number']:,} at {made_at} UTC")
    say(f"as kept: {answer(made.entry, made.kept).lead}")
    if made.same_bytes:
        say(f"decided again here, on {counted(len(made.fleet.workers), 'worker')}: the same, byte for byte")
    else:
        say(f"decided again here: not the same bytes{'' if found['same_rules'] else '; the rules have changed since'}")
        print_difference(difference((made.entry, made.kept), (made.entry, made.again)))
    if not found["intact"]:
        say("the server itself does not find what was decided then; what is kept was changed or the rules were")
    if other is not None:
        click.echo()
        say(f"with {what}: {answer(made.entry, other[0]).lead}")
        print_difference(other[1])


def _document(found: Document, made: Replay, other: Other | None) -> Document:
    return {
        "version": 1,
        "job_id": made.entry.job_id,
        "pass_number": found["pass_number"],
        "made_at": found["made_at"],
        "intact": found["intact"],
        "same_rules": found["same_rules"],
        "same_bytes": made.same_bytes,
        "decision": found["decision"],
        "again": decision_to_document(made.again),
        "otherwise": decision_to_document(other[0]) if other else None,
        "difference": to_document(other[1]) if other else None,
    }
