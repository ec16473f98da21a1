"""`gpulayer worker …`: list machines, let one take jobs, simulate a fleet. No Django here."""

from pathlib import Path
from socket import gethostname
from typing import Any

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import clip_list, say_if_full, table, write_json

ORIGINS = click.Choice(["local", "remote", "cloud"])
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.group()
def worker() -> None:
    """List machines, let one take jobs, or simulate a whole fleet.

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


def identity_options(command: Any) -> Any:
    """What `start` and `probe` ask of a person."""
    options = (
        click.option("--name", default=gethostname, show_default="this host's", help="Its name on the server."),
        click.option("--origin", type=ORIGINS, default="remote", show_default=True, help="Where this host stands."),
        click.option("--env", "given", multiple=True, metavar="NAME=PYTHON", help="A Python environment that jobs may "
                     "ask for, by its interpreter; `default` is the one for jobs that ask for none. Repeatable."),
        click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="To place jobs by. Repeatable."),
        click.option("--provider", help="Whose machine it is: aws, gcp …"),
        click.option("--region", help="Where it is, in the provider's words."),
        click.option("--advertise-address", metavar="HOST", help="Where other workers reach it, for distributed jobs."),
        click.option("--max-tasks", type=click.IntRange(1), help="How many tasks at once.  [default: one per GPU]"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@worker.command()
@click.option("--url", required=True, envvar="GPULAYER_URL", show_envvar=True, help="The server, as https://host.")
@click.option(
    "--token-file",
    type=FILE,
    help="The enrolment token, for the first start; - reads standard input.  [default: asks for it]",
)
@click.option(
    "--data",
    type=FOLDER,
    help="Folder for its credential, logs on their way and jobs' directories.  "
    "[default: ~/.local/state/gpulayer/agents/NAME]",
)
@click.option(
    "--allow-http",
    is_flag=True,
    envvar="GPULAYER_ALLOW_HTTP",
    show_envvar=True,
    help="Let the token travel unencrypted, on a network that you trust.",
)
@identity_options
def start(url: str, token_file: Path | None, data: Path | None, allow_http: bool, **identity: Any) -> None:
    """Let this host take jobs: start its agent.

    It stays in the foreground until Ctrl-C.

    Jobs run as the user who starts it. The first start needs an enrolment token, which a server's operator makes
    with `gpulayer worker token`; later ones need none.

    Where the agent is installed in a virtual environment, jobs get the Python below it, never the agent's own
    packages; `--env default=/path/to/python` says otherwise.

    \b
    Examples:
      gpulayer worker start --url https://gpu.example.org
      gpulayer worker start --url https://gpu.example.org --name gpu-07 \\
          --env train=/opt/train/bin/python --label rack=r12
    """
    from workers.cli_start import Start, default_data, run_agent

    known, given = _identity(**identity)
    folder = (data or default_data(known.name)).absolute()
    run_agent(
        Start(url=url.rstrip("/"), identity=known, data=folder, token_file=token_file, environments=given,
              allow_http=allow_http)
    )  # fmt: skip


@worker.command()
@identity_options
def probe(**identity: Any) -> None:
    """Print what this host would report.

    It is a worker document; what is unknown is null, and why is said on standard error.

    \b
    Examples:
      gpulayer worker probe
      gpulayer worker probe --env train=/opt/train/bin/python > worker.json
    """
    from workers.cli_start import probe_of

    known, given = _identity(**identity)
    probed = probe_of(known, given).read()
    write_json(probed.document)
    for note in probed.notes:
        click.echo(f"unknown: {note}", err=True)


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


def _identity(
    name: str, origin: str, given: tuple[str, ...], labels: tuple[str, ...], provider: str | None, region: str | None,
    advertise_address: str | None, max_tasks: int | None,
) -> tuple[Any, dict[str, Path]]:  # fmt: skip
    from workers.agent.probe import Identity
    from workers.cli_start import pairs

    known = Identity(
        name=name, origin=origin, provider=provider, region=region, advertise_address=advertise_address,
        labels=tuple(pairs(labels, "KEY=VALUE").items()), max_concurrent_tasks=max_tasks,
    )  # fmt: skip
    return known, {each: Path(python) for each, python in pairs(given, "NAME=PYTHON").items()}
