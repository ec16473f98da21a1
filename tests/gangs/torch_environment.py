"""A Python environment with real torch, for the jobs of the gang tests: outside the lock, made once and kept.

    python -m tests.gangs.torch_environment        makes it where it is not there yet, and prints its Python

It lies in `.venv-torch` beside the project, or where TORCH_ENVIRONMENT says, and takes 0.9 GB. pip gets torch from
wherever it gets everything else; where that is a build with CUDA (several GB), PIP_INDEX_URL or PIP_FIND_LINKS can name
a place that has the one for CPUs, which is all that is needed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

TORCH = "2.13.0"
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900
"""More than this no download may take."""
MADE = "made-with"


class NoTorchError(Exception):
    """The environment cannot be made here."""


def torch_python() -> Path:
    """The environment's Python. Raises NoTorchError with what pip said."""
    folder = Path(os.environ.get("TORCH_ENVIRONMENT") or ROOT / ".venv-torch").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_made(folder, python):
            _make(folder, python)
    return python


def _is_made(folder: Path, python: Path) -> bool:
    made = folder / MADE
    return python.exists() and made.exists() and made.read_text() == TORCH


def _make(folder: Path, python: Path) -> None:
    base = os.environ.get("PYTHON") or getattr(sys, "_base_executable", sys.executable)
    for name in ("bin", "lib", "include", "lib64"):
        each = folder / name
        each.unlink() if each.is_symlink() else shutil.rmtree(each, ignore_errors=True)
    _run([base, "-m", "venv", str(folder)])
    _run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input",
          f"torch=={TORCH}"])  # fmt: skip
    found = _run([str(python), "-c", "import torch; print(torch.__version__, torch.distributed.is_gloo_available())"])
    version, gloo = found.split()[-2:]
    if version.partition("+")[0] != TORCH or gloo != "True":
        raise NoTorchError(f"torch {TORCH} with gloo was asked for; {version} was installed, gloo: {gloo}")
    (folder / MADE).write_text(TORCH)


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoTorchError(str(error)) from error
    if done.returncode:
        raise NoTorchError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr.strip()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    try:
        print(torch_python())
    except NoTorchError as error:
        sys.exit(f"no environment with torch {TORCH}: {error}")
