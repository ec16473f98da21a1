"""What works together: targets and capabilities, builds, platforms, Python, drivers; each with the way out."""

from __future__ import annotations

import pytest

from scheduler.core.builds import Build, build_in
from scheduler.core.evaluation import compatibility_reasons
from scheduler.core.explain import sentence
from scheduler.core.fleet import DeviceView, TorchBuild, WorkerView
from scheduler.core.kernels import Reach, reach, read_capability
from scheduler.core.reasons import Code
from scheduler.core.spec import Accelerator, QueueEntry
from tests.core.builders import a_job, a_worker, an_environment, devices

CUDA, ROCM, XPU, MPS = Accelerator
TORCH = {"torch": ""}
JOB = a_job(gpus=1, frameworks=TORCH)
UNKNOWN = "(an unknown value never satisfies a requirement)"


def host(torch: str | None, *cards: str | None, kind: Accelerator | None = CUDA, **facts: object) -> WorkerView:
    """A worker with that torch and a device of each capability."""
    inside = {name: facts.pop(name) for name in ("python", "torch_build") if name in facts}
    found = tuple(
        devices("A100", compute_capability=capability, kind=kind, index=index)[0]
        for index, capability in enumerate(cards)
    )
    return a_worker(gpus=found, environment=an_environment(torch, **inside), **facts)  # type: ignore[arg-type]


def said(worker: WorkerView, job: QueueEntry = JOB) -> list[str]:
    """The sentences of this check."""
    reasons = compatibility_reasons(job, worker)
    return [sentence(reason) for reason in reasons if reason.code is Code.SUPPORT_MATRIX]


@pytest.mark.parametrize(
    ("targets", "capability", "expected"),
    [
        pytest.param("sm_80", "8.0", Reach.NATIVE, id="code for the very chip"),
        pytest.param("sm_86", "8.9", Reach.NATIVE, id="code for an earlier one of the same major"),
        pytest.param("sm_100", "10.3", Reach.NATIVE, id="ten is a major like any other"),
        pytest.param("sm_86", "8.0", Reach.NOT_AT_ALL, id="code for a later one of the same major"),
        pytest.param("sm_90", "10.0", Reach.NOT_AT_ALL, id="code for an earlier major"),
        pytest.param("sm_120", "12.1", Reach.NATIVE, id="12.1 runs code for 12.0"),
        pytest.param("compute_90", "9.0", Reach.PTX, id="PTX for the very chip"),
        pytest.param("compute_90", "12.0", Reach.PTX, id="PTX goes upward across majors"),
        pytest.param("compute_90", "8.9", Reach.NOT_AT_ALL, id="PTX never goes downward"),
        pytest.param("compute_90 sm_90", "9.0", Reach.NATIVE, id="machine code goes before PTX"),
        pytest.param("sm_90a", "9.0", Reach.NATIVE, id="code of one chip alone, on it"),
        pytest.param("sm_90a", "9.1", Reach.NOT_AT_ALL, id="code of one chip alone, on a later one"),
        pytest.param("compute_90a", "10.0", Reach.NOT_AT_ALL, id="PTX of one chip alone, on a later one"),
        pytest.param("gfx942 gfx90a", "9.4", Reach.NOT_AT_ALL, id="AMD's targets are no CUDA code"),
        pytest.param("sm sm_ sm_x compute", "8.0", Reach.NOT_AT_ALL, id="what is no target is passed over"),
        pytest.param("", "8.0", Reach.NOT_AT_ALL, id="no code at all"),
    ],
)
def test_code_runs(targets: str, capability: str, expected: Reach) -> None:
    device = read_capability(capability)
    assert device
    assert reach(targets.split(), device) is expected


@pytest.mark.parametrize("text", ["", "8", "8.0.1", "sm_80", "-8.0", "8.x", "8.0 "])
def test_what_is_no_compute_capability(text: str) -> None:
    assert read_capability(text) is None


