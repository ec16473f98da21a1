"""A job document becomes the spec it says, or every mistake in it is told at once."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler.core.errors import DocumentError
from scheduler.core.parsing import parse_job, parse_queue_entry
from scheduler.core.spec import (
    Accelerator,
    Distributed,
    FallbackWhen,
    JobSpec,
    MemoryKind,
    OnUnschedulable,
    Origin,
    Placement,
    Policy,
    Resources,
    Retries,
    RetryOn,
    Runtime,
)

LEAST: dict[str, Any] = {"name": "one", "command": ["true"], "target": "local"}
GB = 10**9


def problems(document: object) -> dict[str, str]:
    """Path -> what is wrong there."""
    with pytest.raises(DocumentError) as caught:
        parse_job(document)
    return {problem.path: f"{problem.found}; {problem.expected}" for problem in caught.value.problems}


def test_the_least_that_a_job_says_is_a_name_a_command_and_a_target() -> None:
    assert parse_job(LEAST) == JobSpec(name="one", command=("true",), target=Origin.LOCAL)


def test_everything_that_can_be_said_arrives() -> None:
    document = {
        "version": 1,
        "name": "finetune-7b",
        "command": ["python", "train.py", ""],
        "workdir": "/data/mira/finetune",
        "env": {"EPOCHS": "3", "A": ""},
        "secrets": {"HF_TOKEN": "s"},
        "target": "local",
        "fallback_targets": ["remote", "cloud"],
        "fallback_when": "incompatible",
        "on_unschedulable": "fail",
        "policy": "most_free_memory",
        "placement": {
            "provider": "aws", "region": "eu", "worker_ids": ["b", "a"], "worker_labels": {"zone": "a", "b": ""},
        },
        "resources": {
            "os": "linux", "arch": "x86_64", "cpu_cores": 1.5, "memory_gb": 32, "disk_gb": "1TiB", "gpus": 2,
            "accelerator": "cuda", "gpu_models": ["NVIDIA H100*"], "gpu_memory_gb": "80 gb",
            "gpu_memory_kind": "dedicated", "compute_capability": "8.0",
        },
        "runtime": {
            "environment": "train", "python": ">=3.10", "frameworks": {"Torch_Vision": "", "torch": ">=2.5,<3"},
        },
        "distributed": {"num_workers": 4, "launcher": "torchrun", "comm_backend": "nccl"},
        "retries": {"max": 2, "on": ["lost", "failed"], "lease_s": 600},
        "timeout_s": 86400,
    }  # fmt: skip
    assert parse_job(document) == JobSpec(
        name="finetune-7b",
        command=("python", "train.py", ""),
        workdir="/data/mira/finetune",
        env=(("A", ""), ("EPOCHS", "3")),
        secrets=(("HF_TOKEN", "s"),),
        target=Origin.LOCAL,
        fallback_targets=(Origin.REMOTE, Origin.CLOUD),
        fallback_when=FallbackWhen.INCOMPATIBLE,
        on_unschedulable=OnUnschedulable.FAIL,
        policy=Policy.MOST_FREE_MEMORY,
        placement=Placement(
            provider="aws", region="eu", worker_ids=("b", "a"), worker_labels=(("b", ""), ("zone", "a"))
        ),
        resources=Resources(
            os="linux", arch="x86_64", cpu_millicores=1500, memory_bytes=32 * GB, disk_bytes=2**40, gpus=2,
            accelerator=Accelerator.CUDA, gpu_models=("NVIDIA H100*",), gpu_memory_bytes=80 * GB,
            gpu_memory_kind=MemoryKind.DEDICATED, compute_capability=">=8.0",
        ),
        runtime=Runtime(
            environment="train", environment_stated=True, python=">=3.10",
            frameworks=(("torch", ">=2.5,<3"), ("torch-vision", "")),
        ),
        distributed=Distributed(num_workers=4, procs_per_worker=2, launcher="torchrun", comm_backend="nccl"),
        retries=Retries(max=2, on=(RetryOn.FAILED, RetryOn.LOST), lease_s=600),
        timeout_s=86400,
    )  # fmt: skip


def test_null_is_as_good_as_left_out() -> None:
    nothing = {"workdir": None, "env": None, "placement": None, "resources": {"gpus": None, "os": None}}
    assert parse_job(LEAST | nothing) == parse_job(LEAST)


@pytest.mark.parametrize(
    ("section", "path", "words"),
    [
        pytest.param({"target": None}, "target", "nothing; local, remote or cloud", id="a missing target"),
        pytest.param({"target": "locl"}, "target", "did you mean local?", id="a misspelt target"),
        pytest.param({"naem": "x"}, "naem", "the nearest is name", id="an unknown field names the nearest"),
        pytest.param(
            {"resources": {"gpu_memory": 8, "gpus": 1}}, "resources.gpu_memory", "the nearest is gpu_memory_gb",
            id="an unknown field in a section",
        ),
        pytest.param({"command": "python x"}, "command", '["sh", "-c"', id="a shell line as command"),
        pytest.param({"command": []}, "command", "0 items; at least 1", id="no argument at all"),
        pytest.param({"command": [""]}, "command[0]", "a program to run", id="no program to run"),
        pytest.param({"command": ["a", 0.1]}, "command[1]", "arguments are text", id="a number as an argument"),
        pytest.param({"command": ["a\0"]}, "command[0]", "NUL", id="NUL in an argument"),
        pytest.param({"command": ["\ud800"]}, "command[0]", "halves of characters", id="half a character"),
        pytest.param({"workdir": "data"}, "workdir", "absolute", id="a relative workdir"),
        pytest.param({"name": ""}, "name", "not empty", id="an empty name"),
        pytest.param({"name": "x\u202ey"}, "name", "direction characters", id="a name that turns around"),
        pytest.param({"name": "x" * 254}, "name", "254 characters; at most 253", id="a name too long"),
        pytest.param({"name": "x" * 1_000_000}, "name", "1,000,000 characters", id="a megabyte as a name"),
        pytest.param({"env": {"A": 3}}, "env.A", "environment values are text", id="a number in env"),
        pytest.param({"env": {"A=B": "3"}}, 'env["A=B"]', "no =", id="a variable's name with ="),
        pytest.param({"env": {"CUDA_VISIBLE_DEVICES": "0"}}, "env.CUDA_VISIBLE_DEVICES", "agent", id="its own devices"),
        pytest.param(
            {"env": {"A": "1"}, "secrets": {"A": "2"}}, "secrets.A", "env sets too", id="a variable set twice"
        ),
        pytest.param({"fallback_targets": ["local"]}, "fallback_targets", "the target itself", id="target as fallback"),
        pytest.param(
            {"fallback_targets": ["cloud", "cloud"]}, "fallback_targets[1]", "only once", id="a fallback twice"
        ),
        pytest.param({"fallback_targets": "cloud"}, "fallback_targets", "a list", id="text for a list"),
        pytest.param(
            {"placement": {"worker_labels": {"fast-link": True}}}, 'placement.worker_labels["fast-link"]',
            "true (a boolean); text: quote it (label values are text; put it in quotes)", id="a boolean as a label",
        ),
        pytest.param(
            {"placement": {"worker_labels": {"image": 1.1}}}, "placement.worker_labels.image", "put it in quotes",
            id="a number as a label",
        ),
        pytest.param({"placement": {"worker_labels": {"a": None}}}, "placement.worker_labels.a", "text", id="no label"),
        pytest.param({"resources": {"cpu_cores": 0.0001}}, "resources.cpu_cores", "three decimals", id="tiny cores"),
        pytest.param({"resources": {"cpu_cores": -1}}, "resources.cpu_cores", "from 0", id="negative cores"),
        pytest.param({"resources": {"cpu_cores": float("nan")}}, "resources.cpu_cores", "nan", id="NaN cores"),
        pytest.param({"resources": {"cpu_cores": True}}, "resources.cpu_cores", "a boolean", id="true cores"),
        pytest.param({"resources": {"memory_gb": "32"}}, "resources.memory_gb", "its own unit", id="text without unit"),
        pytest.param({"resources": {"memory_gb": float("inf")}}, "resources.memory_gb", "inf", id="endless memory"),
        pytest.param({"resources": {"memory_gb": 2**70}}, "resources.memory_gb", "a size", id="2**70 GB"),
        pytest.param({"resources": {"memory_gb": 10**5000}}, "resources.memory_gb", "far too large", id="10**5000 GB"),
        pytest.param({"resources": {"gpus": 1.0}}, "resources.gpus", "a whole number", id="a broken number of GPUs"),
        pytest.param({"resources": {"gpus": 10**9}}, "resources.gpus", "4,096", id="a billion GPUs"),
        pytest.param({"resources": {"gpu_memory_gb": 8}}, "resources.gpus", "say gpus: 1", id="memory without gpus"),
        pytest.param({"resources": {"accelerator": "cuda"}}, "resources.gpus", "accelerator", id="a kind without gpus"),
        pytest.param(
            {"resources": {"gpus": 1, "compute_capability": 8.0}}, "resources.compute_capability", "quote it",
            id="compute capability as a number",
        ),
        pytest.param(
            {"resources": {"gpus": 1, "compute_capability": "sm_80"}}, "resources.compute_capability", '">=8.0',
            id="compute capability in other words",
        ),
        pytest.param(
            {"resources": {"gpus": 0, "gpu_memory_gb": "x"}}, "resources.gpu_memory_gb", "a size",
            id="a wrong value that would not be asked",
        ),
        pytest.param({"runtime": {"python": 3.1}}, "runtime.python", "quote it (versions", id="a number as a version"),
        pytest.param({"runtime": {"python": "3.10"}}, "runtime.python", "specifier", id="a bare version"),
        pytest.param({"runtime": {"frameworks": {"torch": 2}}}, "runtime.frameworks.torch", "quote", id="torch 2"),
        pytest.param({"runtime": {"frameworks": {"to rch": ""}}}, 'runtime.frameworks["to rch"]', "name", id="no name"),
        pytest.param(
            {"runtime": {"frameworks": {"torch": "", "Torch": ""}}}, "runtime.frameworks.Torch", "twice",
            id="one framework under two spellings",
        ),
        pytest.param({"distributed": {}}, "distributed.num_workers", "at least 1", id="a gang of how many"),
        pytest.param({"distributed": {"num_workers": 0}}, "distributed.num_workers", "from 1", id="a gang of none"),
        pytest.param({"retries": {"on": ["crash"]}}, "retries.on[0]", "failed, lost", id="a retry after what?"),
        pytest.param({"retries": {"lease_s": 60}}, "retries.lease_s", "from 180 to 86,400", id="a lease too short"),
        pytest.param({"files": "f" * 63}, "files", "64 digits", id="a hash too short"),
        pytest.param({"files": "F" * 64}, "files", "64 digits", id="a hash in capitals"),
        pytest.param({"files": 3}, "files", "hashes are text", id="a number as a hash"),
        pytest.param({"files": "f" * 64, "workdir": "/data"}, "files", "one of the two", id="files beside a workdir"),
        pytest.param({"command": None, "hold_s": 59}, "hold_s", "from 60 to 604,800", id="a hold of a moment"),
        pytest.param({"command": None, "hold_s": 604_801}, "hold_s", "to 604,800", id="a hold of a week and 1 s"),
        pytest.param({"hold_s": 3600}, "command", "one of the two", id="a command beside a hold"),
        pytest.param({"timeout_s": 0}, "timeout_s", "from 1", id="no time at all"),
        pytest.param({"timeout_s": True}, "timeout_s", "a whole number", id="true seconds"),
        pytest.param({"version": 2}, "version", "1, the only version", id="a version of the future"),
        pytest.param({"env": []}, "env", "a list; a mapping", id="a list for a mapping"),
        pytest.param({3: "x"}, "", "3 (a number) as a field's name", id="a field's name that is a number"),
        pytest.param({"resources": "big"}, "resources", "a mapping of fields", id="text for a section"),
    ],
)  # fmt: skip
def test_it_says_where_and_what_is_wrong(section: dict[Any, Any], path: str, words: str) -> None:
    found = problems(LEAST | section)
    assert list(found) == [path]
    assert words in found[path]


def test_every_mistake_is_told_at_once() -> None:
    document = {
        "target": "x", "command": [], "timeout_s": "1h", "resources": {"cpu_cores": "8", "gpu_memory_gb": 1},
        "runtime": {"python": 3}, "colour": "red",
    }  # fmt: skip
    assert set(problems(document)) == {
        "name", "target", "command", "timeout_s", "resources.cpu_cores", "resources.gpus", "runtime.python", "colour",
    }  # fmt: skip


def test_a_hold_needs_no_command() -> None:
    held = parse_job({"name": "one", "hold_s": 14_400, "target": "local", "resources": {"gpus": 2}})
    assert (held.command, held.hold_s, held.resources.gpus) == ((), 14_400, 2)


def test_a_hold_says_everything_that_cannot_stand_beside_it() -> None:
    beside = {
        "files": "f" * 64, "workdir": "/data", "env": {"A": "1"}, "secrets": {"B": "2"}, "timeout_s": 60,
        "distributed": {"num_workers": 2}, "retries": {"max": 1},
    }  # fmt: skip
    assert set(problems(LEAST | {"hold_s": 3600} | beside)) == {"command", *beside}


def test_files_come_with_a_command() -> None:
    assert parse_job(LEAST | {"files": "0a" * 32}).files == "0a" * 32


def test_thousands_of_mistakes_are_counted_past_a_bound() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_job(LEAST | {f"x{number}": 1 for number in range(5_000)})
    assert len(caught.value.problems) == 201
    assert "4,800 more" in str(caught.value)


@pytest.mark.parametrize("document", [None, [], "text", 3, True, [LEAST]])
def test_what_is_no_mapping_is_no_job(document: object) -> None:
    assert "a mapping of fields" in problems(document)[""]


def test_with_an_explicit_zero_gpus_nothing_is_asked_of_devices() -> None:
    asked = {"gpus": 0, "gpu_memory_gb": 40, "gpu_models": ["T4"], "compute_capability": "8.0"}
    assert parse_job(LEAST | {"resources": asked}).resources == Resources()


def test_an_empty_list_of_models_asks_for_none_and_needs_no_gpus() -> None:
    assert parse_job(LEAST | {"resources": {"gpu_models": []}}).resources == Resources()


@pytest.mark.parametrize(
    ("gang", "gpus", "processes"),
    [({"num_workers": 2}, 4, 4), ({"num_workers": 2}, 0, 1), ({"num_workers": 2, "procs_per_worker": 3}, 4, 3)],
)
def test_processes_default_to_the_gpus_or_one(gang: dict[str, int], gpus: int, processes: int) -> None:
    spec = parse_job(LEAST | {"distributed": gang, "resources": {"gpus": gpus}})
    assert spec.distributed is not None
    assert spec.distributed.procs_per_worker == processes


@pytest.mark.parametrize(
    ("text", "specifier"),
    [("8.0", ">=8.0"), ("10.0", ">=10.0"), ("8", ">=8"), (">=8.0,<10", ">=8.0,<10"), ("==9.0", "==9.0")],
)
def test_a_bare_compute_capability_is_the_least(text: str, specifier: str) -> None:
    spec = parse_job(LEAST | {"resources": {"gpus": 1, "compute_capability": text}})
    assert spec.resources.compute_capability == specifier


def test_secrets_do_not_show_in_its_repr() -> None:
    assert "hush" not in repr(parse_job(LEAST | {"secrets": {"TOKEN": "hush"}}))


@pytest.mark.parametrize("secrets", [{"TOKEN": "hush\0"}, {"TOKEN": ["hush"]}, "hush", ["hush"], {"TOKEN": 4711}])
def test_secret_values_do_not_show_in_its_errors(secrets: object) -> None:
    told = str(problems(LEAST | {"secrets": secrets}))
    assert "hush" not in told
    assert "4711" not in told


def test_a_path_can_say_where_in_a_larger_document_the_job_stands() -> None:
    with pytest.raises(DocumentError) as caught:
        parse_job({}, path="jobs[3]")
    assert {problem.path for problem in caught.value.problems} == {"jobs[3].name", "jobs[3].command", "jobs[3].target"}


def test_a_queue_entry_says_what_the_server_knows() -> None:
    entry = parse_queue_entry(
        {"job_id": "j-7", "submitted_at": "2026-11-30T19:00:00+01:00", "holders": ["user:mira", "team:vision", "j-3"],
         "failed_on": ["w1"], "spec": LEAST},
        position=1,
    )  # fmt: skip
    assert entry.job_id == "j-7"
    assert entry.submitted_at == "2026-11-30T18:00:00.000000+00:00"
    assert entry.holders == ("user:mira", "team:vision", "job:j-3")
    assert entry.failed_on == ("w1",)
    assert entry.spec == parse_job(LEAST)


def test_a_bare_job_in_a_queue_is_called_by_its_place() -> None:
    assert parse_queue_entry(LEAST, position=3).job_id == "j-3"
    assert parse_queue_entry({"spec": LEAST}, position=4).job_id == "j-4"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        pytest.param({"submitted_at": "2026-11-30T18:00:00"}, "submitted_at", id="an instant without offset"),
        pytest.param({"submitted_at": "yesterday"}, "submitted_at", id="no instant"),
        pytest.param({"submitted_at": float("nan")}, "submitted_at", id="NaN"),
        pytest.param({"submitted_at": "0001-01-01T00:00:00+14:00"}, "submitted_at", id="before the first year"),
        pytest.param({"holders": ["group:x"]}, "holders[0]", id="an unknown kind of holder"),
        pytest.param({"holders": ["user:"]}, "holders[0]", id="a holder without a name"),
        pytest.param({"job_id": 7}, "job_id", id="a number as an id"),
        pytest.param({"spec": None}, "spec", id="no spec"),
        pytest.param({"spec": LEAST | {"target": "x"}}, "spec.target", id="a mistake in the spec"),
    ],
)
def test_a_wrong_queue_entry_says_where(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(DocumentError) as caught:
        parse_queue_entry({"job_id": "j-1", "spec": LEAST} | fields, position=1)
    assert [problem.path for problem in caught.value.problems] == [path]
