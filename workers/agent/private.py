"""Files and folders that only their owner can ever read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def make_private(folder: Path) -> Path:
    """Create `folder` for its owner only (0700); one that exists keeps the mode it has."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` so that only the owner can ever read it, whole or not at all."""
    make_private(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
