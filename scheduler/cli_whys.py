"""`gpulayer job explain`, `why-not`, `changes`, `rollup`: the server's explanations, said as the offline ones are."""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

import click

from gpulayer_site.client import Failure, connect
from gpulayer_site.terminal import say, table, write_json
from scheduler.cli_why import print_difference, print_explained, print_roll_up, print_why_not
from scheduler.core.codec import decision_from_document
from scheduler.core.difference import Difference
from scheduler.core.errors import DocumentError
from scheduler.core.rollup import RollUp
from scheduler.core.why import Why
from scheduler.core.why_not import WhyNot
from scheduler.core.why_reading import from_document

Document = dict[str, Any]
T = TypeVar("T")
DECISION = click.option("--decision", metavar="N", type=int, help="An earlier decision; `job changes` lists them.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON, for programs.")


@click.command()
@click.argument("job_id")
@click.option(
    "--group-by",
    "grouping",
    default="gpu",
    show_default=True,
    metavar="WHAT",
    help="How checks are counted: by gpu, tier, torch, worker or label:KEY.",
)
@DECISION
@AS_JSON
def explain(job_id: str, grouping: str, decision: int | None, as_json: bool) -> None:
    """Tell everything behind a job's placement.

    Why this worker and not the next, what is in the way and until when, who went ahead, what the job could ask for
    instead, and every check counted by groups of workers.

    \b
    Examples:
      gpulayer job explain j-7
      gpulayer job explain j-7 --group-by label:zone
      gpulayer job explain j-7 --json | jq .why.relaxations
    """
    found = connect().get(_of(job_id, "why"), group_by=grouping, decision=decision)
    if as_json:
        write_json(found)
        return
    why = _read(lambda: from_document(Why, found["why"]))
    made = _read(lambda: decision_from_document(found["decision"]))
    say(f"{found['job_id']}  {found['name']}  asks for {found['asks_for']}")
    say(_decided(found))
    print_explained(made, why)


@click.command("why-not")
@click.argument("job_id")
@click.argument("worker")
@DECISION
@AS_JSON
def why_not(job_id: str, worker: str, decision: int | None, as_json: bool) -> None:
    """Say why a job is not on a certain worker.

    Every check of this job on that worker, with what is required and what there is; at the end what would have to give.

    \b
    Example:
      gpulayer job why-not j-7 gpu-107
    """
    found = connect().get(_of(job_id, "why-not", worker), decision=decision)
    if as_json:
        write_json(found)
        return
    say(f"{found['job_id']}  {found['name']}")
    say(_decided(found))
    answer = _read(lambda: from_document(WhyNot, found["why_not"]))
    say(answer.lead)
    print_why_not(answer)


@click.command()
@click.argument("job_id")
@click.option("--from", "earlier", metavar="N", type=int, help="The earlier decision; the one before the later.")
@click.option("--to", "later", metavar="N", type=int, help="The later decision; the latest.")
@AS_JSON
def changes(job_id: str, earlier: int | None, later: int | None, as_json: bool) -> None:
    """List a job's decisions, and tell what changed.

    The first decision about a job is kept, the latest, and those at which something changed. Between two of them, the
    latest two unless told otherwise: which workers came free, left or were taken, and by whom.

    \b
    Examples:
      gpulayer job changes j-7
      gpulayer job changes j-7 --from 12 --to 31
    """
    found = connect().get(_of(job_id, "differences"), earlier=earlier, later=later)
    if as_json:
        write_json(found)
        return
    say(f"{found['job_id']}  {found['name']}")
    rows = [(one["id"], _instant(one["made_at"]), one["outcome"], one["lead"]) for one in found["decisions"]]
    table(("DECISION", "MADE (UTC)", "OUTCOME", "ANSWER"), rows)
    click.echo()
    if found["difference"] is None:
        say("nothing to compare: only one decision is kept")
        return
    say(f"from decision {found['earlier']} to {found['later']}:")
    print_difference(_read(lambda: from_document(Difference, found["difference"])))


@click.command()
@AS_JSON
def rollup(as_json: bool) -> None:
    """Say why the whole queue waits.

    How many jobs wait for which reason, and which running job's end, which label or which further worker would let
    how many of them start.

    \b
    Example:
      gpulayer job rollup
    """
    found = connect().get("rollup")
    if as_json:
        write_json(found)
        return
    print_roll_up(_read(lambda: from_document(RollUp, found["rollup"])))


def _of(job_id: str, *more: str) -> str:
    """Where the server has this of the job; whatever was typed stays one part of the path."""
    return "/".join(("jobs", *(quote(part, safe="") for part in (job_id, *more))))


def _read(reading: Callable[[], T]) -> T:
    try:
        return reading()
    except (DocumentError, KeyError, TypeError, ValueError) as error:
        raise Failure(
            "the server is of another version and says what this command cannot read; --json prints it"
        ) from error


def _decided(found: Document) -> str:
    kept, state = found["kept"], found["state"].replace("_", " ")
    by = (
        f"with the figures of pass {kept['pass_number']:,}" if kept["refreshed"] else f"by pass {kept['pass_number']:,}"
    )
    text = f"decided at {_instant(kept['made_at'])} UTC {by}; the job is {state} now"
    return text if found["intact"] else f"{text}; the rules have changed since, and this is what those of now say of it"


def _instant(text: str) -> str:
    return text[:19].replace("T", " ")
