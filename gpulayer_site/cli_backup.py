"""`gpulayer backup` and `gpulayer restore`: on the server's own host."""

from datetime import UTC, datetime
from pathlib import Path

import click

from gpulayer_site.client import FAILED, Failure
from gpulayer_site.local import installation, require_installation, require_server, setup

ARCHIVE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("file", type=ARCHIVE)
@click.option("--no-keys", is_flag=True, help="Leave out the keys: jobs' secrets in it cannot be opened without them.")
@click.option("--no-files", is_flag=True, help="Leave out logs, outputs and uploaded files.")
def backup(file: Path, no_keys: bool, no_files: bool) -> None:
    """Write everything of this installation into FILE, while it runs.

    The database as it is at one instant, keys, logs, outputs and uploaded files, with a manifest. With PostgreSQL its
    `pg_dump` is needed here.
    """
    setup(require_installation())
    from django.db import Error

    from gpulayer_site.backup.archive import BackupError
    from gpulayer_site.backup.making import make

    try:
        made = make(file.absolute(), keys=not no_keys, files=not no_files, now=datetime.now(UTC))
    except (BackupError, OSError, Error) as error:
        raise Failure(f"no backup was made: {error}", FAILED) from None
    click.echo(f"{file}: {made.bytes:,} bytes, with {made.files:,} files of jobs")
    if made.gone:
        click.echo(f"{made.gone:,} files were removed while it was made and are not in it")
    if made.keys:
        click.echo("It holds the keys that open jobs' secrets: keep it as you keep those.")
    else:
        click.echo("It holds no keys: keep secret_key and secrets_key, or the variables with them, elsewhere.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--replace", is_flag=True, help="Put an installation that is there aside. Nothing of it is deleted.")
def restore(file: Path, replace: bool) -> None:
    """Put a backup in place, where gpulayer does not run.

    The database is older than the world then. No number of an attempt is used again, sessions and enrolment tokens end,
    and every worker gets work only once its agent has said what runs there; what is not known here is ended.
    """
    require_server()
    folder = installation()
    from gpulayer_site.backup.archive import KEYS, BackupError

    missing = [name for name in KEYS if not (folder / name).exists()]
    setup(folder)
    from django.db import Error

    from gpulayer_site.backup.restoring import restore as put

    try:
        done = put(file.absolute(), folder, replace=replace, now=datetime.now(UTC), just_made=missing)
    except BackupError as error:
        raise Failure(str(error), FAILED) from None
    except (OSError, Error) as error:
        raise Failure(
            f"it was not restored: {error}\n\nhint: put that right and restore again with --replace", FAILED
        ) from None
    click.echo(f"restored as it was at {done.manifest.made_at}, by gpulayer {done.manifest.gpulayer}")
    click.echo(f"{done.older.workers:,} workers wait until their agents have said what runs there")
    if done.older.attempts:
        click.echo(f"{done.older.attempts:,} attempts that had not started then are back in the queue")
    for place in done.aside:
        click.echo(f"what was there before is in {place}")
    if not done.manifest.has_keys:
        click.echo("It held no keys: put secret_key and secrets_key back, or jobs' secrets cannot be opened.")
    click.echo("API tokens that were revoked since work again: look at `gpulayer token list` once it runs.")
