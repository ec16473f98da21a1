"""The names of parameters that pages read from their address, found in the sources."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_READ = re.compile(r"(?:GET|query|asked|params|given)\w*(?:\.get\(|\.getlist\(|\[)[\"'](\w+)[\"']")
_LINKED = re.compile(r"[?&](\w+)=")
_INPUT = re.compile(r"name=\"(\w+)\"")


def query_names() -> list[str]:
    """All of them, those of the APIs and of the admin included."""
    found = {"q", "o", "p", "all", "e", "limit", "after", "before", "offset", "wait", "fence"}
    for folder in ("scheduler", "workers", "gpulayer_site"):
        for path in (ROOT / folder).rglob("*.py"):
            found |= set(_READ.findall(path.read_text()))
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        found |= set(_LINKED.findall(text)) | set(_INPUT.findall(text))
    return sorted(found - {"csrfmiddlewaretoken"})
