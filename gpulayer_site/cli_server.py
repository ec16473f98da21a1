"""The commands that belong to the server's own host: `up`, `admin`."""

import os
import sys
from pathlib import Path

import click

from gpulayer_site.local import manage


@click.command()
@click.option("--host", envvar="HOST", show_envvar=True, help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", envvar="PORT", show_envvar=True, help="Port to listen on.  [default: 8000]")
@click.option("--data", type=click.Path(path_type=Path), envvar="GPULAYER_DATA", show_envvar=True,
              help="Folder for database, logs and secrets.  [default: .data]")  # fmt: skip
@click.option("--no-agent", is_flag=True, help="Do not let this host take jobs itself.")
def up(host: str | None, port: str | None, data: Path | None, no_agent: bool) -> None:
    """Start everything here, in the foreground; Ctrl-C stops it in order.

    A broker, the web server, a task worker and an agent for this host, on SQLite. For production set DATABASE_URL,
    GPULAYER_BROKER_URL and the rest of docs/configuration.md. The first start makes an administrator and prints a
    one-time code for the sign-in form.
    """
    from gpulayer_site.up.keeper import keep

    given = {"HOST": host, "PORT": port, "GPULAYER_DATA": data, "GPULAYER_AGENT": "no" if no_agent else None}
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    sys.exit(keep())


@click.group()
def admin() -> None:
    """Get in as the administrator, and look after keys, on the server's own host."""


@admin.command()
@click.option("--user", help="Whom it signs in.  [default: the first administrator]")
def code(user: str | None) -> None:
    """Print a one-time code for the sign-in form.

    It is good for 10 minutes, once.
    """
    click.echo(manage("admin_code", *(["--user", user] if user else [])))


@admin.command()
def reseal() -> None:
    """Encrypt jobs' secrets with the first key.

    After another key was put in front in GPULAYER_SECRETS_KEY; then the old one can be taken away.
    """
    click.echo(manage("reseal_secrets"))
