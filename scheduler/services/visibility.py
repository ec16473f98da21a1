"""Whose jobs somebody sees. Another team's job is answered like one that is not there, wherever it could show up.

With `GPULAYER_OTHERS_JOBS=visible` everybody who is signed in sees every job. With `hidden`, people see their own and
those of their teams; operators see all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet, prefetch_related_objects
from django.utils import timezone

from scheduler.models import Job
from workers.refusals import NotFound
from workers.roles import is_operator, role_of
from workers.services.trail import note_refusal

LONGEST_NUMBER = 18
SOMEBODY_ELSES = "another team's job"
"""Stands for a job of which somebody may know only that it is there."""


def sees_all(user: Any) -> bool:
    """Whether this user sees the jobs of everybody."""
    return role_of(user) is not None and (settings.GPULAYER_OTHERS_JOBS == "visible" or is_operator(user))


def seen_by(user: Any) -> QuerySet[Job]:
    """The jobs that this user sees; none for who is not signed in."""
    if sees_all(user):
        return Job.objects.all()
    return Job.objects.filter(_own(user)) if role_of(user) is not None else Job.objects.none()


def may_see(user: Any, job: Job) -> bool:
    """Whether this user sees this job."""
    return sees_all(user) or (role_of(user) is not None and is_among_owners(user, job))


def is_among_owners(user: Any, job: Job) -> bool:
    """Whether the job is this user's own, or one of a team of this user."""
    return user.pk == job.owner_id or (job.team_id is not None and job.team_id in team_keys(user))


def team_keys(user: Any) -> frozenset[int]:
    """The keys of this user's teams; asked once for each user at hand, who is one request old."""
    if not user.is_authenticated:
        return frozenset()
    prefetch_related_objects([user], "groups")
    return frozenset(team.pk for team in user.groups.all())


def find(user: Any, job_id: str, *, among: QuerySet[Job] | None = None) -> Job:
    """The job of this id, if this user sees it; `among` says what is fetched with it.

    Raises NotFound (404) alike for one that is not there and for one that is not this user's to see; the latter
    is written into the trail.
    """
    jobs = Job.objects.all() if among is None else among
    job = jobs.filter(job_id=job_id).first() if is_job_id(job_id) else None
    if job is not None and may_see(user, job):
        return job
    if job is not None:
        actor = f"user:{user.get_username()}"
        note_refusal(actor=actor, subject=job.job_id, reason="not_seen", now=timezone.now())
    raise NotFound(f"no job {job_id[:100]!r}", code="no_such_job")


def sees_job(user: Any, job_id: str) -> bool:
    """Whether this is the id of a job that this user sees. At most one query."""
    return is_job_id(job_id) and seen_by(user).filter(job_id=job_id).exists()


def clones_of(user: Any, job: Job, *, most: int) -> list[str]:
    """The ids of the first jobs that were made from this one, those that this user sees. One query."""
    return list(seen_by(user).filter(cloned_from=job).order_by("pk").values_list("job_id", flat=True)[:most])


def is_job_id(text: str) -> bool:
    """Whether a job could have this id: `j-` and a number."""
    number = text.removeprefix("j-")
    return text.startswith("j-") and number.isascii() and number.isdigit() and len(number) <= LONGEST_NUMBER


def seen_ids(user: Any, job_ids: Iterable[str]) -> frozenset[str]:
    """Those of these ids whose jobs this user sees; ids of jobs that are gone are nobody's. One query."""
    wanted = frozenset(job_ids)
    if not wanted:
        return wanted
    seen = seen_by(user).values_list("job_id", flat=True)
    return wanted.intersection(seen.filter(job_id__in=wanted) if len(wanted) <= _AT_ONCE else seen.iterator())


def ids_in(text: str) -> list[str]:
    """The ids of jobs that a sentence names."""
    return _ID.findall(text)


def without_others(text: str, seen: Collection[str]) -> str:
    """A sentence with `SOMEBODY_ELSES` in place of every job that is not among those seen."""
    return _ID.sub(lambda found: found[0] if found[0] in seen else SOMEBODY_ELSES, text)


def told_to(user: Any, text: str) -> str:
    """A sentence as this user may read it; one query where it names jobs and others' are hidden."""
    return text if sees_all(user) else without_others(text, seen_ids(user, ids_in(text)))


def teller_for(user: Any, texts: Iterable[str]) -> Callable[[str], str]:
    """What makes each of these sentences one that this user may read; one query for all of them."""
    if sees_all(user):
        return str
    seen = seen_ids(user, (job_id for text in texts for job_id in ids_in(text)))
    return lambda text: without_others(text, seen)


_ID = re.compile(rf"\bj-[0-9]{{1,{LONGEST_NUMBER}}}\b")
_AT_ONCE = 10_000
"""Databases bound the length of a list, the least of them at 32,766; of more, all that the user sees are looked at."""


def _own(user: Any) -> Q:
    return Q(owner=user.pk) | Q(team__in=team_keys(user))
