"""The installation's database, read from outside: neither models nor services of the product come between."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import dict_row


@contextmanager
def database_of_its_own(url: str) -> Iterator[str]:
    """A new database in the cluster of this one, gone afterwards: an installation shares its own with no other."""
    name = f"gpulayer_rig_{os.urandom(6).hex()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield f"{url.rpartition('/')[0]}/{name}"
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


class Database:
    """Reads over one connection a query, so that nothing is held unless it is asked for."""

    def __init__(self, data: Path, url: str | None) -> None:
        self._file = data / "gpulayer.sqlite3"
        self._url = url

    def rows(self, query: str) -> list[dict[str, Any]]:
        """What the query gives; its column names are the keys."""
        if self._url:
            with psycopg.connect(self._url, autocommit=True, row_factory=dict_row) as connection:
                return connection.execute(query).fetchall()  # type: ignore[arg-type]
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, timeout=20)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query)]

    def one(self, query: str) -> Any:
        """The one value of a query."""
        return next(iter(self.rows(query)[0].values()))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the whole database from everybody else's writes, as a backup or a forgotten shell may. SQLite only."""
        with closing(sqlite3.connect(self._file, isolation_level=None, timeout=20)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            try:
                yield
            finally:
                connection.execute("ROLLBACK")
