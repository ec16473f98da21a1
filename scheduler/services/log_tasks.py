"""Which task's log is meant: every attempt of a job has one for each rank."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.models import Attempt, Job, Task
from scheduler.services.log_check import reported_size


@dataclass(frozen=True, slots=True)
class Logs:
    """The chosen log, and what else there is to choose: every attempt, newest first, and this one's ranks."""

    task: Task | None
    attempts: tuple[Attempt, ...]
    ranks: tuple[Task, ...]

    @property
    def newest(self) -> bool:
        """Whether the chosen attempt is the latest one."""
        return not self.attempts or self.task is None or self.task.attempt_id == self.attempts[0].pk


def logs_of(job: Job, *, attempt: int | None = None, rank: int = 0) -> Logs:
    """The log of this attempt (None: the latest) and rank; its task is None where there is no such log."""
    attempts = tuple(Attempt.objects.filter(job=job).order_by("-number"))
    chosen = next((row for row in attempts if attempt in (None, row.number)), None)
    if chosen is None:
        return Logs(None, attempts, ())
    ranks = tuple(Task.objects.filter(attempt=chosen).select_related("worker").order_by("rank"))
    for task in ranks:
        task.attempt = chosen
    return Logs(next((task for task in ranks if task.rank == rank), None), attempts, ranks)


def still_on_the_host(task: Task) -> int:
    """Bytes of a finished task's log that its agent has and this server does not have yet; 0 if nothing is known."""
    if task.log_cut or task.log_deleted_at or not task.report:
        return 0
    total = task.report.get("log_total") or reported_size(task) or 0
    return max(0, int(total) - task.log_size)
