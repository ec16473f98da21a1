"""What docs/documents.md says of the documents is what is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scheduler.core import parsing_device, parsing_job, parsing_worker
from scheduler.core.decision import Outcome
from scheduler.core.parsing import parse_job, parse_worker
from scheduler.core.schedule import schedule
from scheduler.documents import read_text

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "documents.md").read_text()
JOB, WORKER = (read_text(block, format="yaml") for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
FIELDS = sorted(
    {*parsing_job._FIELDS, *parsing_job.PER_DEVICE, "cpu_cores", "memory_gb", "disk_gb", "os", "arch"}
    | {"environment", "python", "frameworks", "worker_ids", "worker_labels", "provider", "region"}
    | {"num_workers", "procs_per_worker", "launcher", "comm_backend"}
    | {*parsing_worker.FACT_FIELDS, *parsing_worker.STATE_FIELDS, *parsing_device._FIELDS}
)


def test_the_example_job_runs_on_the_example_worker() -> None:
    decision = schedule(parse_job(JOB), [parse_worker(WORKER)], "j-1")
    assert decision.outcome is Outcome.PLACED
    assert decision.assignments[0].devices == (1,)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_read_is_described(field: str) -> None:
    assert re.search(rf"\b{field}\b", PAGE)
