"""What the person who starts it may choose, and what follows from it."""

import os
import re
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from gpulayer_site.data_folder import data_folder

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8000
_EVERY_INTERFACE = {"0.0.0.0", "::"}  # noqa: S104 - compared with, not bound to
_MAX_PORT = 65535


class UpError(Exception):
    """Why it cannot start: one line that says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where to listen and where to keep data; `agent` is whether this host takes jobs itself."""

    host: str
    port: int
    data: Path
    agent: bool
    own_broker: bool

    @property
    def url(self) -> str:
        """The address at which this host reaches the pages."""
        return self._at({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host))  # noqa: S104

    @property
    def public_url(self) -> str:
        """The address for everybody: this host's name, where it listens on every address."""
        return self._at(socket.gethostname()) if self.host in _EVERY_INTERFACE else self.url

    def _at(self, host: str) -> str:
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def read_options(environ: Mapping[str, str] = os.environ) -> Options:
    """`HOST`, `PORT`, `GPULAYER_DATA`, `GPULAYER_AGENT` (`no`: none here) and `GPULAYER_BROKER_URL`.

    Raises UpError for a port that is none.
    """
    port = environ.get("PORT") or str(DEFAULT_PORT)
    if not re.fullmatch("[0-9]{1,5}", port) or not 0 < int(port) <= _MAX_PORT:
        raise UpError(f"PORT must be a number from 1 to {_MAX_PORT}, found `{port}`")
    return Options(
        host=environ.get("HOST") or DEFAULT_HOST,
        port=int(port),
        data=data_folder(environ),
        agent=environ.get("GPULAYER_AGENT") != "no",
        own_broker=not environ.get("GPULAYER_BROKER_URL"),
    )


def server_environment(options: Options, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of the parts that run Django: what was given, and the defaults that follow from the options."""
    result = dict(environ)
    result["DJANGO_SETTINGS_MODULE"] = "gpulayer_site.settings"
    result["GPULAYER_DATA"] = str(options.data)
    result["PYTHONUNBUFFERED"] = "1"
    result.setdefault("GPULAYER_URL", options.public_url)
    result.setdefault("ALLOWED_HOSTS", ",".join(_own_names(options.host)))
    # `gpulayer` and the tools of this environment, for the agent's own commands too.
    result["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), result.get("PATH", os.defpath)])
    return result


def _own_names(host: str) -> list[str]:
    """The names under which this server may be called: as it listens; never any name at all."""
    if host not in _EVERY_INTERFACE:
        return [f"[{host}]" if ":" in host else host]
    names = {socket.gethostname(), socket.getfqdn()}
    for addresses in psutil.net_if_addrs().values():
        names.update(each.address for each in addresses if each.family == socket.AF_INET)
    return sorted(names)
