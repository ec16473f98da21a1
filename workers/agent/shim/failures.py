"""What is said where a command could not be started: a stable code, and a sentence with host and path."""

from __future__ import annotations

import errno
import os

from workers.agent.shim.causes import cause
from workers.agent.shim.spawn import SpawnError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def spawn_failure(error: SpawnError | ValueError, name: str, folder: str, env: Mapping[str, str]) -> dict[str, str]:
    """Of a command that could not be started in `folder`."""
    if not isinstance(error, SpawnError):  # a NUL in an argument or a variable
        return cause("command_invalid", f"the command cannot be passed on: {error}")
    why = os.strerror(error.number)
    if error.step == "folder":
        what = {errno.ENOENT: "there is no folder", errno.ENOTDIR: "this is no folder:"}
        return cause("workdir_missing", f"{what.get(error.number, f'{why}:')} {folder}")
    if error.step == "user":
        return cause("no_unix_account", f"its user cannot be taken on: {why}")
    if error.step == "limits":
        return cause("command_failed_to_start", f"its limits cannot be set: {why}")
    return _not_executed(error.number, name, folder, env.get("PATH", ""))


def _not_executed(number: int, name: str, folder: str, path: str) -> dict[str, str]:
    if number in (errno.ENOENT, errno.ENOTDIR) or (number == errno.EACCES and _is_nowhere(name, path)):
        where = f"in {folder}" if "/" in name else f"in PATH ({path})"
        return cause("command_not_found", f"no command {name!r} {where}, or the interpreter it names")
    if number == errno.EACCES:
        return cause("command_not_executable", f"{name!r} may not be executed by the user that jobs run as")
    if number == errno.ENOEXEC:
        return cause("command_not_executable", f"{name!r} is no program of this machine and has no #! line")
    return cause("command_failed_to_start", f"{name!r}: {os.strerror(number)}")


def _is_nowhere(name: str, path: str) -> bool:
    """A folder of PATH that may not be read makes the system say "no permission" of a command that is in none."""
    if "/" in name:
        return False
    return not any(os.path.exists(f"{folder}/{name}") for folder in path.split(os.pathsep))  # noqa: PTH110
