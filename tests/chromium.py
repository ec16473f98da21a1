"""Where Chromium is."""

import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def program() -> str | None:
    """`$CHROMIUM`, or the first of its usual names on PATH; None when there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
