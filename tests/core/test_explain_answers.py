"""The answer, in one sentence and in a few words: why here, for what it waits, why it never fits."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from scheduler.core.decision import SchedulingDecision
from scheduler.core.explain import Answer, answer, asks_for, funnel, short_answer
from scheduler.core.fleet import TaskLoad, WorkerView
from scheduler.core.parsing import parse_job
from scheduler.core.rule import decide
from scheduler.core.spec import OnUnschedulable, Policy, QueueEntry
from tests.core.builders import GB, a_job, a_worker, an_environment, devices

SIX = datetime(2026, 11, 30, 18, tzinfo=UTC)


def decided(job: QueueEntry, *workers: WorkerView) -> SchedulingDecision:
    return decide(job, tuple(sorted(workers, key=lambda worker: worker.id)))


def answered(job: QueueEntry, *workers: WorkerView, state: str = "queued", exit_code: int | None = None) -> Answer:
    return answer(job, decided(job, *workers), state=state, exit_code=exit_code)


def busy(name: str, *indices: int) -> WorkerView:
    return a_worker(name, gpus="8xA100", busy=indices)


TWO = a_job(gpus=2)
HELD = {"reserved_for": "team:vision", "reserved_until": SIX}


@pytest.mark.parametrize(
    ("job", "fleet", "state", "lead", "short"),
    [
        pytest.param(
            TWO, (busy("w3"), busy("w1", 0), busy("w2")), "placed",
            "Starts on w1, devices 1 and 2: the lowest id of 3 free workers.", "lowest id of 3 free",
            id="placed by first fit",
        ),
        pytest.param(
            replace(TWO, spec=replace(TWO.spec, policy=Policy.MOST_FREE_MEMORY)), (busy("w1", 0), busy("w2")), "placed",
            "Starts on w2, devices 0 and 1: the most free memory (687.2 GB) of 2 free workers.",
            "most free memory of 2 free", id="placed by free memory",
        ),
        pytest.param(
            a_job(), (a_worker("w1"), a_worker("w2", online=False)), "placed",
            "Starts on w1: the only worker that could take it.", "the only one free", id="placed on the only one",
        ),
        pytest.param(
            a_job(fallback=["remote"]),
            (a_worker("w1", online=False), a_worker("w2", origin="remote"), a_worker("w3", origin="remote")), "placed",
            "Starts on w2: the lowest id of the free remote workers.", "lowest id of 2 free", id="placed in a fallback",
        ),
        pytest.param(
            a_job(gang=2), (a_worker("w1"), a_worker("w2")), "placed",
            "Starts on 2 workers (w1, w2): the first of one torch version among 2 free workers.",
            "the first of one torch version", id="a gang placed",
        ),
        pytest.param(
            a_job(gpus=8), (busy("w1", 0, 1), busy("w2", 3), a_worker("w3")), "waiting",
            "Waiting: 2 workers can run this job, none has 8 free GPUs now.", "2 fit, none free: devices in use",
            id="waiting for devices",
        ),
        pytest.param(
            a_job(), (a_worker("w1", online=False), a_worker("w2", draining=True)), "waiting",
            "Waiting: 2 workers can run this job, none is free now.", "2 fit, none free: offline",
            id="waiting for different causes",
        ),
        pytest.param(
            a_job(), (a_worker("w1", draining=True), a_worker("w2", draining=True)), "waiting",
            "Waiting: 2 workers can run this job, none takes new jobs now.", "2 fit, none free: draining",
            id="waiting while all drain",
        ),
        pytest.param(
            a_job(memory=400 * GB),
            tuple(a_worker(id, gpus="4xA100", tasks=(TaskLoad(job_id="j-9", memory_bytes=200 * GB),)) for id in "ab"),
            "waiting", "Waiting: 2 workers can run this job, none has 400 GB of RAM left now.",
            "2 fit, none free: RAM in use", id="waiting for RAM",
        ),
        pytest.param(
            a_job(gpus=8), (busy("w1", 0),), "waiting",
            "Waiting: only w1 can run this job, and it is not free now.", "only w1 fits: devices in use",
            id="waiting for the only one",
        ),
        pytest.param(
            a_job(), (a_worker("w1", **HELD), a_worker("w2", **HELD)), "reserved",
            "Reserved: 2 workers can run this job, none is free of reservations for others now.",
            "2 fit, none free: reserved until", id="waiting for the end of reservations",
        ),
        pytest.param(
            a_job(gang=2), (a_worker("w1"), a_worker("w2", online=False)), "waiting",
            "Waiting: 1 of 2 workers with torch 2.6.0+cu124 are free, and a gang starts complete or not at all.",
            "gang: 1 of 2 workers free", id="a gang waiting",
        ),
        pytest.param(
            a_job(gpus=8, gpu_memory=800 * GB), (a_worker("w1"), busy("w2"), a_worker("w3", gpus="8x?")), "never",
            "Never fits: no local worker has 8 GPUs with ≥ 800 GB each (the most is 85.9 GB, 1 unknown).",
            "no worker has 8 GPUs ≥ 800 GB", id="never for want of GPU memory, unknown counted",
        ),
        pytest.param(
            a_job(gpus=16), (a_worker("w1"), busy("w2"), a_worker("w3", gpus=None)), "never",
            "Never fits: no local worker has 16 GPUs (the most is 8, 1 unknown).", "no worker has 16 GPUs",
            id="never for want of GPUs",
        ),
        pytest.param(
            a_job(memory=900 * GB, labels={"zone": "a"}),
            (a_worker("w1", labels={"zone": "a"}), a_worker("w2", memory_bytes=1000 * GB), a_worker("w3")), "never",
            "Never fits: none of 3 local workers meets every requirement;"
            " 1 lacks only 900 GB of RAM (the most is 512 GB).",
            "1 lack only 900 GB of RAM", id="never, and one nearly",
        ),
        pytest.param(
            a_job(gpus=8, gpu_memory=40 * GB, memory=900 * GB),
            (
                a_worker("w1", gpus="8xA100"),
                *(a_worker(name, gpus="4xA100", memory_bytes=1000 * GB) for name in ("w2", "w3")),
            ),
            "never",
            "Never fits: none of 3 local workers meets every requirement;"
            " 1 lacks only 900 GB of RAM (the most is 512 GB).",
            "1 lack only 900 GB of RAM", id="never, where too few GPUs kept their memory from being asked",
        ),
        pytest.param(
            a_job(memory=900 * GB, os="plan9"), (a_worker("w1"), a_worker("w2")), "never",
            "Never fits: none of 2 local workers meets every requirement.", "none of 2 meets every requirement",
            id="never for two reasons each",
        ),
        pytest.param(
            a_job(target="cloud"), (a_worker("w1"), a_worker("w2")), "never",
            "Never fits: no worker is cloud; 2 elsewhere.", "no worker is cloud", id="never in an empty target",
        ),
        pytest.param(
            a_job(), (), "never", "Never fits: there are no workers yet.", "no workers yet", id="no workers at all",
        ),
        pytest.param(
            a_job(gang=2), (a_worker("w1"), a_worker("w2", environment=an_environment("2.7.1"))), "never",
            "Never fits: a gang of 2 needs 2 workers of one target and torch version;"
            " the most are 1 with torch 2.6.0+cu124.",
            "gang: 1 of 2 workers fit", id="a gang of two versions",
        ),
    ],
)  # fmt: skip
def test_the_answer(job: QueueEntry, fleet: tuple[WorkerView, ...], state: str, lead: str, short: str) -> None:
    said = answered(job, *fleet)
    assert (said.state, said.lead) == (state, lead)
    assert short_answer(job, decided(job, *fleet)) == short
    assert len(short.split()) <= 8


@pytest.mark.parametrize(
    ("state", "exit_code", "lead"),
    [
        ("assigned", None, "Starts on w1, device 0: the only worker that could take it."),
        ("running", None, "Runs on w1, device 0: the only worker that could take it."),
        ("succeeded", 0, "Succeeded with exit code 0 on w1, device 0."),
        ("failed", 3, "Failed with exit code 3 on w1, device 0."),
        ("failed", None, "Failed on w1, device 0."),
        ("timed_out", None, "Timed out on w1, device 0."),
        ("cancelled", None, "Cancelled on w1, device 0."),
        ("cancelling", None, "Being cancelled on w1, device 0: the only worker that could take it."),
    ],
)
def test_a_placed_job_keeps_its_answer_to_the_end(state: str, exit_code: int | None, lead: str) -> None:
    said = answered(a_job(gpus=1), a_worker(), state=state, exit_code=exit_code)
    assert (said.state, said.lead) == (state, lead)
    assert "the only worker that could take it" in " ".join((said.lead, *said.more))


def test_an_ended_job_that_never_ran_says_why() -> None:
    job = a_job(gpus=4)
    job = replace(job, spec=replace(job.spec, on_unschedulable=OnUnschedulable.FAIL))
    said = answered(job, a_worker(), state="failed")
    assert said.state == "unschedulable"
    assert said.lead == "Unschedulable: no local worker has 4 GPUs (the most is 1)."


def test_a_job_cancelled_while_it_waited_says_so() -> None:
    said = answered(a_job(gpus=8), busy("w1", 0), state="cancelled")
    assert said.lead == "Cancelled before it was placed."
    assert said.more == ("When it was last considered: only w1 can run this job, and it is not free now.",)


def test_the_closest_worker_is_named_with_its_figures() -> None:
    said = answered(a_job(gpus=8), busy("w1", 0, 1), busy("w2", 3), a_worker("w3"))
    assert said.more[0] == (
        "Closest is w2: needs 8 GPUs, 7 of 8 are free: devices are in use by other tasks (j-0)."
    )  # fmt: skip


def test_a_pass_can_do_without_looking_at_single_workers() -> None:
    job, fleet = a_job(gpus=8), (busy("w1", 0, 1), busy("w2", 3))
    brief = answer(job, decided(job, *fleet), closely=False)
    assert brief.lead == answered(job, *fleet).lead
    assert brief.more == ("What stands in the way first: 2 devices in use.",)


def test_a_closed_target_says_what_would_open_it() -> None:
    job = a_job(fallback=["remote"], fallback_when="incompatible")
    said = answered(job, a_worker("w1", online=False), a_worker("w2", origin="remote"))
    assert said.lead == "Waiting: only w1 can run this job, and it is not free now."
    assert said.more[-1] == (
        "Target remote: closed, because an earlier target could run this job later (fallback_when: incompatible);"
        " 1 worker behind it could take it now, and fallback_when: unavailable would let it."
    )


def test_names_that_nothing_has_are_told_with_the_nearest() -> None:
    said = answered(a_job(workers=["gpu-7"]), a_worker("gpu-07"))
    assert "No worker is called gpu-7; the nearest name is gpu-07." in said.more


def test_what_becomes_of_a_job_that_never_fits_is_said() -> None:
    said = answered(a_job(gpus=4), a_worker())
    assert said.more[-1] == (
        "It stays queued (on_unschedulable: queue) and is decided again when the fleet changes."
    )  # fmt: skip


def test_the_funnel_counts_every_loss_once() -> None:
    fleet = [
        a_worker("a"), a_worker("b"), a_worker("c", online=False, draining=True), a_worker("d", draining=True),
        a_worker("e", os="macos", memory_bytes=None), a_worker("f", memory_bytes=GB),
        a_worker("g", origin="cloud", os="macos"), a_worker("h", **HELD),
    ]  # fmt: skip
    job = a_job(os="linux", memory=2 * GB)
    stages = funnel(job, decided(job, *fleet))
    assert [(stage.key, stage.count) for stage in stages] == [
        ("workers", 8), ("tier", 7), ("compatible", 5), ("available", 2), ("selected", 1),
    ]  # fmt: skip
    assert [[(loss.key, loss.count, loss.tone) for loss in stage.losses] for stage in stages] == [
        [],
        [("target", 1, "none")],
        [("os", 1, "never"), ("memory", 1, "never")],
        [("offline", 1, "wait"), ("draining", 1, "wait"), ("reserved_until", 1, "rsv")],
        [("eligible", 1, "none")],
    ]
    for before, stage in pairwise(stages):
        assert before.count - sum(loss.count for loss in stage.losses) == stage.count


def test_a_gang_s_funnel_has_one_stage_more() -> None:
    job = a_job(gang=2)
    fleet = (a_worker("w1"), a_worker("w2", environment=an_environment("2.7.1")), a_worker("w3", online=False))
    stages = {stage.key: stage for stage in funnel(job, decided(job, *fleet))}
    assert list(stages) == ["workers", "tier", "compatible", "available", "one_torch", "selected"]
    assert (stages["available"].count, stages["one_torch"].count, stages["selected"].count) == (2, 1, 0)


@pytest.mark.parametrize(
    ("resources", "more", "words"),
    [
        ({}, {}, "no GPU"),
        ({"cpu_cores": 1}, {}, "1 CPU core"),
        (
            {"gpus": 2, "gpu_memory_gb": 40, "compute_capability": "8.0", "memory_gb": 128}, {},
            "2 GPUs, ≥ 40 GB each, compute capability ≥ 8.0, RAM ≥ 128 GB",
        ),
        (
            {"gpus": 1, "accelerator": "rocm", "gpu_models": ["AMD*"], "gpu_memory_kind": "unified", "os": "linux",
             "cpu_cores": 1.5, "disk_gb": "1TB"}, {},
            "1 rocm GPU, AMD*, unified memory, 1.5 CPU cores, disk ≥ 1,000 GB, linux",
        ),
        ({"gpus": 2}, {"distributed": {"num_workers": 4}}, "4 workers × 2 GPUs"),
    ],
)  # fmt: skip
def test_what_a_job_asks_for(resources: dict[str, object], more: dict[str, object], words: str) -> None:
    document = {"name": "a", "command": ["b"], "target": "local", "resources": resources} | more
    assert asks_for(parse_job(document)) == words


def test_devices_that_stand_in_a_row_are_told_as_a_range() -> None:
    job = a_job(gpus=8)
    assert answered(job, a_worker("w1", gpus=devices("8xA100"))).lead.startswith("Starts on w1, devices 0–7:")
