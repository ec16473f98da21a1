"""The one door by which events leave: the database refuses to remove any unless it is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

SETTING = "gpulayer.removing"
"""Of a PostgreSQL transaction: `on` while the door is open."""
FUNCTION = "gpulayer_removing"
"""Of a SQLite connection: 1 while the door is open. A connection that isn't ours doesn't know it, and is refused."""


@contextmanager
def removing() -> Iterator[None]:
    """Within this transaction events and seals may be removed. For retention, and for tests that begin anew."""
    with transaction.atomic():
        _set(is_open=True)
        try:
            yield
        finally:
            # In a broken transaction nothing can be said any more; its end closes the door.
            if not connection.needs_rollback:
                _set(is_open=False)
            setattr(connection, FUNCTION, 0)


def teach(connection: Any, **_: Any) -> None:
    """Give a new SQLite connection the function that its triggers ask."""
    if connection.vendor == "sqlite":
        connection.connection.create_function(FUNCTION, 0, lambda: getattr(connection, FUNCTION, 0))


def _set(*, is_open: bool) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config(%s, %s, true)", [SETTING, "on" if is_open else "off"])
    else:
        setattr(connection, FUNCTION, int(is_open))
