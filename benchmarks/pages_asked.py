"""What is asked of the site, and what it may cost: the pages that people look at, with arguments of many kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from typing import Any

from django.urls import reverse

from benchmarks import fleets
from scheduler.forms import yaml_of
from scheduler.models import Job, JobState, Task
from workers.models import Worker

FRAGMENT = {"HX-Request": "true"}
LATER = 400
"""How far in a list the later pages are that are asked for."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: posted where it has data."""

    path: str
    headers: dict[str, str] = field(default_factory=dict)
    data: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests of one kind, and how many milliseconds nineteen of twenty may take; None: no budget."""

    name: str
    budget: float | None
    requests: Sequence[Request]
    cold: bool = False
    """Before each of them what passes saw is forgotten: only some are asked."""
    unchanged: bool = False
    """Each is asked once, unmeasured, and then for what changed since."""


def everything(count: int) -> Iterator[Asked]:
    """So many requests of every kind."""

    def some(*parts: Sequence[Request], most: int = count) -> list[Request]:
        """Taken in turn from each part that has any."""
        turns = cycle([cycle(part) for part in parts if part])
        return [next(turn) for turn in islice(turns, most)]

    jobs = _jobs()
    yield Asked("overview", 200, some([Request("/")]))
    yield Asked("overview, live", None, some([Request("/", FRAGMENT)]))
    yield Asked("jobs", 100, some(_get("/jobs", _job_queries())))
    yield Asked("workers", 100, some(_get("/workers", _worker_queries())))
    yield Asked("job", 150, some(*([Request(f"/jobs/{job}") for job in group] for group in jobs.values())))
    yield Asked(
        "job, first look",
        None,
        some(*([Request(f"/jobs/{job}") for job in group] for group in jobs.values()), most=max(4, count // 6)),
        cold=True,
    )
    yield Asked("candidates", 150, some(list(_candidates(jobs["waiting"])), list(_candidates(jobs["running"]))))
    lives = [[Request(f"/jobs/{job}/live", FRAGMENT) for job in jobs[key]] for key in ("waiting", "running")]
    yield Asked("live, changed", 150, some(*lives))
    yield Asked("live, unchanged", 150, some(*lives), unchanged=True)
    yield Asked("jobs, unchanged", 100, some([Request("/jobs", FRAGMENT)]), unchanged=True)
    yield Asked("worker", 150, some([Request(reverse("worker", args=[name])) for name in _workers()]))
    yield Asked(
        "reservations", 150, some(_get("/reservations", ("", "state=all", "range=week", "q=vision", "kind=team")))
    )
    yield Asked("preview", 300, some(list(_previews())))
    yield Asked("preview, cold", 1000, some(list(_previews()), most=max(4, count // 6)), cold=True)


def _jobs() -> dict[str, list[str]]:
    """Ids of jobs by what became of them."""
    decided = Job.objects.exclude(decision=None).order_by("-pk")
    kinds = {
        "waiting": decided.filter(state=JobState.QUEUED, decision__outcome="waiting"),
        "running": decided.filter(state=JobState.RUNNING),
        "never": decided.filter(state=JobState.QUEUED, decision__outcome="unschedulable"),
        "over": decided.filter(
            state__in=(JobState.SUCCEEDED, JobState.FAILED), attempts__created_at__gte=_first_pass()
        ),
    }
    return {kind: _spread(list(jobs.values_list("job_id", flat=True)[:LATER])) for kind, jobs in kinds.items()}


def _first_pass() -> Any:
    from scheduler.models import SchedulingPass

    return SchedulingPass.objects.order_by("number").values_list("started_at", flat=True)[0]


def _spread(ids: list[str]) -> list[str]:
    """A third of them, from all over."""
    return ids[::3] or ids


def _get(path: str, queries: Sequence[str]) -> list[Request]:
    return [Request(f"{path}?{query}" if query else path) for query in queries]


def _job_queries() -> list[str]:
    keys = list(Job.objects.order_by("-pk").values_list("pk", flat=True)[:: max(1, Job.objects.count() // 10)])
    host = Task.objects.order_by("-pk").values_list("worker__name", flat=True)[0]
    pages = [f"state={state}&after={key}" for state, key in product(("all", "ended"), keys)]
    return [
        "", "state=queued", "state=running", "state=ended", "state=all", "owner=me", "owner=mira", "team=vision",
        "q=train", "q=nothing-is-called-so", f"q={host}", f"state=all&q={host}", "state=all&q=j-120",
        "state=ended&owner=mira&team=vision", *pages,
    ]  # fmt: skip


def _worker_queries() -> list[str]:
    names = _workers()
    searched = ("H100", "pool=team-3", "rack", "n00", "nothing-is-called-so")
    return [
        "", "state=online", "state=draining", "state=offline", "state=unhealthy", "tier=cloud",
        *(f"q={text}" for text in searched), *(f"after={name}" for name in names[:20]),
        *(f"q=A100&tier=local&after={name}" for name in names[:10]),
    ]  # fmt: skip


def _workers() -> list[str]:
    names = list(Worker.objects.order_by("name").values_list("name", flat=True))
    return names[:: max(1, len(names) // 60)]


def _candidates(jobs: Sequence[str]) -> Iterator[Request]:
    queries = ("", "v=in", "v=all", "v=free", "q=n00", "q=H100", "v=in&q=n0", "v=outside")
    for job, query in zip(jobs, cycle(queries), strict=False):
        yield Request(f"/jobs/{job}/candidates?{query}", FRAGMENT)


def _previews() -> Iterator[Request]:
    for number, shape in enumerate(fleets.SHAPES):
        document = {"name": f"try-{number}", "command": ["python", "train.py"], "target": "local"} | shape
        yield Request(reverse("submit-check"), FRAGMENT, {"yaml": yaml_of(document)})
