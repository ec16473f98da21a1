"""Checks counted by group of workers, against asking every worker by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from scheduler.core import rule
from scheduler.core.checklist import CHECKED, why_not_asked
from scheduler.core.decision import Verdict
from scheduler.core.edits import with_placement, with_resources, with_runtime, without_devices
from scheduler.core.evaluation import compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.grouping import MOST_COLUMNS
from scheduler.core.matrix import Matrix, Row, matrix
from scheduler.core.reasons import Code, Kind
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec, QueueEntry
from tests.core.builders import GB, a_job, a_worker, an_environment, devices
from tests.core.demanding import crowded_fleets, demanding_jobs

Workers = tuple[WorkerView, ...]
laws = settings(max_examples=150, deadline=None)
GROUPINGS = ("gpu", "tier", "torch", "worker", "label:zone")


def row_of(found: Matrix, code: Code, subject: str | None = None) -> Row:
    (row,) = [row for row in found.rows if row.code is code and row.subject == subject]
    return row


@laws
@given(demanding_jobs, crowded_fleets)
def test_every_row_adds_up_to_its_groups_and_the_groups_to_the_fleet(job: QueueEntry, fleet: Workers) -> None:
    scene = Scene(job, fleet)
    for grouping in GROUPINGS:
        found = matrix(scene, grouping=grouping)
        sizes = [size for _, size in found.columns]
        assert sum(sizes) == len(fleet)
        for row in found.rows:
            for cell, size in zip((row.total, *row.cells), (len(fleet), *sizes), strict=True):
                counts = (cell.passed, cell.failed, cell.unknown, cell.not_asked)
                assert min(counts) >= 0
                assert sum(counts) == size
            assert sum(cell.failed for cell in row.cells) == row.total.failed
            assert sum(cell.unknown for cell in row.cells) == row.total.unknown


@laws
@given(demanding_jobs, crowded_fleets)
def test_each_count_is_that_of_asking_every_worker(job: QueueEntry, fleet: Workers) -> None:
    found = matrix(Scene(job, fleet))
    candidates = rule.decide(job, fleet).candidates
    shown = {row.code for row in found.rows}
    for code in CHECKED:
        failing = [[reason for reason in one.reasons if reason.code is code] for one in candidates]
        if code not in shown:
            assert not any(failing)
        for row in found.rows:
            if row.code is code and row.subject is None:
                failed = {one for one, said in enumerate(failing) if said}
                unknown = {one for one, said in enumerate(failing) if any(reason.unknown for reason in said)}
                codes = [frozenset(reason.code for reason in one.reasons) for one in candidates]
                assert row.total.failed + row.total.unknown == len(failed)
                assert row.total.unknown == len(unknown)
                assert row.total.not_asked == sum(
                    bool(why_not_asked(code, job, said)) for one, said in enumerate(codes) if one not in failed
                )
    assert sum(found.fit) == sum(one.verdict is not Verdict.INCOMPATIBLE for one in candidates)
    assert sum(found.free) == sum(not one.reasons for one in candidates)


DROPPED = {
    Code.PROVIDER: lambda spec: with_placement(spec, provider=None),
    Code.REGION: lambda spec: with_placement(spec, region=None),
    Code.NOT_PINNED: lambda spec: with_placement(spec, worker_ids=()),
    Code.OS: lambda spec: with_resources(spec, os=None),
    Code.ARCH: lambda spec: with_resources(spec, arch=None),
    Code.CPU_CORES: lambda spec: with_resources(spec, cpu_millicores=None),
    Code.MEMORY: lambda spec: with_resources(spec, memory_bytes=None),
    Code.DISK: lambda spec: with_resources(spec, disk_bytes=None),
    Code.PYTHON: lambda spec: with_runtime(spec, python=None),
    Code.GPU_COUNT: without_devices,
    Code.GPU_ACCELERATOR: lambda spec: with_resources(spec, accelerator=None),
    Code.GPU_MODEL: lambda spec: with_resources(spec, gpu_models=()),
    Code.GPU_MEMORY: lambda spec: with_resources(spec, gpu_memory_bytes=None),
    Code.GPU_MEMORY_KIND: lambda spec: with_resources(spec, gpu_memory_kind=None),
    Code.GPU_COMPUTE_CAPABILITY: lambda spec: with_resources(spec, compute_capability=None),
}


@laws
@given(demanding_jobs, crowded_fleets)
def test_the_only_blocker_is_what_alone_keeps_a_worker_out(job: QueueEntry, fleet: Workers) -> None:
    for row in matrix(Scene(job, fleet)).rows:
        if row.code in DROPPED:
            edited: JobSpec = DROPPED[row.code](job.spec)
            gained = [view for view in fleet if _fits(view, job, edited) and not _fits(view, job, job.spec)]
            if row.code is Code.GPU_COUNT:
                gained = [view for view in gained if row.code in _codes(view, job)]
            assert row.only_blocker == len(gained), row.code
        elif row.code.kind is Kind.AVAILABILITY:
            alone = [one for one in rule.decide(job, fleet).candidates if {r.code for r in one.reasons} == {row.code}]
            assert row.only_blocker == len(alone)


def _codes(view: WorkerView, job: QueueEntry) -> set[Code]:
    return {reason.code for reason in compatibility_reasons(job, view)}


def _fits(view: WorkerView, job: QueueEntry, spec: JobSpec) -> bool:
    return not compatibility_reasons(replace(job, spec=spec), view)


FLEET = (
    a_worker("a", gpus="2xA100"),
    a_worker("b", gpus="2xA100", labels={"zone": "b"}, memory_bytes=None),
    a_worker("c", gpus="T4", labels={"zone": "a"}, environment=an_environment("2.4.1")),
    a_worker("d", gpus=None, origin="remote"),
)


def test_groups_are_named_and_the_largest_comes_first() -> None:
    scene = Scene(a_job(), FLEET)
    assert matrix(scene).columns == (("2 × NVIDIA A100-SXM4-80GB", 2), ("1 × Tesla T4", 1), ("GPUs unknown", 1))
    assert matrix(scene, grouping="tier").columns == (("local", 3), ("remote", 1))
    assert matrix(scene, grouping="torch").columns == (("2.6.0+cu124", 3), ("2.4.1", 1))
    assert matrix(scene, grouping="label:zone").columns == (("no zone", 2), ("zone=a", 1), ("zone=b", 1))
    assert matrix(scene, grouping="worker").columns == (("a", 1), ("b", 1), ("c", 1), ("d", 1))
    assert matrix(scene, within=scene.ranked(["a", "c"])).columns == (
        ("1 × Tesla T4", 1), ("2 × NVIDIA A100-SXM4-80GB", 1)
    )  # fmt: skip


def test_labels_and_frameworks_have_a_row_each() -> None:
    job = a_job(labels={"zone": "a", "rack": "7"}, frameworks={"torch": ">=2.5", "jax": ""}, memory=GB)
    found = matrix(Scene(job, FLEET), grouping="worker")
    assert [row.label for row in found.rows if row.code in (Code.LABEL, Code.FRAMEWORK, Code.MEMORY)] == [
        "label rack=7", "label zone=a", "RAM ≥ 1 GB", "jax any version", "torch >=2.5",
    ]  # fmt: skip
    assert [cell.failed for cell in row_of(found, Code.LABEL, "zone").cells] == [1, 1, 0, 1]
    assert [cell.failed for cell in row_of(found, Code.FRAMEWORK, "torch").cells] == [0, 0, 1, 0]
    memory = row_of(found, Code.MEMORY)
    assert (memory.total.failed, memory.total.unknown, memory.cells[1].unknown) == (0, 1, 1)


def test_a_large_fleet_has_a_dozen_columns_and_the_rest_together() -> None:
    fleet = tuple(a_worker(f"w{number:02}", gpus=f"{number}xT4") for number in range(1, 21))
    columns = matrix(Scene(a_job(), fleet)).columns
    assert len(columns) == MOST_COLUMNS
    assert columns[-1] == ("9 others", 9)


def test_what_is_asked_of_nobody_has_no_row_and_an_empty_fleet_no_rows() -> None:
    codes = {row.code for row in matrix(Scene(a_job(), FLEET)).rows}
    assert Code.GPU_MEMORY not in codes
    assert Code.PROVIDER not in codes
    assert matrix(Scene(a_job(gpus=1), ())).rows == ()


def test_an_unknown_grouping_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="known are gpu, tier, torch, worker and label:KEY"):
        matrix(Scene(a_job(), FLEET), grouping="colour")


def test_devices_of_several_models_are_one_group() -> None:
    fleet = (a_worker("a", gpus=devices("A100+2xT4")), a_worker("b", gpus=()))
    assert matrix(Scene(a_job(), fleet)).columns == (("1 × NVIDIA A100-SXM4-80GB + 2 × Tesla T4", 1), ("no GPU", 1))
