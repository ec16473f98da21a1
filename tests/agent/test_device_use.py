"""How devices do between registrations, and whose the processes on them are: real processes, devices of a double."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.nvml_double import H100, LOST, MIB, Error, NvmlDouble
from workers.agent.command import TAG
from workers.agent.device_use import MOST_PROCESSES, Holder
from workers.agent.environments import environments
from workers.agent.nvml import Nvml
from workers.agent.probe import Identity, Probe

FIRST, SECOND = H100 | {"uuid": "GPU-a"}, H100 | {"uuid": "GPU-b"}
WAITING = "import sys; print('ready', flush=True); sys.stdin.read()"
BEHIND_A_CHILD = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {program!r}], env={{}}{more},"
    " stdout=subprocess.DEVNULL, stdin=subprocess.PIPE); print(child.pid, flush=True); sys.stdin.read()"
)

Spawn = Callable[..., int]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Start a process, and answer with its number, or that of the child which it tells."""
    started: list[subprocess.Popen[str]] = []

    def start(program: str = WAITING, **variables: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", program], env={**os.environ, **variables}, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        started.append(process)
        assert process.stdout
        word = process.stdout.readline().strip()
        return int(word) if word.isdigit() else process.pid

    yield start
    for each in started:
        each.communicate()


def probe_of(*devices: Any, tmp_path: Path) -> tuple[Probe, NvmlDouble]:
    double = NvmlDouble(*devices)
    python = tmp_path / "python"
    python.write_text("""#!/bin/sh\necho '--gpulayer--{"python": "3.11.9"}'\n""")
    python.chmod(0o755)
    nvml = Nvml(double, pci_devices=lambda: len(double.devices))
    probe = Probe(Identity(name="w", origin="local"), environments({"default": python}, tmp_path), tmp_path, nvml)
    probe.read()
    return probe, double


def test_a_heartbeat_says_how_each_device_does(tmp_path: Path) -> None:
    probe, _ = probe_of(H100 | {"utilisation": 97, "memory": (81559, 1000)}, tmp_path=tmp_path)
    beat = probe.device_states()
    assert beat.devices == [{
        "index": 0, "uuid": "GPU-h100", "healthy": True, "health_note": "", "utilisation": 97,
        "memory_used": 1000 * MIB, "foreign_memory": 0, "processes": [],
    }]  # fmt: skip
    assert (beat.strays, beat.changed) == ([], False)


@pytest.mark.parametrize("way", ["tagged", "in its session", "below it, tag and session gone"])
def test_a_tasks_own_processes_are_known(spawn: Spawn, tmp_path: Path, way: str) -> None:
    below = BEHIND_A_CHILD.format(program="import sys; sys.stdin.read()", more=", start_new_session=True")
    same = BEHIND_A_CHILD.format(program="import sys; sys.stdin.read()", more="")
    pid = {
        "tagged": lambda: spawn(**{TAG: "t-1"}),
        "in its session": lambda: spawn(same),
        "below it, tag and session gone": lambda: spawn(below, **{TAG: "t-1"}),
    }[way]()
    probe, _ = probe_of(FIRST | {"processes": [(pid, 500)]}, SECOND, tmp_path=tmp_path)
    holder = Holder(task=7, tag="t-1", sessions=(os.getsid(pid),) if "in" in way[:2] else (), devices=((0, "GPU-a"),))
    first, second = probe.device_states([holder]).devices
    assert first["processes"] == [{"pid": pid, "user": getpass.getuser(), "memory": 500 * MIB, "task": 7}]
    assert (first["foreign_memory"], second["foreign_memory"]) == (0, 0)


def test_a_task_on_a_device_that_it_does_not_hold_is_a_stray_and_foreign_there(spawn: Spawn, tmp_path: Path) -> None:
    pid = spawn(**{TAG: "t-1"})
    probe, _ = probe_of(FIRST, SECOND | {"processes": [(pid, 900)]}, tmp_path=tmp_path)
    beat = probe.device_states([Holder(task=7, tag="t-1", devices=((0, "GPU-a"),))])
    assert beat.strays == [{"device": 1, "pid": pid, "task": 7}]
    assert [each["foreign_memory"] for each in beat.devices] == [0, 900 * MIB]
    assert beat.devices[1]["processes"][0]["task"] == 7


def test_a_device_is_known_by_its_uuid_whatever_its_index(spawn: Spawn, tmp_path: Path) -> None:
    pid = spawn(**{TAG: "t-1"})
    probe, _ = probe_of(SECOND, FIRST | {"processes": [(pid, 900)]}, tmp_path=tmp_path)
    beat = probe.device_states([Holder(task=7, tag="t-1", devices=((0, "GPU-a"),))])
    assert (beat.strays, [each["foreign_memory"] for each in beat.devices]) == ([], [0, 0])


@pytest.mark.parametrize(
    ("people", "devices", "foreign"),
    [
        pytest.param((getpass.getuser(),), ((0, "GPU-a"),), 0, id="whom it is held for"),
        pytest.param(("somebody-else",), ((0, "GPU-a"),), 300 * MIB, id="somebody else"),
        pytest.param((getpass.getuser(),), ((1, "GPU-b"),), 300 * MIB, id="on a device that is not held for them"),
    ],
)
def test_what_a_person_runs_on_devices_held_for_them_is_not_foreign(
    spawn: Spawn, tmp_path: Path, people: tuple[str, ...], devices: Any, foreign: int
) -> None:
    probe, _ = probe_of(FIRST | {"processes": [(spawn(), 300)]}, SECOND, tmp_path=tmp_path)
    beat = probe.device_states([Holder(task=9, tag="t-9", devices=devices, people=people)])
    assert (beat.devices[0]["foreign_memory"], beat.strays) == (foreign, [])


@pytest.mark.parametrize(("memory", "foreign"), [(12, 12 * MIB), (None, None)])
def test_a_process_that_nobody_here_can_see_is_foreign(tmp_path: Path, memory: int | None, foreign: Any) -> None:
    probe, _ = probe_of(FIRST | {"processes": [(2**22 + 1, memory)]}, tmp_path=tmp_path)
    (device,) = probe.device_states([Holder(task=7, tag="t-1")]).devices
    assert (device["processes"][0]["user"], device["processes"][0]["task"]) == (None, None)
    assert device["foreign_memory"] == foreign


def test_a_heartbeat_names_the_largest_processes_and_counts_all(tmp_path: Path) -> None:
    many = [(2**22 + number, number) for number in range(1, MOST_PROCESSES + 11)]
    probe, _ = probe_of(FIRST | {"processes": many}, tmp_path=tmp_path)
    (device,) = probe.device_states().devices
    assert len(device["processes"]) == MOST_PROCESSES
    assert device["processes"][0]["memory"] == (MOST_PROCESSES + 10) * MIB
    assert device["foreign_memory"] == sum(number for _, number in many) * MIB


def test_a_quarantined_device_is_unhealthy_for_the_reason_given_and_well_again_after(tmp_path: Path) -> None:
    probe, _ = probe_of(FIRST, SECOND, tmp_path=tmp_path)
    states = probe.device_states(quarantined={"GPU-b": "process 42 of task 7 does not end"}).devices
    assert [(each["healthy"], each["health_note"]) for each in states] == [
        (True, ""), (False, "process 42 of task 7 does not end"),
    ]  # fmt: skip
    assert [each["healthy"] for each in probe.device_states().devices] == [True, True]


def test_a_device_that_is_lost_keeps_its_place_and_asks_for_a_new_registration(tmp_path: Path) -> None:
    probe, double = probe_of(FIRST, SECOND, tmp_path=tmp_path)
    double.devices[0] = Error(LOST)
    beat = probe.device_states()
    assert [(each["index"], each["healthy"], each["health_note"]) for each in beat.devices] == [
        (0, False, "gpu is lost"), (1, True, ""),
    ]  # fmt: skip
    assert beat.changed
    assert probe.read().unknown["devices[0]"] == "gpu is lost"
    assert not probe.device_states().changed


def test_a_device_that_is_no_longer_shown_is_missing(tmp_path: Path) -> None:
    probe, double = probe_of(FIRST, SECOND, tmp_path=tmp_path)
    double.devices.pop()
    beat = probe.device_states()
    assert [(each["uuid"], each["healthy"]) for each in beat.devices] == [("GPU-a", True), ("GPU-b", False)]
    assert (beat.devices[1]["health_note"], beat.changed) == ("missing: NVML no longer shows it", True)


def test_where_nvml_fails_every_known_device_is_unhealthy_until_it_answers_again(tmp_path: Path) -> None:
    probe, double = probe_of(FIRST, SECOND, tmp_path=tmp_path)
    kept, double.devices = double.devices, []
    nothing = Nvml(double, pci_devices=lambda: 2)
    probe._nvml = nothing
    beat = probe.device_states()
    assert [each["healthy"] for each in beat.devices] == [False, False]
    assert "could not start them" in beat.devices[0]["health_note"]
    assert beat.changed
    assert probe.read().document["devices"] is None
    double.devices = kept
    assert probe.device_states().changed
    assert len(probe.read().document["devices"]) == 2