@pytest.mark.parametrize(
    ("version", "itself", "os", "expected"),
    [
        pytest.param("2.6.0+cu124", None, "linux", (True, CUDA, "12.4"), id="the tag of CUDA 12.4"),
        pytest.param("2.9.0+cu130", None, "linux", (True, CUDA, "13.0"), id="the tag of CUDA 13.0"),
        pytest.param("2.6.0+rocm6.2.4", None, "linux", (True, ROCM, "6.2.4"), id="the tag of ROCm"),
        pytest.param("2.6.0+xpu", None, "linux", (True, XPU, None), id="the tag of XPU"),
        pytest.param("2.6.0+cpu", None, "linux", (True, None, None), id="the tag of the CPU"),
        pytest.param("2.6.0+cpu.cxx11.abi", None, "linux", (True, None, None), id="a tag with more behind it"),
        pytest.param("2.6.0", None, "linux", (False, None, None), id="no tag says nothing"),
        pytest.param("2.6.0a0+df5bbc09d1.nv24.12", None, "linux", (False, None, None), id="a vendor's own tag"),
        pytest.param("2.6.0+cu12", None, "linux", (False, None, None), id="half a tag"),
        pytest.param("2.6.0", None, "Darwin", (True, MPS, None), id="on a Mac there is one build only"),
        pytest.param("2.6.0+cu124", TorchBuild(cuda="12.6"), "linux", (True, CUDA, "12.6"), id="itself before its tag"),
        pytest.param("2.6.0+cu124", TorchBuild(hip="6.2.41133-dd7f95766"), "linux", (True, ROCM, "6.2"), id="HIP"),
        pytest.param("2.6.0+cu124", TorchBuild(), "linux", (True, None, None), id="neither CUDA nor HIP is the CPU"),
        pytest.param("2.6.0", TorchBuild(), "macos", (True, MPS, None), id="or MPS on a Mac"),
        pytest.param("2.6.0+xpu", TorchBuild(), "linux", (True, XPU, None), id="or XPU by its tag"),
        pytest.param("2.6.0", TorchBuild(archs=("sm_80",)), "linux", (True, CUDA, None), id="CUDA by its targets"),
        pytest.param("2.6.0", TorchBuild(archs=("gfx942",)), "linux", (True, ROCM, None), id="ROCm by its targets"),
        pytest.param("2.6.0", TorchBuild(cuda="twelve"), "linux", (True, CUDA, None), id="a CUDA that is no version"),
    ],
)
def test_a_build_is(
    version: str, itself: TorchBuild | None, os: str, expected: tuple[bool, Accelerator | None, str | None]
) -> None:
    build = build_in(an_environment(version, torch_build=itself), "torch", os)
    assert build is not None
    assert (build.known, build.serves, build.toolkit) == expected


@pytest.mark.parametrize("torch", [None, "nonsense", ""])
def test_what_is_missing_or_no_version_is_no_build(torch: str | None) -> None:
    assert build_in(an_environment(torch), "torch", "linux") is None


def test_only_torch_says_how_torch_was_built() -> None:
    inside = an_environment(frameworks=(("jax", "0.6.0"),), torch_build=TorchBuild(cuda="12.4"))
    assert build_in(inside, "jax", "linux") == Build("jax", "0.6.0")


