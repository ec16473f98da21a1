"""What a change to workers would mean for the jobs that wait, told before it is made; nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scheduler.core.compare import MOST_COMPARED, Changed, Effect, compare
from scheduler.core.engine import Engine, Pass
from scheduler.core.explain import short_answer, what_becomes_of_it
from scheduler.core.fleet import Fleet
from scheduler.core.spec import QueueEntry
from scheduler.models import Job
from scheduler.queue import take_queue
from scheduler.services.visibility import seen_ids
from scheduler.services.whatif_fleets import both, latest
from workers.proposed import Change

MOST_SHOWN = 50
"""Jobs that are named one by one, the worst off first."""
MOST_ANSWERED = 8
"""Of those that would never fit, why, is looked for in the whole fleet: for the first few."""
LOSING = (Effect.NEVER_FITS, Effect.NO_START, Effect.LOSES)
GAINING = (Effect.FITS, Effect.STARTS, Effect.GAINS)
TONES = {
    Effect.NEVER_FITS: "never", Effect.NO_START: "wait", Effect.LOSES: "none", Effect.SHIFTS: "none",
    Effect.GAINS: "none", Effect.STARTS: "ok", Effect.FITS: "ok",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class JobChange:
    """What becomes of one waiting job, in words."""

    job_id: str
    name: str
    owner: str
    effect: Effect
    can_run: tuple[int, int]
    """The workers that could run it and take jobs, before and after."""
    free: tuple[int, int]
    """Those that could take it now."""
    then: str
    """What becomes of it."""

    @property
    def tone(self) -> str:
        """As reasons are drawn."""
        return TONES[self.effect]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """The answer: how many jobs, and the first of them by name, those that would never fit at the head."""

    waiting: int
    """Jobs in the queue that were looked at."""
    counts: dict[Effect, int]
    jobs: tuple[JobChange, ...]
    hidden: int
    """Changed jobs that are not named: of others, whom the viewer may not see."""
    more: int
    """Changed jobs that are not named because there are many."""
    seen_at: datetime
    pass_number: int | None
    drains: bool = False
    """It is asked who still takes jobs; without a worker left a job waits, and does not end."""

    @property
    def changed(self) -> int:
        """Jobs for which it makes a difference."""
        return sum(self.counts.values())

    @property
    def losing(self) -> int:
        """Jobs that would be worse off."""
        return sum(self.counts.get(effect, 0) for effect in LOSING)

    @property
    def lead(self) -> str:
        """The answer in one sentence."""
        if not self.waiting:
            return "No job is waiting."
        if not self.changed:
            one = "one waiting job" if self.waiting == 1 else f"{self.waiting:,} waiting jobs"
            return f"Nothing changes for the {one}."
        return f"Of {_jobs(self.waiting, 'waiting ')}, {self.changed:,} {self._verb}."

    @property
    def _verb(self) -> str:
        """`lose workers`, `gains a worker`: what is common to all that change."""
        end = "s" if self.changed == 1 else ""
        if all(effect in LOSING for effect in self.counts):
            return f"lose{end} workers"
        return f"gain{end} workers" if all(effect in GAINING for effect in self.counts) else f"change{end}"

    @property
    def parts(self) -> str:
        """How many of each kind, the worst first."""
        words = {**_COUNTED, **_COUNTED_OF_DRAINS} if self.drains else _COUNTED
        said = [words[effect](count) for effect in Effect if (count := self.counts.get(effect, 0))]
        return f"{', '.join(said)}." if said else ""


def preview(change: Change, *, now: datetime, user: Any = None) -> Preview:
    """What this change would mean, over the view that the latest pass recorded.

    `user`: jobs that they may not see are counted, not named; None sees all. Of a longer queue the first 10,000 jobs
    are looked at.
    """
    queued = [each for each in take_queue() if each.entry is not None]
    entries = [each.entry for each in queued[:MOST_COMPARED] if each.entry is not None]
    recorded = latest({each.job_id for each in queued}, now)
    before, after = both(change, recorded.fleet)
    found = compare(entries, before, after, now) if before.workers != after.workers else ()
    shown, hidden = _shown(found, user)
    return Preview(
        waiting=len(entries),
        counts=dict(Counter(one.effect for one in found)),
        jobs=_told(_first_of_both(shown), after, change),
        hidden=hidden,
        more=max(0, len(shown) - MOST_SHOWN),
        seen_at=recorded.seen_at,
        pass_number=recorded.pass_number,
        drains=change.drain is not None,
    )


def _shown(found: Sequence[Changed], user: Any) -> tuple[list[Changed], int]:
    """Those that the user may see, and how many more there are."""
    if user is None:
        return list(found), 0
    visible = seen_ids(user, (one.entry.job_id for one in found))
    shown = [one for one in found if one.entry.job_id in visible]
    return shown, len(found) - len(shown)


def _first_of_both(found: Sequence[Changed]) -> list[Changed]:
    """As many as are named: of many that lose and many that gain, more of the former, and some of the latter."""
    worse = [one for one in found if one.effect not in GAINING]
    better = [one for one in found if one.effect in GAINING]
    room = max(MOST_SHOWN - len(better), MOST_SHOWN * 3 // 5)
    return [*worse[:room], *better[: MOST_SHOWN - min(len(worse), room)]]


def _told(found: Sequence[Changed], after: Fleet, change: Change) -> tuple[JobChange, ...]:
    rows = {job.job_id: job for job in _named(found)}
    answers = _Answers(after)
    told = []
    for one in found:
        job = rows.get(one.entry.job_id)
        if job is None:
            continue  # deleted meanwhile
        told.append(
            JobChange(
                job_id=job.job_id,
                name=job.name,
                owner=job.owner.get_username(),
                effect=one.effect,
                can_run=(one.can_run.before, one.can_run.after),
                free=(one.free.before, one.free.after),
                then=_then(one, change, answers),
            )
        )
    return tuple(told)


def _named(found: Sequence[Changed]) -> Sequence[Job]:
    jobs = Job.objects.filter(job_id__in=[one.entry.job_id for one in found])
    return list(jobs.select_related("owner").only("job_id", "name", "owner__username"))


class _Answers:
    """Why jobs would never fit: decided in one pass, in which they are given nothing."""

    def __init__(self, after: Fleet) -> None:
        self._after = after
        self._pass: Pass | None = None
        self._left = MOST_ANSWERED

    def of(self, entry: QueueEntry) -> str:
        """In a few words, with a colon before them; empty beyond the first few jobs."""
        if not self._left:
            return ""
        self._left -= 1
        self._pass = self._pass or Engine().begin(self._after.workers)
        return f": {short_answer(entry, self._pass.decide(entry))}"


def _then(one: Changed, change: Change, answers: _Answers) -> str:
    if one.effect is Effect.NEVER_FITS:
        return _never(one, change, answers)
    if one.effect is Effect.NO_START:
        return f"would not start now: {_free(one)}"
    if one.effect is Effect.STARTS:
        return "would start now"
    if one.effect is Effect.FITS:
        return "would start now" if one.starts_after else "could run, and waits for its turn"
    if one.starts_after:
        return "starts all the same"
    return f"still waits: {_free(one)}" if one.free.before != one.free.after else "still waits"


def _never(one: Changed, change: Change, answers: _Answers) -> str:
    if change.drain:
        last = f": only {one.can_run.lost_examples[0]} can run it" if one.can_run.lost == 1 else ""
        return f"no worker would be left that takes it{last}; waits until one does"
    return f"would never fit{answers.of(one.entry)}; it {what_becomes_of_it(one.entry)}"


def _free(one: Changed) -> str:
    gang = one.entry.spec.distributed
    of = f" of {gang.num_workers:,}" if gang else ""
    return f"{one.free.before:,} → {one.free.after:,}{of} could take {'a member' if gang else 'it'} now"


def _jobs(count: int, kind: str = "") -> str:
    return f"{count:,} {kind}{'job' if count == 1 else 'jobs'}"


_COUNTED = {
    Effect.NEVER_FITS: lambda count: f"{count:,} would never fit",
    Effect.NO_START: lambda count: f"{count:,} would not start now",
    Effect.LOSES: lambda count: f"{count:,} {'waits' if count == 1 else 'wait'} among fewer workers",
    Effect.SHIFTS: lambda count: f"{count:,} {'has' if count == 1 else 'have'} other workers",
    Effect.GAINS: lambda count: f"{count:,} {'has' if count == 1 else 'have'} more workers",
    Effect.STARTS: lambda count: f"{count:,} would start now",
    Effect.FITS: lambda count: f"{count:,} could run at last",
}
_COUNTED_OF_DRAINS = {
    Effect.NEVER_FITS: lambda count: f"{count:,} would have no worker left",
    Effect.FITS: lambda count: f"{count:,} would have a worker again",
}
