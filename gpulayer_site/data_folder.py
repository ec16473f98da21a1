"""The folder where an installation keeps what is its own: database, secrets, logs, the broker's socket.

No Django here: the launcher and the command line read it before Django exists.
"""

import base64
import hashlib
import os
import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from workers.agent.private import make_private, write_private

__all__ = [
    "DATABASE", "UNFINISHED", "broker_socket", "broker_url", "data_folder", "make_private", "secret_key", "secrets_key",
    "write_private",
]  # fmt: skip

DEFAULT = ".data"
DATABASE = "gpulayer.sqlite3"
UNFINISHED = "restore-unfinished"
"""There while a backup is put in place: what lies in the folder may be half of it."""
# A unix socket's address holds 108 bytes on Linux; a longer path cannot be bound.
_SOCKET_PATH_MAX = 100


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The absolute path of the data folder: `GPULAYER_DATA`, else `.data` below the current folder."""
    return Path(environ.get("GPULAYER_DATA") or DEFAULT).expanduser().absolute()


def secret_key(folder: Path) -> str:
    """The signing key kept in `folder/secret_key` (0600), made on first use; two first users get the same one."""
    return _kept(folder, "secret_key", lambda: secrets.token_urlsafe(48))


def secrets_key(folder: Path) -> str:
    """The key that encrypts jobs' secrets, kept in `folder/secrets_key` in the same way: 32 bytes in base64."""
    return _kept(folder, "secrets_key", lambda: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())


def _kept(folder: Path, name: str, make: Callable[[], str]) -> str:
    path = folder / name
    if not path.exists():
        make_private(folder)
        handle, made = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(make())
        try:
            os.link(made, path)  # fails when another process was first: its key counts
        except FileExistsError:
            pass
        finally:
            Path(made).unlink()
    return path.read_text(encoding="utf-8").strip()


def broker_socket(folder: Path) -> Path:
    """Where the embedded broker of `folder` listens: in the folder, or in a private one when the path is too long."""
    inside = folder / "broker.sock"
    if len(os.fsencode(inside)) <= _SOCKET_PATH_MAX:
        return inside
    runtime = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(runtime) / f"gpulayer-{os.getuid()}-{digest}" / "broker.sock"


def broker_url(folder: Path) -> str:
    """The address of the embedded broker of `folder`, as Celery writes it."""
    return f"redis+socket://{quote(str(broker_socket(folder)))}"
