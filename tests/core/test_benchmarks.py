"""The benchmark runs, measures the real thing and would notice if that were not the rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import fleets
from benchmarks.__main__ import main

DECIDING = ("--part", "deciding")


def test_a_generated_fleet_is_measured_and_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*DECIDING, "--size", "60,90,40", "--size", "120,180,40", "--compared", "12"]) == 0
    said = capsys.readouterr().out
    assert said.count("12 of 12") == 2
    assert "2.0 times as much" in said


def test_a_trace_is_read_from_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, documents in (("workers", fleets.workers(20, 3)), ("jobs", fleets.jobs(30, 20, 3))):
        lines = "".join(json.dumps(document) + "\n" for document in documents)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    assert main([*DECIDING, "--trace", str(tmp_path), "--size", "20,30,20", "--compared", "30"]) == 0
    assert "30 of 30" in capsys.readouterr().out


def test_a_trace_that_is_wrong_is_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "workers.jsonl").write_text('{"id": "w1"}\n', encoding="utf-8")
    (tmp_path / "jobs.jsonl").write_text("", encoding="utf-8")
    assert main([*DECIDING, "--trace", str(tmp_path)]) == 2
    assert "origin" in capsys.readouterr().err


def test_the_same_seed_makes_the_same_fleet() -> None:
    assert list(fleets.workers(30, 7)) == list(fleets.workers(30, 7))
    assert list(fleets.jobs(30, 25, 7)) == list(fleets.jobs(30, 25, 7))
