"""What people can do with a job, in the order in which pages offer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.models import Job, JobState
from scheduler.services.contact import give_up_on, lost_since
from scheduler.services.copies import retry_job
from scheduler.services.deleting import delete_job
from scheduler.services.holds import extend_hold, is_held, release_hold
from scheduler.services.jobs import cancel_job, may_change
from scheduler.services.pausing import pause_job, resume_job

GOING = (JobState.ASSIGNED, JobState.RUNNING, JobState.CANCELLING)


@dataclass(frozen=True, slots=True)
class Act:
    """One act: its words, when it is offered, and what does it. `asks` names what is asked first, if anything is."""

    key: str
    button: str
    icon: str
    do: Callable[..., Job | None]
    offered: Callable[[Job], bool]
    asks: str = ""
    danger: bool = False

    @property
    def verb(self) -> str:
        """The button without its dots."""
        return self.button.removesuffix("…")


def _is_out_of_contact(job: Job) -> bool:
    return job.state in GOING and lost_since(job) is not None


ACTS: Mapping[str, Act] = {
    act.key: act
    for act in (
        Act("pause", "Pause", "player-pause", pause_job, lambda job: job.state == JobState.QUEUED),
        Act("resume", "Resume", "player-play", resume_job, lambda job: job.state == JobState.PAUSED),
        Act("retry", "Retry", "refresh", retry_job, lambda job: job.is_over),
        Act("extend", "Extend…", "clock", extend_hold, is_held, asks="scheduler/_extend_form.html"),
        Act("release", "Release…", "lock", release_hold, is_held, asks="scheduler/_release_form.html", danger=True),
        Act("give-up", "Give up on it…", "plug-connected-x", give_up_on, _is_out_of_contact,
            asks="scheduler/_give_up_form.html", danger=True),
        Act("cancel", "Cancel job…", "player-stop", cancel_job,
            lambda job: not job.is_over and job.state != JobState.CANCELLING and not is_held(job),
            asks="scheduler/_cancel_form.html", danger=True),
        Act("delete", "Delete…", "trash", delete_job, lambda job: job.is_over,
            asks="scheduler/_delete_form.html", danger=True),
    )
}  # fmt: skip
"""By key, in the order of the page."""


IN_LISTS = ("pause", "resume", "retry", "cancel")
"""Those that a row of the list has room for, and that need no further question to the database."""


def offered(user: Any, job: Job) -> list[Act]:
    """What this user can do with the job as it is."""
    return [act for act in ACTS.values() if act.offered(job)] if may_change(user, job) else []


def offered_in_lists(user: Any, job: Job) -> list[Act]:
    """The same for a row of the list."""
    return [ACTS[key] for key in IN_LISTS if ACTS[key].offered(job)] if may_change(user, job) else []
