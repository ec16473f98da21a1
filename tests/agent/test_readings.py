"""What real machines answered (`readings.yaml`), and what a probe makes of it.

Thirty-one of the thirty-two known readings are here, one of them as two. The last, `truncated_names`, NVML cannot give:
names are cut off only in the table that nvidia-smi draws. Of six others NVML gives less than the reading has:

    reading                        not from NVML                            so the probe
    r610_header_renamed            how nvidia-smi calls things now          reads the driver's number, and no text
    h100_mig…, h200_mig…, a100_…   which instances nvidia-smi -L lists      offers no device that is in MIG mode
    jetson_orin_jp6                the compute capability (CUDA knows it)   leaves it unknown
    fallen_off_without_xid         the kernel's words                       counts the devices on the PCI bus
    hbm_degrading                  that rows were remapped before, too      goes by the Xids of this boot
    windows_wddm                   that the system is Windows               is told so by Python
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler.core.parsing import parse_worker_facts
from tests.agent.nvml_double import BROKEN, DENIED, H100, LOST, MIB, N_A, Error, NvmlDouble
from workers.agent.command import Environment
from workers.agent.environments import environments
from workers.agent.nvml import Nvml
from workers.agent.probe import Identity, Probe

READINGS = yaml.safe_load((Path(__file__).parent / "readings.yaml").read_text(encoding="utf-8"))
ERRORS = {"N/A": N_A, "denied": DENIED, "lost": LOST, "unknown": BROKEN}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Environment]:
    """A Python that answers at once: it is the devices that are looked at here."""
    folder = tmp_path_factory.mktemp("environments")
    python = folder / "python"
    python.write_text("""#!/bin/sh\necho '--gpulayer--{"python": "3.11.9", "frameworks": {}}'\n""")
    python.chmod(0o755)
    return environments({"default": python}, folder)


def answer(told: Any) -> Any:
    return Error(ERRORS[told]) if isinstance(told, str) and told in ERRORS else told


def double_of(reading: dict[str, Any]) -> NvmlDouble:
    devices: list[dict[str, Any] | Error] = []
    for device in reading.get("devices", []):
        told = {name: answer(value) for name, value in device.items()}
        devices.append(told["handle"] if "handle" in told else H100 | told)
    double = NvmlDouble(*devices, init=reading.get("init", 0), driver=reading.get("driver", "590.48.01"))
    double.xids = [(devices[place], xid) for place, xid in reading.get("xids", [])]  # type: ignore[misc]
    return double


def read(reading: dict[str, Any], here: dict[str, Environment], tmp_path: Path) -> tuple[Probe, NvmlDouble]:
    double = double_of(reading)
    on_bus = reading.get("on_bus", len(double.devices))
    nvml = Nvml(double, pci_devices=lambda: on_bus, host_memory=lambda: reading.get("host_memory", 2**36))
    return Probe(Identity(name="w", origin="local", advertise_address="10.0.0.1"), here, tmp_path, nvml), double


def value(device: dict[str, Any], state: dict[str, Any], name: str) -> Any:
    """One expected field, in the words of `readings.yaml`, from document and heartbeat."""
    in_mib = {"memory_mib": device["memory"], "used_mib": state["memory_used"], "foreign_mib": state["foreign_memory"]}
    if name in in_mib:
        found = in_mib[name]
        return None if found is None else int(str(found).rstrip("B")) // MIB
    if name == "healthy":
        assert {None: None, "ok": True, "unhealthy": False}[device["health"]] == state["healthy"]
    return state[name] if name in state else device[name]


@pytest.mark.parametrize("reading", READINGS, ids=[reading["id"] for reading in READINGS])
def test_a_probe_makes_the_right_thing_of(
    reading: dict[str, Any], here: dict[str, Environment], tmp_path: Path
) -> None:
    probe, double = read(reading, here, tmp_path)
    pending = list(double.xids)
    probe._nvml.read()  # events are heard of once the devices are watched
    double.xids = pending
    probed, expect = probe.read(), reading["expect"]
    assert parse_worker_facts(probed.document)
    if "driver" in expect:
        assert probed.document["driver"] == expect["driver"]
    if "unknown" in expect:
        assert {path: why for path, why in probed.unknown.items() if "device" in path or path == "driver"} == (
            expect["unknown"]
        )
    devices = probed.document["devices"]
    if expect["devices"] is None:
        assert devices is None
        return
    states = probe.device_states().devices
    assert len(devices) == len(states) == len(expect["devices"])
    for device, state, wanted in zip(devices, states, expect["devices"], strict=True):
        assert {name: value(device, state, name) for name in wanted} == wanted


def test_every_known_reading_is_here() -> None:
    ids = [reading["id"] for reading in READINGS]
    assert len(ids) == len(set(ids)) == 32
    assert all(reading["source"] for reading in READINGS)


def test_a_device_in_mig_mode_is_no_whole_device(here: dict[str, Environment], tmp_path: Path) -> None:
    """The core offers no device that is split, whatever memory its parent states."""
    for reading in READINGS:
        if "mig" in reading["id"]:
            probe, _ = read(reading, here, tmp_path)
            facts = parse_worker_facts(probe.read().document)
            assert [device.mig for device in facts.devices or ()] == [True]
