"""What only the server's own host can look at. Each answer is (verdict, text, hint)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from kombu.exceptions import KombuError

from gpulayer_site.celery import app
from gpulayer_site.redaction import without_password
from scheduler.core.quantities import size
from workers.moments import duration

if TYPE_CHECKING:
    from scheduler.models import Upkeep
    from scheduler.services.kept import Stock


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


def kept() -> Iterator[tuple[str, str, str, str]]:
    """How much is kept of what grows, and whether what is old is being removed: each with its subject before it."""
    from scheduler.services.kept import last_run, stocks

    try:
        found, run = stocks(), last_run()
    except Error as error:
        yield "what is kept", "wrong", f"the database does not say: {error}".strip(), "see above"
        return
    finally:
        connection.close()
    now = timezone.now()
    for stock in found:
        yield f"kept {stock.kind}", "ok", _stock(stock, now), ""
    yield "retention", *_retention(run, now)


def _stock(stock: Stock, now: datetime) -> str:
    text = f"{stock.count:,}" if stock.size is None else f"{stock.count:,} with {size(stock.size)}"
    if stock.oldest:
        text += f", the oldest {duration((now - stock.oldest).total_seconds(), coarse=True)} old"
    most = "" if not stock.most else size(stock.most) if stock.size is not None else f"{stock.most:,}"
    limits = [each for each in (f"{stock.days} days" if stock.days else "", most) if each]
    return f"{text} (at most {', '.join(limits)})" if limits else f"{text} (without limit)"


def _retention(run: Upkeep | None, now: datetime) -> tuple[str, str, str]:
    hint = "the task worker does it every ten minutes; does it run?"
    if run is None:
        return "note", "nothing old was looked for yet", hint
    age = (now - run.began_at).total_seconds()
    removed = ", ".join(f"{count:,} {kind}" for kind, count in run.removed.items() if count) or "nothing"
    text = f"last ran {duration(age, coarse=True)} ago, removed {removed}"
    if age > 6 * settings.RETENTION_EVERY_SECONDS:
        return "wrong", text, hint
    if run.finished_at and not run.complete:
        return "note", f"{text}, and has more to remove", ""
    return "ok", text, ""