FITS = [
    pytest.param(host("2.6.0+cu124", "8.0"), id="the usual"),
    pytest.param(host("2.6.0+cu124", "8.9"), id="Ada runs the code of 8.6"),
    pytest.param(host("2.8.0+cu128", "10.3", driver="570.26"), id="10.3 runs the code of 10.0"),
    pytest.param(host("2.2.2+cu118", "3.7", python="3.9.18"), id="an old card with an old build"),
    pytest.param(host("2.8.0+cu128", "7.0"), id="Volta, put back in 2.8"),
    pytest.param(host("2.14.0+cu126", "6.0"), id="Pascal with the last CUDA that has it"),
    pytest.param(host("2.6.0+cu124", "8.0", driver="525.60.13"), id="a driver older than the toolkit, of its major"),
    pytest.param(host("2.6.0+cu118", "8.0", driver="450.80.02"), id="the floor of CUDA 11"),
    pytest.param(host("2.6.0+cu118", "8.0", driver="610.43.02"), id="a newer driver runs an older CUDA"),
    pytest.param(host("2.11.0+cu130", "9.0", driver="580.65.06"), id="the floor of CUDA 13"),
    pytest.param(host("2.6.0+cu124", "8.6", os="Windows", arch="AMD64", driver="551.61"), id="Windows"),
    pytest.param(host("2.11.0+cu130", "9.0", arch="aarch64", driver="580.65.06"), id="an Arm host"),
    pytest.param(host("2.11.0+cu130", "11.0", arch="arm64", driver="580.65.06"), id="a chip that only Arm hosts have"),
    pytest.param(host("2.5.1+cu124", "8.0", python="3.13.1"), id="an experimental Python is supported too"),
    pytest.param(host("2.9.0+cu130", "12.1", driver="580.65.06"), id="12.1 runs the code of 12.0"),
    pytest.param(
        host("2.5.1", "12.0", torch_build=TorchBuild(cuda="12.4", archs=("sm_90", "sm_120"))),
        id="what torch says it has code for goes before the table",
    ),
    pytest.param(
        host("2.7.0", "8.7", arch="arm64", torch_build=TorchBuild(cuda="12.6", archs=("sm_87",))),
        id="a vendor's own build",
    ),
    pytest.param(
        host("2.6.0a0+df5bbc09d1.nv24.12", "9.0", torch_build=TorchBuild(cuda="12.6", archs=("sm_80", "sm_90"))),
        id="a vendor's pre-release",
    ),
    pytest.param(
        host("2.8.0", "14.0", torch_build=TorchBuild(cuda="12.9", archs=("compute_120",)), driver="575.51.03"),
        id="PTX on a later chip, with a driver that can compile it",
    ),
    pytest.param(host("2.6.0+rocm6.2.4", None, kind=ROCM), id="ROCm"),
    pytest.param(host("2.6.0", None, kind=ROCM, torch_build=TorchBuild(hip="6.2")), id="ROCm of which HIP is known"),
    pytest.param(host("2.6.0+rocm6.2.4", "9.4", kind=ROCM, driver=None), id="ROCm needs no driver of NVIDIA's"),
    pytest.param(host("2.6.0+xpu", None, kind=XPU, os="windows"), id="XPU on Windows"),
    pytest.param(host("2.14.0", None, kind=MPS, os="Darwin", arch="arm64", driver=None), id="MPS on Apple's chips"),
    pytest.param(host("2.2.2", None, kind=MPS, os="macos", arch="x86_64", driver=None), id="MPS on the last for Intel"),
    pytest.param(host(None, "8.0"), id="a framework that is missing has its own reason"),
    pytest.param(host("nonsense", "8.0"), id="a version that is none has its own reason"),
    pytest.param(host("2.6.0+cpu"), id="no devices have their own reason"),
]


@pytest.mark.parametrize("worker", FITS)
def test_it_fits(worker: WorkerView) -> None:
    assert said(worker) == []


