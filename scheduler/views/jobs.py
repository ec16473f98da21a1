"""The list of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import BigIntegerField, Case, F, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from scheduler.core.explain import code_label
from scheduler.models import Job, Task
from scheduler.models.decisions import Outcome
from scheduler.services.job_lists import (
    FILTERS,
    GOING,
    NEVER,
    STATES,
    WAITING,
    Asked,
    idle_jobs,
    numbers,
    reasons,
    silent_tasks,
)
from scheduler.services.teams import choices_for
from scheduler.services.visibility import seen_by
from scheduler.views.act_table import offered_in_lists
from scheduler.views.job_rows import JobRow
from workers.live import GOOD_FOR, is_fragment, respond
from workers.moments import now
from workers.paging import Page, asked_of, by_key, link

MOST_TEAMS = 100
OLDEST_FIRST = "oldest"

_STEP = 10**15
"""More than there will ever be jobs: keeps the three parts of the recent list apart in one number."""
_PLACE = Case(
    When(state__in=WAITING, then=F("pk")),
    When(state__in=GOING, then=F("pk") + Value(_STEP)),
    default=Value(3 * _STEP) - F("pk"),
    output_field=BigIntegerField(),
)


@dataclass(frozen=True, slots=True)
class Tab:
    """One state to choose, with its number of jobs."""

    key: str
    text: str
    count: str
    link: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One reason to choose."""

    value: str
    text: str


@dataclass(frozen=True, slots=True)
class Hiding:
    """The filter without which most would match, and how many."""

    jobs: int
    what: str
    link: str


def job_list(request: HttpRequest) -> HttpResponse:
    """Jobs by state, reason, words and owner, a page at a time."""
    given = asked_of(request.GET, (*FILTERS, "sort"))
    state = given.get("state", "recent")
    given["state"] = state = state if state in STATES else "recent"
    kept = {name: given.get(name, "") for name in FILTERS if name != "state"}
    seen = seen_by(request.user)
    asked = Asked({**kept, "state": state}, request.user.get_username(), now())
    page = _page(asked.of(seen), given)
    filtered = any(kept.values())
    context = {
        "nav": "jobs",
        "page": _filled(request, page, asked.moment),
        "base": reverse("jobs"),
        "tabs": _tabs(numbers(seen, asked.moment), kept),
        "state": state,
        **kept,
        "sort": given.get("sort", ""),
        "sorted_otherwise": link(given, sort="" if given.get("sort") else OLDEST_FIRST, after="", before=""),
        "teams": () if is_fragment(request) else list(choices_for(request.user)[:MOST_TEAMS]),
        "reasons": () if is_fragment(request) else _choices(seen, kept["reason"]),
        "no_jobs": not page.rows and not seen.exists(),
        "filtered": filtered,
        "hiding": None if page.rows or not filtered else _hiding(asked, seen, given),
        "query": link(given),
    }
    return respond(
        request, page="scheduler/jobs.html", fragment="scheduler/_rows.html", aside="_partials/_state_tabs.html",
        context=context, good_for=GOOD_FOR,
    )  # fmt: skip


def _page(chosen: QuerySet[Job], given: Mapping[str, str]) -> Page[Job]:
    """Keys alone, so that what is not shown costs little; the rows of the page are fetched by them."""
    keys = chosen.only("pk")
    if given.get("sort") == OLDEST_FIRST:
        return by_key(keys, "pk", given, number=True)
    if given["state"] in ("recent", "queued"):
        return by_key(keys.annotate(place=_PLACE), "place", given, number=True)
    return by_key(keys, "pk", given, number=True, descending=True)


def _filled(request: HttpRequest, page: Page[Job], moment: datetime) -> Page[JobRow]:
    """The page with its rows, without those that were deleted meanwhile. Four queries."""
    keys = [job.pk for job in page.rows]
    jobs = Job.objects.select_related("owner", "team", "decision").defer("failure_text").in_bulk(keys)
    first = Task.objects.filter(attempt__job__in=keys, rank=0).select_related("worker", "attempt")
    tasks = {task.attempt.job_id: task for task in first.order_by("attempt__number")}
    silent, idle = silent_tasks(page.rows), idle_jobs(page.rows, moment)
    rows = (
        JobRow(jobs[key], tasks.get(key), silent.get(key), idle.get(key), offered_in_lists(request.user, jobs[key]))
        for key in keys
        if key in jobs
    )
    return Page(tuple(rows), page.first, page.total, page.previous, page.next)


def _tabs(counted: Mapping[str, int], kept: Mapping[str, str]) -> list[Tab]:
    return [Tab(key, text, f"{counted[key]:,}", link(kept, state=key)) for key, text in STATES.items()]


def _choices(seen: QuerySet[Job], chosen: str) -> list[Choice]:
    """The reasons that there are, what never fits first; and the chosen one, also where no job has it any more."""
    found = list(_reasons(seen))
    known = {each.value for each in found}
    return found if not chosen or chosen in known else [*found, Choice(chosen, _named(chosen.split(",")))]


def _reasons(seen: QuerySet[Job]) -> Iterator[Choice]:
    yield Choice(NEVER, "Never fits")
    for outcome, codes in sorted(reasons(seen), key=lambda found: found[0] != Outcome.UNSCHEDULABLE):
        never = outcome == Outcome.UNSCHEDULABLE
        yield Choice(",".join(codes), f"Never fits: {_named(codes, as_sentence=False)}" if never else _named(codes))


def _named(codes: Sequence[str], *, as_sentence: bool = True) -> str:
    try:
        words = ", ".join(code_label(code) for code in codes)
    except KeyError:
        return ",".join(codes)
    return words[:1].upper() + words[1:] if as_sentence else words


def _hiding(asked: Asked, seen: QuerySet[Job], given: Mapping[str, str]) -> Hiding | None:
    """What to let go of where nothing matches: one count for each filter."""
    active = [name for name, value in asked.kept.items() if value and (name, value) != ("state", "all")]
    counted = {name: asked.of(seen, without=name).count() for name in active}
    most = max(counted, key=counted.__getitem__, default="")
    if not most or not counted[most]:
        return None
    without = {"state": "all"} if most == "state" else {most: ""}
    return Hiding(counted[most], FILTERS[most], link({**given, **without}, after="", before=""))
