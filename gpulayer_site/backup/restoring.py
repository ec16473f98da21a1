"""Restoring a backup into the data folder of an installation that does not run."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gpulayer_site.backup.archive import DUMP, FOLDERS, KEYS, SQLITE, BackupError, Manifest, unpack
from gpulayer_site.backup.older import Older
from gpulayer_site.data_folder import DATABASE, UNFINISHED, make_private, write_private

BESIDE = (f"{DATABASE}-wal", f"{DATABASE}-shm")
"""What SQLite keeps beside its database: of the old one nothing may stay beside the new one."""


@dataclass(frozen=True, slots=True)
class Restored:
    """What came of it. `aside`: where what was there before is kept; empty where there was nothing."""

    manifest: Manifest
    older: Older
    aside: list[str]


def restore(
    path: Path, folder: Path, *, replace: bool, now: datetime, just_made: Collection[str] = ()
) -> Restored:  # fmt: skip
    """Put the backup in place. Raises BackupError, and has changed nothing then, for what is no whole backup of ours,
    where a server runs here, and, without `replace`, where there is an installation already.

    `just_made`: keys in the folder that nobody has used yet.
    """
    make_private(folder)
    with _alone(folder), tempfile.TemporaryDirectory(prefix=".restoring-", dir=folder) as place:
        staged = Path(place)
        manifest = unpack(path, staged)
        _check(manifest, staged, folder, replace=replace)
        aside = folder / f"replaced-{now:%Y%m%d-%H%M%S}"
        write_private(folder / UNFINISHED, f"{path}\n")
        for name in just_made if manifest.has_keys else ():
            (folder / name).unlink(missing_ok=True)
        kept = _put(manifest, staged, folder, aside, now)
        older = _make_safe(manifest, now)
        (folder / UNFINISHED).unlink()
    return Restored(manifest, older, kept)


def _check(manifest: Manifest, staged: Path, folder: Path, *, replace: bool) -> None:
    from django.conf import settings
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader

    if manifest.database != connection.vendor:
        raise BackupError(
            f"it is a backup of {manifest.database}, this installation is on {connection.vendor}: check DATABASE_URL"
        )
    if not (staged / (SQLITE if manifest.database == "sqlite" else DUMP)).is_file():
        raise BackupError("it has no database in it")
    known = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations}
    if unknown := sorted(set(manifest.migrations) - known):
        raise BackupError(f"a newer gpulayer ({manifest.gpulayer}) made it ({unknown[0]}): install that one first")
    if not replace and (found := _in_the_way(folder, dict(settings.DATABASES["default"]), connection.vendor)):
        raise BackupError(f"there is an installation already: {found}; --replace puts it aside, and nothing is deleted")


def _in_the_way(folder: Path, database: dict[str, object], vendor: str) -> str:
    from gpulayer_site.backup.databases import has_tables

    if vendor == "postgresql" and has_tables(database):
        return f"the database {database['NAME']} has tables"
    names = (DATABASE, *FOLDERS) if vendor == "sqlite" else FOLDERS
    return next((f"{folder / name}" for name in names if (folder / name).is_file() or _has_files(folder / name)), "")


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(each.is_file() for each in folder.rglob("*"))


def _put(manifest: Manifest, staged: Path, folder: Path, aside: Path, now: datetime) -> list[str]:
    """What is in the backup takes the place of what was there; what is not, stays. Says where the old things are."""
    from django.conf import settings

    from gpulayer_site.backup.databases import load_postgres

    kept = []
    if manifest.database == "postgresql":
        schema = load_postgres(settings.DATABASES["default"], staged / DUMP, now=now)
        kept += [f"the schema {schema} of the database"] if schema else []
    else:
        (staged / SQLITE).rename(staged / DATABASE)
    new = [name for name in (DATABASE, *KEYS, *(FOLDERS if manifest.has_files else ())) if (staged / name).exists()]
    old = [name for name in (*new, *(BESIDE if DATABASE in new else ())) if (folder / name).exists()]
    if manifest.has_files:
        old += [name for name in FOLDERS if name not in new and (folder / name).exists()]
    for name in old:
        make_private(aside)
        (folder / name).rename(aside / name)
    for name in new:
        (staged / name).rename(folder / name)
    shutil.rmtree(folder / "broker", ignore_errors=True)  # messages of another time
    return [str(aside), *kept] if old else kept


def _make_safe(manifest: Manifest, now: datetime) -> Older:
    """Bring it up to date, and make it safe, before anybody else opens it."""
    from django.core.management import call_command
    from django.db import connection

    from gpulayer_site.backup.older import make_safe_again

    connection.close()
    call_command("migrate", interactive=False, verbosity=0)
    return make_safe_again(made_at=manifest.made_at, now=now)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody runs `gpulayer up` on this folder meanwhile."""
    with (folder / "up.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BackupError("gpulayer runs on this data folder: stop it first") from error
        with suppress(OSError):
            os.fchmod(lock.fileno(), 0o600)
        yield
