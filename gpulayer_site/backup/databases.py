"""The database as it is at one instant into a file, and back: SQLite by itself, PostgreSQL by its own tools."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from gpulayer_site.backup.archive import BackupError

_DEBIAN = "/usr/lib/postgresql"


def copy_sqlite(source: Path, target: Path) -> None:
    """One reading transaction: whoever writes meanwhile is neither kept waiting nor half in it."""
    with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=60)) as connection:
        try:
            connection.execute("VACUUM INTO ?", [str(target)])
        except sqlite3.Error as error:
            raise BackupError(f"the database {source} cannot be copied: {error}") from error
    target.chmod(0o600)


def dump_postgres(settings: Mapping[str, Any], target: Path) -> None:
    """`pg_dump` in its own format: one snapshot, while the server runs."""
    _tool("pg_dump", settings, "--format=custom", "--no-owner", "--no-privileges", "--schema=public",
          "--file", str(target))  # fmt: skip
    target.chmod(0o600)


def load_postgres(settings: Mapping[str, Any], source: Path, *, now: datetime) -> str | None:
    """Put the dump in place of what is there, which is kept as another schema; gives its name, None where none was.

    Whatever goes wrong, what was there is there again.
    """
    aside = f"replaced_{now:%Y%m%d_%H%M%S}"
    _schemas(settings, "ALTER SCHEMA public RENAME TO {aside}", "CREATE SCHEMA public", aside=aside)
    try:
        _tool("pg_restore", settings, "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error",
              "--schema=public", "--dbname", str(settings["NAME"]), str(source))  # fmt: skip
    except BackupError:
        _schemas(settings, "DROP SCHEMA public CASCADE", "ALTER SCHEMA {aside} RENAME TO public", aside=aside)
        raise
    if not _tables(settings, aside):
        _schemas(settings, "DROP SCHEMA {aside}", aside=aside)
        return None
    return aside


def has_tables(settings: Mapping[str, Any]) -> bool:
    """Whether anything is in the PostgreSQL database. Raises BackupError where it does not answer."""
    return bool(_tables(settings, "public"))


def _tables(settings: Mapping[str, Any], schema: str) -> int:
    with _connected(settings) as connection:
        row = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", [schema]).fetchone()
    return int(row[0]) if row else 0


def _schemas(settings: Mapping[str, Any], *statements: str, aside: str) -> None:
    with _connected(settings) as connection, connection.transaction():
        for statement in statements:
            connection.execute(sql.SQL(statement).format(aside=sql.Identifier(aside)))


def _connected(settings: Mapping[str, Any]) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(
            dbname=settings["NAME"], user=settings.get("USER") or None, password=settings.get("PASSWORD") or None,
            host=settings.get("HOST") or None, port=settings.get("PORT") or None, autocommit=True,
        )  # fmt: skip
    except psycopg.Error as error:
        raise BackupError(f"the database does not answer: {str(error).splitlines()[0]}") from error


def _tool(name: str, settings: Mapping[str, Any], *words: str) -> None:
    """Run one of PostgreSQL's programs; the password is in its environment, where other users do not see it."""
    given = {
        "PGHOST": settings.get("HOST"), "PGPORT": settings.get("PORT"), "PGUSER": settings.get("USER"),
        "PGPASSWORD": settings.get("PASSWORD"), "PGDATABASE": settings.get("NAME"),
    }  # fmt: skip
    environment = {**os.environ, **{key: str(value) for key, value in given.items() if value}}
    done = subprocess.run(
        [_found(name), "--no-password", *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it says nothing"]
        raise BackupError(f"{name} ended with {done.returncode}: {lines[0]}")


def _found(name: str) -> str:
    program = shutil.which(name)
    newest = sorted(Path(_DEBIAN).glob(f"*/bin/{name}"), key=lambda path: int(path.parent.parent.name))
    if program is None and not newest:
        raise BackupError(f"PostgreSQL's `{name}` is not here; install the client of the server's version")
    return str(newest[-1]) if newest else str(program)
