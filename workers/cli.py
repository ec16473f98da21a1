"""`gpulayer worker …`: list machines, let one take jobs, simulate a fleet. No Django here."""

from pathlib import Path
from typing import Any

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import clip_list, say_if_full, table, write_json
from workers.cli_accept import accept
from workers.cli_acts import COMMANDS as ACTS
from workers.cli_agent import FILE, ORIGINS, probe, start
from workers.cli_fleet import COMMANDS as FLEET


@click.group()
def worker() -> None:
    """List machines, let them in and out, or simulate a whole fleet.

    \b
    Exit codes: 0 done, 1 the answer is no, 2 wrong usage or document,
    3 the server cannot be reached or does not allow it.
    """


@worker.command("list")
@click.option("--search", "-q", "query", help="Only workers whose name has this text.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many, by name.")
@click.option("--json", "as_json", is_flag=True, help="Print the workers as JSON.")
def list_workers(query: str | None, limit: int, as_json: bool) -> None:
    """List the machines that the server knows.

    \b
    Examples:
      gpulayer worker list
      gpulayer worker list --json | jq '.[].name'
    """
    workers = connect().pages("workers", limit=limit, q=query)
    if as_json:
        write_json(workers)
    elif not workers:
        click.echo("no workers" if not query else "no such workers")
    else:
        table(("WORKER", "ORIGIN", "STATE", "GPUS", "FREE", "JOBS"), [_row(each) for each in workers])
        say_if_full(workers, limit)


def _row(each: dict[str, Any]) -> tuple[object, ...]:
    state = ", ".join([*each["state"], *(["simulated"] if each["simulated"] else [])])
    free = f"{each['gpus_free']} of {each['gpus_total']}" if each["gpus_total"] else None
    jobs = clip_list([task["job_id"] for task in each["tasks"]])
    return each["name"], each["origin"], state, each["gpus"], free, jobs


@worker.command()
@click.option(
    "--uses", type=click.IntRange(1, 10_000), default=1, show_default=True, help="How many workers it lets in."
)
@click.option("--origin", type=ORIGINS, help="Only workers of this origin.  [default: any]")
@click.option("--simulated", is_flag=True, help="For simulated workers.")
@click.option("--note", default="", help="What it is for; shown to operators.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON, with the time it ends.")
def token(uses: int, origin: str | None, simulated: bool, note: str, as_json: bool) -> None:
    """Make an enrolment token for another machine.

    `gpulayer worker start` there asks for it. It is shown once.

    \b
    Example:
      gpulayer worker token --note "gpu-07, rack 12"
    """
    document = {"uses": uses, "origin": origin, "simulated": simulated, "note": note}
    made = connect().post("worker-tokens", document)
    if as_json:
        write_json(made)
        return
    click.echo(made["token"])
    many = "once" if uses == 1 else f"{uses} times"
    click.echo(f"usable {many} until {made['expires_at'][:16].replace('T', ' ')} UTC", err=True)
    click.echo("`gpulayer worker start --url ADDRESS` on the new machine asks for it", err=True)


@worker.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, dir_okay=False), metavar="[FILE]...")
@click.option("--demo", type=click.IntRange(1, 2000), metavar="N", help="Make up a mixed fleet of N workers instead.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another fleet for --demo; the same for the same.")
@click.option("--origin", type=ORIGINS, help="The origin of all of them.  [default: as the documents say]")
@click.option("--url", envvar="GPULAYER_URL", help="The server.  [default: as for the other commands]")
@click.option("--token-file", type=FILE, help="An enrolment token made with `worker token --simulated`; needs --url.")
def simulate(
    files: tuple[Path, ...], demo: int | None, seed: int, origin: str | None, url: str | None, token_file: Path | None
) -> None:
    """Try it without GPUs: simulate a fleet.

    The simulated workers stay online until Ctrl-C.

    FILE holds worker documents in YAML, JSON or JSON lines. Nothing is run: a task lasts as long as its command
    sleeps (`sleep 30`), else two seconds, and ends with exit code 0. Simulated workers are marked as such everywhere.

    \b
    Examples:
      gpulayer worker simulate --demo 20
      gpulayer worker simulate workers.yaml more.jsonl
    """
    from workers.agent.demo import demo_fleet
    from workers.cli_simulate import read_fleet
    from workers.cli_simulate import simulate as run

    if bool(files) == bool(demo):
        raise click.UsageError("say either FILE or --demo N")
    if token_file and not url:
        raise click.UsageError("--token-file needs --url")
    fleet = demo_fleet(demo, seed, origin) if demo else read_fleet(files, origin)
    run(fleet, url=url, token_file=token_file, seed=seed if demo else None)


for _command in (start, probe, accept, *FLEET, *ACTS):
    worker.add_command(_command)
