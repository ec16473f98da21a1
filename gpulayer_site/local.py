"""Commands that need the server's own database: run with its data folder, in this process."""

import os
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from gpulayer_site.client import FAILED, NO_ACCESS, Failure, find_config
from gpulayer_site.data_folder import DATABASE, data_folder


def require_server() -> None:
    """Raise Failure in a base installation, which has no server."""
    if find_spec("django") is None:
        raise Failure("this needs the server part: pip install 'gpulayer[server]'", FAILED)


def installation() -> Path:
    """The data folder of the installation on this host: `GPULAYER_DATA`, else the one that was started last."""
    if os.environ.get("GPULAYER_DATA"):
        return data_folder()
    try:
        return find_config().data or data_folder()
    except Failure:  # it has not been started yet, or its file was removed
        return data_folder()


def require_installation() -> Path:
    """The data folder of an installation that has a database. Raises Failure."""
    require_server()
    folder = installation()
    if not os.environ.get("DATABASE_URL") and not (folder / DATABASE).exists():
        raise Failure(
            f"there is no database in {folder}\n\n"
            "hint: run this where `gpulayer up` runs, or set GPULAYER_DATA (and DATABASE_URL, if the server has it)",
            NO_ACCESS,
        )
    return folder


def setup(folder: Path) -> None:
    """Make Django ready in this process, for the installation in `folder`. Raises Failure for wrong settings."""
    os.environ["GPULAYER_DATA"] = str(folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpulayer_site.settings")
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise Failure(str(error), NO_ACCESS) from None


def manage(command: str, *arguments: str) -> str:
    """Run one of Django's commands on this host's installation and return what it prints. Raises Failure."""
    setup(require_installation())
    from django.core.management import CommandError, call_command
    from django.db import Error

    output = StringIO()
    try:
        call_command(command, *arguments, stdout=output)
    except CommandError as error:
        raise Failure(str(error), FAILED) from None
    except Error as error:
        raise Failure(f"the database does not answer as it should: {error}", NO_ACCESS) from None
    return output.getvalue().strip()
