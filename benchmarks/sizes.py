"""What the database holds, in bytes on its disk: tables with their indexes, their free space and all."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection


def table_sizes() -> Mapping[str, int]:
    """Bytes of every table and its indexes, by the table's name."""
    with connection.cursor() as cursor:
        cursor.execute(_SQLITE if connection.vendor == "sqlite" else _POSTGRES)
        return {name: int(size) for name, size in cursor.fetchall()}


def column_sizes(table: str, columns: list[str]) -> Mapping[str, float]:
    """Bytes of these columns in an average row, as the database keeps them."""
    measure = "length(cast({} as blob))" if connection.vendor == "sqlite" else "pg_column_size({})"
    quoted = [connection.ops.quote_name(column) for column in columns]
    averages = ", ".join(f"avg({measure.format(column)})" for column in quoted)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {averages} FROM {connection.ops.quote_name(table)}")  # noqa: S608 - names of our own
        return {column: float(size or 0) for column, size in zip(columns, cursor.fetchone(), strict=True)}


_SQLITE = """
SELECT named.tbl_name, sum(pages.pgsize) FROM dbstat AS pages
JOIN sqlite_schema AS named ON named.name = pages.name GROUP BY named.tbl_name
"""
_POSTGRES = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""
