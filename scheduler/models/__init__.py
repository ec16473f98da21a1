"""Rows about work: jobs and their attempts, what is held, what was decided and why, what is reserved."""

from scheduler.models.attempts import Attempt, AttemptState, FenceCounter, Task, TaskState
from scheduler.models.decisions import Decision, Kept
from scheduler.models.files import Bundle, OutputFile
from scheduler.models.holds import DeviceHold
from scheduler.models.jobs import Job, JobState
from scheduler.models.passes import PassLease, PassState, QueueRollUp, SchedulingPass
from scheduler.models.reservations import Reservation
from scheduler.models.upkeep import Upkeep
from scheduler.models.watch import Watch
from workers.models import Event

__all__ = [
    "Attempt",
    "AttemptState",
    "Bundle",
    "Decision",
    "DeviceHold",
    "Event",
    "FenceCounter",
    "Job",
    "JobState",
    "Kept",
    "OutputFile",
    "PassLease",
    "PassState",
    "QueueRollUp",
    "Reservation",
    "SchedulingPass",
    "Task",
    "TaskState",
    "Upkeep",
    "Watch",
]
