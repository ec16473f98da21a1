"""Looked at before anything is started: each refusal is one line that says what to do."""

import errno
import fcntl
import json
import os
import socket
from importlib.util import find_spec
from typing import IO

from gpulayer_site.data_folder import UNFINISHED, make_private
from gpulayer_site.up.options import Options, UpError

_PORTS_TO_SUGGEST = 50


def check_installation() -> None:
    """Raise UpError when the server part is not installed."""
    if find_spec("django") is None or find_spec("granian") is None:
        raise UpError("the server part is not installed; install it: pip install 'gpulayer[server]'")


def check_port(options: Options) -> None:
    """Raise UpError when a port cannot be listened on."""
    _check_port(options, options.port, "PORT")
    if options.hint_port:
        _check_port(options, options.hint_port, "GPULAYER_HTTP_PORT")


def _check_port(options: Options, port: int, name: str) -> None:
    error = _bind_error(options.host, port)
    if error is None:
        return
    if error.errno == errno.EADDRINUSE:
        free = (other for other in _ports_after(port) if _bind_error(options.host, other) is None)
        raise UpError(f"port {port} on {options.host} is taken; choose another one: {name}={next(free, port + 1)}")
    if error.errno == errno.EACCES:
        raise UpError(f"port {port} needs more rights than this user has; choose one from 1024: {name}=8000")
    raise UpError(f"HOST={options.host} is no address of this machine ({error.strerror or error})")


def open_data_folder(options: Options) -> IO[str]:
    """Make the data folder private and hold it while the returned file is open; raise UpError when another does."""
    folder = options.data
    try:
        make_private(folder)
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o700)
        lock = (folder / "up.lock").open("a+", encoding="utf-8")
    except OSError as error:
        raise UpError(f"the data folder {folder} cannot be used: {error.strerror}; choose GPULAYER_DATA") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        raise UpError(_already_running(lock.read())) from None
    if (folder / UNFINISHED).exists():
        lock.close()
        raise UpError(f"a restore into {folder} did not come to its end; run `gpulayer restore --replace FILE` again")
    lock.seek(0)
    lock.truncate()
    json.dump({"url": options.url, "pid": os.getppid()}, lock)
    lock.flush()
    return lock


def _already_running(text: str) -> str:
    try:
        holder = json.loads(text)
    except ValueError:  # it holds the folder but has not written who it is yet
        holder = {}
    where = f" at {holder['url']} (process {holder['pid']})" if holder else ""
    return f"gpulayer is already running on this data folder{where}; for a second one choose GPULAYER_DATA and PORT"


def _bind_error(host: str, port: int) -> OSError | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            # Binding alone succeeds beside a listener that shares its port; listening does not.
            probe.listen(1)
    except OSError as error:
        return error
    return None


def _ports_after(port: int) -> range:
    return range(port + 1, min(port + _PORTS_TO_SUGGEST, 65536))
