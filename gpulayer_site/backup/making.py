"""Making a backup of the installation on this host, while it runs."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from gpulayer_site import __version__
from gpulayer_site.backup.archive import DUMP, FOLDERS, KEYS, SQLITE, Manifest, Writer, writing
from gpulayer_site.backup.databases import copy_sqlite, dump_postgres
from workers.caller import on_the_server
from workers.models import Event


@dataclass(frozen=True, slots=True)
class Made:
    """What came of it. `gone`: files that were removed while the backup was made."""

    bytes: int
    files: int
    gone: int
    keys: tuple[str, ...]


def make(path: Path, *, keys: bool, files: bool, now: datetime) -> Made:
    """The database first, then its files: one that is newer than its row does no harm. Raises BackupError."""
    folder: Path = settings.GPULAYER_DATA
    with writing(path) as writer:
        _database(writer, folder)
        kept = tuple(name for name in KEYS if keys and writer.add(name, folder / name))
        gone = _files(writer, folder) if files else 0
        manifest = Manifest(
            made_at=now.isoformat(), gpulayer=__version__, database=connection.vendor, migrations=applied(),
            has_keys=bool(kept), has_files=files, files=writer.files,
        )  # fmt: skip
        writer.finish(manifest)
    with on_the_server():
        Event.objects.create(
            at=now, actor="server", subject_kind="site", subject="database", verb="backed_up",
            after="with keys" if kept else "without keys", cause="gpulayer backup",
        )  # fmt: skip
    count = sum(name.startswith(FOLDERS) for name in writer.files)
    return Made(path.stat().st_size, count, gone, kept)


def applied() -> list[str]:
    """The migrations that the database has, as `app.name`."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _database(writer: Writer, folder: Path) -> None:
    """Through a file beside the data: its own disk has room for it, another user's folder has no eyes for it."""
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=folder) as place:
        if connection.vendor == "sqlite":
            copy_sqlite(Path(settings.DATABASES["default"]["NAME"]), Path(place, SQLITE))
            writer.add(SQLITE, Path(place, SQLITE))
        else:
            dump_postgres(settings.DATABASES["default"], Path(place, DUMP))
            writer.add(DUMP, Path(place, DUMP))


def _files(writer: Writer, folder: Path) -> int:
    """What is stored in files; how many of them had gone when their turn came."""
    paths = (path for kind in FOLDERS for path in sorted((folder / kind).glob("*/*")))
    return sum(not writer.add(str(path.relative_to(folder)), path) for path in paths if path.is_file())
