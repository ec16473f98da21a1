"""Starting the command: a session of its own, its limits, its user, its folder; and why it could not be started."""

from __future__ import annotations

import errno
import os
import resource
import signal

from workers.agent.shim import linux
from workers.agent.shim.limits import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class SpawnError(Exception):
    """The command does not run: at which step (limits, user, folder, command), and the system's number for why."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(f"{step}: {os.strerror(number)}")
        self.step = step
        self.number = number


class User:
    """Whom the command runs as."""

    __slots__ = ("gid", "groups", "uid")

    def __init__(self, uid: int, gid: int, groups: Sequence[int]) -> None:
        self.uid = uid
        self.gid = gid
        self.groups = list(groups)


class Running:
    """A command that was started: its process, and the descriptors that its two outputs come from."""

    __slots__ = ("err", "out", "pid")

    def __init__(self, pid: int, out: int, err: int) -> None:
        self.pid = pid
        self.out = out
        self.err = err


def spawn(
    argv: Sequence[str], env: Mapping[str, str], folder: str, *, limits: Mapping[str, int], user: User | None,
    inherited: Sequence[int], cgroup: str | None = None,
) -> Running:  # fmt: skip
    """Start it. `inherited`: descriptors that it keeps open. Raises SpawnError, or ValueError for a NUL in a word."""
    words = [os.fsencode(word) for word in argv]
    variables = {os.fsencode(key): os.fsencode(value) for key, value in env.items()}
    if any(b"\0" in text for pair in (words, variables, variables.values()) for text in pair):
        raise ValueError("embedded null byte")
    (out, out_end), (err, err_end), (told, tell) = os.pipe(), os.pipe(), os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(words, variables, folder, limits, user, inherited, cgroup, (nothing, out_end, err_end), tell, parent)
    for each in (out_end, err_end, tell, nothing):
        os.close(each)
    said = _read_all(told)
    if said:
        os.waitpid(pid, 0)
        os.close(out)
        os.close(err)
        step, _, number = said.decode().partition(" ")
        raise SpawnError(step, int(number))
    return Running(pid, out, err)


def _become(
    words: list[bytes], variables: Mapping[bytes, bytes], folder: str, limits: Mapping[str, int],
    user: User | None, inherited: Sequence[int], cgroup: str | None, streams: tuple[int, int, int], tell: int,
    parent: int,
) -> None:  # fmt: skip
    """In the child: never returns."""
    step = "limits"
    try:
        os.setsid()
        linux.die_with_parent()
        if os.getppid() != parent:
            os._exit(127)
        for target, stream in enumerate(streams):
            os.dup2(stream, target)
        for each in inherited:
            os.set_inheritable(each, True)
        join(cgroup)
        _limit(limits)
        for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        if user is not None:
            step = "user"
            _change_user(user)
        step = "folder"
        os.chdir(folder)
        step = "command"
        _execute(words, variables)
    except Exception as error:  # whatever it is, the parent has to hear that nothing runs
        os.write(tell, f"{step} {getattr(error, 'errno', None) or 0}".encode())
    finally:
        os._exit(127)


def _execute(words: list[bytes], variables: Mapping[bytes, bytes]) -> None:
    """Become the program; of the errors along PATH the first that is more than "not here" counts."""
    failed: OSError | None = None
    folders = [b""] if b"/" in words[0] else variables.get(b"PATH", b"").split(b":")
    for folder in folders:
        try:
            os.execve(os.path.join(folder, words[0]), words, variables)  # noqa: PTH118, S606
        except OSError as error:
            if failed is None or failed.errno in (errno.ENOENT, errno.ENOTDIR):
                failed = error
    if failed is not None:
        raise failed


def _limit(limits: Mapping[str, int]) -> None:
    """Never above what the shim itself may."""
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name.upper()}")
        most = resource.getrlimit(which)[1]
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(which, (value, value))


def _change_user(user: User) -> None:
    os.setgroups(user.groups)
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)
    linux.no_new_rights()
    # A change of user takes it back.
    linux.die_with_parent()


def _read_all(handle: int) -> bytes:
    said = b""
    while part := os.read(handle, 100):
        said += part
    os.close(handle)
    return said