NOT = [
    pytest.param(
        host("2.5.1+cu124", "12.0"),
        "torch 2.5.1+cu124 has no kernels for compute capability 12.0; 2.7 with CUDA 12.8 or later does",
        id="a card that is newer than the build",
    ),
    pytest.param(
        host("2.6.0", "12.0", torch_build=TorchBuild(cuda="12.4", archs=("sm_80", "sm_90"))),
        "torch 2.6.0 (CUDA 12.4) has no kernels for compute capability 12.0; 2.7 with CUDA 12.8 or later does",
        id="by what torch says itself",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", torch_build=TorchBuild(cuda="12.4", archs=("sm_86", "sm_90"))),
        "torch 2.6.0+cu124 has no kernels for compute capability 8.0; 2.6 with CUDA 12.4 or later does",
        id="itself before the table, also where the table has more",
    ),
    pytest.param(
        host("2.6.0", "14.0", torch_build=TorchBuild(cuda="12.4", archs=("sm_90",))),
        "torch 2.6.0 (CUDA 12.4) has no kernels for compute capability 14.0",
        id="a card newer than the table is not excused by it where torch says what it has",
    ),
    pytest.param(
        host("2.7.0+cu128", "7.0"),
        "torch 2.7.0+cu128 has no kernels for compute capability 7.0; 2.7 with CUDA 12.6 does",
        id="an older CUDA of the same release",
    ),
    pytest.param(
        host("2.11.0+cu130", "7.0", driver="580.65.06"),
        "torch 2.11.0+cu130 has no kernels for compute capability 7.0; 2.11 with CUDA 12.6 does",
        id="CUDA 13 has no Volta",
    ),
    pytest.param(
        host("2.8.0+cu130", "6.1", driver="580.65.06"),
        "torch 2.8.0+cu130 has no kernels for compute capability 6.1; 2.8 with CUDA 12.6 does",
        id="nor Pascal, also where the table has no such build",
    ),
    pytest.param(
        host("9.1.0+cu130", "5.2", driver="580.65.06"),
        "torch 9.1.0+cu130 has no kernels for compute capability 5.2; 2.14 with CUDA 12.6 does",
        id="nor Maxwell, in a release newer than the table",
    ),
    pytest.param(
        host("2.11.0+cu130", "7.5", arch="arm64", driver="580.65.06"),
        "torch 2.11.0+cu130 has no kernels for compute capability 7.5", id="Arm hosts have lists of their own",
    ),
    pytest.param(
        host("2.8.0", "13.0", torch_build=TorchBuild(cuda="12.9", archs=("compute_120",)), driver="570.26"),
        "torch 2.8.0 (CUDA 12.9) has only PTX for compute capability 13.0, which needs driver 575.51.03 or later",
        id="PTX that the driver is too old to compile",
    ),
    pytest.param(
        host("2.6.0+cpu", "8.9"),
        "torch 2.6.0+cpu is a CPU build, needs one for CUDA GPUs, such as 2.6 with CUDA 11.8 or later",
        id="a CPU build",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.9", torch_build=TorchBuild()),
        "torch 2.6.0+cu124 is a CPU build, needs one for CUDA GPUs, such as 2.6 with CUDA 11.8 or later",
        id="a CPU build, whatever its version says",
    ),
    pytest.param(
        host("2.6.0+cu124", "9.4", kind=ROCM),
        "torch 2.6.0+cu124 is a CUDA build, needs one for ROCm GPUs, such as 2.6 with ROCm 6.2.4 or later",
        id="ROCm is never mistaken for CUDA 9.4",
    ),
    pytest.param(
        host("2.6.0+rocm6.2.4", "9.0"),
        "torch 2.6.0+rocm6.2.4 is a ROCm build, needs one for CUDA GPUs, such as 2.6 with CUDA 11.8 or later",
        id="nor CUDA for ROCm",
    ),
    pytest.param(
        host("2.6.0", "8.0"),
        f"for which GPUs torch 2.6.0 was built is unknown {UNKNOWN}, needs one for CUDA GPUs, such as 2.6 with CUDA"
        " 11.8 or later",
        id="a build of which nothing is known",
    ),
    pytest.param(
        host("2.6.0", None, kind=XPU),
        f"for which GPUs torch 2.6.0 was built is unknown {UNKNOWN}, needs one for XPU GPUs",
        id="a build of which nothing is known, for XPU",
    ),
    pytest.param(
        host("2.11.0+cu130", "9.0", driver="575.57.08"),
        "torch 2.11.0+cu130 needs driver 580.65.06 or later, has 575.57.08", id="too old a driver",
    ),
    pytest.param(
        host("2.6.0+cu124", "9.0", driver="512.15", os="windows"),
        "torch 2.6.0+cu124 needs driver 527.41 or later, has 512.15", id="Windows has floors of its own",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", driver=None),
        f"driver version unknown {UNKNOWN}, torch 2.6.0+cu124 needs 525.60.13 or later", id="an unknown driver",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", driver="latest"),
        f"driver version unknown, reported as latest {UNKNOWN}, torch 2.6.0+cu124 needs 525.60.13 or later",
        id="a driver that is no version",
    ),
    pytest.param(
        host("2.4.1+cu121", "8.0", python="3.13.1"),
        "torch 2.4.1+cu121 does not support Python 3.13.1, needs >=3.8,<3.13; 2.5 or later does", id="too new a Python",
    ),
    pytest.param(
        host("2.5.1+cu121", "8.0", python="3.8.20"),
        "torch 2.5.1+cu121 does not support Python 3.8.20, needs >=3.9,<3.14; 2.4 does", id="too old a Python",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", python=None),
        f"Python version unknown {UNKNOWN}, torch 2.6.0+cu124 needs >=3.9,<3.14", id="an unknown Python",
    ),
    pytest.param(
        host("2.6.0+cu124", None),
        f"compute capability of device 0 unknown {UNKNOWN}, torch 2.6.0+cu124 must have kernels for it",
        id="an unknown capability",
    ),
    pytest.param(
        host("2.7.0+cu124", "8.0"),
        f"whether torch 2.7.0+cu124 has kernels for compute capability 8.0 is unknown {UNKNOWN}",
        id="a build that the table has no row for",
    ),
    pytest.param(
        host(None, None, kind=MPS),
        "MPS GPUs are not supported on linux x86_64, needs macos arm64 or macos x86_64", id="MPS on Linux",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", os="macos", arch="arm64"),
        "CUDA GPUs are not supported on macos arm64, needs linux x86_64, linux arm64 or windows x86_64",
        id="CUDA on a Mac",
    ),
    pytest.param(
        host("2.6.0+rocm6.2.4", None, kind=ROCM, arch="arm64"),
        "ROCm GPUs are not supported on linux arm64, needs linux x86_64 or windows x86_64", id="ROCm on Arm",
    ),
    pytest.param(
        host("2.3.0", None, kind=MPS, os="macos", arch="x86_64"),
        "a build of torch 2.3.0 for MPS GPUs is not supported on macos x86_64, needs macos arm64",
        id="a release that Intel Macs don't have any more",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", os=None),
        f"whether CUDA GPUs are supported on unknown x86_64 is unknown {UNKNOWN}, needs linux x86_64, linux arm64 or"
        " windows x86_64",
        id="an unknown OS",
    ),
    pytest.param(
        host("2.6.0+cu124", "8.0", kind=None),
        f"kind of device 0 unknown {UNKNOWN}, so whether linux x86_64 supports it is too", id="an unknown kind",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("worker", "expected"), NOT)
def test_it_does_not_fit(worker: WorkerView, expected: str) -> None:
    assert said(worker) == [expected]


def test_of_a_release_older_than_the_table_nothing_is_known() -> None:
    assert said(host("1.12.1+cu116", "8.0")) == [
        f"which versions of Python torch 1.12.1+cu116 supports is unknown {UNKNOWN}",
        f"whether torch 1.12.1+cu116 has kernels for compute capability 8.0 is unknown {UNKNOWN}",
    ]


def test_everything_that_does_not_fit_is_told() -> None:
    assert said(host("2.5.1+cu124", "12.0", driver="470.82.01", python="3.14.0")) == [
        "torch 2.5.1+cu124 does not support Python 3.14.0, needs >=3.9,<3.14; 2.9 or later does",
        "torch 2.5.1+cu124 needs driver 525.60.13 or later, has 470.82.01",
        "torch 2.5.1+cu124 has no kernels for compute capability 12.0; 2.7 with CUDA 12.8 or later does",
    ]


def test_of_another_kind_of_build_neither_driver_nor_code_is_asked() -> None:
    assert len(said(host("2.5.1+cpu", "12.0", driver=None, os=None))) == 2


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(a_job(frameworks=TORCH), id="a job that wants no GPU"),
        pytest.param(a_job(gpus=1), id="a job that names no framework"),
        pytest.param(a_job(gpus=1, frameworks={"numpy": ""}), id="a job that names another one"),
        pytest.param(a_job(gpus=1, frameworks=TORCH, environment="train"), id="a job in another environment"),
    ],
)
def test_a_build_is_not_asked_of(job: QueueEntry) -> None:
    inside = {"train": an_environment("2.8.0+cu128")}
    assert said(host("2.5.1+cpu", "12.0", environments=inside), job) == []


