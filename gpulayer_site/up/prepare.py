"""Makes the data folder ready: database, static files, administrator, tokens. Run as a process of its own, with Django.

Prints one line of JSON: `{"code": "…" or null}`, the one-time code of a first start.
"""

import hashlib
import json
import sys
from contextlib import suppress
from pathlib import Path

import django
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError

from gpulayer_site.data_folder import write_private
from gpulayer_site.up.certificate import PINNED
from gpulayer_site.up.options import Options, read_options
from gpulayer_site.up.parts import host_name


def prepare(options: Options) -> dict[str, str | None]:
    """Do what is needed, and only that: on a warm folder nothing is written twice. Returns what the person must see."""
    from django.utils import timezone

    from gpulayer_site.accounts import services

    _migrate()
    _collect_static()
    user, created = services.administrator()
    _write_cli_files(options)
    if options.agent:
        _let_agent_in(options)
    code = services.create_sign_in_code(user=user, now=timezone.now()) if created else None
    return {"code": code}


def _migrate() -> None:
    """Bring the database up to date; looking whether it is costs a tenth of calling `migrate`."""
    from django.core.management import call_command
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", interactive=False, verbosity=0)


def _collect_static() -> None:
    """Copy, hash and compress the static files, when they have changed since the last time."""
    from django.conf import settings
    from django.core.management import call_command

    stamp = settings.GPULAYER_DATA / "static.stamp"
    now = _fingerprint([Path(folder) for folder in settings.STATICFILES_DIRS])
    if stamp.exists() and stamp.read_text(encoding="utf-8") == now:
        return
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    write_private(stamp, now)


def _fingerprint(folders: list[Path]) -> str:
    files = sorted(file for folder in folders for file in folder.rglob("*") if file.is_file())
    parts = [f"django {django.get_version()}"]
    parts += [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _write_cli_files(options: Options) -> None:
    """Let this user's `gpulayer` commands find the installation without configuration."""
    from django.utils import timezone

    from gpulayer_site.accounts.services import administrator
    from gpulayer_site.accounts.tokens import create_token, user_of_token

    own = options.data / "cli.json"
    token = _token_in(own)
    user, now = administrator()[0], timezone.now()
    if user_of_token(secret=token, now=now) is None:
        _, token = create_token(user=user, note="commands on this host", now=now)
    known = {"url": options.url, "token": token, "data": str(options.data)}
    known |= {"ca": str(options.data / PINNED)} if options.tls_cert else {}
    text = json.dumps(known, indent=2) + "\n"
    write_private(own, text)
    # Without a home folder, or with one that cannot be written, the data folder's own file is still found from here.
    with suppress(OSError, RuntimeError):
        write_private(Path.home() / ".config" / "gpulayer" / "cli.json", text)


def _token_in(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["token"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _let_agent_in(options: Options) -> None:
    """Its credential is for this installation, at whatever port it listens; where it has none, a token gets it one.

    Only there: an agent whose credential is revoked while this runs shall not come back by itself.
    """
    from django.utils import timezone

    from workers.agent.folder import AgentFolder
    from workers.auth import create_enrolment_token, is_known_credential

    folder, token = AgentFolder(options.data / "agent"), options.data / "agent" / "enrolment-token"
    folder.follow(options.url)
    kept = folder.credential(options.url, host_name())
    if kept and is_known_credential(kept):
        token.unlink(missing_ok=True)
        return
    note = "the agent on the server's own host"
    secret, _ = create_enrolment_token(
        uses=1, origin="local", simulated=False, note=note, created_by=None, now=timezone.now()
    )
    write_private(token, secret + "\n")


def main() -> int:
    """What a person can put right is one line."""
    try:
        django.setup()
        json.dump(prepare(read_options()), sys.stdout)
    except ImproperlyConfigured as error:
        print(f"gpulayer: {error}", file=sys.stderr)
    except OperationalError as error:
        print(f"gpulayer: the database does not answer as it should: {str(error).split(chr(10))[0]}", file=sys.stderr)
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
