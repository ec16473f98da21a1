"""What only the server's own host can look at. Each answer is (verdict, text, hint)."""

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import KombuError

from gpulayer_site.celery import app
from gpulayer_site.redaction import without_password


def database() -> tuple[str, str, str]:
    """Whether the database answers and is up to date."""
    kind = connection.vendor
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except Error as error:
        return "wrong", f"{kind} does not answer: {error}".strip(), "check DATABASE_URL"
    finally:
        connection.close()
    if missing:
        return "wrong", f"{len(missing)} migrations are missing", "`gpulayer up` applies them at its start"
    return "ok", f"{kind} answers and is up to date", ""


def broker() -> tuple[str, str, str]:
    """Whether the broker answers."""
    url = without_password(settings.CELERY_BROKER_URL)
    try:
        with app.connection_for_write() as link:
            link.ensure_connection(max_retries=1, timeout=2)
    except (OSError, KombuError) as error:
        return "wrong", f"{url} does not answer: {error}", "is `gpulayer up` running? check GPULAYER_BROKER_URL"
    return "ok", f"{url} answers", ""
