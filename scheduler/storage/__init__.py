"""Where bytes lie that no row can hold: logs, outputs and bundles. Rows say what counts of them."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from scheduler.storage.appending import DiffersError, GapError, append
from scheduler.storage.files import FileStorage
from scheduler.storage.interface import Blob, Found, Key, Kind, Storage, StorageError, StorageFullError

__all__ = [
    "Blob", "DiffersError", "FileStorage", "Found", "GapError", "Key", "Kind", "Storage", "StorageError",
    "StorageFullError", "append", "storage",
]  # fmt: skip


def storage() -> Storage:
    """The storage of this installation: files in its data folder."""
    return FileStorage(Path(settings.GPULAYER_DATA), keep_free=settings.GPULAYER_KEEP_FREE_BYTES)
