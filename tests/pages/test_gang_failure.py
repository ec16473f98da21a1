"""Of a gang that failed, the page names the rank; of a plain job the one sentence tells all."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import NOW, a_job, changed, later

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("distributed", "named"), [({"num_workers": 2}, True), (None, False)])
def test_the_rank_that_failed_is_named(page: Client, distributed: dict[str, int] | None, named: bool) -> None:
    job = a_job(**({"distributed": distributed} if distributed else {}))
    changed(
        job, state="failed", started_at=NOW, finished_at=later(seconds=9), failure_code="exit_code", exit_code=7,
        failure_text="rank 1 on gpu-07: it exited with 7",
    )  # fmt: skip
    text = page.get(reverse("job", args=[job.job_id])).content.decode()
    assert ("Rank 1 on gpu-07: it exited with 7" in text) is named


def test_a_gang_that_never_fitted_says_so_once(page: Client) -> None:
    job = a_job(distributed={"num_workers": 2})
    changed(job, state="failed", finished_at=NOW, failure_code="unschedulable", failure_text="Only in the answer")
    assert "Only in the answer" not in page.get(reverse("job", args=[job.job_id])).content.decode()
