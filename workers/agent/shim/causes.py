"""Why something went as nobody asked: a stable code, and a sentence that begins with the host's name."""

from __future__ import annotations

import os

DETAIL_LENGTH = 500


def cause(code: str, detail: str) -> dict[str, str]:
    """Code and detail as they are kept and sent: one printable line that begins with this host's name."""
    line = "".join(each if each.isprintable() else "?" for each in f"{os.uname().nodename}: {detail}")
    return {"code": code, "detail": line[:DETAIL_LENGTH]}
