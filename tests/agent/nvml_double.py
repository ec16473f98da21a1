"""A double of the NVML bindings that answers with recorded readings: values, or NVML's own errors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pynvml

N_A = pynvml.NVML_ERROR_NOT_SUPPORTED
DENIED = pynvml.NVML_ERROR_NO_PERMISSION
BROKEN = pynvml.NVML_ERROR_UNKNOWN
LOST = pynvml.NVML_ERROR_GPU_IS_LOST
MIB = 2**20


class Error:
    """An answer that is an NVML error."""

    def __init__(self, code: int) -> None:
        self.code = code


H100 = {
    "uuid": "GPU-h100", "name": "NVIDIA H100 80GB HBM3", "memory": (81559, 0), "capability": (9, 0), "mig": 0,
    "utilisation": 0, "recovery": 0, "remapped": (0, 0, 0, 0), "retired": Error(N_A), "ecc": 0, "fan": Error(N_A),
    "processes": [],
}  # fmt: skip
"""A healthy data-centre part; readings of other parts say what differs."""


class NvmlDouble:
    """The bindings' module: each device is a reading, or the error with which its handle is refused."""

    def __init__(self, *devices: dict[str, Any] | Error, init: int = 0, driver: Any = "590.48.01") -> None:
        self.devices = list(devices)
        self.init = init
        self.driver = driver
        self.opened = 0
        self.watched: list[str] = []
        self.xids: list[tuple[dict[str, Any], int]] = []
        """Errors that are still to be told: the device and the number."""
        for name in dir(pynvml):
            if name.startswith(("NVML_", "NVMLError", "nvmlEventType", "nvmlMemory_")):
                setattr(self, name, getattr(pynvml, name))

    def nvmlInit(self) -> None:  # noqa: N802
        if self.init:
            raise pynvml.NVMLError(self.init)
        self.opened += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.opened -= 1

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.devices)

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        return str(_answer(self.driver))

    def nvmlDeviceGetHandleByIndex(self, index: int) -> dict[str, Any]:  # noqa: N802
        device = self.devices[index]
        if isinstance(device, Error):
            raise pynvml.NVMLError(device.code)
        return device

    def nvmlDeviceGetName(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return _answer(device["name"])

    def nvmlDeviceGetUUID(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return _answer(device["uuid"])

    def nvmlDeviceGetCudaComputeCapability(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return _answer(device["capability"])

    def nvmlDeviceGetMemoryInfo(self, device: dict[str, Any], version: int | None = None) -> Any:  # noqa: N802
        """The first version counts what the driver reserves as used."""
        total, used, *reserved = _answer(device["memory"])
        return SimpleNamespace(total=total * MIB, used=(used + (0 if version else sum(reserved))) * MIB)

    def nvmlDeviceGetMigMode(self, device: dict[str, Any]) -> list[int]:  # noqa: N802
        return [_answer(device["mig"])] * 2

    def nvmlDeviceGetUtilizationRates(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return SimpleNamespace(gpu=_answer(device["utilisation"]))

    def nvmlDeviceGetFieldValues(self, device: dict[str, Any], fields: list[int]) -> list[Any]:  # noqa: N802
        assert fields == [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION]
        told = device["recovery"]
        code, value = (told.code, 0) if isinstance(told, Error) else (pynvml.NVML_SUCCESS, told)
        return [SimpleNamespace(nvmlReturn=code, value=SimpleNamespace(uiVal=value))]

    def nvmlDeviceGetRemappedRows(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return _answer(device["remapped"])

    def nvmlDeviceGetRetiredPagesPendingStatus(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return _answer(device["retired"])

    def nvmlDeviceGetTotalEccErrors(self, device: dict[str, Any], kind: int, counter: int) -> Any:  # noqa: N802
        assert (kind, counter) == (pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC)
        return _answer(device["ecc"])

    def nvmlEventSetCreate(self) -> object:  # noqa: N802
        return self

    def nvmlEventSetFree(self, events: object) -> None:  # noqa: N802
        assert events is self
        self.watched = []

    def nvmlDeviceRegisterEvents(self, device: dict[str, Any], kinds: int, events: object) -> None:  # noqa: N802
        assert (kinds, events) == (pynvml.nvmlEventTypeXidCriticalError, self)
        _answer(device.get("events"))
        self.watched.append(device["uuid"])

    def nvmlEventSetWait_v2(self, events: object, milliseconds: int) -> Any:  # noqa: N802
        assert (events, milliseconds) == (self, 0)
        if not self.xids:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)
        device, xid = self.xids.pop(0)
        return SimpleNamespace(device=device, eventData=xid)

    def nvmlDeviceGetFanSpeed(self, device: dict[str, Any]) -> Any:  # noqa: N802
        return _answer(device["fan"])

    def nvmlDeviceGetComputeRunningProcesses(self, device: dict[str, Any]) -> Any:  # noqa: N802
        told = _answer(device["processes"])
        return [SimpleNamespace(pid=pid, usedGpuMemory=None if mib is None else mib * MIB) for pid, mib in told]

    def nvmlDeviceGetGraphicsRunningProcesses(self, device: dict[str, Any]) -> Any:  # noqa: N802
        told = _answer(device.get("graphics", []))
        return [SimpleNamespace(pid=pid, usedGpuMemory=None if mib is None else mib * MIB) for pid, mib in told]


def _answer(told: Any) -> Any:
    if isinstance(told, Error):
        raise pynvml.NVMLError(told.code)
    return told
