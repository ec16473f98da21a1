"""Labels, drains, limits and notices from the command line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from tests.cli.conftest import Commands
from tests.factories import a_job, a_pass
from workers.models import Label, Notice, Worker

pytestmark = pytest.mark.django_db(transaction=True)


def test_labels_are_set_listed_and_taken_off(cli: Commands, a_machine: Callable[..., Worker]) -> None:
    for name in ("gpu-07", "gpu-08"):
        a_machine(name, labels={"zone": "a"})
    assert cli("worker", "label", "gpu-07", "gpu-08", "zone=b").stdout == "changed: gpu-07, gpu-08\n"
    assert cli("worker", "label", "gpu-07", "zone=b").stdout == "nothing to change: they have these labels already\n"
    assert "zone=b  (set by admin; the agent says a)" in cli("worker", "label", "gpu-07").stdout
    assert cli("worker", "label", "gpu-07", "zone-").exit_code == 0
    assert "zone=a  (the agent's)" in cli("worker", "label", "gpu-07").stdout


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["zone=b"], 2, "name a worker"),
        (["gpu-07", "zone=b", "zone=c"], 2, '"zone" twice'),
        (["gpu-07", "gpulayer.dev/x=1"], 2, "belong to the system"),
        (["nobody", "zone=b"], 1, "no worker 'nobody'"),
    ],
)
def test_mistakes_in_labels(
    cli: Commands, a_machine: Callable[..., Worker], words: list[str], exit_code: int, said: str
) -> None:
    a_machine("gpu-07")
    result = cli("worker", "label", *words)
    assert (result.exit_code, said in result.stderr) == (exit_code, True), result.stderr
    assert not Label.objects.exists()


def test_a_dry_run_names_the_jobs_and_saves_nothing(cli: Commands, a_machine: Callable[..., Worker]) -> None:
    a_machine("gpu-07", labels={"zone": "a"})
    a_job()
    pinned = a_job(name="kernels", placement={"worker_labels": {"zone": "a"}})
    a_pass(timezone.now())
    result = cli("worker", "drain", "gpu-07", "--dry-run")
    assert result.stdout.startswith("Of 1 waiting job, 1 loses workers. 1 would have no worker left.\n")
    assert pinned.job_id in result.stdout
    assert "only gpu-07 can run it" in result.stdout
    assert cli.json("worker", "label", "gpu-07", "zone=b", "--dry-run")["counts"] == {"never_fits": 1}
    assert cli("worker", "limits", "gpu-07", "--tasks", "0", "--dry-run").exit_code == 0
    assert cli("worker", "retire", "gpu-07", "--dry-run").exit_code == 0
    worker = Worker.objects.get()
    assert (worker.intent, worker.limits, Label.objects.filter(source="operator").count()) == ("active", {}, 0)


def test_a_drain_with_a_deadline(cli: Commands, a_machine: Callable[..., Worker]) -> None:
    a_machine("gpu-07")
    assert "--stop needs --until" in cli("worker", "drain", "gpu-07", "--stop").stderr
    assert "found “soon”" in cli("worker", "drain", "gpu-07", "--until", "soon").stderr
    result = cli("worker", "drain", "gpu-07", "--reason", "fans", "--until", "2100-01-01T18:00+01:00", "--stop")
    assert "is stopped" in result.stdout
    worker = Worker.objects.get()
    assert worker.drain_deadline is not None
    assert (worker.intent_note, worker.drain_stops, worker.drain_deadline.isoformat()) == (
        "fans", True, "2100-01-01T17:00:00+00:00",
    )  # fmt: skip


def test_limits(cli: Commands, a_machine: Callable[..., Worker]) -> None:
    a_machine("gpu-07")
    set_by = cli("worker", "limits", "gpu-07", "--tasks", "4", "--foreign", "2GB").stdout
    assert "max_concurrent_tasks: 4  (set by an operator; the agent says one per usable GPU, at least 1)" in set_by
    assert Worker.objects.get().limits == {"max_concurrent_tasks": 4, "foreign_allowance_bytes": 2 * 10**9}
    cli("worker", "limits", "gpu-07", "--tasks", "agent")
    assert Worker.objects.get().limits == {"foreign_allowance_bytes": 2 * 10**9}
    assert "is no size" in cli("worker", "limits", "gpu-07", "--foreign", "much").stderr


def test_notices(cli: Commands) -> None:
    assert cli("notice", "list").stdout == "no notices\n"
    assert cli("notice", "add", "Power cut at 18:00", "--warning", "--until", "23:59").exit_code == 0
    row = Notice.objects.get()
    assert (row.level, row.ends_at is not None) == ("warning", True)
    assert "Power cut" in cli("notice", "list").stdout
    assert cli("notice", "end", row.pk).stdout == f"notice {row.pk} is down\n"
    assert cli.json("notice", "list") == []


def test_many_are_drained_and_undrained_or_none(cli: Commands, a_machine: Callable[..., Worker]) -> None:
    for name in ("gpu-07", "gpu-08"):
        a_machine(name)
    assert cli("worker", "drain", "gpu-07", "nobody").exit_code == 1
    assert set(Worker.objects.values_list("intent", flat=True)) == {"active"}
    done = cli("worker", "drain", "gpu-07", "gpu-08", "--reason", "move")
    assert done.stdout == "gpu-07, gpu-08 are draining: they get no more work\n"
    assert cli.json("worker", "undrain", "gpu-07", "gpu-08") == {"changed": ["gpu-07", "gpu-08"]}
