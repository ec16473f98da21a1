"""A PostgreSQL of the tests' own: made in a folder, gone with it. Not for root, which PostgreSQL refuses to run as."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

_quiet = partial(subprocess.run, check=True, stdout=subprocess.DEVNULL)


def programs() -> Path | None:
    """The folder of `initdb` and `pg_ctl`: from PATH, or where Debian keeps the newest."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    return folders[-1] if folders else None


def why_not() -> str | None:
    """Why there can be no PostgreSQL here; None when there can."""
    if os.geteuid() == 0:
        return "PostgreSQL does not run as root"
    return None if programs() else "PostgreSQL's `initdb` is not installed (apt install postgresql)"


class Cluster:
    """A cluster in `folder`, not started. Only a `durable` one waits for the disk: the others have nothing to lose."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        tools = programs()
        assert tools is not None, "ask why_not() first"
        data, port = folder / "pgdata", _free_port()
        _quiet([tools / "initdb", "-D", data, "-U", "gpulayer", "-A", "trust", "-E", "UTF8", "--no-sync"])
        self.url = f"postgres://gpulayer@127.0.0.1:{port}/postgres"
        self._settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._settings += "" if durable else " -c fsync=off"
        self._control = [tools / "pg_ctl", "-D", data, "-l", folder / "postgresql.log", "-w"]

    def start(self) -> None:
        """Start it, or start it again; it answers then."""
        _quiet([*self._control, "-o", self._settings, "start"])

    def stop(self) -> None:
        """At once, as a crash: nothing is written that was not before."""
        _quiet([*self._control, "-m", "immediate", "stop"])


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Run a cluster in `folder`; gives its DATABASE_URL."""
    made = Cluster(folder)
    made.start()
    try:
        yield made.url
    finally:
        made.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
