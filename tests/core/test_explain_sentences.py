"""Every code has its sentence, and each reads well: what is needed, what is there, units always."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given

from scheduler.core.explain import code_label, code_tone, group_sentence, note_sentence, sentence
from scheduler.core.labels import check_label
from scheduler.core.reasons import CODES, Code, GroupReason, Kind, Note, NoteCode, Reason
from scheduler.core.rule import decide
from scheduler.core.sentences import NOTES, SENTENCES
from scheduler.core.spec import Accelerator, MemoryKind
from scheduler.core.versions import only_its_tail_is_to_blame
from tests.core.builders import GB, a_job, a_worker, an_environment, devices, with_device
from tests.core.values import REASONS, few

SIX = datetime(2026, 11, 30, 18, tzinfo=UTC)
UNKNOWN = "(an unknown value never satisfies a requirement)"
HELD = {"reserved_for": "team:vision", "reserved_until": SIX}


def test_every_code_has_a_sentence() -> None:
    assert set(SENTENCES) == {code for code in Code if code.kind is not Kind.GROUP}
    assert set(NOTES) == set(NoteCode)


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_label_and_a_tone(code: str) -> None:
    assert code_label(code) == code_label(CODES[code])
    assert check_label(CODES[code])
    assert code_tone(code) in ("never", "wait", "rsv")


@few
@given(REASONS)
def test_a_sentence_can_be_made_of_any_reason(reason: Reason) -> None:
    assert sentence(reason).strip()


@pytest.mark.parametrize(
    ("job", "worker", "said"),
    [
        (a_job(fallback=["cloud"]), a_worker(origin="remote"), "origin remote, wanted local or cloud"),
        (a_job(provider="aws"), a_worker(provider="gcp"), "provider gcp, wanted aws"),
        (a_job(region="eu"), a_worker(), f"region unknown {UNKNOWN}, wanted eu"),
        (a_job(workers=["w7"]), a_worker(), "not among the workers named in placement.worker_ids (w7)"),
        (a_job(labels={"zone": "a"}), a_worker(labels={"zone": "b"}), "label zone=b, wanted zone=a"),
        (a_job(labels={"zone": "a"}), a_worker(), "label zone is absent, wanted zone=a"),
        (a_job(labels={"zone": ""}), a_worker(labels={"zone": "x"}), 'label zone=x, wanted zone=""'),
        (a_job(), a_worker(reserved_for="team:vision"), "reserved for team vision, with no end"),
        (a_job(), a_worker(reserved_for="user:mira"), "reserved for mira, with no end"),
        (a_job(), a_worker(reserved_for="j-12"), "reserved for job j-12, with no end"),
        (a_job(os="windows"), a_worker(), "OS linux, wanted windows"),
        (a_job(arch="arm64"), a_worker(arch=None), f"CPU architecture unknown {UNKNOWN}, wanted arm64"),
        (a_job(cores=96_500), a_worker(), "64 CPU cores, needs 96.5"),
        (a_job(cores=2000), a_worker(cpu_millicores=1000), "1 CPU core, needs 2"),
        (a_job(memory=512 * GB + 1), a_worker(), "RAM 512 GB, needs 512.000000001 GB"),
        (a_job(memory=64 * GB), a_worker(memory_bytes=None), f"RAM unknown {UNKNOWN}, needs 64 GB"),
        (a_job(disk=3000 * GB), a_worker(), "disk 2,000 GB, needs 3,000 GB"),
        (
            a_job(environment="train"), a_worker(environments={"eval": an_environment()}),
            "environment train not found; has default, eval",
        ),
        (a_job(python=">=3.12"), a_worker(), "Python 3.11.9 does not satisfy >=3.12"),
        (
            a_job(frameworks={"torch": ">=2.5,<3"}), a_worker(environment=an_environment("2.4.1+cu121")),
            "torch 2.4.1+cu121 does not satisfy >=2.5,<3",
        ),
        (a_job(frameworks={"jax": ">=0.4"}), a_worker(), "jax is not installed, wanted >=0.4"),
        (
            a_job(frameworks={"torch": ">=2"}), a_worker(environment=an_environment("nightly")),
            f"torch version unknown, reported as nightly {UNKNOWN}, wanted >=2",
        ),
        (
            a_job(frameworks={"torch": ">=2.6"}), a_worker(environment=an_environment("2.6.0a0+nv25.1")),
            "torch 2.6.0a0+nv25.1 does not satisfy >=2.6: it is a pre-release, which comes before the release itself",
        ),
        (a_job(gpus=2), a_worker(gpus="A100"), "needs 2 GPUs, has 1"),
        (a_job(gpus=1), a_worker(gpus=""), "needs 1 GPU, has none"),
        (a_job(gpus=1), a_worker(gpus=None), f"needs 1 GPU, devices not reported {UNKNOWN}"),
        (
            a_job(gpus=2), a_worker(gpus=with_device(devices("2xA100"), 1, mig=True)),
            "needs 2 whole GPUs, 1 of 2 is whole; device 1 is partitioned (MIG)",
        ),
        (
            a_job(gpus=2, accelerator=Accelerator.ROCM), a_worker(gpus="2xA100"),
            "needs rocm GPUs; 0 of 2 are (has cuda)",
        ),
        (
            a_job(gpus=1, models=("NVIDIA H100*", "NVIDIA L4")), a_worker(gpus="2xT4"),
            "needs GPUs of the model NVIDIA H100* or NVIDIA L4; 0 of 2 are (has Tesla T4)",
        ),
        (
            a_job(gpus=2, gpu_memory=40 * GB), a_worker(gpus="A100+3xL4"),
            "needs GPUs with ≥ 40 GB each; 1 of 4 has it (the largest has 85.9 GB, enough have at least 24.2 GB)",
        ),
        (
            a_job(gpus=4, gpu_memory=40 * 2**30), a_worker(gpus="4xL4"),
            "needs GPUs with ≥ 42.9 GB each; 0 of 4 have it (the largest has 24.2 GB)",
        ),
        (
            a_job(gpus=1, gpu_memory=80 * GB), a_worker(gpus="2x?"),
            f"needs GPUs with ≥ 80 GB each; 0 of 2 are known to have it, the rest is unknown {UNKNOWN}",
        ),
        (
            a_job(gpus=1, memory_kind=MemoryKind.UNIFIED), a_worker(gpus="T4"),
            "needs GPUs with unified memory; 0 of 1 have it (has dedicated)",
        ),
        (
            a_job(gpus=1, capability=">=8.0"), a_worker(gpus="2xT4"),
            "needs GPUs of compute capability ≥ 8.0; 0 of 2 have it (7.5)",
        ),
        (
            a_job(gpus=1, capability=">=9.0"), a_worker(gpus="MI300"),
            "needs GPUs of compute capability ≥ 9.0; 0 of 1 have it (a CUDA notion, which rocm devices do not have)",
        ),
        (
            a_job(gpus=2), a_worker(gpus="A100+MI300"),
            "needs 2 GPUs of one kind that each meet every requirement together; 1 of 2 does (has 1 cuda, 1 rocm)",
        ),
        (
            a_job(gang=1, launcher="mpirun"), a_worker(),
            "launcher mpirun not found; has torchrun",
        ),
        (
            a_job(gang=1, backend="nccl"), a_worker(environment=an_environment(comm_backends=None)),
            f"communication backends unknown {UNKNOWN}, needs nccl",
        ),
        (
            a_job(gang=1), a_worker(environment=an_environment(None)),
            "torch is not installed; all workers of a gang need the same version",
        ),
        (
            a_job(gang=1), a_worker(advertise_address=None),
            f"advertise_address unknown {UNKNOWN}; the other workers of a gang need it",
        ),
        (a_job(gang=1, procs=96), a_worker(), "96 processes per worker need a CPU core each, has 64"),
        (a_job(), a_worker(online=False, state_since=SIX), "offline since 2026-11-30 18:00 UTC"),
        (a_job(), a_worker(draining=True, state_note="new kernel"), "draining (new kernel)"),
        (
            a_job(), a_worker(unhealthy=True, state_since=SIX.replace(second=7), state_note="disk"),
            "unhealthy since 2026-11-30 18:00:07 UTC (disk)",
        ),
        (a_job(), a_worker(**HELD), "reserved for team vision until 2026-11-30 18:00 UTC"),
        (
            a_job(), a_worker(gpus="", busy=[0]),
            "its only task slot is taken by j-0; max_concurrent_tasks is the number to raise",
        ),
        (a_job(), a_worker(max_concurrent_tasks=0), "takes no tasks: max_concurrent_tasks is 0"),
        (
            a_job(gpus=2), a_worker(gpus="2xA100", max_concurrent_tasks=1, busy=[9]),
            "its only task slot is taken by j-0; 2 of 2 GPUs are free; max_concurrent_tasks is the number to raise",
        ),
        (
            a_job(gpus=1), a_worker(gpus="1xA100", busy=[0]),
            "its only task slot is taken by j-0; 0 of 1 GPUs are free",
        ),
        (
            a_job(gpus=2), a_worker(gpus="4xA100", busy=[0, 1, 2]),
            "needs 2 GPUs, 1 of 4 is free: devices are in use by other tasks (j-0)",
        ),
        (
            a_job(gpus=2), a_worker(gpus=with_device(devices("2xA100"), 1, **HELD)),
            "needs 2 GPUs, 1 of 2 is free: device 1 is reserved for team vision until 2026-11-30 18:00 UTC",
        ),
        (
            a_job(gpus=1), a_worker(gpus=devices("2xA100", foreign_memory_bytes=20 * GB)),
            "needs 1 GPU, 0 of 2 are free: devices 0 and 1 are used outside gpulayer",
        ),
    ],
)  # fmt: skip
def test_it_reads(job: object, worker: object, said: str) -> None:
    assert said in _sentences(job, worker)


def test_several_causes_that_take_devices_away_each_read_right() -> None:
    dead = with_device(devices("8xA100"), 0, healthy=False, health_note="Xid 79: fell off the bus")
    cards = with_device(dead, 1, **HELD)
    assert _sentences(a_job(gpus=8), a_worker(gpus=cards, max_concurrent_tasks=9, busy=[3, 4, 5, 6, 7])) == [
        "needs 8 GPUs, 1 of 8 is free: device 0 is unhealthy (Xid 79: fell off the bus)",
        "needs 8 GPUs, 1 of 8 is free: device 1 is reserved for team vision until 2026-11-30 18:00 UTC",
        "needs 8 GPUs, 1 of 8 is free: devices are in use by other tasks (j-0)",
    ]


def test_many_holders_are_shortened_and_none_is_lost_from_the_reason() -> None:
    holders = tuple(f"j-{number}" for number in range(20))
    reason = Reason(code=Code.GPU_IN_USE, field="", required=8, have=0, of=8, holders=holders)
    assert sentence(reason).endswith("(j-0, j-1, j-2, j-3, j-4, +15)")


def test_promised_cpu_ram_and_disk_say_what_is_left() -> None:
    def left(code: Code, required: int, actual: int) -> str:
        return sentence(Reason(code=code, field="", required=required, actual=actual, holders=("j-1",)))

    assert left(Code.CPU_IN_USE, 8000, 500) == (
        "needs 8 CPU cores, 0.5 left: the rest is promised to other tasks (j-1)"
    )
    assert left(Code.MEMORY_IN_USE, 64 * GB, -5) == (
        "needs 64 GB of RAM, 0 GB left: the rest is promised to other tasks (j-1)"
    )
    assert left(Code.DISK_IN_USE, 100 * GB, 99_990_000_000) == (
        "needs 100 GB of disk, 99.99 GB left: the rest is promised to other tasks (j-1)"
    )


def test_an_instant_is_said_as_the_reader_s_clock_says_it() -> None:
    reason = Reason(code=Code.RESERVED_UNTIL, field="", holders=("user:mira",), until=SIX)
    assert sentence(reason, clock=lambda moment: f"{moment:%H:%M}") == "reserved for mira until 18:00"


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (Note(code=NoteCode.NO_WORKERS), "there are no workers yet"),
        (
            Note(code=NoteCode.PINNED_UNKNOWN, subject="gpu-7", nearest="gpu-07"),
            "no worker is called gpu-7; the nearest name is gpu-07",
        ),
        (Note(code=NoteCode.LABEL_UNKNOWN, subject="zone=moon"), "no worker has the label zone=moon"),
        (
            Note(code=NoteCode.ENVIRONMENT_UNKNOWN, subject="trian", nearest="train"),
            "no worker has an environment trian; the nearest name is train",
        ),
    ],
)
def test_a_note_reads(note: Note, said: str) -> None:
    assert note_sentence(note) == said


@pytest.mark.parametrize(
    ("code", "torch", "compatible", "free", "said"),
    [
        (Code.GANG_TOO_FEW, None, 0, 0, "local has no compatible worker, needs 4"),
        (
            Code.GANG_TOO_FEW, "2.6.0", 1, 0,
            "local has 1 compatible worker with torch 2.6.0, too few in all for 4 workers",
        ),
        (Code.GANG_TORCH_MIX, "2.6.0", 3, 0, "local has 3 compatible workers with torch 2.6.0, needs 4 of one version"),
        (
            Code.GANG_NOT_FREE, "2.6.0", 9, 3,
            "local has 3 of 4 workers free with torch 2.6.0; 9 compatible workers in all",
        ),
    ],
)  # fmt: skip
def test_a_group_s_reason_reads(code: Code, torch: str | None, compatible: int, free: int, said: str) -> None:
    reason = GroupReason(code=code, tier="local", torch=torch, compatible=compatible, free=free, needed=4)
    assert group_sentence(reason) == said


@pytest.mark.parametrize(
    ("version", "specifier", "blamed"),
    [("2.6.0a0+nv25.1", ">=2.6", True), ("2.5.0a0", ">=2.6", False), ("2.6.0", ">=2.7", False), ("x", ">=2", False)],
)
def test_only_a_pre_release_of_the_right_release_is_blamed_for_its_tail(
    version: str, specifier: str, blamed: bool
) -> None:
    assert only_its_tail_is_to_blame(version, specifier) is blamed


def _sentences(job: object, worker: object) -> list[str]:
    (candidate,) = decide(job, (worker,)).candidates  # type: ignore[arg-type]
    return [sentence(reason) for reason in candidate.reasons]