def test_the_platform_is_asked_of_every_job_that_wants_a_gpu() -> None:
    assert said(host("2.6.0+cu124", "8.0", os="macos"), a_job(gpus=1))
    assert said(host("2.6.0+cu124", "8.0", os="macos"), a_job()) == []


def test_nothing_is_asked_where_no_device_is_whole() -> None:
    parted = tuple(DeviceView(index=index, kind=CUDA, mig=True) for index in range(2))
    assert said(a_worker(gpus=parted, os="plan9"), a_job(gpus=1)) == []
    assert said(a_worker(gpus=(), os="plan9"), a_job(gpus=1)) == []
    assert said(a_worker(gpus=None, os="plan9"), a_job(gpus=1)) == []


def test_nothing_is_asked_where_no_device_is_of_the_kind_asked_for() -> None:
    asked = a_job(gpus=1, accelerator=CUDA, frameworks=TORCH)
    reasons = compatibility_reasons(asked, host("2.6.0+rocm6.2.4", None, kind=ROCM))
    assert [reason.code for reason in reasons] == [Code.GPU_ACCELERATOR]


def test_a_distributed_job_needs_torch_to_suit_though_it_does_not_name_it() -> None:
    (reason,) = compatibility_reasons(a_job(gang=1, gpus=1), host("2.6.0+cpu", "8.0"))
    assert (reason.code, reason.field, reason.row) == (Code.SUPPORT_MATRIX, "distributed", "torch-cpu")


