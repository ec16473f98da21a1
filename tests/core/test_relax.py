"""What a job could ask for instead: each requirement, as data and as a sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.core.codec import job_to_document
from scheduler.core.relax import Relaxations, relaxations
from scheduler.core.relax_gang import gang_versions
from scheduler.core.scene import Scene
from scheduler.core.spec import MemoryKind, QueueEntry
from scheduler.core.why_words import gang_sentence, relaxation_sentence, relaxations_lead
from scheduler.core.widening import nearest_first, widened
from tests.core.builders import GB, a_job, a_worker, an_environment, devices

CUDA_24 = a_worker("w24", gpus="2xL4", memory_bytes=64 * GB)
BUSY_80 = a_worker("w80", gpus="4xA100", busy=[0, 1])
FAR = a_worker("far", gpus="8xH100", origin="remote", labels={"zone": "b"}, environment=an_environment("2.4.1"))
FLEET = (CUDA_24, BUSY_80, FAR)


def sentences(job: QueueEntry, fleet: tuple[object, ...] = FLEET) -> list[str]:
    found = relaxations(Scene(job, fleet))  # type: ignore[arg-type]
    return [relaxation_sentence(edit) for edit in (*found.alone, *found.together)]


@pytest.mark.parametrize(("job", "said"), [
    pytest.param(a_job(gpus=3), [
        "fallback targets none → remote: +1 worker, 1 of them free now; starts now",
        "GPUs 3 → 2: +1 worker, 1 of them free now; 1 that fits already is free for it; starts now",
    ], id="fewer GPUs free a worker that fits"),
    pytest.param(a_job(gpus=2, gpu_memory=100 * GB), [
        "GPU memory 100 GB → 85 GB: +1 worker, 1 of them free now; starts now",
    ], id="the nearest memory, in whole gigabytes"),
    pytest.param(a_job(gpus=1, gpu_memory=100 * GB, memory=600 * GB), [
        "RAM 600 GB → 512 GB and GPU memory 100 GB → 85 GB: +1 worker, 1 of them free now; starts now",
    ], id="two together"),
    pytest.param(a_job(gpus=1, models=("NVIDIA B200",)), [
        "GPU model NVIDIA B200 → NVIDIA B200, NVIDIA A100-SXM4-80GB: +1 worker, 1 of them free now; starts now",
    ], id="a model that there is"),
    pytest.param(a_job(gpus=5, capability=">=9.0"), [
        "fallback targets none → remote: +1 worker, 1 of them free now; starts now",
    ], id="elsewhere"),
    pytest.param(a_job(gpus=1, capability=">=10.0"), [
        "compute capability ≥ 10.0 → ≥ 8.9: +1 worker, 1 of them free now; starts now",
    ], id="a lower capability"),
    pytest.param(a_job(gpus=1, memory_kind=MemoryKind.UNIFIED), [
        "GPU memory kind unified → any: +2 workers, 2 of them free now; starts now",
    ], id="any kind of memory"),
    pytest.param(a_job(cores=65_000), ["CPU cores 65 → 64: +2 workers, 2 of them free now; starts now"], id="cores"),
    pytest.param(a_job(labels={"zone": "b"}), [
        "fallback targets none → remote: +1 worker, 1 of them free now; starts now",
        "label zone b → any: +2 workers, 2 of them free now; starts now",
    ], id="a label"),
    pytest.param(a_job(workers=["w81"]), [
        "pinned workers w81 → w81, w80: +1 worker, 1 of them free now; starts now",
    ], id="a pin that was misspelt"),
    pytest.param(a_job(python=">=3.12"), [
        "Python >=3.12 → >=3.11.9: +2 workers, 2 of them free now; starts now",
    ], id="an older Python"),
    pytest.param(a_job(target="remote", frameworks={"torch": ">=2.5"}), [
        "fallback targets none → local: +2 workers, 2 of them free now; starts now",
        "torch >=2.5 → >=2.4.1: +1 worker, 1 of them free now; starts now",
    ], id="an older torch"),
    pytest.param(a_job(os="macos"), ["OS macos → any: +2 workers, 2 of them free now; starts now"], id="any system"),
    pytest.param(a_job(gpus=1, capability=">=9.0", fallback=["remote"], fallback_when="incompatible"), [
        "compute capability ≥ 9.0 → ≥ 8.9: +1 worker, 1 of them free now; starts now",
    ], id="a placed job too"),
    pytest.param(a_job(gpus=3, fallback=["remote"], fallback_when="incompatible"), [
        "fallback_when incompatible → unavailable: 1 that fits already is free for it; starts now",
        "GPUs 3 → 2: +1 worker, 1 of them free now; 1 that fits already is free for it; starts now",
    ], id="a closed target"),
])  # fmt: skip
def test_each_requirement_in_a_sentence(job: QueueEntry, said: list[str]) -> None:
    assert sentences(job) == said


def test_the_edited_job_is_whole_and_otherwise_the_same() -> None:
    job = a_job(gpus=2, gpu_memory=100 * GB, labels={"zone": "a"})
    fleet = (a_worker("w", gpus="2xL4", labels={"zone": "a"}),)
    (edit,) = relaxations(Scene(job, fleet)).alone
    assert edit.spec == replace(job.spec, resources=replace(job.spec.resources, gpu_memory_bytes=24 * GB))
    assert job_to_document(edit.spec)["resources"] == {"gpus": 2, "gpu_memory_gb": 24}
    assert (edit.changes[0].field, edit.examples) == ("resources.gpu_memory_gb", ("w",))


def test_the_nearest_that_gains_and_the_nearest_that_starts_are_told_apart() -> None:
    fleet = (a_worker("w40", gpus=devices("A100", memory_bytes=40 * GB), busy=[0]), a_worker("w16", gpus="T4"))
    assert sentences(a_job(gpus=1, gpu_memory=80 * GB), fleet) == [
        "GPU memory 80 GB → 40 GB: +1 worker, 0 of them free now; fits, and waits",
        "GPU memory 80 GB → 16 GB: +2 workers, 1 of them free now; starts now",
    ]


def test_an_amount_that_other_tasks_took_is_asked_less_of() -> None:
    from scheduler.core.fleet import TaskLoad

    held = (TaskLoad(job_id="j-9", memory_bytes=400 * GB),)
    fleet = (a_worker("w1", gpus="2xA100", tasks=held),)
    assert sentences(a_job(memory=200 * GB), fleet) == [
        "RAM 200 GB → 112 GB: 1 that fits already is free for it; starts now",
    ]


def test_what_no_edit_can_change_is_not_offered() -> None:
    fleet = (a_worker("w1", reserved_for="team:vision"), a_worker("w2", gpus=(), memory_bytes=None))
    found = relaxations(Scene(a_job(gpus=1), fleet))
    assert found == Relaxations((), (), searched=True, complete=True)
    assert relaxations_lead(found) == "no single change is enough, and no two or three together"


def test_four_at_once_are_not_searched() -> None:
    job = a_job(os="macos", arch="arm64", cores=99_000, disk=9000 * GB)
    found = relaxations(Scene(job, (a_worker(),)))
    assert (found.alone, found.together, found.complete) == ((), (), True)


def test_three_at_once_are() -> None:
    found = relaxations(Scene(a_job(os="macos", arch="arm64", cores=99_000), (a_worker(),)))
    assert [relaxation_sentence(edit) for edit in found.together] == [
        "OS macos → any, CPU architecture arm64 → any and CPU cores 99 → 64: +1 worker, 1 of them free now; starts now"
    ]
    assert relaxations_lead(found) == "no single change is enough; 3 changes together are the fewest that are"


GANG = (
    a_worker("a"),
    a_worker("b"),
    a_worker("c", busy=[0]),
    a_worker("d", environment=an_environment("2.5.1+cu124")),
)  # fmt: skip


def test_a_gang_that_waits_needs_fewer_workers_or_another_torch() -> None:
    scene = Scene(a_job(gang=3, gpus=1), GANG)
    assert [relaxation_sentence(edit) for edit in relaxations(scene).alone] == ["workers 3 → 2: starts now"]
    enough, too_few = (gang_sentence(version) for version in gang_versions(scene))
    there, change = enough.split("; with this torch on ")
    assert there == "torch 2.6.0+cu124 in local: 2 of 3 free; 3 fit; waits for 1 more"
    assert change == "d (now 2.5.1+cu124) it would start"
    there, change = too_few.split("; with this torch on ")
    assert there == "torch 2.5.1+cu124 in local: 1 of 3 free; 1 fits; never: only 1 worker of this version"
    assert change == "a (now 2.6.0+cu124) and b (now 2.6.0+cu124) it would start"


def test_a_worker_without_torch_could_get_it() -> None:
    fleet = (a_worker("a"), a_worker("b", environment=an_environment(None)))
    (version,) = gang_versions(Scene(a_job(gang=2, gpus=1), fleet))
    assert gang_sentence(version).endswith("; with this torch on b (now none known) it would start")


def test_a_gang_that_never_fits_says_how_it_would() -> None:
    scene = Scene(a_job(gang=4, gpus=1), GANG)
    assert [relaxation_sentence(edit) for edit in relaxations(scene).alone] == [
        "workers 4 → 3: fits, and waits",
        "workers 4 → 2: starts now",
    ]
    assert gang_versions(scene)[0].change is not None
    assert gang_versions(Scene(a_job(), GANG)) == ()


@pytest.mark.parametrize(("specifier", "version", "wider"), [
    (">=2.6", "2.5.1+cu121", ">=2.5.1"), (">2.6", "2.6", ">=2.6"), (">=2.5,<3", "3.1", "<=3.1,>=2.5"),
    (">=2.5,<3", "2.4", "<3,>=2.4"), ("==2.6.*", "2.5", ">=2.5,<2.7"), ("==2.6.*", "2.8.1", ">=2.6.dev0,<=2.8.1"),
    ("==2.6.0", "2.5.1", ">=2.5.1,<=2.6.0"), ("==2.6.0+cu126", "2.6.0+cu124", ">=2.6.0,<=2.6.0"),
    ("~=2.5.1", "2.4", ">=2.4,<2.6"), ("~=2.5.1", "2.7", ">=2.5.1,<=2.7"), ("!=2.6.0,>=2", "2.6.0", ">=2"),
    ("===odd", "2.6.0", None), (">=2", "nonsense", None), (">=2.6", "2.6.0a0+nv25.1", ">=2.6.0a0"),
])  # fmt: skip
def test_a_specifier_is_widened_as_little_as_it_takes(specifier: str, version: str, wider: str | None) -> None:
    assert widened(specifier, version) == wider


def test_versions_near_a_specifier_come_first() -> None:
    there = ["2.1", "2.4", "3.0", "2.6", "4.0", "nonsense"]
    assert nearest_first(">=2.5,<3", there) == ["2.4", "3.0", "2.1", "4.0"]
