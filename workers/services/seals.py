"""Sealing the trail: each seal is a digest over a stretch of events and over the seal before it."""

from __future__ import annotations

import hashlib
import json
import logging
import struct
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, connection, transaction
from django.db.models import Min, QuerySet

from workers.models import Event, TrailSeal

journal = logging.getLogger(__name__)

SETTLED = timedelta(minutes=5)
"""An event this old has none before it that is still to be committed."""
LONGEST = 5_000
"""Events under one seal: retention removes whole stretches."""
MOST_SEALS = 40
"""Made in one run; the next one goes on."""
_MARK = struct.Struct(">Q8s")
_AHEAD = timedelta(minutes=5)
_FIELDS = ("actor", "subject_kind", "subject", "verb", "before", "after", "cause", "detail", "address", "via")

Mark = tuple[int, bytes]
"""An event's id and the beginning of its digest."""


def seal_events(*, now: datetime) -> int:
    """Seal what is settled and not sealed yet; how many events. Two who do it at once make one chain."""
    sealed = 0
    for _ in range(MOST_SEALS):
        try:
            with transaction.atomic():
                made = _next_seal(now)
        except IntegrityError:  # somebody else has just made this seal
            break
        if made is None:
            break
        # Whoever keeps the server's log has what nobody can change in the database.
        journal.info("Events %d to %d are sealed: %s", made.first, made.last, made.digest)
        sealed += made.events
        if made.events < LONGEST:
            break
    return sealed


def digest_of(event: Event) -> bytes:
    """SHA-256 over everything that an event says."""
    said = [event.pk, event.at.astimezone(UTC).isoformat(), *(getattr(event, name) for name in _FIELDS)]
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).digest()


def digest_over(previous: str, digests: Iterable[bytes]) -> str:
    """The digest of a seal: over that of the seal before and over each of its events, in order."""
    whole = hashlib.sha256(previous.encode())
    for digest in digests:
        whole.update(digest)
    return whole.hexdigest()


def pack_marks(marks: Iterable[Mark]) -> bytes:
    """As they are stored."""
    return b"".join(_MARK.pack(number, digest[:8]) for number, digest in marks)


def read_marks(packed: bytes | memoryview) -> Iterator[Mark]:
    """From how they are stored; what is cut off at the end is left out."""
    whole = len(packed) - len(packed) % _MARK.size
    return _MARK.iter_unpack(bytes(packed)[:whole])


def last_seal() -> TrailSeal | None:
    """The newest one, without its marks."""
    return TrailSeal.objects.defer("marks").order_by("-last").first()


def unsealed(now: datetime) -> QuerySet[Event]:
    """Events behind the last seal that are long settled: none, where sealing runs."""
    last = last_seal()
    return Event.objects.filter(pk__gt=last.last if last else 0, at__lt=now)


def _next_seal(now: datetime) -> TrailSeal | None:
    before = last_seal()
    after = before.last if before else 0
    events = list(_settled(after, now).order_by("pk")[:LONGEST])
    if not events:
        return None
    digests = [digest_of(event) for event in events]
    previous = before.digest if before else ""
    return TrailSeal.objects.create(
        first=events[0].pk, last=events[-1].pk, events=len(events), previous=previous, sealed_at=now,
        digest=digest_over(previous, digests),
        marks=pack_marks((event.pk, digest) for event, digest in zip(events, digests, strict=True)),
    )  # fmt: skip


def _settled(after: int, now: datetime) -> QuerySet[Event]:
    """Events behind `after` before the first one that is young: ids are drawn before they are committed."""
    behind = Event.objects.filter(pk__gt=after)
    until = min(now, _oldest_transaction() or now) - SETTLED
    young = behind.filter(at__gte=until, at__lte=now + _AHEAD).aggregate(first=Min("pk"))["first"]
    return behind.filter(at__lt=until) if young is None else behind.filter(pk__lt=young)


def _oldest_transaction() -> datetime | None:
    """When the oldest transaction began that is still open; SQLite writes one after the other."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(xact_start) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        oldest: datetime | None = cursor.fetchone()[0]
    return oldest
