"""How a task ended, judged by its agent's report and by what was asked of it."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.models import JobState, Task, TaskState
from scheduler.models.attempts import DRAINED, ORDERLY
from scheduler.services.reports import FinishReport, Held

STOPPED_IN_ORDER = ("agent_stopped", "agent_failed", "agent_ended")
"""Ends that an agent brought about; of a task that it never started they use no retry."""
CRASHES = ("agent_ended", "shim_ended", "host_restarted")
"""Ends after which something besides the command was gone too."""
LOST_CODES = ("lost", "lease_over", "agent_failed", *ORDERLY, *CRASHES)
"""For `retries` the attempt was lost."""
OVERDUE = "timed_out"
"""Noted with a task that runs on beyond its time, while its agent is told to end it."""
ENDED_BADLY = (TaskState.FAILED, TaskState.TIMED_OUT, TaskState.LOST, TaskState.CANCELLED, TaskState.REVOKED)

Outcome = tuple[TaskState, str, str]
"""The last state, with the code and the words of the failure, if it is one."""


def outcome(report: FinishReport, rows: Held) -> Outcome:
    """What becomes of the task by this report. What was asked to end, ended as asked, unless it was faster."""
    if report.start_error is None and report.exit_code == 0 and not report.timed_out:
        return TaskState.SUCCEEDED, "", ""
    if rows.job.state == JobState.CANCELLING or is_doomed(rows.task, rows.tasks):
        return TaskState.CANCELLED, "", ""
    if report.start_error is not None:
        return TaskState.FAILED, *report.start_error
    if report.timed_out or rows.task.failure_code == OVERDUE:
        return TaskState.TIMED_OUT, "timed_out", f"it ran longer than its {rows.job.spec.get('timeout_s')} seconds"
    if rows.task.failure_code == DRAINED:
        return _drained(rows)
    if report.ended_by is not None:
        unstarted = rows.task.started_at is None and report.ended_by[0] in STOPPED_IN_ORDER
        return (TaskState.REVOKED if unstarted else TaskState.FAILED), *report.ended_by
    if report.signal is not None:
        return TaskState.FAILED, "signal", f"it was ended by signal {report.signal}"
    return TaskState.FAILED, "exit_code", f"it exited with {report.exit_code}"


def _drained(rows: Held) -> Outcome:
    """Stopped at the deadline of a drain: what was never started uses no retry, the rest is lost to its job."""
    if rows.task.started_at is None:
        return TaskState.REVOKED, "", ""
    return TaskState.FAILED, DRAINED, f"{rows.worker.name} was drained, and its deadline came while this ran"


def is_doomed(task: Task, tasks: Iterable[Task]) -> bool:
    """Whether another of its gang has ended other than well: this one is stopped then."""
    return any(other.pk != task.pk and other.state in ENDED_BADLY for other in tasks)
