"""Recorded readings of real machines, and what a probe makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.agent.nvml_double import BROKEN, DENIED, H100, LOST, MIB, N_A, Error, NvmlDouble
from workers.agent.nvml import DeviceReading, Nvml, Reading, count_pci_devices

HOST_MEMORY = 127_600_748 * 1024


def read(double: NvmlDouble, *, on_bus: int | None = None, own: tuple[int, ...] = ()) -> Reading:
    """A reading, with as many devices on the PCI bus as NVML shows unless told otherwise."""
    bus = len(double.devices) if on_bus is None else on_bus
    return Nvml(double, pci_devices=lambda: bus, host_memory=lambda: HOST_MEMORY).read(own)


def device(**differs: Any) -> DeviceReading:
    """The reading of one device that differs in this from a healthy H100."""
    devices = read(NvmlDouble(H100 | differs)).devices
    assert devices is not None
    return devices[0]


def test_a_healthy_data_centre_part() -> None:
    reading = read(NvmlDouble(H100))
    assert reading == Reading(driver="590.48.01", devices=(DeviceReading(
        index=0, uuid="GPU-h100", model="NVIDIA H100 80GB HBM3", memory=81559 * MIB, memory_kind="dedicated",
        compute_capability="9.0", mig=False, healthy=True, utilisation=0, memory_used=0, foreign_memory=0,
    ),))  # fmt: skip


@pytest.mark.parametrize(("differs", "expected"), [
    pytest.param(
        {"mig": 1, "remapped": Error(N_A), "utilisation": Error(N_A), "memory": (81559, 59)},
        {"mig": True, "healthy": True, "utilisation": None},
        id="an H100 in MIG mode: no whole device, its health signs are off",
    ),
    pytest.param(
        {"name": "NVIDIA GeForce RTX 4080 SUPER", "memory": (16376, 596), "capability": (8, 9), "mig": Error(N_A),
         "remapped": Error(N_A), "recovery": Error(N_A)},
        {"model": "NVIDIA GeForce RTX 4080 SUPER", "memory": 16376 * MIB, "mig": False, "healthy": True},
        id="a consumer card: what it does not support is no fault",
    ),
    pytest.param(
        {"name": "GeForce RTX 2080 Ti", "memory": (11264, 0), "capability": (7, 5)},
        {"model": "GeForce RTX 2080 Ti", "healthy": True},
        id="an old driver: its names have no prefix",
    ),
    pytest.param(
        {"name": "NVIDIA GB10", "memory": Error(N_A), "capability": (12, 1)},
        {"memory": HOST_MEMORY, "memory_kind": "unified", "memory_used": None, "compute_capability": "12.1"},
        id="a GB10: its memory is the host's",
    ),
    pytest.param(
        {"name": "NVIDIA GB10", "memory": (8128, 199)},
        {"memory": HOST_MEMORY, "memory_kind": "unified", "memory_used": None},
        id="a unified part that states a figure: it is wrong",
    ),
    pytest.param(
        {"name": "Orin (nvgpu)", "uuid": Error(N_A), "memory": Error(N_A), "capability": Error(N_A),
         "utilisation": Error(N_A), "processes": Error(N_A), "recovery": Error(N_A), "remapped": Error(N_A)},
        {"uuid": None, "memory_kind": "unified", "compute_capability": None, "utilisation": None,
         "foreign_memory": None, "healthy": True},
        id="a Jetson: a device exists, and hardly any number is known",
    ),
    pytest.param(
        {"name": "NVIDIA GH200 480GB", "memory": (97871, 0)},
        {"memory": 97871 * MIB, "memory_kind": "dedicated"},
        id="a GH200: coherent, but with memory of its own",
    ),
    pytest.param(
        {"name": "NVIDIA Graphics Device", "memory": (95830, 0)},
        {"model": None, "memory": 95830 * MIB, "healthy": True},
        id="a driver older than the board: the model is unknown, the numbers are not",
    ),
    pytest.param(
        {"memory": Error(DENIED)},
        {"memory": None, "memory_kind": None, "healthy": True},
        id="one question refused: that field is unknown, the others are not",
    ),
    pytest.param(
        {"fan": Error(BROKEN)},
        {"healthy": None, "health_note": "its fan cannot be read"},
        id="a fan that cannot be read: health unknown",
    ),
    pytest.param(
        {"remapped": (0, 4, 1, 0)},
        {"healthy": False, "health_note": "a memory row waits to be remapped: drain and reset it"},
        id="a row remap is pending",
    ),
    pytest.param(
        {"remapped": (0, 12, 0, 1)},
        {"healthy": False, "health_note": "a memory row could not be remapped: the hardware needs inspection"},
        id="a row remap has failed",
    ),
    pytest.param(
        {"remapped": Error(N_A), "retired": 1},
        {"healthy": False, "health_note": "memory pages wait to be retired: drain and reset it"},
        id="pages wait to be retired",
    ),
    pytest.param(
        {"recovery": pynvml.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET},
        {"healthy": False, "health_note": "the driver asks to drain and reset it"},
        id="the driver asks for a reset",
    ),
    pytest.param(
        {"recovery": 77}, {"healthy": False, "health_note": "the driver asks to recover it (action 77)"},
        id="the driver asks for something newer than this",
    ),
    pytest.param(
        {"remapped": Error(LOST)}, {"healthy": False, "health_note": "GPU is lost"}, id="fallen off the bus"
    ),
    pytest.param({"processes": [(4711, 800), (4712, 24)]}, {"foreign_memory": 824 * MIB}, id="others hold memory"),
    pytest.param({"processes": [(4711, None)]}, {"foreign_memory": None}, id="nobody can say how much"),
    pytest.param(
        {"processes": [(4711, 800)], "graphics": [(4711, 800), (99, 10)]}, {"foreign_memory": 810 * MIB},
        id="a program that computes and draws counts once",
    ),
])  # fmt: skip
def test_a_reading_says(differs: dict[str, Any], expected: dict[str, Any]) -> None:
    found = device(**differs)
    assert {name: getattr(found, name) for name in expected} == expected


def test_memory_of_this_agents_own_tasks_is_not_foreign() -> None:
    devices = read(NvmlDouble(H100 | {"processes": [(11, 500), (12, 70)]}), own=(11,)).devices
    assert devices is not None
    assert devices[0].foreign_memory == 70 * MIB


def test_one_lost_device_does_not_hide_the_others() -> None:
    devices = read(NvmlDouble(Error(LOST), H100)).devices
    assert devices is not None
    assert [(each.index, each.healthy, each.health_note) for each in devices] == [
        (0, False, "GPU is lost"), (1, True, ""),
    ]  # fmt: skip


@pytest.mark.parametrize("error", [pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED])
def test_without_library_or_driver_there_are_no_devices(error: int) -> None:
    assert read(NvmlDouble(init=error), on_bus=0) == Reading(devices=())


@pytest.mark.parametrize(("error", "said"), [
    pytest.param(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found", id="a board without a driver"),
    pytest.param(pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded", id="a driver that is not loaded"),
    pytest.param(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "version mismatch", id="driver and library disagree"),
    pytest.param(BROKEN, "Unknown Error", id="a container that lost its devices"),
    pytest.param(DENIED, "Insufficient Permissions", id="no permission"),
])  # fmt: skip
def test_where_there_is_a_board_but_nvml_fails_nobody_knows(error: int, said: str) -> None:
    reading = read(NvmlDouble(init=error), on_bus=1)
    assert reading.devices is None
    assert said in reading.notes[0]


def test_no_device_but_one_on_the_bus_is_a_fault() -> None:
    reading = read(NvmlDouble(), on_bus=1)
    assert reading.devices is None
    assert reading.notes == ("NVML shows no device, the PCI bus 1: the driver could not start them",)


def test_a_device_missing_from_the_bus_is_said() -> None:
    reading = read(NvmlDouble(H100), on_bus=2)
    assert reading.devices is not None
    assert reading.notes == ("NVML shows 1 of the 2 devices on the PCI bus",)


def test_the_driver_is_the_plain_number() -> None:
    assert read(NvmlDouble(H100, driver="610.57.04 [Deprecated; use KMD Version]")).driver == "610.57.04"
    assert read(NvmlDouble(H100, driver=Error(N_A))).driver is None


def test_the_library_stays_open_and_is_opened_anew_after_it_failed() -> None:
    double = NvmlDouble(H100)
    nvml = Nvml(double, pci_devices=lambda: 1)
    nvml.read()
    nvml.read()
    assert double.opened == 1
    nvml.close()
    assert double.opened == 0
    nvml.read()
    assert double.opened == 1


def test_pci_boards_are_counted_by_vendor_and_class(tmp_path: Path) -> None:
    boards = {"a": ("0x10de", "0x030200"), "b": ("0x10de", "0x040300"), "c": ("0x1002", "0x030000")}
    for name, (vendor, kind) in boards.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(f"{vendor}\n")
        (tmp_path / name / "class").write_text(f"{kind}\n")
    (tmp_path / "broken").mkdir()
    assert count_pci_devices(tmp_path) == 1
