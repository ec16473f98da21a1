"""Where jobs go by the support matrix: devices without code are not picked, what is newer passes and is noted."""

from __future__ import annotations

import pytest

from scheduler.core.codec import decision_from_document, decision_to_document
from scheduler.core.evaluation import compatibility_reasons
from scheduler.core.explain import sentence
from scheduler.core.fleet import TorchBuild, WorkerView
from scheduler.core.reasons import Code, Matter
from scheduler.core.spec import Accelerator, QueueEntry
from tests.core.builders import GB, a_job, a_worker, an_environment, devices, with_device
from tests.core.conftest import Decide

TORCH = {"torch": ""}
JOB = a_job(gpus=1, frameworks=TORCH)
OLD_AND_NEW = with_device(with_device(devices("3x4090"), 0, compute_capability="12.0"), 2, compute_capability="12.0")
TWO_MAKERS = devices("MI300+4090")


def placed_on(decide: Decide, job: QueueEntry, *workers: WorkerView) -> list[tuple[str, tuple[int, ...]]]:
    return [(place.worker, place.devices) for place in decide(job, workers).assignments]


def test_a_worker_whose_build_has_no_code_is_passed_over(decide: Decide) -> None:
    new = a_worker("w1", gpus=devices("4090", compute_capability="12.0"), environment=an_environment("2.5.1+cu124"))
    assert placed_on(decide, JOB, new, a_worker("w2")) == [("w2", (0,))]


def test_a_device_without_code_is_not_picked(decide: Decide) -> None:
    worker = a_worker(gpus=OLD_AND_NEW, environment=an_environment("2.6.0+cu124"))
    assert placed_on(decide, JOB, worker) == [("w1", (1,))]
    assert placed_on(decide, a_job(gpus=1), worker) == [("w1", (0,))]


def test_nor_does_a_busy_device_with_code_give_way_to_one_without(decide: Decide) -> None:
    worker = a_worker(gpus=OLD_AND_NEW, environment=an_environment("2.6.0+cu124"), busy=[1], max_concurrent_tasks=4)
    (candidate,) = decide(JOB, [worker]).candidates
    assert [(reason.code, reason.devices) for reason in candidate.reasons] == [(Code.GPU_IN_USE, (1,))]


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        pytest.param("2.6.0+cu124", [("w1", (1,))], id="a CUDA build gets the CUDA device"),
        pytest.param("2.6.0+rocm6.2.4", [("w1", (0,))], id="a ROCm build gets the ROCm device"),
        pytest.param("2.6.0+cpu", [], id="a CPU build gets none"),
    ],
)
def test_the_build_settles_the_kind(decide: Decide, torch: str, expected: list[object]) -> None:
    assert placed_on(decide, JOB, a_worker(gpus=TWO_MAKERS, environment=an_environment(torch))) == expected


def test_requirements_met_by_different_devices_are_not_met_together(decide: Decide) -> None:
    cards = with_device(devices("4090+H100"), 1, compute_capability="12.0")
    worker = a_worker(gpus=cards, environment=an_environment("2.6.0+cu124"))
    (candidate,) = decide(a_job(gpus=1, gpu_memory=40 * GB, frameworks=TORCH), [worker]).candidates
    (reason,) = candidate.reasons
    assert (reason.code, reason.subject) == (Code.GPU_COMBINATION, "torch 2.6.0+cu124")
    assert sentence(reason).endswith("; those without kernels of torch 2.6.0+cu124 do not count")


def test_two_kinds_with_too_few_of_each_are_one_matter_of_combination(decide: Decide) -> None:
    worker = a_worker(gpus=TWO_MAKERS, environment=an_environment("2.6.0+rocm6.2.4"))
    (candidate,) = decide(a_job(gpus=2, frameworks=TORCH), [worker]).candidates
    assert [reason.code for reason in candidate.reasons] == [Code.GPU_COMBINATION]


def test_where_no_kind_has_enough_with_code_it_is_the_kind_that_would_do_without() -> None:
    worker = a_worker(gpus=devices("4090+2xMI300"), environment=an_environment("2.6.0+cu124"))
    (reason,) = compatibility_reasons(a_job(gpus=2, frameworks=TORCH), worker)
    assert (reason.matter, reason.required, reason.actual) == (Matter.BUILD, "rocm", "cuda")


