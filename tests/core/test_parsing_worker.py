"""A worker document becomes facts, state and load; what it does not say is unknown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from scheduler.core.errors import DocumentError
from scheduler.core.fleet import DeviceView, EnvironmentView, TaskLoad, TorchBuild, WorkerFacts, WorkerView
from scheduler.core.parsing import parse_worker, parse_worker_facts
from scheduler.core.spec import Accelerator, MemoryKind, Origin

END = "2026-11-30T18:00:00Z"
LEAST: dict[str, Any] = {"id": "w1", "origin": "local"}
MIB = 2**20
SIX = datetime(2026, 11, 30, 18, tzinfo=UTC)


def problems(document: object) -> dict[str, str]:
    """Path -> what is wrong there."""
    with pytest.raises(DocumentError) as caught:
        parse_worker(document)
    return {problem.path: f"{problem.found}; {problem.expected}" for problem in caught.value.problems}


def test_what_a_worker_does_not_say_is_unknown() -> None:
    facts = WorkerFacts(id="w1", origin=Origin.LOCAL, devices=None)
    assert parse_worker(LEAST) == WorkerView(facts=facts)
    assert parse_worker(
        LEAST | dict.fromkeys(("os", "memory", "frameworks", "devices", "state", "tasks"))
    ) == WorkerView(facts=facts)


def test_the_empty_text_is_unknown_too() -> None:
    said = dict.fromkeys(("os", "arch", "provider", "region", "driver", "python", "advertise_address"), "")
    assert parse_worker(LEAST | said) == parse_worker(LEAST)


def test_a_list_that_is_given_and_empty_means_none() -> None:
    facts = parse_worker_facts(LEAST | {"devices": [], "launchers": [], "comm_backends": [], "frameworks": {}})
    assert facts.devices == ()
    assert dict(facts.environments)["default"] == EnvironmentView(launchers=(), comm_backends=(), frameworks=())


def test_everything_that_can_be_said_arrives() -> None:
    document = {
        "id": "gpu-07", "origin": "remote", "provider": "aws", "region": "eu-west-1",
        "labels": {"zone": "a", "gpulayer.dev/reserved-for": "j-12"}, "reserved_until": "2026-11-30T19:00:00+01:00",
        "os": "linux", "os_version": "22.04", "arch": "x86_64", "cpu_cores": 64, "memory": "503GiB", "disk": "900GB",
        "driver": "550.54.15", "advertise_address": "10.0.0.7", "max_concurrent_tasks": 3, "foreign_allowance": "2 GB",
        "python": "3.11.9", "frameworks": {"Torch": "2.6.0+cu124", "numpy": None},
        "torch_build": {"cuda": "12.4", "archs": ["sm_80", "sm_90"]}, "launchers": ["torchrun"],
        "comm_backends": ["nccl"],
        "environments": {"train": {"python": "3.12.1", "torch_build": {}}, "bare": {}},
        "devices": [
            {"index": 1, "uuid": "GPU-1", "mig": True, "health": "unhealthy", "health_note": "Xid 79"},
            {"index": 0, "uuid": "GPU-0", "model": "NVIDIA H100 80GB HBM3", "kind": "cuda", "memory": "81559MiB",
             "memory_kind": "dedicated", "compute_capability": "9.0", "mig": False, "health": "ok",
             "foreign_memory": "0MiB", "reserved_for": "team:vision", "reserved_until": "2026-11-30T18:00:00Z"},
        ],
        "state": ["draining", "unhealthy"], "state_since": "2026-11-30T18:00:00Z", "state_note": "new kernel",
        "tasks": [{"job_id": "j-9", "devices": [1, 0], "cpu_cores": 0.5, "memory": "64GB", "disk": 100}],
    }  # fmt: skip
    default = EnvironmentView(
        python="3.11.9", frameworks=(("numpy", None), ("torch", "2.6.0+cu124")), launchers=("torchrun",),
        comm_backends=("nccl",), torch_build=TorchBuild(cuda="12.4", archs=("sm_80", "sm_90")),
    )  # fmt: skip
    train = EnvironmentView(python="3.12.1", torch_build=TorchBuild())
    facts = WorkerFacts(
        id="gpu-07", origin=Origin.REMOTE, provider="aws", region="eu-west-1", labels=(("zone", "a"),),
        reserved_for="job:j-12", reserved_until=SIX, os="linux", os_version="22.04", arch="x86_64",
        cpu_millicores=64_000, memory_bytes=503 * 2**30, disk_bytes=900 * 10**9, driver="550.54.15",
        advertise_address="10.0.0.7", max_concurrent_tasks=3, foreign_allowance_bytes=2 * 10**9,
        environments=(("default", default), ("bare", EnvironmentView()), ("train", train)),
        devices=(
            DeviceView(
                index=0, uuid="GPU-0", model="NVIDIA H100 80GB HBM3", kind=Accelerator.CUDA, memory_bytes=81559 * MIB,
                memory_kind=MemoryKind.DEDICATED, compute_capability="9.0", mig=False, healthy=True,
                foreign_memory_bytes=0, reserved_for="team:vision", reserved_until=SIX,
            ),
            DeviceView(index=1, uuid="GPU-1", mig=True, healthy=False, health_note="Xid 79"),
        ),
    )  # fmt: skip
    assert parse_worker(document) == WorkerView(
        facts=facts, online=True, draining=True, unhealthy=True, state_note="new kernel", state_since=SIX,
        tasks=(TaskLoad(job_id="j-9", devices=(0, 1), cpu_millicores=500, memory_bytes=64 * 10**9, disk_bytes=10**11),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "path", "words"),
    [
        pytest.param({"id": None}, "id", "stable name", id="no id"),
        pytest.param({"id": 7}, "id", "quote it", id="a number as an id"),
        pytest.param({"id": "a\nb"}, "id", "one line", id="an id of two lines"),
        pytest.param({"origin": "moon"}, "origin", "local, remote, cloud", id="an unknown origin"),
        pytest.param({"python": 3.11}, "python", "versions are text", id="a number as a version"),
        pytest.param({"os_version": 22.04}, "os_version", "quote it", id="a number as the version of the OS"),
        pytest.param({"frameworks": {"torch": 2.6}}, "frameworks.torch", "quote it", id="a framework's number"),
        pytest.param({"frameworks": ["torch"]}, "frameworks", "a mapping", id="frameworks as a list"),
        pytest.param({"labels": {"a": 1}}, "labels.a", "put it in quotes", id="a number as a label"),
        pytest.param({"labels": {"a": False}}, "labels.a", "a boolean", id="a boolean as a label"),
        pytest.param(
            {"labels": {"gpulayer.dev/reserved-for": "group:x"}}, 'labels["gpulayer.dev/reserved-for"]', "team:…",
            id="reserved for an unknown kind",
        ),
        pytest.param({"memory": "lots"}, "memory", "a size", id="a size in no unit"),
        pytest.param({"memory": 85899345920}, "memory", "plain number is GB", id="bytes taken for GB"),
        pytest.param({"memory": -1}, "memory", "a size", id="less than nothing"),
        pytest.param({"cpu_cores": "8"}, "cpu_cores", "a number of cores", id="cores as text"),
        pytest.param({"max_concurrent_tasks": -1}, "max_concurrent_tasks", "from 0", id="fewer slots than none"),
        pytest.param({"state": "busy"}, "state", "online, offline", id="an unknown state"),
        pytest.param({"state": ["online", "offline"]}, "state", "one of the two", id="online and offline"),
        pytest.param({"state": []}, "state", "at least 1", id="no state in the list"),
        pytest.param({"state_since": "2026-11-30"}, "state_since", "offset", id="a day for an instant"),
        pytest.param({"environments": {"default": {}}}, "environments.default", "own keys", id="default twice"),
        pytest.param({"environments": {"a": {"pyton": ""}}}, "environments.a.pyton", "python", id="a misspelt key"),
        pytest.param({"torch_build": {"cuda": 12.4}}, "torch_build.cuda", "quote it", id="a number as CUDA's version"),
        pytest.param({"devices": [{}]}, "devices[0].index", "own number", id="a device without index"),
        pytest.param({"devices": [{"index": 0}, {"index": 0}]}, "devices", "index 0 twice", id="an index twice"),
        pytest.param(
            {"devices": [{"index": 0, "uuid": "a"}, {"index": 1, "uuid": "a"}]}, "devices", "uuid a twice",
            id="a uuid twice",
        ),
        pytest.param(
            {"devices": [{"index": 0, "compute_capability": 9.0}]}, "devices[0].compute_capability", "quote it",
            id="capability as a number",
        ),
        pytest.param({"devices": [{"index": 0, "mig": "on"}]}, "devices[0].mig", "true or false", id="mig as a word"),
        pytest.param({"devices": [{"index": 0, "kind": "gpu"}]}, "devices[0].kind", "cuda, rocm", id="an unknown kind"),
        pytest.param({"tasks": [{"devices": [0]}]}, "tasks[0].job_id", "nothing", id="a task of no job"),
        pytest.param({"tasks": [{"job_id": "j", "devices": [0, 0]}]}, "tasks[0].devices[1]", "once", id="held twice"),
        pytest.param(
            {"upcoming": [{"reserved_for": "mira", "starts_at": "18:00"}]}, "upcoming[0].starts_at", "offset",
            id="a start without a day",
        ),
        pytest.param({"upcoming": [{"starts_at": END}]}, "upcoming[0].reserved_for", "nothing", id="for nobody"),
        pytest.param(
            {"upcoming": [{"reserved_for": "mira", "starts_at": END, "ends_at": END}]}, "upcoming[0].ends_at",
            "not after the start", id="over before it begins",
        ),
        pytest.param(
            {"upcoming": [{"reserved_for": "mira", "starts_at": END, "notice_s": -1}]}, "upcoming[0].notice_s",
            "whole number", id="a negative notice",
        ),
        pytest.param({"gpus": 4}, "gpus", "the nearest is", id="an unknown field"),
    ],
)  # fmt: skip
def test_it_says_where_and_what_is_wrong(fields: dict[str, Any], path: str, words: str) -> None:
    found = problems(LEAST | fields)
    assert list(found) == [path]
    assert words in found[path]


def test_facts_alone_have_no_state() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_worker_facts(LEAST | {"state": "online", "tasks": []})
    assert [problem.path for problem in caught.value.problems] == ["state", "tasks"]


def test_an_end_without_a_holder_reserves_nothing() -> None:
    end = {"reserved_until": "2026-11-30T18:00:00Z"}
    assert parse_worker(LEAST | end | {"devices": [{"index": 0} | end]}) == parse_worker(
        LEAST | {"devices": [{"index": 0}]}
    )


@pytest.mark.parametrize(
    ("state", "online", "draining", "unhealthy"),
    [
        ("online", True, False, False),
        ("offline", False, False, False),
        ("draining", True, True, False),
        (["offline", "unhealthy"], False, False, True),
    ],
)
def test_a_state_is_a_word_or_several(state: object, online: bool, draining: bool, unhealthy: bool) -> None:
    view = parse_worker(LEAST | {"state": state})
    assert (view.online, view.draining, view.unhealthy) == (online, draining, unhealthy)
