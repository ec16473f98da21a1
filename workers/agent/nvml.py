"""NVIDIA devices as NVML tells of them: each field known, or unknown with the reason."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import psutil

T = TypeVar("T")

UNIFIED = re.compile(r"\b(GB10|Orin|Thor|Xavier|Tegra|N1X)\b", re.IGNORECASE)
"""Parts that share the host's memory: what NVML says of it is an error on one and a wrong figure on the next."""
PLACEHOLDER = re.compile(r"(NVIDIA )?Graphics Device", re.IGNORECASE)
"""What a driver older than the board calls it."""
NVIDIA_VENDOR = "0x10de"
DISPLAY_CLASSES = ("0x0300", "0x0302")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """One device now. None is unknown; sizes are bytes."""

    index: int
    uuid: str | None = None
    model: str | None = None
    memory: int | None = None
    memory_kind: str | None = None
    compute_capability: str | None = None
    mig: bool | None = None
    healthy: bool | None = None
    health_note: str = ""
    utilisation: int | None = None
    memory_used: int | None = None
    foreign_memory: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All devices; None where NVML could not tell, and `notes` say why."""

    devices: tuple[DeviceReading, ...] | None
    driver: str | None = None
    notes: tuple[str, ...] = ()


class Nvml:
    """One library, kept open: opening it anew would wake sleeping devices each time."""

    def __init__(
        self, library: Any = None, *, pci_devices: Callable[[], int] | None = None,
        host_memory: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        self._nvml = library if library is not None else importlib.import_module("pynvml")
        self._pci_devices = pci_devices or count_pci_devices
        self._host_memory = host_memory or (lambda: int(psutil.virtual_memory().total))
        self._open = False

    def read(self, own_pids: Collection[int] = ()) -> Reading:
        """Read everything. What processes outside `own_pids` hold counts as foreign."""
        try:
            if not self._open:
                self._nvml.nvmlInit()
                self._open = True
            count = int(self._nvml.nvmlDeviceGetCount())
        except self._nvml.NVMLError as error:
            self.close()
            return self._nothing(error)
        on_bus = self._pci_devices()
        if count == 0 and on_bus:
            note = f"NVML shows no device, the PCI bus {on_bus}: the driver could not start them"
            return Reading(devices=None, driver=self._driver(), notes=(note,))
        devices = tuple(self._device(index, own_pids) for index in range(count))
        missing = f"NVML shows {count} of the {on_bus} devices on the PCI bus"
        return Reading(devices=devices, driver=self._driver(), notes=(missing,) if count < on_bus else ())

    def close(self) -> None:
        """Let the library go; the next reading opens it again."""
        if self._open:
            self._open = False
            self._ask(self._nvml.nvmlShutdown)

    def _nothing(self, error: Any) -> Reading:
        """Without library or driver there are no devices, unless the bus has one; else nobody knows."""
        absent = error.value in (self._nvml.NVML_ERROR_LIBRARY_NOT_FOUND, self._nvml.NVML_ERROR_DRIVER_NOT_LOADED)
        if absent and not self._pci_devices():
            return Reading(devices=())
        return Reading(devices=None, notes=(f"NVML cannot tell which devices there are: {error}",))

    def _driver(self) -> str | None:
        version = self._ask(self._nvml.nvmlSystemGetDriverVersion)
        return _text(version).split(" ")[0] if version else None

    def _device(self, index: int, own_pids: Collection[int]) -> DeviceReading:
        try:
            handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
        except self._nvml.NVMLError as error:
            return DeviceReading(index=index, healthy=False, health_note=str(error))
        model = self._model(handle)
        capability = self._ask(self._nvml.nvmlDeviceGetCudaComputeCapability, handle)
        mig = self._ask(self._nvml.nvmlDeviceGetMigMode, handle)
        utilisation = self._ask(self._nvml.nvmlDeviceGetUtilizationRates, handle)
        uuid = self._ask(self._nvml.nvmlDeviceGetUUID, handle)
        healthy, note = self._health(handle)
        reading = DeviceReading(
            index=index, uuid=_text(uuid) if uuid else None, model=model,
            compute_capability=f"{capability[0]}.{capability[1]}" if capability else None,
            mig=self._is_partitioned(mig), healthy=healthy, health_note=note,
            utilisation=int(utilisation.gpu) if utilisation else None,
            foreign_memory=self._foreign(handle, own_pids),
        )  # fmt: skip
        return self._with_memory(reading, handle)

    def _is_partitioned(self, mode: Any) -> bool | None:
        """A device that cannot be partitioned answers that it does not support the question: it is whole."""
        return mode[0] == self._nvml.NVML_DEVICE_MIG_ENABLE if mode else False

    def _model(self, handle: Any) -> str | None:
        name = self._ask(self._nvml.nvmlDeviceGetName, handle)
        text = _text(name) if name else ""
        return None if not text or PLACEHOLDER.fullmatch(text) else text

    def _with_memory(self, reading: DeviceReading, handle: Any) -> DeviceReading:
        if reading.model and UNIFIED.search(reading.model):
            return replace(reading, memory=self._host_memory(), memory_kind="unified")
        memory = self._ask(self._nvml.nvmlDeviceGetMemoryInfo, handle)
        if memory is None:
            return reading
        return replace(reading, memory=int(memory.total), memory_kind="dedicated", memory_used=int(memory.used))

    def _health(self, handle: Any) -> tuple[bool | None, str]:
        """Unhealthy on the first sign of it. A sign that this part does not have is no sign."""
        nvml = self._nvml
        for sign in (self._recovery, self._remapped_rows, self._retired_pages):
            try:
                trouble = sign(handle)
            except nvml.NVMLError as error:
                if error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED):
                    return False, str(error)
                continue
            if trouble:
                return False, trouble
        try:
            nvml.nvmlDeviceGetFanSpeed(handle)
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_UNKNOWN:
                return None, "its fan cannot be read"
        return True, ""

    def _recovery(self, handle: Any) -> str:
        nvml = self._nvml
        (field,) = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])
        if field.nvmlReturn != nvml.NVML_SUCCESS or field.value.uiVal == nvml.NVML_GPU_RECOVERY_ACTION_NONE:
            return ""
        names = {
            nvml.NVML_GPU_RECOVERY_ACTION_GPU_RESET: "reset it", nvml.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: "reboot",
            nvml.NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: "drain its peer-to-peer traffic",
            nvml.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: "drain and reset it",
        }  # fmt: skip
        return f"the driver asks to {names.get(field.value.uiVal, f'recover it (action {field.value.uiVal})')}"

    def _remapped_rows(self, handle: Any) -> str:
        _, _, pending, failed = self._nvml.nvmlDeviceGetRemappedRows(handle)
        if failed:
            return "a memory row could not be remapped: the hardware needs inspection"
        return "a memory row waits to be remapped: drain and reset it" if pending else ""

    def _retired_pages(self, handle: Any) -> str:
        pending = self._nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle)
        return "memory pages wait to be retired: drain and reset it" if pending else ""

    def _foreign(self, handle: Any, own_pids: Collection[int]) -> int | None:
        """Memory of other programs; unknown where that of one of them is."""
        compute = self._ask(self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        if compute is None:
            return None
        graphics = self._ask(self._nvml.nvmlDeviceGetGraphicsRunningProcesses, handle) or []
        held = {each.pid: each.usedGpuMemory for each in (*graphics, *compute) if each.pid not in own_pids}
        return None if None in held.values() else sum(held.values())

    def _ask(self, question: Callable[..., T], *arguments: Any) -> T | None:
        """The answer, or None where this part, this driver or this user gets none."""
        try:
            return question(*arguments)
        except self._nvml.NVMLError:
            return None


def count_pci_devices(root: Path = Path("/sys/bus/pci/devices")) -> int:
    """NVIDIA display controllers on the PCI bus, whether their driver works or not."""
    return sum(1 for folder in root.glob("*") if _is_nvidia_display(folder))


def _is_nvidia_display(folder: Path) -> bool:
    try:
        vendor, kind = (folder / "vendor").read_text().strip(), (folder / "class").read_text().strip()
    except OSError:
        return False
    return vendor == NVIDIA_VENDOR and kind.startswith(DISPLAY_CLASSES)


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
