"""Rows about machines: who they are, what they have, what they may do, and the trail of changes."""

from workers.models.access import Credential, EnrolmentToken
from workers.models.facts import Device, Label, LabelSource, WorkerFacts
from workers.models.notices import Notice, NoticeLevel
from workers.models.trail import AppendOnlyError, Event, TrailSeal
from workers.models.worker import Health, Intent, Liveness, Origin, Worker

__all__ = [
    "AppendOnlyError",
    "Credential",
    "Device",
    "EnrolmentToken",
    "Event",
    "Health",
    "Intent",
    "Label",
    "LabelSource",
    "Liveness",
    "Notice",
    "NoticeLevel",
    "Origin",
    "TrailSeal",
    "Worker",
    "WorkerFacts",
]
