"""Could this worker ever run this job? Every reason, by code, with its figures."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scheduler.core.evaluation import compatibility_reasons
from scheduler.core.fleet import WorkerView
from scheduler.core.reasons import Code
from scheduler.core.spec import Accelerator, MemoryKind, QueueEntry
from tests.core.builders import GB, MIB, a_job, a_worker, an_environment, devices, with_device

C = Code
UNTIL = datetime(2026, 12, 1, tzinfo=UTC)
train = {"train": an_environment("2.7.1", "3.12.1")}
two_makers = devices("MI300+4090")


def codes(job: QueueEntry, worker: WorkerView) -> list[C]:
    return [reason.code for reason in compatibility_reasons(job, worker)]


PLACE = [
    pytest.param(a_job(), a_worker(), [], id="a job that asks for nothing runs on any worker of its tier"),
    pytest.param(a_job(), a_worker(origin="remote"), [C.TARGET], id="a local job never runs on a remote worker"),
    pytest.param(a_job(fallback=["remote"]), a_worker(origin="remote"), [], id="unless it names that fallback"),
    pytest.param(a_job(provider="AWS"), a_worker(provider="aws"), [], id="letter case of a provider is ignored"),
    pytest.param(a_job(provider="aws"), a_worker(provider="gcp"), [C.PROVIDER], id="another provider"),
    pytest.param(a_job(provider="aws"), a_worker(), [C.PROVIDER], id="an unknown provider is not the one asked for"),
    pytest.param(a_job(region="eu"), a_worker(region="EU"), [], id="letter case of a region is ignored"),
    pytest.param(a_job(region="eu"), a_worker(region="us"), [C.REGION], id="another region"),
    pytest.param(a_job(workers=["w2", "w1"]), a_worker("w1"), [], id="a pinned worker"),
    pytest.param(a_job(workers=["w10"]), a_worker("w1"), [C.NOT_PINNED], id="a pin is the whole id"),
    pytest.param(a_job(labels={"zone": "a"}), a_worker(labels={"zone": "a", "x": "y"}), [], id="a label as asked"),
    pytest.param(a_job(labels={"zone": "a"}), a_worker(labels={"zone": "A"}), [C.LABEL], id="labels mind letter case"),
    pytest.param(a_job(labels={"zone": ""}), a_worker(), [C.LABEL], id="an absent label is not an empty one"),
    pytest.param(a_job(labels={"zone": ""}), a_worker(labels={"zone": ""}), [], id="an empty label is one"),
    pytest.param(a_job(labels={"a": "1", "b": "2"}), a_worker(), [C.LABEL, C.LABEL], id="one reason for each label"),
    pytest.param(a_job("j-1"), a_worker(reserved_for="j-12"), [C.RESERVED], id="reserved for a job of a longer id"),
    pytest.param(a_job("j-12"), a_worker(reserved_for="j-12"), [], id="a bare holder means a job"),
    pytest.param(a_job("j-12"), a_worker(reserved_for="job:j-12"), [], id="a job is always its own holder"),
    pytest.param(
        a_job(holders=["user:j-12"]), a_worker(reserved_for="j-12"), [C.RESERVED],
        id="a user called like the job is not the job",
    ),
    pytest.param(a_job(holders=["team:vision"]), a_worker(reserved_for="team:vision"), [], id="reserved for its team"),
    pytest.param(
        a_job(), a_worker(reserved_for="user:mira", reserved_until=UNTIL), [],
        id="a reservation with an end does not make it incompatible",
    ),
]  # fmt: skip

HOST = [
    pytest.param(a_job(os="LINUX"), a_worker(os="Linux"), [], id="letter case of an OS is ignored"),
    pytest.param(a_job(os="macos"), a_worker(os="Darwin"), [], id="darwin is macos"),
    pytest.param(a_job(os="win"), a_worker(os="windows"), [C.OS], id="an OS is not guessed by its beginning"),
    pytest.param(a_job(os="linux"), a_worker(os=None), [C.OS], id="an unknown OS is none"),
    pytest.param(a_job(arch="x86_64"), a_worker(arch="AMD64"), [], id="amd64 is x86_64"),
    pytest.param(a_job(arch="aarch64"), a_worker(arch="arm64"), [], id="aarch64 is arm64"),
    pytest.param(a_job(arch="arm64"), a_worker(), [C.ARCH], id="another architecture"),
    pytest.param(a_job(cores=64_000), a_worker(), [], id="as many cores as asked is enough"),
    pytest.param(a_job(cores=64_001), a_worker(), [C.CPU_CORES], id="a thousandth of a core too few"),
    pytest.param(a_job(cores=0), a_worker(cpu_millicores=None), [C.CPU_CORES], id="unknown cores are not even none"),
    pytest.param(a_job(memory=512 * GB), a_worker(), [], id="as much RAM as asked is enough"),
    pytest.param(a_job(memory=512 * GB + 1), a_worker(), [C.MEMORY], id="a byte too little RAM"),
    pytest.param(a_job(memory=1), a_worker(memory_bytes=None), [C.MEMORY], id="unknown RAM"),
    pytest.param(a_job(disk=3000 * GB), a_worker(), [C.DISK], id="too little disk"),
]

SOFTWARE = [
    pytest.param(a_job(environment="train"), a_worker(environments=train), [], id="an environment that it has"),
    pytest.param(
        a_job(environment="train", python=">=3", frameworks={"torch": ">=9"}, gang=1, launcher="x"),
        a_worker(), [C.ENVIRONMENT], id="a missing environment, and nothing is asked of it",
    ),
    pytest.param(a_job(python=">=3.10"), a_worker(), [], id="a Python as asked"),
    pytest.param(
        a_job(environment="train", python=">=3.12"), a_worker(environments=train), [],
        id="the Python of the environment named",
    ),
    pytest.param(a_job(python=">=3.12"), a_worker(environments=train), [C.PYTHON], id="not that of another"),
    pytest.param(
        a_job(python=">=3"), a_worker(environment=an_environment(python=None)), [C.PYTHON], id="an unknown Python"
    ),
    pytest.param(
        a_job(python=">=3.12"), a_worker(environment=an_environment(python="3.12.3+")), [C.PYTHON],
        id="a Python that is no version is unknown",
    ),
    pytest.param(a_job(frameworks={"torch": ">=2.6,<3"}), a_worker(), [], id="a framework as asked"),
    pytest.param(a_job(frameworks={"torch": ">=2.7"}), a_worker(), [C.FRAMEWORK], id="too old a framework"),
    pytest.param(
        a_job(frameworks={"jax": ">=0.4", "numpy": ">=2"}), a_worker(), [C.FRAMEWORK, C.FRAMEWORK],
        id="one reason for each framework that is missing",
    ),
    pytest.param(
        a_job(frameworks={"torch": ">=2"}), a_worker(environment=an_environment(frameworks=None)), [C.FRAMEWORK],
        id="nothing known of the frameworks",
    ),
    pytest.param(
        a_job(frameworks={"torch": ">=2.6"}), a_worker(environment=an_environment("2.7.0.dev20250301")), [],
        id="a nightly newer than asked",
    ),
    pytest.param(
        a_job(frameworks={"torch": ">=2.6"}), a_worker(environment=an_environment("2.6.0a0+nv25.1")), [C.FRAMEWORK],
        id="a pre-release of just what was asked",
    ),
]  # fmt: skip

DEVICES = [
    pytest.param(a_job(gpus=1), a_worker(gpus="T4"), [], id="one device"),
    pytest.param(a_job(gpus=2), a_worker(gpus="T4"), [C.GPU_COUNT], id="too few devices"),
    pytest.param(a_job(gpus=1), a_worker(gpus=None), [C.GPU_COUNT], id="devices not reported"),
    pytest.param(a_job(gpus=2), a_worker(gpus="2xT4", busy=[0, 1]), [], id="devices that are held do exist"),
    pytest.param(a_job(gpus=1), a_worker(gpus=devices("T4", healthy=False)), [], id="broken devices do exist"),
    pytest.param(
        a_job(gpus=2, gpu_memory=99 * GB), a_worker(gpus="T4"), [C.GPU_COUNT],
        id="with too few devices nothing is said of their memory",
    ),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=with_device(devices("2xA100"), 1, mig=True)), [C.GPU_MIG], id="too few whole ones"
    ),
    pytest.param(a_job(gpus=1), a_worker(gpus=devices("A100", mig=None)), [], id="not known to be parted is whole"),
    pytest.param(a_job(gpus=1, accelerator=Accelerator.ROCM), a_worker(gpus="T4"), [C.GPU_ACCELERATOR], id="ROCm job"),
    pytest.param(a_job(gpus=1, models=("*t4",)), a_worker(gpus="T4"), [], id="a model like the pattern, in any case"),
    pytest.param(a_job(gpus=1, models=("T4",)), a_worker(gpus="T4"), [C.GPU_MODEL], id="a pattern is the whole name"),
    pytest.param(a_job(gpus=1, models=("NVIDIA L?",)), a_worker(gpus="L4"), [], id="a question mark is one letter"),
    pytest.param(a_job(gpus=1, models=("*rtx*9*",)), a_worker(gpus="4090"), [], id="stars anywhere"),
    pytest.param(a_job(gpus=1, models=("*rtx*rtx*",)), a_worker(gpus="4090"), [C.GPU_MODEL], id="each part once"),
    pytest.param(
        a_job(gpus=1, models=("*a" * 100 + "b",)), a_worker(gpus=devices("T4", model="a" * 250)), [C.GPU_MODEL],
        id="a hundred stars take no time",
    ),
    pytest.param(
        a_job(gpus=1, models=("[A-Z]*",)), a_worker(gpus="L4"), [C.GPU_MODEL], id="brackets are not special"
    ),
    pytest.param(a_job(gpus=1, models=("*",)), a_worker(gpus="?"), [C.GPU_MODEL], id="an unknown model is like none"),
    pytest.param(a_job(gpus=1, gpu_memory=15360 * MIB), a_worker(gpus="T4"), [], id="just as much memory as asked"),
    pytest.param(a_job(gpus=1, gpu_memory=80 * GB), a_worker(gpus="H100"), [], id="81,559 MiB are 80 GB"),
    pytest.param(a_job(gpus=1, gpu_memory=81920 * MIB), a_worker(gpus="H100"), [C.GPU_MEMORY], id="but not 80 GiB"),
    pytest.param(a_job(gpus=1, gpu_memory=1), a_worker(gpus="?"), [C.GPU_MEMORY], id="unknown memory is not a byte"),
    pytest.param(
        a_job(gpus=1, memory_kind=MemoryKind.DEDICATED), a_worker(gpus=devices("T4", memory_kind=MemoryKind.UNIFIED)),
        [C.GPU_MEMORY_KIND], id="unified memory is not dedicated",
    ),
    pytest.param(a_job(gpus=1, capability=">=9.0"), a_worker(gpus="A100"), [C.GPU_COMPUTE_CAPABILITY], id="8.0 < 9.0"),
    pytest.param(
        a_job(gpus=1, capability=">=9.0"), a_worker(gpus=devices("?", compute_capability="10.0")), [], id="10.0 > 9.0"
    ),
    pytest.param(
        a_job(gpus=1, capability=">=9.0"), a_worker(gpus="MI300"), [C.GPU_COMPUTE_CAPABILITY],
        id="compute capability is a CUDA notion, whatever another card reports",
    ),
    pytest.param(
        a_job(gpus=2, gpu_memory=40 * GB, models=("Tesla*", "NVIDIA H*")), a_worker(gpus="T4+T4+A100+A100+H100"),
        [C.GPU_COMBINATION], id="each requirement met often enough, but not on the same devices",
    ),
    pytest.param(a_job(gpus=2), a_worker(gpus=two_makers), [C.GPU_COMBINATION], id="two devices of different kinds"),
    pytest.param(
        a_job(gpus=2, accelerator=Accelerator.CUDA), a_worker(gpus=two_makers), [C.GPU_ACCELERATOR],
        id="two CUDA devices where one is",
    ),
    pytest.param(
        a_job(gpus=1), a_worker(gpus=devices("T4", kind=None)), [C.SUPPORT_MATRIX],
        id="whether a device of unknown kind is supported is unknown",
    ),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=devices("2xT4", kind=None)), [C.SUPPORT_MATRIX, C.GPU_COMBINATION],
        id="two of unknown kind may be of different ones",
    ),
]  # fmt: skip

GANG = [
    pytest.param(a_job(gang=2, launcher="torchrun", backend="nccl"), a_worker(), [], id="all prerequisites are there"),
    pytest.param(a_job(), a_worker(advertise_address=None), [], id="a plain job is asked none of them"),
    pytest.param(a_job(gang=1), a_worker(advertise_address=None), [C.DIST_ADDRESS], id="a gang of one is a gang"),
    pytest.param(a_job(gang=1), a_worker(environment=an_environment(None)), [C.DIST_TORCH], id="no torch"),
    pytest.param(a_job(gang=1), a_worker(environment=an_environment("dev")), [C.DIST_TORCH], id="no version of torch"),
    pytest.param(
        a_job(gang=1, launcher="torchrun", backend="nccl"),
        a_worker(environment=an_environment(launchers=None, comm_backends=("gloo",))),
        [C.DIST_LAUNCHER, C.DIST_BACKEND], id="launcher unknown and backend missing",
    ),
    pytest.param(a_job(gang=1, procs=65), a_worker(), [C.DIST_PROCS], id="more processes than cores"),
    pytest.param(
        a_job(gang=1, procs=65, environment="train"), a_worker(), [C.ENVIRONMENT, C.DIST_PROCS],
        id="the worker's own cores are asked about also where the environment is missing",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "worker", "expected"), PLACE + HOST + SOFTWARE + DEVICES + GANG)
def test_a_worker_is_incompatible_for(job: QueueEntry, worker: WorkerView, expected: list[C]) -> None:
    assert codes(job, worker) == expected


def test_every_reason_is_told_not_only_the_first() -> None:
    job = a_job(
        os="linux", python=">=3.12", cores=128_000, memory=1000 * GB, disk=3000 * GB, labels={"zone": "a"}, gpus=2
    )
    assert codes(job, a_worker(os="windows", origin="cloud")) == [
        C.TARGET, C.LABEL, C.OS, C.CPU_CORES, C.MEMORY, C.DISK, C.PYTHON, C.GPU_COUNT,
    ]  # fmt: skip


FIGURES = [
    pytest.param(
        a_job(labels={"zone": "a"}), a_worker(labels={"zone": "A"}),
        {"subject": "zone", "required": "a", "actual": "A", "unknown": False}, id="a label shows both values",
    ),
    pytest.param(a_job(os="linux"), a_worker(os=None), {"actual": None, "unknown": True}, id="unknown says so"),
    pytest.param(
        a_job(frameworks={"jax": ">=1"}), a_worker(),
        {"subject": "jax", "required": ">=1", "actual": None, "unknown": False}, id="missing is not unknown",
    ),
    pytest.param(
        a_job(frameworks={"torch": ">=2"}), a_worker(environment=an_environment("2.6.0_cu124")),
        {"subject": "torch", "actual": "2.6.0_cu124", "unknown": True}, id="what is no version is unknown, and shown",
    ),
    pytest.param(
        a_job(memory=600 * GB), a_worker(), {"required": 600 * GB, "actual": 512 * GB, "enough_at": 512 * GB},
        id="sizes are bytes, with what would do",
    ),
    pytest.param(
        a_job(gpus=8), a_worker(gpus="4xT4"),
        {"required": 8, "actual": 4, "have": 4, "of": 4, "enough_at": 4, "unknown": False}, id="a count",
    ),
    pytest.param(a_job(gpus=1), a_worker(gpus=None), {"have": None, "of": None, "unknown": True}, id="count unknown"),
    pytest.param(
        a_job(gpus=1), a_worker(gpus=()), {"have": 0, "of": 0, "unknown": False, "enough_at": None}, id="known: none"
    ),
    pytest.param(
        a_job(gpus=2, gpu_memory=40 * GB), a_worker(gpus="3xL4+A100"),
        {"have": 1, "of": 4, "devices": (0, 1, 2), "actual": 81920 * MIB, "enough_at": 23034 * MIB, "unknown": False},
        id="memory: how many have it, the most there is, and what two have",
    ),
    pytest.param(
        a_job(gpus=2, gpu_memory=40 * GB), a_worker(gpus="L4+?"),
        {"have": 0, "of": 2, "unknown": False}, id="one unknown does not excuse the other that is too small",
    ),
    pytest.param(
        a_job(gpus=2, gpu_memory=40 * GB), a_worker(gpus="A100+?"),
        {"have": 1, "of": 2, "unknown": True}, id="only the unknown stands in the way",
    ),
    pytest.param(
        a_job(gpus=1, capability=">=9.0"), a_worker(gpus="L4+A100+MI300"),
        {"actual": ("8.9", "8.0"), "subject": "rocm", "enough_at": ">=8.9"}, id="capabilities, highest first",
    ),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=two_makers), {"have": 1, "of": 2, "actual": ("rocm", "cuda")}, id="kinds there are"
    ),
    pytest.param(
        a_job(), a_worker(reserved_for="j-9"), {"actual": "job:j-9", "holders": ("job:j-9",)}, id="for whom reserved"
    ),
    pytest.param(a_job(gang=1, procs=80), a_worker(), {"required": 80_000, "actual": 64_000}, id="processes and cores"),
]  # fmt: skip


@pytest.mark.parametrize(("job", "worker", "expected"), FIGURES)
def test_a_reason_carries_its_figures(job: QueueEntry, worker: WorkerView, expected: dict[str, object]) -> None:
    (reason,) = compatibility_reasons(job, worker)
    assert {name: getattr(reason, name) for name in expected} == expected
