"""Could this worker run it now? Every cause, by code, with its figures; asked of compatible workers only."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from scheduler.core.availability import Setting, slots_of
from scheduler.core.evaluation import availability_reasons
from scheduler.core.fleet import TaskLoad, WorkerView
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import MemoryKind, Origin, QueueEntry
from tests.core.builders import GB, a_job, a_worker, devices, with_device

C = Code
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
UNTIL = datetime(2026, 12, 1, tzinfo=UTC)
LATER = datetime(2026, 12, 2, tzinfo=UTC)
two = devices("2xA100")
four = devices("4xA100")


def reasons(job: QueueEntry, worker: WorkerView, **setting: object) -> tuple[Reason, ...]:
    return availability_reasons(job, worker, Setting(**setting))  # type: ignore[arg-type]


def a_task(job_id: str = "j-0", **load: object) -> TaskLoad:
    return TaskLoad(job_id=job_id, **load)  # type: ignore[arg-type]


STATES = [
    pytest.param(a_job(), a_worker(), [], id="an idle worker in contact"),
    pytest.param(a_job(), a_worker(online=False), [C.OFFLINE], id="offline"),
    pytest.param(a_job(), a_worker(draining=True), [C.DRAINING], id="draining"),
    pytest.param(a_job(), a_worker(unhealthy=True), [C.UNHEALTHY], id="unhealthy as a whole"),
    pytest.param(
        a_job(gpus=1), a_worker(online=False, draining=True, unhealthy=True, busy=[0]),
        [C.OFFLINE, C.DRAINING, C.UNHEALTHY, C.SLOTS, C.GPU_IN_USE], id="all at once",
    ),
    pytest.param(
        a_job(), a_worker(reserved_for="user:mira", reserved_until=UNTIL), [C.RESERVED_UNTIL], id="reserved for a while"
    ),
    pytest.param(
        a_job(holders=["user:mira"]), a_worker(reserved_for="user:mira", reserved_until=UNTIL), [],
        id="reserved for a while, for its own owner",
    ),
]  # fmt: skip

LOADS = [
    pytest.param(a_job(), a_worker(gpus=(), tasks=(a_task(),)), [C.SLOTS], id="a worker without GPUs takes one task"),
    pytest.param(a_job(), a_worker(gpus="2xT4", tasks=(a_task(),)), [], id="two GPUs are two slots"),
    pytest.param(a_job(), a_worker(gpus="2xT4", tasks=(a_task(), a_task())), [C.SLOTS], id="CPU tasks take slots too"),
    pytest.param(
        a_job(), a_worker(max_concurrent_tasks=3, tasks=(a_task(), a_task())), [], id="more slots where told so"
    ),
    pytest.param(
        a_job(gpus=1), a_worker(gpus="2xT4", max_concurrent_tasks=1, busy=[0]), [C.SLOTS], id="fewer where told so"
    ),
    pytest.param(
        a_job(cores=60_000), a_worker(gpus="2xT4", tasks=(a_task(cpu_millicores=4_000),)), [], id="just enough cores"
    ),
    pytest.param(
        a_job(cores=60_001), a_worker(gpus="2xT4", tasks=(a_task(cpu_millicores=4_000),)), [C.CPU_IN_USE],
        id="a thousandth of a core too few are left",
    ),
    pytest.param(
        a_job(memory=500 * GB, disk=1500 * GB),
        a_worker(gpus="2xT4", tasks=(a_task(memory_bytes=13 * GB, disk_bytes=501 * GB),)),
        [C.MEMORY_IN_USE, C.DISK_IN_USE], id="RAM and disk are promised to others",
    ),
    pytest.param(
        a_job(), a_worker(gpus="2xT4", tasks=(a_task(cpu_millicores=99_000),)), [],
        id="a job that asks for no cores does not mind that none are left",
    ),
]  # fmt: skip

DEVICES = [
    pytest.param(a_job(gpus=1), a_worker(gpus="2xT4", busy=[0]), [], id="one of two is held, one asked for"),
    pytest.param(a_job(gpus=2), a_worker(gpus="2xT4", busy=[0]), [C.GPU_IN_USE], id="one of two is held"),
    pytest.param(a_job(gpus=2), a_worker(gpus=with_device(two, 0, healthy=False)), [C.GPU_UNHEALTHY], id="broken"),
    pytest.param(a_job(gpus=2), a_worker(gpus=with_device(two, 0, healthy=None)), [], id="unknown health is not bad"),
    pytest.param(a_job(gpus=2), a_worker(gpus=with_device(two, 1, reserved_for="j-9")), [C.GPU_RESERVED], id="kept"),
    pytest.param(a_job("j-9", gpus=2), a_worker(gpus=with_device(two, 1, reserved_for="j-9")), [], id="for itself"),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=with_device(two, 1, foreign_memory_bytes=GB + 1)), [C.GPU_FOREIGN],
        id="others use more than 1 GB of it",
    ),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=with_device(two, 1, foreign_memory_bytes=GB)), [], id="a GB of it is allowed"
    ),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=with_device(two, 1, foreign_memory_bytes=1), foreign_allowance_bytes=0),
        [C.GPU_FOREIGN], id="where nothing is allowed, a byte is too much",
    ),
    pytest.param(
        a_job(gpus=2), a_worker(gpus=with_device(two, 1, foreign_memory_bytes=None)), [], id="unknown use is none"
    ),
    pytest.param(
        a_job(gpus=2),
        a_worker(gpus=with_device(two, 0, healthy=False, reserved_for="j-9"), max_concurrent_tasks=4, busy=[0]),
        [C.GPU_UNHEALTHY], id="a device is charged to the first cause alone",
    ),
    pytest.param(
        a_job(gpus=1, gpu_memory=40 * GB), a_worker(gpus="T4+A100", busy=[1]), [C.GPU_IN_USE],
        id="a free device that does not qualify is no help",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "worker", "expected"), STATES + LOADS + DEVICES)
def test_a_worker_is_unavailable_for(job: QueueEntry, worker: WorkerView, expected: list[Code]) -> None:
    assert [reason.code for reason in reasons(job, worker)] == expected


def test_each_cause_that_takes_devices_away_is_named_with_its_count() -> None:
    cards = with_device(with_device(four, 0, healthy=False), 1, reserved_for="team:vision", reserved_until=UNTIL)
    told = reasons(a_job(gpus=4), a_worker(gpus=with_device(cards, 2, foreign_memory_bytes=2 * GB), busy=[3]))
    assert [(reason.code, reason.devices, reason.have, reason.of) for reason in told] == [
        (C.GPU_UNHEALTHY, (0,), 0, 4),
        (C.GPU_RESERVED, (1,), 0, 4),
        (C.GPU_FOREIGN, (2,), 0, 4),
        (C.GPU_IN_USE, (3,), 0, 4),
    ]


FIGURES = [
    pytest.param(
        a_job(gpus=2), a_worker(gpus=four, tasks=(a_task("j-9", devices=(0, 2)), a_task("j-12", devices=(3,)))),
        {"required": 2, "actual": 1, "have": 1, "of": 4, "devices": (0, 2, 3), "holders": ("j-12", "j-9")},
        id="held devices: which, by whom, how many are left of how many",
    ),
    pytest.param(
        a_job(gpus=4), a_worker(gpus=with_device(with_device(four, 1, reserved_for="j-9", reserved_until=LATER), 2,
                                                 reserved_for="team:vision", reserved_until=UNTIL)),
        {"devices": (1, 2), "holders": ("job:j-9", "team:vision"), "until": UNTIL, "have": 2},
        id="reserved devices: for whom, and when the first comes back",
    ),
    pytest.param(
        a_job(gpus=1), a_worker(gpus="2xT4", tasks=(a_task("j-2"), a_task("j-1"))),
        {"required": 3, "actual": 2, "holders": ("j-1", "j-2"), "have": 2, "of": 2},
        id="slots: who takes them, while which devices are free",
    ),
    pytest.param(
        a_job(memory=500 * GB), a_worker(gpus="2xT4", tasks=(a_task("j-7", memory_bytes=13 * GB),)),
        {"required": 500 * GB, "actual": 499 * GB, "holders": ("j-7",)}, id="RAM: what is left, and who has the rest",
    ),
    pytest.param(a_job(), a_worker(online=False, state_since=NOON), {"since": NOON}, id="offline since"),
    pytest.param(
        a_job(), a_worker(draining=True, state_note="new cooling", state_since=NOON),
        {"actual": "new cooling", "since": NOON}, id="why it is draining",
    ),
    pytest.param(
        a_job(), a_worker(reserved_for="mira", reserved_until=UNTIL), {"actual": "job:mira", "until": UNTIL},
        id="reserved for whom and until when",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("job", "worker", "expected"), FIGURES)
def test_a_reason_carries_its_figures(job: QueueEntry, worker: WorkerView, expected: dict[str, object]) -> None:
    (reason,) = reasons(job, worker)
    assert {name: getattr(reason, name) for name in expected} == expected


def test_a_closed_tier_is_told_beside_whatever_else_keeps_its_workers() -> None:
    told = reasons(a_job(), a_worker(draining=True), closed=frozenset({Origin.LOCAL}))
    assert [reason.code for reason in told] == [C.DRAINING, C.TIER_CLOSED]


def test_a_worker_to_be_avoided_says_that_the_job_failed_there() -> None:
    assert [reason.code for reason in reasons(a_job(), a_worker("w1"), avoided=frozenset({"w1"}))] == [C.FAILED_HERE]


SLOTS = [
    pytest.param(a_worker(gpus="4xT4"), 4, id="one for each usable GPU"),
    pytest.param(a_worker(gpus=()), 1, id="one where there is none"),
    pytest.param(a_worker(gpus=None), 1, id="one where nothing is known"),
    pytest.param(a_worker(gpus=with_device(two, 0, healthy=False)), 1, id="a broken one adds none"),
    pytest.param(a_worker(gpus=with_device(four, 0, mig=True)), 3, id="a partitioned one adds none"),
    pytest.param(a_worker(gpus=devices("2xT4", memory_kind=MemoryKind.UNIFIED)), 1, id="shared memory adds none"),
    pytest.param(a_worker(gpus=devices("2xT4", memory_kind=None)), 1, id="unknown memory adds none"),
    pytest.param(a_worker(gpus="2xT4", max_concurrent_tasks=7), 7, id="as many as told"),
]


@pytest.mark.parametrize(("worker", "expected"), SLOTS)
def test_a_worker_has_slots(worker: WorkerView, expected: int) -> None:
    assert slots_of(worker) == expected
