"""Checking the trail against its seals: which events were changed, removed or put in afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from workers.models import Event, TrailSeal
from workers.services.seals import digest_of, digest_over, read_marks
from workers.services.trail_removal import was_removed

MOST_NAMED = 100
"""Findings that one look names."""
_SEALS_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it was sealed. `event` is its id, None where it is no matter of one event."""

    what: str
    """`changed`, `missing`, `inserted`, `seal` or `chain`."""
    event: int | None
    text: str


@dataclass(slots=True)
class Checked:
    """What was looked at, and what is wrong."""

    seals: int = 0
    events: int = 0
    upto: int = 0
    """The last event that was looked at."""
    digest: str = ""
    """Of the last seal: kept elsewhere, it proves later that nothing before it was changed."""
    complete: bool = True
    """False: the next look goes on behind `upto`."""
    findings: list[Finding] = field(default_factory=list)

    def add(self, what: str, event: int | None, text: str) -> None:
        """Name it, unless there are too many."""
        if len(self.findings) < MOST_NAMED:
            self.findings.append(Finding(what, event, text))


def check_trail(*, after: int = 0, most: int = 100_000, anchors: Mapping[int, str] | None = None) -> Checked:
    """Check seals behind the one that ends with event `after` until `most` events were read.

    `anchors` are digests that somebody kept, by the last event of their seal.
    """
    checked = Checked(upto=after)
    before = TrailSeal.objects.filter(last=after).first() if after else None
    for seal in _seals(after):
        _check_seal(seal, before, checked)
        before = seal
        if checked.events >= most:
            checked.complete = not TrailSeal.objects.filter(last__gt=seal.last).exists()
            break
    _check_anchors(after, anchors or {}, checked)
    return checked


def latest_checked(seals: int) -> Checked:
    """The last few seals alone: a look that costs little."""
    newest = list(TrailSeal.objects.order_by("-last").values_list("last", flat=True)[: seals + 1])
    return check_trail(after=newest[-1] if len(newest) > seals else 0)


def _seals(after: int) -> Iterator[TrailSeal]:
    while batch := list(TrailSeal.objects.filter(last__gt=after).order_by("last")[:_SEALS_AT_ONCE]):
        yield from batch
        after = batch[-1].last


def _check_seal(seal: TrailSeal, before: TrailSeal | None, checked: Checked) -> None:
    follows = before.digest if before else ""
    if seal.previous != follows and not was_removed(seal.previous):
        checked.add("chain", None, f"a seal before event {seal.first} is gone, and retention did not remove it")
    under = Event.objects.filter(pk__lte=seal.last)
    events = list((under.filter(pk__gt=before.last) if before else under).order_by("pk"))
    digests = [digest_of(event) for event in events]
    checked.seals += 1
    checked.events += len(events)
    checked.upto, checked.digest = seal.last, seal.digest
    if digest_over(seal.previous, digests) != seal.digest:
        _name(seal, events, digests, checked)


def _name(seal: TrailSeal, events: Sequence[Event], digests: Sequence[bytes], checked: Checked) -> None:
    """Say which event is not as it was; where the marks do not tell, that the seal is broken."""
    marks = dict(read_marks(seal.marks))
    now = {event.pk: (event, digest[:8]) for event, digest in zip(events, digests, strict=True)}
    found = False
    for number in sorted(marks.keys() | now.keys()):
        event, mark = now.get(number, (None, b""))
        if mark == marks.get(number):
            continue
        found = True
        what = "missing" if event is None else "changed" if number in marks else "inserted"
        checked.add(what, number, _words(what, number, event))
    if not found:
        checked.add("seal", None, f"the seal of events {seal.first} to {seal.last} is not the one that was made")


def _words(what: str, number: int, event: Event | None) -> str:
    if event is None:
        return f"event {number} is gone"
    how = "is not as it was sealed" if what == "changed" else "was put in after its stretch was sealed"
    return f"event {number} ({event.at:%Y-%m-%d %H:%M:%S}, {event.actor}: {event.subject_kind} {event.subject}) {how}"


def _check_anchors(after: int, anchors: Mapping[int, str], checked: Checked) -> None:
    """Compare what somebody kept, as far as this look reaches."""
    reached = {last: digest for last, digest in anchors.items() if after < last <= checked.upto}
    here = dict(TrailSeal.objects.filter(last__in=reached).values_list("last", "digest"))
    for last, digest in reached.items():
        if here.get(last) != digest:
            how = "is not the one that you kept" if last in here else "is gone"
            checked.add("seal", None, f"the seal that ends with event {last} {how}")


def few(findings: Sequence[Finding], most: int = 3) -> str:
    """The first of them in words."""
    named = "; ".join(each.text for each in islice(findings, most))
    return named if len(findings) <= most else f"{named}; and {len(findings) - most} more"
