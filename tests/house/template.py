"""A data folder with a migrated database and collected static files, made once.

A start from nothing costs six times as much as one from here, and only a few tests are about that. Keys, people and
tokens are made by each start itself.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from gpulayer_site.data_folder import DATABASE

_MAKE = """
import django
django.setup()
from gpulayer_site.up import prepare
prepare._migrate()
prepare._collect_static()
"""
KEPT = (DATABASE, "static", "static.stamp")


def lay_out(data: Path) -> None:
    """Put the template where an installation is about to be made for the first time."""
    if data.exists():
        return
    data.mkdir(mode=0o700, parents=True)
    for name in KEPT:
        source = _made() / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, data / name)


@cache
def _made() -> Path:
    """The template: for all processes where GPULAYER_TEST_TEMPLATE names a place (tests/run.py), else for this one."""
    given = os.environ.get("GPULAYER_TEST_TEMPLATE")
    if not given:
        given = tempfile.mkdtemp(prefix="gpulayer-template-")
        atexit.register(shutil.rmtree, given, ignore_errors=True)
    folder = Path(given)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "made").exists():
            kept = {key: os.environ[key] for key in ("PATH", "TMPDIR", "LANG", "HOME") if key in os.environ}
            given_to_it = {"GPULAYER_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "gpulayer_site.settings"}
            subprocess.run([sys.executable, "-c", _MAKE], env=kept | given_to_it, check=True)
            (folder / "made").touch()
    return folder
