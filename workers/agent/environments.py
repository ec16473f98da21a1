"""The Python environments of a host: which there are, and what is installed in each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workers.agent.command import PASSED_ON, Environment

DEFAULT = "default"
INSPECTION_SECONDS = 120.0
"""Importing torch from a cold disk takes that long at worst."""
KEYS = ("python", "frameworks", "torch_build", "launchers", "comm_backends")


class NoPythonError(ValueError):
    """An environment cannot be used as it was given."""


def environments(given: Mapping[str, Path], folder: Path) -> dict[str, Environment]:
    """The environments by name. `default` is the host's own Python unless `given` names another.

    Where the agent itself runs in a virtual environment, the host's Python is the one below it: the agent's own
    packages are none of a job's business, and a job's `pip install` must not change them. Where that Python's folder
    has no `python`, a folder below `folder` gets one, so that `["python", "train.py"]` works everywhere.
    """
    wanted = {DEFAULT: Path(getattr(sys, "_base_executable", "") or sys.executable), **given}
    return {name: _environment(name, python, folder) for name, python in wanted.items()}


def inspect(environment: Environment, seconds: float = INSPECTION_SECONDS) -> tuple[dict[str, Any], str]:
    """What a worker document says of this environment, and what could not be found out (empty: nothing)."""
    source = (Path(__file__).parent / "inspection.py").read_text(encoding="utf-8")
    unknown: dict[str, Any] = dict.fromkeys(KEYS)
    try:
        code, out, errors = _ask(environment, source, seconds)
        if code:
            return unknown, f"{environment.python} ended with {code}: {' '.join(errors.strip().splitlines()[-1:])}"
        facts = json.loads(out.rpartition("--gpulayer--")[2])
    except subprocess.TimeoutExpired:
        return unknown, f"{environment.python} did not answer within {seconds:g} s"
    except ValueError:
        return unknown, f"{environment.python} gave no answer"
    except OSError as error:
        return unknown, f"{environment.python}: {error.strerror}"
    return {key: facts.get(key) for key in KEYS}, str(facts.get("problem", ""))


def _ask(environment: Environment, source: str, seconds: float) -> tuple[int, str, str]:
    """Its exit code and output. Nothing that it starts outlives the time limit."""
    with subprocess.Popen(
        [environment.python, "-c", source], cwd=os.sep, env=_variables(environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            out, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, out, errors


def _environment(name: str, python: Path, folder: Path) -> Environment:
    # Never resolved: the python of a virtual environment is a link, and what it is depends on where it lies.
    python = Path.cwd() / python.expanduser()
    if not python.is_file() or not os.access(python, os.X_OK):
        raise NoPythonError(f"environment {name}: {python} is no Python that can be run")
    if (python.parent / "python").exists():
        return Environment(name=name, python=python, path=str(python.parent))
    links = folder / "environments" / name / "bin"
    links.mkdir(mode=0o700, parents=True, exist_ok=True)
    for link in (links / "python", links / "python3"):
        link.unlink(missing_ok=True)
        link.symlink_to(python)
    return Environment(name=name, python=python, path=f"{links}{os.pathsep}{python.parent}")


def _variables(environment: Environment) -> dict[str, str]:
    passed = {key: value for key, value in os.environ.items() if key in PASSED_ON or key.startswith("LC_")}
    return {**passed, "PATH": f"{environment.path}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