def test_a_reason_names_its_row_and_counts_the_devices() -> None:
    job = a_job(gpus=2, frameworks=TORCH)
    (reason,) = compatibility_reasons(job, host("2.6.0+cu124", "8.6", "12.0", "10.0"))
    assert (reason.row, reason.matter, reason.have, reason.of, reason.devices, reason.actual, reason.unknown) == (
        "torch-2.6-cu124", "code", 1, 3, (1, 2), ("10.0", "12.0"), False,
    )  # fmt: skip
    assert sentence(reason) == (
        "torch 2.6.0+cu124 has no kernels for compute capability 10.0 or 12.0 (1 of 3 is served, needs 2 GPUs);"
        " 2.7 with CUDA 12.8 or later does"
    )


def test_only_the_unknown_stands_in_the_way() -> None:
    (reason,) = compatibility_reasons(a_job(gpus=2, frameworks=TORCH), host("2.6.0+cu124", "8.6", None, "12.0"))
    assert (reason.unknown, reason.have) == (True, 1)
    (reason,) = compatibility_reasons(a_job(gpus=3, frameworks=TORCH), host("2.6.0+cu124", "8.6", None, "12.0"))
    assert (reason.unknown, reason.have) == (False, 1)


def test_too_few_devices_are_no_matter_of_support() -> None:
    reasons = compatibility_reasons(a_job(gpus=4, frameworks=TORCH), host("2.6.0+cu124", "8.6", "8.6"))
    assert [reason.code for reason in reasons] == [Code.GPU_COUNT]
