"""What needs an operator, and how busy held devices are, as rows of the overview."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from scheduler.core.words import agrees
from scheduler.models import JobState
from scheduler.services.idleness import WORTH_TELLING
from scheduler.services.overview_fleet import Drawn, Idle, Picture
from scheduler.services.visibility import seen_by, seen_ids, sees_all, told_to
from scheduler.views.overview_queue import Row, job_link
from scheduler.views.overview_scope import Scope, is_in
from workers.moments import duration

MOST_NAMED = 3


def needs_of(picture: Picture, user: Any, now: datetime) -> list[Row]:
    """What somebody has to look after: machines out of order, devices held for nothing, facts that nobody knows."""
    there = picture.workers
    offline = [drawn for drawn in there if is_in(drawn, "offline")]
    unhealthy = [drawn for drawn in there if is_in(drawn, "unhealthy")]
    found = [
        _workers(offline, "offline", "offline", "plug-connected-x", "never", _last_lost(offline, user, now)),
        _workers(unhealthy, "unhealthy", "unhealthy", "alert-triangle", "never", _first_note(unhealthy, user)),
        _devices(there, "bad", "unhealthy", "alert-triangle", "never", _notes(there)),
        _devices(there, "frn", "used outside gpulayer", "external-link", "wait", "held by a process of no job"),
        _idle(picture.idle, user, now),
        _workers(
            [drawn for drawn in there if is_in(drawn, "gpus-unknown")], "with unknown GPUs", "gpus-unknown",
            "help-circle", "wait", "they never match a job that asks for GPUs",
        ),
        _workers(
            [drawn for drawn in there if is_in(drawn, "ram-unknown")], "with unknown RAM", "ram-unknown",
            "help-circle", "wait", "they never match a job that asks for RAM",
        ),
    ]  # fmt: skip
    return [row for row in found if row is not None]


def _workers(those: list[Drawn], words: str, state: str, icon: str, tone: str, more: SafeString | str) -> Row | None:
    if not those:
        return None
    text = f"{agrees(len(those), 'worker', 'workers')} {words}"
    return Row(f"{len(those):,}", tone, icon, text, Scope().but(worker=state), more=more)


def _devices(there: Iterable[Drawn], look: str, words: str, icon: str, tone: str, more: str) -> Row | None:
    having = [drawn for drawn in there if drawn.looks.get(look)]
    count = sum(drawn.looks[look] for drawn in having)
    if not count:
        return None
    on = having[0].name if len(having) == 1 else f"{len(having):,} workers"
    text = f"{agrees(count, 'device', 'devices')} {words}"
    return Row(
        f"{count:,}", tone, icon, text, Scope().but(device=look), more=f"on {on}; {more}" if more else f"on {on}"
    )


def _last_lost(offline: list[Drawn], user: Any, now: datetime) -> SafeString | str:
    """Which one was lost last, and what still counts as running on any of them."""
    dated = [(drawn.view.state_since, drawn.name) for drawn in offline if drawn.view.state_since]
    if not dated:
        return ""
    since, name = max(dated)
    link = format_html('<a href="{}">{}</a>', reverse("worker", args=[name]), name)
    lead = "last lost: " if len(offline) > 1 else ""
    ago = duration((now - since).total_seconds(), coarse=True)
    jobs = format_html_join(", ", "{}", ((job_link(job_id),) for job_id in lost_contact(user)))
    return format_html("{}{}, {} ago{}{}", lead, link, ago, "; no contact with " if jobs else "", jobs)


def _first_note(unhealthy: list[Drawn], user: Any) -> str:
    return told_to(user, next((drawn.view.state_note for drawn in unhealthy if drawn.view.state_note), ""))


def _notes(there: Iterable[Drawn]) -> str:
    """What is said most often of unhealthy devices."""
    said: dict[str, int] = {}
    for drawn in there:
        if drawn.looks.get("bad"):
            for device in drawn.view.facts.devices or ():
                if device.healthy is False and device.health_note:
                    said[device.health_note] = said.get(device.health_note, 0) + 1
    if not said:
        return ""
    most = max(said, key=lambda note: said[note])
    return most if len(said) == 1 else f"mostly: {most}"


def _idle(idle: Iterable[Idle], user: Any, now: datetime) -> Row | None:
    long = [one for one in idle if now - one.since >= WORTH_TELLING]
    if not long:
        return None
    text = f"{agrees(len(long), 'device', 'devices')} held but idle over 30 min"
    return Row(f"{len(long):,}", "wait", "hourglass", text, more=idle_jobs(long, user, now))


def idle_jobs(idle: Iterable[Idle], user: Any, now: datetime) -> SafeString:
    """The jobs that have held something idle the longest, of those that this user sees."""
    first: dict[str, Idle] = {}
    for one in idle:
        first.setdefault(one.job_id, one)
    seen = first.keys() if sees_all(user) else seen_ids(user, first)
    told = [one for job_id, one in first.items() if job_id in seen]
    rows = ((job_link(one.job_id), one.owner, _long(one, now)) for one in told[:MOST_NAMED])
    listed = format_html_join(", ", "{} {} {}", rows)
    rest = len(told) - MOST_NAMED
    return format_html("{} and {} more", listed, f"{rest:,}") if rest > 0 else listed


def _long(one: Idle, now: datetime) -> str:
    return duration((now - one.since).total_seconds(), coarse=True)


def utilisation_of(picture: Picture, user: Any, now: datetime) -> list[Row]:
    """How busy the held devices are."""
    busy = picture.busy
    long = [one for one in picture.idle if now - one.since >= WORTH_TELLING]
    rows = [
        (busy.get("high", 0), "run", "over 50 % busy", ""),
        (busy.get("some", 0), "run", "10–50 % busy", ""),
        (max(0, busy.get("low", 0) - len(long)), "wait", "under 10 % busy, for less than 30 min", ""),
        (len(long), "wait", "held but idle over 30 min", idle_jobs(long, user, now) if long else ""),
        (busy.get("unknown", 0), "none", "not read", ""),
    ]
    return [Row(f"{count:,}", tone, "", text, more=more) for count, tone, text, more in rows if count]


def lost_contact(user: Any) -> list[str]:
    """Jobs that run on workers which nobody hears of. One query."""
    silent = Q(attempts__active=True, attempts__tasks__worker__liveness__in=("suspect", "lost"))
    going = seen_by(user).filter(silent, state__in=(JobState.RUNNING, JobState.CANCELLING, JobState.ASSIGNED))
    return list(going.order_by("pk").values_list("job_id", flat=True).distinct()[:MOST_NAMED])
