"""`gpulayer worker accept`: let a worker have less than it had."""

import click

from gpulayer_site.client import connect
from gpulayer_site.terminal import write_json


@click.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def accept(name: str, as_json: bool) -> None:
    """Accept that a worker has less than it had.

    Where a worker reads fewer GPUs, cores or RAM than it once did, what it had stays, so that one bad boot ends no
    waiting job; the worker's page says so. For operators.

    \b
    Example:
      gpulayer worker accept gpu-07
    """
    accepted = connect().post(f"workers/{name}/accept")
    if as_json:
        write_json(accepted)
        return
    click.echo(f"{accepted['name']} has from now on:")
    for line in accepted["less"]:
        click.echo(f"  {line}")