def test_a_gang_is_placed_only_where_its_torch_has_code(decide: Decide) -> None:
    inside = an_environment("2.6.0+cu124")
    new = a_worker("w1", gpus=devices("4090", compute_capability="12.0"), environment=inside)
    fleet = [new, a_worker("w2", environment=inside), a_worker("w3", environment=inside)]
    assert placed_on(decide, a_job(gang=2, gpus=1), *fleet) == [("w2", (0,)), ("w3", (0,))]
    assert decide(a_job(gang=3, gpus=1), fleet).group_reasons[0].code is Code.GANG_TOO_FEW


def test_a_driver_tells_workers_of_the_same_devices_apart(decide: Decide) -> None:
    inside = an_environment("2.11.0+cu130")
    fleet = [a_worker(f"w{n}", environment=inside, driver=driver) for n, driver in enumerate(("570.1", "580.95.05"))]
    assert placed_on(decide, JOB, *fleet) == [("w1", (0,))]


NEWER = [
    pytest.param("3.1.0+cu124", {}, "8.0", ["torch 3.1"], id="a framework"),
    pytest.param("2.15.0+cu130", {"driver": "580.95.05"}, "8.0", ["torch 2.15"], id="the next release"),
    pytest.param("2.14.0+cu140", {}, "8.0", ["CUDA 14.0"], id="a CUDA, of which no driver is known either"),
    pytest.param("2.14.0+cu134", {"driver": "610.43.02"}, "8.0", ["CUDA 13.4"], id="a CUDA of a known major"),
    pytest.param("2.7.0+cu128", {}, "13.0", ["compute capability 13.0"], id="a capability"),
    pytest.param("2.7.0+cu128", {"python": "3.99.1"}, "8.0", ["Python 3.99"], id="a Python"),
    pytest.param(
        "3.1.0+cu150", {"python": "3.99.1"}, "15.0", ["CUDA 15.0", "torch 3.1"], id="several, each once"
    ),
    pytest.param(
        "3.1.0", {"torch_build": TorchBuild(cuda="12.4", archs=("sm_80",))}, "8.0", ["torch 3.1"],
        id="a framework that says itself what it has code for",
    ),
    pytest.param("2.14.0+cu126", {}, "8.0", [], id="nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("torch", "facts", "capability", "newer"), NEWER)
def test_what_is_newer_than_the_table_passes_and_is_noted(
    decide: Decide, torch: str, facts: dict[str, object], capability: str, newer: list[str]
) -> None:
    inside = {name: facts[name] for name in ("python", "torch_build") if name in facts}
    worker = a_worker(
        gpus=devices("2xA100", compute_capability=capability),
        environment=an_environment(torch, **inside),  # type: ignore[arg-type]
        **{name: value for name, value in facts.items() if name == "driver"},
    )
    decision = decide(JOB, [worker, a_worker("w2", environment=an_environment("2.5.1+cu124"))])
    assert decision.assignments[0].worker == "w1"
    assert [(note.code, note.subject) for note in decision.notes] == [("newer_than_matrix", what) for what in newer]


def test_what_is_newer_is_noted_only_of_workers_that_could_run_the_job(decide: Decide) -> None:
    newer = a_worker(environment=an_environment("3.1.0+cu124"))
    assert decide(a_job(gpus=1, frameworks=TORCH, capability=">=9.0"), [newer]).notes == ()
    assert decide(a_job(gpus=1), [newer]).notes == ()
    assert len(decide(JOB, [newer, a_worker("w2", environment=an_environment("3.1.1+cu124"))]).notes) == 1


def test_a_reason_comes_back_from_its_document(decide: Decide) -> None:
    worker = a_worker(gpus="2xMI300", environment=an_environment("2.6.0+cu124"))
    decision = decide(JOB, [worker, a_worker("w2", environment=an_environment("2.6.0+cpu"))])
    document = decision_to_document(decision)
    assert decision_from_document(document) == decision
    reason = document["candidates"][1]["reasons"][0]
    assert (reason["matter"], reason["row"]) == ("build", "torch-cpu")


@pytest.mark.parametrize("accelerator", Accelerator)
def test_devices_of_every_kind_are_supported_somewhere(decide: Decide, accelerator: Accelerator) -> None:
    os, arch = ("macos", "arm64") if accelerator is Accelerator.MPS else ("linux", "x86_64")
    worker = a_worker(gpus=devices("T4", kind=accelerator), os=os, arch=arch)
    assert placed_on(decide, a_job(gpus=1, accelerator=accelerator), worker) == [("w1", (0,))]
