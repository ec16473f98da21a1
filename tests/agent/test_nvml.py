"""One device, and every way in which NVML may not tell of it. What real machines said is in `test_readings`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pynvml
import pytest

from tests.agent.nvml_double import BROKEN, DENIED, H100, LOST, MIB, N_A, Error, NvmlDouble
from workers.agent.nvml import DeviceReading, Nvml, Reading, Use
from workers.agent.pci import count_pci_devices


def read(double: NvmlDouble, *, on_bus: int | None = None) -> Reading:
    """A reading, with as many devices on the PCI bus as NVML shows unless told otherwise."""
    bus = len(double.devices) if on_bus is None else on_bus
    return Nvml(double, pci_devices=lambda: bus, host_memory=lambda: 2**36).read()


def device(**differs: Any) -> DeviceReading:
    """The reading of one device that differs in this from a healthy H100."""
    devices = read(NvmlDouble(H100 | differs)).devices
    assert devices is not None
    return devices[0]


def test_a_healthy_data_centre_part() -> None:
    reading = read(NvmlDouble(H100))
    assert reading == Reading(driver="590.48.01", devices=(DeviceReading(
        index=0, uuid="GPU-h100", model="NVIDIA H100 80GB HBM3", memory=81559 * MIB, memory_kind="dedicated",
        compute_capability="9.0", mig=False, healthy=True, utilisation=0, memory_used=0, processes=(),
    ),))  # fmt: skip


@pytest.mark.parametrize(("differs", "expected"), [
    pytest.param(
        {"name": "NVIDIA GH200 480GB", "memory": (97871, 0)},
        {"memory": 97871 * MIB, "memory_kind": "dedicated"},
        id="a GH200: coherent, but with memory of its own",
    ),
    pytest.param(
        {"mig": Error(DENIED)}, {"mig": None, "unknown": {"mig": "no permission"}},
        id="whether it is split may not be asked: unknown, not whole",
    ),
    pytest.param(
        {"recovery": Error(DENIED), "remapped": Error(DENIED)}, {"healthy": True, "health_note": ""},
        id="one sign may be read and is good",
    ),
    pytest.param(
        dict.fromkeys(("recovery", "remapped", "retired", "ecc", "fan"), Error(DENIED)),
        {"healthy": None, "health_note": "its recovery action cannot be read: no permission"},
        id="no sign may be read: health unknown",
    ),
    pytest.param(
        {"ecc": Error(BROKEN)},
        {"healthy": None, "health_note": "its memory errors cannot be read: unknown error"},
        id="a sign that fails: health unknown",
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
        {"ecc": 3},
        {"healthy": False, "health_note": "3 uncorrectable memory errors since it was started: drain and reset it"},
        id="memory errors that nothing corrects",
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
        {"remapped": Error(pynvml.NVML_ERROR_RESET_REQUIRED)},
        {"healthy": False, "health_note": "gpu has to be reset"},
        id="an error that is the answer",
    ),
    pytest.param(
        {"processes": [(4711, 800)], "graphics": [(4711, 800), (99, 10)]},
        {"processes": (Use(pid=99, memory=10 * MIB), Use(pid=4711, memory=800 * MIB))},
        id="a program that computes and draws counts once",
    ),
    pytest.param({"processes": [(4711, None)]}, {"processes": (Use(pid=4711, memory=None),)}, id="memory unknown"),
])  # fmt: skip
def test_a_reading_says(differs: dict[str, Any], expected: dict[str, Any]) -> None:
    found = device(**differs)
    assert {name: getattr(found, name) for name in expected} == expected


def test_three_ways_not_to_know() -> None:
    unknown = device(memory=Error(N_A), capability=Error(DENIED), utilisation=Error(LOST)).unknown
    assert {unknown[name] for name in ("memory", "compute_capability", "utilisation")} == {
        "not supported", "no permission", "gpu is lost",
    }  # fmt: skip


@pytest.mark.parametrize("error", [pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED])
def test_without_library_or_driver_there_are_no_devices(error: int) -> None:
    assert read(NvmlDouble(init=error), on_bus=0) == Reading(devices=())


@pytest.mark.parametrize(("error", "said"), [
    pytest.param(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, "NVML's library is not installed", id="a board, no driver"),
    pytest.param(pynvml.NVML_ERROR_CORRUPTED_INFOROM, "its InfoROM is corrupted", id="a corrupted InfoROM"),
    pytest.param(pynvml.NVML_ERROR_TIMEOUT, "timeout", id="an error that has no words here"),
])  # fmt: skip
def test_where_there_is_a_board_but_nvml_fails_nobody_knows(error: int, said: str) -> None:
    reading = read(NvmlDouble(init=error), on_bus=1)
    assert reading.devices is None
    assert reading.unknown == {"devices": f"NVML cannot tell which there are: {said}", "driver": said}


@pytest.mark.parametrize(("xid", "trouble"), [
    *[(xid, "") for xid in (13, 31, 43, 45, 154)],
    (74, "Xid 74: its NVLink failed: no other device can rely on it"),
    (79, "Xid 79: it has fallen off the bus: reboot"),
    (109, "Xid 109: it did not switch context in time: reset it"),
    (888, "Xid 888: an error of the device"),
])  # fmt: skip
def test_an_xid_takes_a_device_out_for_as_long_as_the_agent_runs(xid: int, trouble: str) -> None:
    other = H100 | {"uuid": "GPU-other"}
    double = NvmlDouble(H100, other)
    nvml = Nvml(double, pci_devices=lambda: 2)
    nvml.read()
    assert double.watched == ["GPU-h100", "GPU-other"]
    double.xids = [(double.devices[0], xid)]  # type: ignore[list-item]
    for _ in range(2):
        devices = nvml.read().devices or ()
        assert [(each.healthy, each.health_note) for each in devices] == [(not trouble, trouble), (True, "")]
        nvml.close()  # a library that is opened anew does not forget


def test_a_device_without_events_is_only_not_heard_of() -> None:
    double = NvmlDouble(H100 | {"events": Error(N_A)})
    assert (Nvml(double, pci_devices=lambda: 1).read().devices or ())[0].healthy is True
    assert double.watched == []


def test_the_driver_is_unknown_with_a_reason() -> None:
    assert read(NvmlDouble(H100, driver=Error(N_A))).unknown == {"driver": "not supported"}


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
