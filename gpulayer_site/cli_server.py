"""The commands that belong to the server's own host: `up`, `admin`."""

import os
import sys
from pathlib import Path

import click

from gpulayer_site.local import manage

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--host", envvar="HOST", show_envvar=True, help="Address to listen on.  [default: 127.0.0.1]")
@click.option("--port", envvar="PORT", show_envvar=True, help="Port to listen on.  [default: 8000]")
@click.option("--listen", metavar="ADDRESS:PORT", help="Both at once.")
@click.option("--tls-cert", type=FILE, envvar="GPULAYER_TLS_CERT", show_envvar=True,
              help="Speak TLS with this certificate (PEM, those up to its authority after it).")  # fmt: skip
@click.option("--tls-key", type=FILE, envvar="GPULAYER_TLS_KEY", show_envvar=True, help="Its key (PEM, PKCS#8).")
@click.option("--http-port", envvar="GPULAYER_HTTP_PORT", show_envvar=True,
              help="Beside TLS: answer plain http on this port with the way to https.")  # fmt: skip
@click.option("--data", type=click.Path(path_type=Path), envvar="GPULAYER_DATA", show_envvar=True,
              help="Folder for database, logs and secrets.  [default: .data]")  # fmt: skip
@click.option("--no-agent", is_flag=True, help="Do not let this host take jobs itself.")
def up(
    host: str | None, port: str | None, listen: str | None, tls_cert: Path | None, tls_key: Path | None,
    http_port: str | None, data: Path | None, no_agent: bool,
) -> None:  # fmt: skip
    """Start everything here, in the foreground; Ctrl-C stops it in order.

    A broker, the web server, a task worker and an agent for this host, on SQLite. For production set DATABASE_URL,
    GPULAYER_BROKER_URL and the rest of docs/configuration.md. The first start makes an administrator and prints a
    one-time code for the sign-in form.

    \b
    Examples:
      gpulayer up
      gpulayer up --listen 0.0.0.0:443 --tls-cert fullchain.pem --tls-key privkey.pem --http-port 80
    """
    from gpulayer_site.up.keeper import keep

    if listen is not None:
        host, port = _host_and_port(listen)
    given = {
        "HOST": host, "PORT": port, "GPULAYER_TLS_CERT": tls_cert, "GPULAYER_TLS_KEY": tls_key,
        "GPULAYER_HTTP_PORT": http_port, "GPULAYER_DATA": data, "GPULAYER_AGENT": "no" if no_agent else None,
    }  # fmt: skip
    os.environ.update({name: str(value) for name, value in given.items() if value is not None})
    sys.exit(keep())


def _host_and_port(listen: str) -> tuple[str, str]:
    """The two halves of `ADDRESS:PORT`; an IPv6 address stands in brackets."""
    host, mark, port = listen.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not mark or not host or (":" in bare) == (bare == host):
        raise click.BadParameter(
            f"`{listen}` is no ADDRESS:PORT; right would be 0.0.0.0:443 or [::]:443", param_hint="--listen"
        )
    return bare, port


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
