"""`gpulayer schedule` and `gpulayer compat`, as a person and as a program call them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gpulayer_site.cli import main
from scheduler.core.codec import decision_from_document

Run = Callable[..., Result]
GPU = {"kind": "cuda", "memory": "81559MiB", "memory_kind": "dedicated", "compute_capability": "9.0"}


def a_worker(id: str, gpus: int = 0, **facts: object) -> dict[str, object]:
    devices = [{"index": n} | GPU for n in range(gpus)]
    return {"id": id, "origin": "local", "os": "linux", "arch": "x86_64", "devices": devices} | facts


def a_job(id: str, gpus: int = 0, **spec: object) -> dict[str, object]:
    asked = {"name": f"name of {id}", "command": ["true"], "target": "local", "resources": {"gpus": gpus}}
    return {"job_id": id, "spec": asked | spec}


@pytest.fixture
def given(tmp_path: Path) -> Callable[[list[Any], list[Any]], tuple[str, ...]]:
    """Files with these workers and jobs, as arguments."""

    def write(workers: list[Any], jobs: list[Any]) -> tuple[str, ...]:
        (tmp_path / "w.json").write_text(json.dumps(workers), encoding="utf-8")
        (tmp_path / "j.json").write_text(json.dumps(jobs), encoding="utf-8")
        return "--workers", str(tmp_path / "w.json"), "--jobs", str(tmp_path / "j.json")

    return write


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


FLEET = [a_worker("w2", 2), a_worker("w1", 1), a_worker("w3", state="offline")]
QUEUE = [a_job("j-1", 2), a_job("j-2", 2), a_job("j-3", 4), a_job("j-4")]


def test_the_table_reads_without_flags(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE))
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "j-1  placed      w2 [0,1]  the only one free",
        "j-2  waiting     only w2 fits: devices in use",
        "j-3  never fits  no worker has 4 GPUs",
        "j-4  placed      w1  lowest id of 2 free",
        "",
        "4 jobs on 3 workers: 2 placed, 1 waiting, 1 never fits",
        "--explain JOB shows every worker beside its reasons",
    ]


def test_jsonl_is_a_decision_a_line_in_queue_order(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--jsonl")
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(document["job_id"], document["outcome"]) for document in documents] == [
        ("j-1", "placed"), ("j-2", "waiting"), ("j-3", "unschedulable"), ("j-4", "placed"),
    ]  # fmt: skip
    assert [len(decision_from_document(document).candidates) for document in documents] == [3, 3, 3, 3]


def test_json_is_a_list_of_the_same(given: Run) -> None:
    arguments = given(FLEET, QUEUE)
    lines = [json.loads(line) for line in run("schedule", *arguments, "--jsonl").stdout.splitlines()]
    assert json.loads(run("schedule", *arguments, "--json").stdout) == lines
    assert json.loads(run("schedule", *given(FLEET, []), "--json").stdout) == []


def test_the_order_of_workers_changes_no_byte(given: Run) -> None:
    answers = {run("schedule", *given(fleet, QUEUE), "--jsonl").stdout for fleet in (FLEET, FLEET[::-1])}
    assert len(answers) == 1


def test_a_large_fleet_is_grouped_and_nobody_is_lost(given: Run) -> None:
    fleet = [a_worker(f"w{number:03}", state="offline") for number in range(60)]
    (document,) = json.loads(run("schedule", *given(fleet, [a_job("j-1")]), "--json").stdout)
    assert len(document["candidates"]) == 1
    assert len(decision_from_document(document).candidates) == 60


def test_submission_decides_the_order_where_it_is_stated(given: Run) -> None:
    queue = [a_job("b") | {"submitted_at": 2}, a_job("a") | {"submitted_at": 2}, a_job("z") | {"submitted_at": 1}]
    done = run("schedule", *given(FLEET, queue))
    assert [line.split()[0] for line in done.stdout.splitlines()[:3]] == ["z", "a", "b"]


def test_explain_shows_one_job_and_every_worker(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--explain", "j-2")
    assert "Waiting: only w2 can run this job, and it is not free now." in done.stdout
    assert "needs 2 GPUs, 0 of 2 are free: devices are in use by other tasks (j-1)" in done.stdout
    assert "needs 2 GPUs, has none" in done.stdout
    assert "can run it (capability)" in done.stdout


def test_explain_with_json_is_that_decision_alone(given: Run) -> None:
    (document,) = json.loads(run("schedule", *given(FLEET, QUEUE), "--explain", "j-3", "--json").stdout)
    assert document["job_id"] == "j-3"


def test_explain_says_what_would_help_and_counts_every_check(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--explain", "j-3")
    assert "GPUs 4 → 2: +1 worker, 0 of them free now; fits, and waits" in done.stdout
    assert "GPUs 4 → 1: +2 workers, 1 of them free now; starts now" in done.stdout
    assert "ONLY BLOCKER" in done.stdout
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("4 GPUs ")]
    assert row.split() == ["4", "GPUs", "all", "3", "all", "1", "all", "1", "all", "1", "3"]


def test_explain_counts_the_fleet_as_it_was_at_the_jobs_turn(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--explain", "j-2", "--group-by", "worker")
    assert "In the way on 1 worker: no known time" in done.stdout
    assert "GPUs 2 → 1: +1 worker, 1 of them free now; starts now" in done.stdout
    assert "  2: w2 (1 worker)" in done.stdout


def test_explain_in_json_has_the_same_as_data(given: Run) -> None:
    (document,) = json.loads(run("schedule", *given(FLEET, QUEUE), "--explain", "j-3", "--json").stdout)
    why = document["why"]
    assert [edit["changes"][0]["after"] for edit in why["relaxations"]["alone"]] == ["2", "1"]
    assert why["relaxations"]["alone"][1]["spec"]["resources"] == {"gpus": 1}
    assert why["matrix"]["columns"] == [["1 × unknown model", 1], ["2 × unknown model", 1], ["no GPU", 1]]
    assert decision_from_document(document).outcome == "unschedulable"


def test_a_grouping_that_is_none_is_told_with_those_that_are(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--explain", "j-3", "--group-by", "colour")
    assert done.exit_code == 2
    assert "known are gpu, tier, torch, worker and label:KEY" in done.stderr


def test_a_roll_up_says_why_the_queue_waits_and_what_would_help(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--rollup")
    assert done.stdout.splitlines()[:3] == [
        "2 placed, 1 waiting, 1 never fits",
        "  1 job never fits: number of GPUs; the oldest is j-3 (no worker has 4 GPUs)",
        "  1 job waits: devices in use; the oldest is j-2 (only w2 fits: devices in use)",
    ]
    assert "the end of j-1 on w2 would let 1 job start (j-2)" in done.stdout
    document = json.loads(run("schedule", *given(FLEET, QUEUE), "--rollup", "--json").stdout)
    assert document["causes"][1]["codes"] == ["gpu_in_use"]
    assert run("schedule", *given(FLEET, QUEUE), "--rollup", "--explain", "j-1").exit_code == 2


def test_an_unknown_job_to_explain_names_the_nearest(given: Run) -> None:
    done = run("schedule", *given(FLEET, QUEUE), "--explain", "j-22")
    assert done.exit_code == 2
    assert "no job j-22; did you mean j-2?" in done.stderr


def test_every_mistake_in_both_files_is_told_on_standard_error(given: Run) -> None:
    workers = [a_worker("w1"), a_worker("w1"), {"id": "w3", "origin": "moon"}]
    jobs = [a_job("j-1"), a_job("j-2", target="moon", nmae="x"), a_job("j-1")]
    done = run("schedule", *given(workers, jobs))
    assert done.exit_code == 2
    assert done.stdout == ""
    lines = [line.rpartition(".json, ")[2] for line in done.stderr.splitlines()]
    assert lines == [
        'document 2: id: found "w1", which document 1 has too; expected an id that stands only once',
        'document 3: origin: found "moon"; expected one of local, remote, cloud',
        "document 2: spec.nmae: found an unknown field; expected a known one; the nearest is name",
        'document 2: spec.target: found "moon"; expected one of local, remote, cloud',
        'document 3: job_id: found "j-1", which document 1 has too; expected an id that stands only once',
    ]


def test_files_that_are_not_there_are_both_named(tmp_path: Path) -> None:
    done = run("schedule", "--workers", str(tmp_path / "a"), "--jobs", str(tmp_path / "b"))
    assert done.exit_code == 2
    assert done.stderr.count("no such file or directory") == 2


def test_a_bare_job_document_will_do(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("id: w1\norigin: local\n", encoding="utf-8")
    (tmp_path / "j.yaml").write_text(
        "name: a\ncommand: [x]\ntarget: local\nretries: {max: 1, on: [lost]}\n", encoding="utf-8"
    )
    done = run("schedule", "--workers", str(tmp_path / "w.yaml"), "--jobs", str(tmp_path / "j.yaml"))
    assert done.stdout.startswith("j-1  placed      w1")


def test_compat_says_every_check(tmp_path: Path) -> None:
    done = run("compat", *_pair(tmp_path, a_worker("w1", 1), a_job("j-1", 1)))
    assert done.exit_code == 0
    assert "j-1 (name of j-1) asks for 1 GPU" in done.stdout
    assert "w1: eligible" in done.stdout
    rows = {line[:32].strip(): line[32:] for line in done.stdout.splitlines()[5:]}
    assert rows["number of GPUs"].split() == ["passed", "1", "GPU", "1", "-"]
    assert rows["region"].split()[:2] == ["not", "asked"]


def test_compat_in_json_gives_reasons_and_why_not_asked(tmp_path: Path) -> None:
    done = run("compat", *_pair(tmp_path, a_worker("w1", 1, state="offline"), a_job("j-1", 2)), "--json")
    document = json.loads(done.stdout)
    checks = {check["code"]: check for check in document["checks"]}
    assert document["verdict"] == "incompatible"
    assert checks["gpu_count"]["reasons"][0]["message"] == "needs 2 GPUs, has 1"
    assert checks["offline"]["status"] == "not_asked"
    assert checks["offline"]["why_not_asked"] == "availability is asked only of workers that can run the job"


def test_compat_says_what_would_have_to_give(tmp_path: Path) -> None:
    worker, job = a_worker("w1", 1, memory="64GB"), a_job("j-1", resources={"gpus": 2, "memory_gb": 32})
    done = run("compat", *_pair(tmp_path, worker, job))
    assert "2 failed" not in done.stdout
    assert "gpu_count: " in done.stdout
    assert "GPUs 2 → 1: +1 worker, 1 of them free now; starts now" in done.stdout
    document = json.loads(run("compat", *_pair(tmp_path, worker, job), "--json").stdout)
    assert document["in_the_job"][0]["spec"]["resources"]["gpus"] == 1
    memory = next(check for check in document["checks"] if check["code"] == "memory")
    assert (memory["required"], memory["actual"], memory["status"]) == ("≥ 32 GB", "64 GB", "passed")


def test_compat_wants_one_of_each(tmp_path: Path) -> None:
    done = run("compat", *_pair(tmp_path, [a_worker("w1"), a_worker("w2")], [a_job("j-1"), a_job("j-2")]))
    assert done.exit_code == 2
    assert "found 2 workers; expected one" in done.stderr
    assert "found 2 jobs; expected one" in done.stderr


def test_it_needs_neither_django_nor_a_database(given: Run) -> None:
    program = (
        "import sys; from gpulayer_site.cli import main; main(sys.argv[1:], standalone_mode=False);"
        "assert not {'django', 'celery', 'ninja'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "schedule", *given(FLEET, QUEUE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _pair(folder: Path, worker: object, job: object) -> tuple[str, ...]:
    (folder / "worker.json").write_text(json.dumps(worker), encoding="utf-8")
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    return "--worker", str(folder / "worker.json"), "--job", str(folder / "job.json")
