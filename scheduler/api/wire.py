"""What the people's API answers about jobs and workers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from scheduler.api.wire_holds import HoldOut
from workers.wire import Answer


class JobOut(Answer):
    """A job, where it runs, and the stored answer to why. Times are UTC."""

    job_id: str
    name: str
    owner: str
    team: str | None
    """The team that owns it beside its owner."""
    state: str
    submitted_at: datetime
    state_since: datetime
    started_at: datetime | None
    finished_at: datetime | None
    exit_code: int | None
    signal: int | None
    failure_code: str
    failure_text: str
    paused_code: str
    """Of a paused job: person, poison or declined; else empty. `paused_text` says it in words."""
    paused_text: str
    contact_lost_since: datetime | None
    """Since when a host of it is out of contact, on which it may go on running; null: none is."""
    simulated: bool
    attempt: int | None
    """The number of its latest one, from 1; null while it waits."""
    worker: str | None
    devices: list[int]
    short_answer: str | None
    url: str


class JobDetailOut(JobOut):
    """A job with the sentence that answers why, and its document as it was understood."""

    answer: str | None
    cloned_from: str | None
    """The job that it is a clone or a retry of."""
    clones: list[str]
    """The jobs that are clones or retries of it."""
    spec: dict[str, Any]
    """Of secrets it has the names."""
    hold: HoldOut | None
    """Null for a job that runs a command."""


class JobsOut(Answer):
    """Some jobs, newest first. `next` is what to ask for as `after`; null at the end."""

    items: list[JobOut]
    next: str | None


class AnswerOut(Answer):
    """Why the job is where it is: a state, one sentence, and what else there is to say."""

    state: str
    lead: str
    more: list[str]


class LossOut(Answer):
    """Workers that a stage of the funnel loses, and why. `tone` is never, wait, rsv or none."""

    key: str
    label: str
    count: int
    tone: str


class StageOut(Answer):
    """How many workers are left at a stage of the funnel."""

    key: str
    label: str
    count: int
    losses: list[LossOut]


class DecisionOut(Answer):
    """The latest decision: the decision document, and its words. `candidates` are grouped if asked for so."""

    version: int
    job_id: str
    policy: str
    outcome: str
    ever_schedulable: bool
    tiers: list[dict[str, Any]]
    assignments: list[dict[str, Any]]
    group_reasons: list[dict[str, Any]]
    job_reasons: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    candidates: list[dict[str, Any]]
    answer: AnswerOut
    funnel: list[StageOut]
    made_at: datetime
    seen_at: datetime
    intact: bool


class ReplayOut(Answer):
    """What a decision was made from: `entry` and `workers` as documents, less what jobs before it were given.

    `intact`: the server finds the same again; `same_rules`: by the same version of the rules. `today`: the fleet now.
    """

    version: int
    job_id: str
    pass_number: int
    made_at: datetime
    intact: bool
    same_rules: bool
    entry: dict[str, Any]
    workers: list[dict[str, Any]]
    decision: dict[str, Any]
    today: list[dict[str, Any]] | None


class RecordOut(Answer):
    """One write of the program. `at_ms` is the worker's clock."""

    stream: str
    at_ms: int
    text: str


class LogPageOut(Answer):
    """Part of a log. Ask on from `next`; when `ended`, there will be no more.

    `cut`: it reached the limit of the installation; `removed_at`: it was kept until then.
    """

    records: list[RecordOut]
    size: int
    next: int
    ended: bool
    attempt: int | None
    rank: int
    cut: bool
    removed_at: datetime | None


class TaskOnOut(Answer):
    """A task that holds something of the worker. Of another team's, id, name and owner are empty."""

    job_id: str
    name: str
    owner: str
    state: str
    devices: list[int]


class WorkerOut(Answer):
    """A worker as it is now. `state`: online, offline, draining, drained, unhealthy; enrolled: never seen."""

    name: str
    origin: str
    simulated: bool
    state: list[str]
    note: str
    last_seen_at: datetime | None
    gpus: str
    gpus_free: int
    gpus_total: int | None
    labels: dict[str, str]
    tasks: list[TaskOnOut]
    agent_version: str
    url: str


class DeviceProcessOut(Answer):
    """A process on a device: memory in bytes; `task` where it belongs to one of this worker."""

    pid: int
    user: str | None
    memory: int | None
    task: int | None


class DeviceOut(Answer):
    """One device with its latest readings; null is unknown. Sizes are bytes, utilisation is per cent."""

    index: int
    uuid: str | None
    model: str
    present: bool
    healthy: bool | None
    health_note: str
    utilisation: int | None
    memory_used: int | None
    foreign_memory: int | None
    processes: list[DeviceProcessOut]
    read_at: datetime | None


class WorkerDetailOut(WorkerOut):
    """A worker with its devices and its document: facts, state and load.

    `unknown`: why what its last reading lacks is unknown, by its place in the document. `offered`: what that reading
    has less of than was accepted; it counts once an operator accepts it.
    """

    devices: list[DeviceOut]
    document: dict[str, Any] | None
    unknown: dict[str, str]
    offered: list[str]


class WorkersOut(Answer):
    """Some workers by name. `next` is what to ask for as `after`; null at the end."""

    items: list[WorkerOut]
    next: str | None
