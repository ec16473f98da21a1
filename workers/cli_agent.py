"""`gpulayer worker start` and `worker probe`: the agent of this host. No Django here."""

from pathlib import Path
from socket import gethostname
from typing import Any, Literal

import click

from gpulayer_site.terminal import write_json

ORIGINS = click.Choice(["local", "remote", "cloud"])
FOLDER = click.Path(path_type=Path, file_okay=False)
FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
OnStop = Literal["end", "leave"]


class Size(click.ParamType):
    """Bytes, as `8GB` or `512MiB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        from scheduler.core.quantities import parse_size

        size = value if isinstance(value, int) else parse_size(value, at_least=False)
        if not size:
            self.fail(f"{value!r} is no size; right would be 8GB or 512MiB", param, ctx)
        return size


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
        click.option("--advertise-address", metavar="HOST", help="Where other workers reach it, for distributed "
                     "jobs.  [default: the address under which this host leaves for others]"),
        click.option("--max-tasks", type=click.IntRange(1), help="How many tasks at once.  [default: one per GPU]"),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def rule_options(command: Any) -> Any:
    """What the owner of a host decides for the jobs that run there."""
    options = (
        click.option("--on-stop", type=click.Choice(["end", "leave"]), default="end", show_default=True,
                     help="Whether jobs end with the agent, or run on until its next start."),
        click.option("--run-as-submitter", is_flag=True, help="As root: run each job as its submitter's account here."),
        click.option("--allow-root", is_flag=True, envvar="GPULAYER_ALLOW_ROOT", show_envvar=True,
                     help="As root: let jobs have all rights on this host."),
        click.option("--limit-processes", type=click.IntRange(16), default=16_384, show_default=True,
                     help="Most processes and threads of a job here; without a cgroup: of the user that jobs run as."),
        click.option("--limit-memory", type=Size(), metavar="SIZE", help="Most RAM of a job here; without a cgroup: "
                     "data of each of its processes.  [default: no limit]"),
        click.option("--limit-log", type=Size(), metavar="SIZE", default="1GiB", show_default=True,
                     help="Most output of a job that is kept."),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
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
@click.option(
    "--ca-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    envvar="GPULAYER_CA_FILE",
    show_envvar=True,
    help="The authority (PEM) that signed the server's certificate, where it is one of your own; no other is believed.",
)
@identity_options
@rule_options
def start(
    url: str, token_file: Path | None, data: Path | None, allow_http: bool, ca_file: Path | None, allow_root: bool,
    on_stop: OnStop, run_as_submitter: bool, limit_processes: int, limit_memory: int | None, limit_log: int,
    **identity: Any,
) -> None:  # fmt: skip
    """Let this host take jobs: start its agent.

    It stays in the foreground until Ctrl-C or SIGTERM. Then its jobs end with it; with `--on-stop leave` they run on,
    and the next start takes them up again. However it is killed, what runs goes on until then.

    Jobs run as the user who starts it, or as their submitters' accounts (`--run-as-submitter`). The first start needs
    an enrolment token, which a server's operator makes with `gpulayer worker token`; later ones need none.

    Where the agent is installed in a virtual environment, jobs get the Python below it, never the agent's own
    packages; `--env default=/path/to/python` says otherwise.

    \b
    Examples:
      gpulayer worker start --url https://gpu.example.org
      gpulayer worker start --url https://gpu.example.org --name gpu-07 \\
          --env train=/opt/train/bin/python --label rack=r12
    """
    from workers.agent.rules import Rules
    from workers.cli_start import Start, default_data, run_agent

    known, given = _identity(**identity)
    folder = (data or default_data(known.name)).absolute()
    run_agent(
        Start(url=url.rstrip("/"), identity=known, data=folder, token_file=token_file, environments=given,
              allow_http=allow_http, ca_file=ca_file, on_stop=on_stop, allow_root=allow_root, rules=Rules(
                  run_as_submitter=run_as_submitter, log_bytes=limit_log, processes=limit_processes,
                  memory=limit_memory,
              ))
    )  # fmt: skip


@click.command()
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
