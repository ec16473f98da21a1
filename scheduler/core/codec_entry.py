"""`QueueEntry` -> the document from which `parse_queue_entry` makes it again."""

from __future__ import annotations

from typing import Any

from scheduler.core.codec_job import job_to_document
from scheduler.core.spec import QueueEntry


def entry_to_document(entry: QueueEntry) -> dict[str, Any]:
    """An entry of a queue, without secrets."""
    document: dict[str, Any] = {"version": 1, "job_id": entry.job_id, "spec": job_to_document(entry.spec)}
    where_they_apply = {
        "submitted_at": entry.submitted_at,
        "holders": list(entry.holders) or None,
        "failed_on": list(entry.failed_on) or None,
    }
    return document | {name: value for name, value in where_they_apply.items() if value is not None}
