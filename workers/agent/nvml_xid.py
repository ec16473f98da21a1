"""Xid errors as NVML's events tell of them: which of them take a device out, and what has to be done."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

HARMLESS = frozenset({13, 31, 43, 45, 154})
"""Errors of a program (13, 31, 43), what follows another error (45), and 154: the recovery action itself tells more."""
ADVICE = {
    48: "an uncorrectable memory error: reset it",
    63: "a memory row waits to be remapped: drain and reset it",
    64: "a memory row could not be remapped: the hardware needs inspection",
    68: "its video decoder failed: reset it",
    74: "its NVLink failed: no other device can rely on it",
    79: "it has fallen off the bus: reboot",
    94: "a contained memory error: drain and reset it",
    95: "an uncontained memory error: reset it",
    109: "it did not switch context in time: reset it",
    119: "its system processor does not answer: reset it",
    120: "its system processor failed: reset it",
    143: "it could not be started: reset it",
}
MOST_EVENTS = 100
"""A device that falls apart tells of it endlessly."""


class XidWatch:
    """Collects Xid events. A mark stays for as long as the agent runs: no device can be reset while it does."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._events: Any = None
        self._watched: set[str] = set()
        self._marks: dict[str, int] = {}

    def watch(self, handle: Any, uuid: str) -> None:
        """Hear of this device from now on; one that knows no events is not heard of."""
        if uuid in self._watched:
            return
        self._watched.add(uuid)
        with suppress(self._nvml.NVMLError):
            if self._events is None:
                self._events = self._nvml.nvmlEventSetCreate()
            self._nvml.nvmlDeviceRegisterEvents(handle, self._nvml.nvmlEventTypeXidCriticalError, self._events)

    def collect(self) -> None:
        """Take what has happened since the last time, without waiting."""
        for _ in range(MOST_EVENTS if self._events is not None else 0):
            try:
                event = self._nvml.nvmlEventSetWait_v2(self._events, 0)
                uuid = self._nvml.nvmlDeviceGetUUID(event.device)
            except self._nvml.NVMLError as error:
                # A device that can no longer say which it is shows itself as lost when it is read.
                if error.value == self._nvml.NVML_ERROR_GPU_IS_LOST:
                    continue
                return
            if event.eventData not in HARMLESS:
                self._marks[uuid] = int(event.eventData)

    def trouble(self, uuid: str) -> str:
        """What the last Xid of this device means; empty where it had none that matters."""
        xid = self._marks.get(uuid)
        return "" if xid is None else f"Xid {xid}: {ADVICE.get(xid, 'an error of the device')}"

    def close(self) -> None:
        """Let the events go with the library; what was heard is kept."""
        if self._events is not None:
            with suppress(self._nvml.NVMLError):
                self._nvml.nvmlEventSetFree(self._events)
        self._events = None
        self._watched.clear()
