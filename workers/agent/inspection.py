"""Run by each environment's own Python, which may be old and lack everything: says as JSON what is installed there.

Standard library only, and no syntax newer than Python 3.8.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
from typing import Any

LAUNCHERS = ("accelerate", "deepspeed")


def distributions() -> dict[str, str | None]:
    """Name -> version of everything installed; the first found counts, as it does for an import."""
    found: dict[str, str | None] = {}
    for each in importlib.metadata.distributions():
        name = each.metadata["Name"] if each.metadata is not None else None
        if name:
            found.setdefault(str(name), str(each.version) if each.version else None)
    return dict(sorted(found.items()))


def torch_facts() -> dict[str, Any]:
    """What torch says of itself; nothing where it is missing, unknown where it cannot be imported."""
    if importlib.util.find_spec("torch") is None:
        return {"torch_build": None, "launchers": [], "comm_backends": []}
    try:
        torch = importlib.import_module("torch")
        distributed = importlib.import_module("torch.distributed")
        available = bool(distributed.is_available())
        return {
            "torch_build": build(torch),
            "launchers": ["torchrun"] if available else [],
            "comm_backends": backends(distributed) if available else [],
        }
    except Exception as error:  # a broken build can raise anything
        return {"torch_build": None, "launchers": None, "comm_backends": None, "problem": f"torch: {error}"}


def build(torch: Any) -> dict[str, Any]:
    """The CUDA or HIP version it was built for and the targets it has code for; {} for neither."""
    facts = {"cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None)}
    if facts["cuda"] is None and facts["hip"] is None:
        return {}
    # The list is empty where no device can be used now, which says nothing of the build; the flags are the build's.
    flags = getattr(getattr(torch, "_C", None), "_cuda_getArchFlags", None)
    archs = list(torch.cuda.get_arch_list()) or ((flags() or "").split() if flags else [])
    if archs:
        facts["archs"] = archs
    return {key: value for key, value in facts.items() if value is not None}


def backends(distributed: Any) -> list[str]:
    """The communication backends that this build has."""
    found = []
    for name in ("nccl", "gloo", "mpi", "ucc"):
        question = getattr(distributed, f"is_{name}_available", None)
        if question is not None and question():
            found.append(name)
    return found


def main() -> None:
    """One JSON document, behind a line by which it is told from what an import may print."""
    facts = torch_facts()
    if facts["launchers"] is not None:
        facts["launchers"] += [name for name in LAUNCHERS if importlib.util.find_spec(name) is not None]
    facts["python"] = platform.python_version()
    facts["frameworks"] = distributions()
    sys.stdout.write("\n--gpulayer--\n" + json.dumps(facts))


if __name__ == "__main__":
    main()
