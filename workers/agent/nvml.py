"""NVIDIA devices as NVML tells of them: each field known, or unknown with the reason."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psutil

from workers.agent.nvml_errors import reason
from workers.agent.nvml_health import health_of
from workers.agent.nvml_xid import XidWatch
from workers.agent.pci import count_pci_devices

T = TypeVar("T")

UNIFIED = re.compile(r"\b(GB10|Orin|Thor|Xavier|Tegra|N1X)\b", re.IGNORECASE)
"""Parts that share the host's memory: what NVML says of it is an error on one and a wrong figure on the next."""
PLACEHOLDER = re.compile(r"(NVIDIA )?Graphics Device", re.IGNORECASE)
"""What a driver older than the board calls it."""
SHARED = "it shares the host's memory"
STARTING = "nothing uses it: it is only being started"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One process on a device; memory in bytes, None is unknown."""

    pid: int
    memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceReading:
    """One device now. None is unknown, and `unknown` says why; sizes are bytes, utilisation is per cent."""

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
    processes: tuple[Use, ...] | None = None
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All devices; None where NVML could not tell. `unknown` says why of `devices` and `driver`."""

    devices: tuple[DeviceReading, ...] | None
    driver: str | None = None
    unknown: dict[str, str] = field(default_factory=dict)


