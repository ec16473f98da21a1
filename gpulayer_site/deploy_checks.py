"""What `manage.py check --deploy` looks at beside Django's own checks."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

SECRETS = ("secret_key", "secrets_key", "cli.json", "gpulayer.sqlite3")
"""What of the data folder nobody but the server's user may read."""


@register(Tags.security, deploy=True)
def secrets_are_private(**_: Any) -> list[CheckMessage]:
    """The data folder is its owner's alone; in one that others may enter, each secret has to be."""
    folder: Path = settings.GPULAYER_DATA
    if not _is_open(folder):
        return []
    open_to_others = [folder / name for name in SECRETS if _is_open(folder / name)]
    hint = f"chmod 700 {folder}"
    return [Error(f"{path} can be read by others", hint=hint, id="gpulayer.E001") for path in (folder, *open_to_others)]


def _is_open(path: Path) -> bool:
    return path.exists() and bool(stat.S_IMODE(path.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO))
