"""What agents and people hear of a storage that does not take what they bring."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from scheduler.storage import StorageError, StorageFullError
from workers.refusals import Refused

journal = logging.getLogger(__name__)


@contextmanager
def kept_by_the_storage(what: str) -> Iterator[None]:
    """Turn the storage's errors into 507 `<what>_disk_full` or `<what>_unusable`: the caller tries again later."""
    try:
        yield
    except StorageFullError as error:
        raise Refused(f"{what}_disk_full", f"the server's disk has no room: {_kept_free(error)}", status=507) from error
    except StorageError as error:
        journal.warning("The storage failed: %s", error)
        raise Refused(f"{what}_unusable", "the server's storage failed; its own log says more", status=507) from error


def _kept_free(error: StorageFullError) -> str:
    return "it is full" if error.__cause__ else str(error)