class Nvml:
    """One library, kept open: opening it anew would wake sleeping devices each time."""

    def __init__(
        self, library: Any = None, *, pci_devices: Callable[[], int] | None = None,
        host_memory: Callable[[], int] | None = None,
    ) -> None:  # fmt: skip
        self._nvml = library if library is not None else importlib.import_module("pynvml")
        self._pci_devices = pci_devices or count_pci_devices
        self._host_memory = host_memory or (lambda: int(psutil.virtual_memory().total))
        self._xids = XidWatch(self._nvml)
        self._open = False

    def read(self) -> Reading:
        """Read everything."""
        try:
            if not self._open:
                self._nvml.nvmlInit()
                self._open = True
            count = int(self._nvml.nvmlDeviceGetCount())
        except self._nvml.NVMLError as error:
            self.close()
            return self._nothing(error)
        unknown: dict[str, str] = {}
        driver = self._ask("driver", unknown, self._nvml.nvmlSystemGetDriverVersion)
        devices, on_bus = None, self._pci_devices()
        if count == 0 and on_bus:
            unknown["devices"] = f"NVML shows no device, the PCI bus {on_bus}: the driver could not start them"
        else:
            self._xids.collect()
            devices = tuple(self._device(index) for index in range(count))
            if count < on_bus:
                unknown["devices"] = f"NVML shows {count} of the {on_bus} devices on the PCI bus"
        return Reading(devices=devices, driver=_text(driver).split(" ")[0] if driver else None, unknown=unknown)

    def close(self) -> None:
        """Let the library go; the next reading opens it again."""
        if self._open:
            self._open = False
            self._xids.close()
            self._ask("", {}, self._nvml.nvmlShutdown)

    def _nothing(self, error: Any) -> Reading:
        """Without library or driver there are no devices, unless the bus has one; else nobody knows."""
        absent = error.value in (self._nvml.NVML_ERROR_LIBRARY_NOT_FOUND, self._nvml.NVML_ERROR_DRIVER_NOT_LOADED)
        if absent and not self._pci_devices():
            return Reading(devices=())
        why = reason(self._nvml, error)
        return Reading(devices=None, unknown={"devices": f"NVML cannot tell which there are: {why}", "driver": why})

    def _device(self, index: int) -> DeviceReading:
        nvml = self._nvml
        try:
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
        except nvml.NVMLError as error:
            return DeviceReading(index=index, healthy=False, health_note=reason(nvml, error))
        unknown: dict[str, str] = {}
        uuid = self._ask("uuid", unknown, nvml.nvmlDeviceGetUUID, handle)
        mig = self._partitioned(handle, unknown)
        healthy, note = self._health(handle, _text(uuid) if uuid else None, mig)
        model = self._model(handle, unknown)
        memory, kind, used = self._memory(model, handle, unknown)
        processes = self._processes(handle, unknown)
        return DeviceReading(
            index=index, uuid=_text(uuid) if uuid else None, model=model, mig=mig, healthy=healthy, health_note=note,
            compute_capability=self._capability(handle, unknown), memory=memory, memory_kind=kind, memory_used=used,
            utilisation=self._utilisation(handle, unknown, idle=used == 0 and processes == ()),
            processes=processes, unknown=unknown,
        )  # fmt: skip

    def _health(self, handle: Any, uuid: str | None, mig: bool | None) -> tuple[bool | None, str]:
        """By the signs that can be read now, and by the errors that were heard of."""
        healthy, note = health_of(self._nvml, handle, partitioned=mig)
        if uuid is not None and healthy is not False:
            self._xids.watch(handle, uuid)
            trouble = self._xids.trouble(uuid)
            return (False, trouble) if trouble else (healthy, note)
        return healthy, note

    def _capability(self, handle: Any, unknown: dict[str, str]) -> str | None:
        found = self._ask("compute_capability", unknown, self._nvml.nvmlDeviceGetCudaComputeCapability, handle)
        return f"{found[0]}.{found[1]}" if found else None

    def _partitioned(self, handle: Any, unknown: dict[str, str]) -> bool | None:
        """A device that cannot be partitioned answers that it does not support the question: it is whole."""
        try:
            return bool(self._nvml.nvmlDeviceGetMigMode(handle)[0] == self._nvml.NVML_DEVICE_MIG_ENABLE)
        except self._nvml.NVMLError as error:
            if error.value == self._nvml.NVML_ERROR_NOT_SUPPORTED:
                return False
            unknown["mig"] = reason(self._nvml, error)
            return None

    def _model(self, handle: Any, unknown: dict[str, str]) -> str | None:
        name = self._ask("model", unknown, self._nvml.nvmlDeviceGetName, handle)
        text = _text(name) if name else ""
        if PLACEHOLDER.fullmatch(text):
            unknown["model"] = f"the driver is older than the board and calls it {text!r}"
            return None
        return text or None

    def _memory(
        self, model: str | None, handle: Any, unknown: dict[str, str]
    ) -> tuple[int | None, str | None, int | None]:
        """How much, of which kind, and how much of it is used."""
        if model and UNIFIED.search(model):
            unknown["memory_used"] = SHARED
            return self._host_memory(), "unified", None
        # The second version leaves out of the used memory what the driver keeps for itself; old ones have the first.
        memory = self._ask("memory", {}, self._nvml.nvmlDeviceGetMemoryInfo, handle, self._nvml.nvmlMemory_v2)
        memory = memory or self._ask("memory", unknown, self._nvml.nvmlDeviceGetMemoryInfo, handle)
        if memory is None:
            unknown["memory_kind"] = unknown["memory_used"] = unknown["memory"]
            return None, None, None
        return int(memory.total), "dedicated", int(memory.used)

    def _utilisation(self, handle: Any, unknown: dict[str, str], *, idle: bool) -> int | None:
        """Per cent. A sleeping driver is busy for a moment with waking up to be asked."""
        rates = self._ask("utilisation", unknown, self._nvml.nvmlDeviceGetUtilizationRates, handle)
        if rates is not None and rates.gpu and idle:
            unknown["utilisation"] = STARTING
            return None
        return None if rates is None else int(rates.gpu)

    def _processes(self, handle: Any, unknown: dict[str, str]) -> tuple[Use, ...] | None:
        """Each process once, whether it computes or draws."""
        compute = self._ask("processes", unknown, self._nvml.nvmlDeviceGetComputeRunningProcesses, handle)
        if compute is None:
            return None
        graphics = self._ask("", {}, self._nvml.nvmlDeviceGetGraphicsRunningProcesses, handle) or []
        found = {each.pid: each.usedGpuMemory for each in (*graphics, *compute)}
        return tuple(Use(pid=pid, memory=None if held is None else int(held)) for pid, held in sorted(found.items()))

    def _ask(self, name: str, unknown: dict[str, str], question: Callable[..., T], *arguments: Any) -> T | None:
        """The answer, or None with the reason noted under `name`."""
        try:
            return question(*arguments)
        except self._nvml.NVMLError as error:
            unknown[name] = reason(self._nvml, error)
            return None


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
