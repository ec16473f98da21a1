"""Why jobs wait and what would help, as rows of the overview; the words are the core's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from scheduler.core.decision import Outcome
from scheduler.core.explain import code_label, code_tone
from scheduler.core.levers import Kind, Lever
from scheduler.core.reasons import Code
from scheduler.core.reasons import Kind as Sort
from scheduler.core.rollup import Cause
from scheduler.core.why_words import lever_sentence
from scheduler.models import JobState
from scheduler.services.rollups import QueueView, latest_roll_up
from scheduler.services.visibility import seen_by

MOST_LEVERS = 5
_LEVER_ICONS = {Kind.RELEASE: "player-stop", Kind.LABEL: "tag", Kind.WORKER: "server"}
_ID = r"\bj-[0-9]+\b"


@dataclass(frozen=True, slots=True)
class Row:
    """A number, what it counts, and a line about it."""

    count: str
    tone: str
    icon: str
    text: str
    link: str = ""
    since: datetime | None = None
    more: SafeString | str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The whole queue, as far as somebody sees it."""

    queued: int
    half_waited: datetime | None
    """Half of the jobs were submitted before this."""
    view: QueueView | None
    causes: list[Row]
    levers: list[Row]

    @property
    def undecided(self) -> int:
        """Jobs that came after the pass."""
        return max(0, self.queued - self.view.found.waiting - self.view.found.never) if self.view else self.queued


def queue_of(user: Any) -> Queue:
    """What keeps it waiting and what would help, as the latest pass found it. Seven queries at most."""
    jobs = seen_by(user).filter(state=JobState.QUEUED)
    queued = jobs.count()
    middle = jobs.order_by("submitted_at", "pk").values_list("submitted_at", flat=True)
    view = latest_roll_up(user)
    return Queue(
        queued=queued,
        half_waited=middle[queued // 2 : queued // 2 + 1].first() if queued else None,
        view=view,
        causes=[_cause(cause) for cause in view.found.causes] if view else [],
        levers=[_lever(lever) for lever in view.found.levers[:MOST_LEVERS]] if view else [],
    )


def _cause(cause: Cause) -> Row:
    tone, icon = _look(cause)
    since = datetime.fromisoformat(cause.oldest_since) if isinstance(cause.oldest_since, str) else None
    more = format_html("{}{}: {}", "oldest " if cause.jobs > 1 else "", job_link(cause.oldest), cause.example)
    reason = ",".join(code.text for code in cause.codes)
    link = f"{reverse('jobs')}?{urlencode({'state': 'queued', 'reason': reason})}"
    return Row(f"{cause.jobs:,}", tone, icon, _waits_for(cause), link, since, more)


def _waits_for(cause: Cause) -> str:
    """A cause in a few words."""
    label = ", ".join(map(code_label, cause.codes)) or "no workers"
    return _begun(f"never fits: {label}" if cause.outcome is Outcome.UNSCHEDULABLE else label)


def _look(cause: Cause) -> tuple[str, str]:
    """Its tone and its icon."""
    if cause.outcome is Outcome.UNSCHEDULABLE:
        return "never", "ban"
    code = cause.codes[0]
    if code_tone(code) == "rsv":
        return "rsv", "bookmark"
    if code.kind is Sort.GROUP:
        return "wait", "users"
    return "wait", {Code.TIER_CLOSED: "world", Code.OFFLINE: "plug-connected-x"}.get(code, "clock")


def _lever(lever: Lever) -> Row:
    text = linked(_begun(lever_sentence(lever)), lever.workers)
    return Row(f"+{lever.starts:,}", "ok", _LEVER_ICONS[lever.kind], text)


def _begun(words: str) -> str:
    """As the beginning of a line."""
    return words[:1].upper() + words[1:]


def job_link(job_id: str) -> SafeString:
    """A job's id, which leads to its page."""
    return format_html('<a class="mono" href="{}">{}</a>', reverse("job", args=[job_id]), job_id)


def linked(text: str, workers: Iterable[str] = ()) -> SafeString:
    """A sentence in which jobs, and these workers, lead to their pages."""
    names = set(workers)
    either = "|".join([_ID, *(re.escape(name) for name in sorted(names, key=len, reverse=True))])
    return format_html_join("", "{}", ((_piece(piece, names),) for piece in re.split(f"({either})", text)))


def _piece(piece: str, workers: Collection[str]) -> SafeString | str:
    if piece in workers:
        return format_html('<a href="{}">{}</a>', reverse("worker", args=[piece]), piece)
    return job_link(piece) if re.fullmatch(_ID, piece) else piece
