"""What `make bench` measures of pages are the real pages over real decisions."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.test import Client

from benchmarks import pages_asked, pages_timing
from benchmarks.pages_data import Size, make
from gpulayer_site.accounts.services import administrator
from scheduler.models import Decision, Job, JobState


@pytest.fixture
def made(db: None) -> Client:
    """A few of everything, and an administrator's browser."""
    make(Size(workers=40, over=30, running=20, waiting=6, reservations=4), seed=1)
    client = Client()
    client.force_login(administrator()[0])
    return client


def test_every_kind_of_request_is_answered(made: Client) -> None:
    answered = {
        asked.name: pages_timing.measured(made, asked).statuses for asked in pages_asked.everything(3)
    }  # fmt: skip
    unchanged = {name for name in answered if name.endswith("unchanged")}
    assert {name: set(answered[name]) for name in unchanged} == {name: {304} for name in unchanged}
    assert all(statuses == {200} for name, statuses in answered.items() if name not in unchanged), answered


def test_waiting_and_running_jobs_were_decided_by_passes(made: Client) -> None:
    assert Job.objects.filter(state=JobState.QUEUED, decision__outcome="waiting").exists()
    assert Job.objects.filter(state=JobState.RUNNING, decision__outcome="placed").exists()
    assert not Job.objects.filter(state=JobState.RUNNING, decision=None).exists()
    assert Decision.objects.filter(job__finished_at__isnull=False).exists()


@pytest.mark.soak
def test_it_runs_as_it_is_called() -> None:
    words = ("--quick", "--count", "2", "--pages", "10", "--seconds", "2")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pages", *words], check=False, capture_output=True, text=True, timeout=900
    )
    assert done.returncode in (0, 1), done.stderr  # 1: something was over its budget on this machine
    assert "10 pages left open" in done.stdout
