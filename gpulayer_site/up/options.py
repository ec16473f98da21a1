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
    """Where to listen and where to keep data; `agent` is whether this host takes jobs itself.

    With `tls_cert` and `tls_key` (PEM) the web server speaks TLS. `hint_port`: where plain http is answered with the
    way to https.
    """

    host: str
    port: int
    data: Path
    agent: bool
    own_broker: bool
    tls_cert: Path | None = None
    tls_key: Path | None = None
    hint_port: int | None = None

    @property
    def url(self) -> str:
        """The address at which this host reaches the pages."""
        return self._at({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host))  # noqa: S104

    @property
    def public_url(self) -> str:
        """The address for everybody: a name in the certificate; where it listens on every address, this host's."""
        if self.names:
            return self._at(self.names[0])
        return self._at(socket.gethostname()) if self.host in _EVERY_INTERFACE else self.url

    @property
    def names(self) -> list[str]:
        """The names that its certificate is for."""
        from gpulayer_site.up.certificate import names_in

        return names_in(self.tls_cert) if self.tls_cert else []

    def _at(self, host: str) -> str:
        scheme, usual = ("https", 443) if self.tls_cert else ("http", 80)
        name = f"[{host}]" if ":" in host else host
        return f"{scheme}://{name}" if self.tls_cert and self.port == usual else f"{scheme}://{name}:{self.port}"


def read_options(environ: Mapping[str, str] = os.environ) -> Options:
    """`HOST`, `PORT`, `GPULAYER_DATA`, `GPULAYER_AGENT` (`no`: none here) and `GPULAYER_BROKER_URL`.

    `GPULAYER_TLS_CERT` and `GPULAYER_TLS_KEY` name files, `GPULAYER_HTTP_PORT` the port of the hint. Raises UpError for
    a port that is none, and for a certificate without a key.
    """
    cert, key = environ.get("GPULAYER_TLS_CERT", ""), environ.get("GPULAYER_TLS_KEY", "")
    hint = environ.get("GPULAYER_HTTP_PORT", "")
    if bool(cert) != bool(key):
        raise UpError("TLS needs both: --tls-cert (GPULAYER_TLS_CERT) and --tls-key (GPULAYER_TLS_KEY)")
    if hint and not cert:
        raise UpError("GPULAYER_HTTP_PORT (--http-port) answers plain http beside TLS; give --tls-cert and --tls-key")
    return Options(
        host=environ.get("HOST") or DEFAULT_HOST,
        port=_port("PORT", environ.get("PORT") or str(DEFAULT_PORT)),
        tls_cert=Path(cert).absolute() if cert else None,
        tls_key=Path(key).absolute() if key else None,
        hint_port=_port("GPULAYER_HTTP_PORT", hint) if hint else None,
        data=data_folder(environ),
        agent=environ.get("GPULAYER_AGENT") != "no",
        own_broker=not environ.get("GPULAYER_BROKER_URL"),
    )


def _port(name: str, text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) <= _MAX_PORT:
        raise UpError(f"{name} must be a number from 1 to {_MAX_PORT}, found `{text}`")
    return int(text)


def server_environment(options: Options, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of the parts that run Django: what was given, and the defaults that follow from the options."""
    result = dict(environ)
    result["DJANGO_SETTINGS_MODULE"] = "gpulayer_site.settings"
    result["GPULAYER_DATA"] = str(options.data)
    result["PYTHONUNBUFFERED"] = "1"
    result.setdefault("GPULAYER_URL", options.public_url)
    result.setdefault("ALLOWED_HOSTS", ",".join([*_own_names(options.host), *options.names]))
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
