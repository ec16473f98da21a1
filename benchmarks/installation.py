"""An installation for as long as a measurement lasts: a data folder and a database of its own, gone afterwards."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def installed(database: str | None = None, *, again: bool = False) -> Iterator[Path]:
    """Set Django up over an empty database: SQLite in a folder of its own, or the one of this URL. Once per process.

    `again`: it has what an earlier measurement made. Raises `NotEmptyError` for a database that has tables else: it
    may be somebody's.
    """
    with tempfile.TemporaryDirectory(prefix="gpulayer-bench-") as folder:
        os.environ.update(
            GPULAYER_DATA=folder, SECRET_KEY="", GPULAYER_BROKER_URL="memory://", LOG_LEVEL="ERROR",
            DATABASE_URL=database or "", DJANGO_SETTINGS_MODULE="gpulayer_site.settings",
        )  # fmt: skip
        set_up(again=again)
        yield Path(folder)


class NotEmptyError(Exception):
    """The database has tables already."""


def set_up(*, again: bool) -> None:
    """Set Django up as the environment says, with every table; `again` and `NotEmptyError` as above."""
    import django
    from django.core.management import call_command
    from django.db import connection

    django.setup()
    tables = connection.introspection.table_names()
    if tables and not again:
        raise NotEmptyError(f"the database has {len(tables)} tables already; name an empty one")
    call_command("migrate", verbosity=0)
