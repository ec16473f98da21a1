"""How a task's command is started: its folder, its environment, its devices, and every way in which that can fail."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workers.agent.client import Cause, Claim

TAG = "GPULAYER_TASK"
"""In the environment of every process of a task, so that none is missed when it has to end."""
PASSED_ON = frozenset({
    "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR",
})  # fmt: skip
"""What a command gets of the agent's own environment, beside `PATH` and `LC_…`. Nothing that could hold a secret."""

DETAIL_LENGTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """A Python of this host under a name."""

    name: str
    python: Path
    path: str
    """What comes first in PATH: the folder of `python`, after one that adds the name `python` where it lacks it."""


class StartFailedError(Exception):
    """The command cannot be started."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        line = "".join(each if each.isprintable() else "?" for each in f"{socket.gethostname()}: {detail}")
        self.error = Cause(code=code, detail=line[:DETAIL_LENGTH])


def start(claim: Claim, *, environments: Mapping[str, Environment], private: Path, tag: str) -> subprocess.Popen[bytes]:
    """Start the command in a session of its own, its output in pipes. Raises StartFailedError."""
    variables = variables_of(claim, environments, tag)
    folder = folder_of(claim, private)
    try:
        return subprocess.Popen(
            claim.argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        raise _failure(error, claim.argv[0], folder, variables["PATH"]) from error


def folder_of(claim: Claim, private: Path) -> Path:
    """The folder to run in: the job's own, which has to be there, or `private`, made for its owner only."""
    if claim.workdir is None:
        private.mkdir(mode=0o700, parents=True)
        return private
    return Path(claim.workdir)


def variables_of(
    claim: Claim, environments: Mapping[str, Environment], tag: str, own: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The command's whole environment: a little of the agent's, the job's own, and what only the agent may say."""
    environment = environments.get(claim.environment)
    if environment is None:
        known = ", ".join(sorted(environments))
        raise StartFailedError("environment_missing", f"no environment {claim.environment!r}; there is: {known}")
    passed = {key: value for key, value in own.items() if key in PASSED_ON or key.startswith("LC_")}
    asked = {**claim.env, **claim.secrets}
    path = asked.get("PATH") or own.get("PATH") or os.defpath
    return {
        **passed,
        "PYTHONUNBUFFERED": "1",
        **asked,
        "PATH": f"{environment.path}{os.pathsep}{path}",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": ",".join(_uuids(claim)),
        "GPULAYER_JOB_ID": claim.job_id,
        TAG: tag,
    }


def _uuids(claim: Claim) -> list[str]:
    """By UUID: an index may mean another device to the program than it does to the agent."""
    for index, uuid in claim.devices:
        if not uuid:
            raise StartFailedError("device_unknown", f"device {index} has no UUID by which it could be handed over")
    return [uuid for _, uuid in claim.devices if uuid]


def _is_nowhere(name: str, path: str) -> bool:
    """A folder of PATH that may not be read makes the system say "no permission" of a command that is in none."""
    return "/" not in name and shutil.which(name, os.F_OK, path) is None


def _failure(error: OSError | ValueError, name: str, folder: Path, path: str) -> StartFailedError:
    if isinstance(error, ValueError):  # a NUL in an argument or a variable
        return StartFailedError("command_invalid", f"the command cannot be passed on: {error}")
    if error.filename == folder:  # the folder could not be entered, whatever the command is
        what = {errno.ENOENT: "there is no folder", errno.ENOTDIR: "this is no folder:"}
        return StartFailedError("workdir_missing", f"{what.get(error.errno or 0, f'{error.strerror}:')} {folder}")
    if error.errno == errno.ENOENT or (error.errno == errno.EACCES and _is_nowhere(name, path)):
        where = f"in {folder}" if "/" in name else f"in PATH ({path})"
        return StartFailedError("command_not_found", f"no command {name!r} {where}, or the interpreter it names")
    if error.errno == errno.EACCES:
        return StartFailedError("command_not_executable", f"{name!r} may not be executed by this agent's user")
    if error.errno == errno.ENOEXEC:
        return StartFailedError("command_not_executable", f"{name!r} is no program of this machine and has no #! line")
    return StartFailedError("command_failed_to_start", f"{name!r}: {error.strerror}")
