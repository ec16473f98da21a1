"""Whether a device is well, by every sign that NVML has. A sign that a part does not have is none, good or bad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workers.agent.nvml_errors import is_absence, is_fatal, reason

MIG_NOTE = "whether memory rows wait to be remapped cannot be read in MIG mode"
Health = tuple[bool | None, str]
"""Well, unwell or unknown; and why."""


def health_of(nvml: Any, handle: Any, *, partitioned: bool | None) -> Health:
    """Unwell on the first bad sign; unknown where a sign fails, or where none of them may be read."""
    broken, denied, good = "", "", False
    for name, sign in SIGNS.items():
        try:
            trouble = sign(nvml, handle)
        except nvml.NVMLError as error:
            if is_fatal(nvml, error):
                return False, reason(nvml, error)
            if error.value == nvml.NVML_ERROR_NO_PERMISSION:
                denied = denied or f"{name} cannot be read: no permission"
            elif not is_absence(nvml, error):
                broken = broken or f"{name} cannot be read: {reason(nvml, error)}"
            continue
        if trouble:
            return False, trouble
        good = True
    if broken or (denied and not good):
        return None, broken or denied
    return True, MIG_NOTE if partitioned else ""


def _recovery(nvml: Any, handle: Any) -> str:
    (field,) = nvml.nvmlDeviceGetFieldValues(handle, [nvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])
    if field.nvmlReturn != nvml.NVML_SUCCESS:
        raise nvml.NVMLError(field.nvmlReturn)
    action = field.value.uiVal
    if action == nvml.NVML_GPU_RECOVERY_ACTION_NONE:
        return ""
    names = {
        nvml.NVML_GPU_RECOVERY_ACTION_GPU_RESET: "reset it", nvml.NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: "reboot",
        nvml.NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: "drain its peer-to-peer traffic",
        nvml.NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: "drain and reset it",
    }  # fmt: skip
    return f"the driver asks to {names.get(action, f'recover it (action {action})')}"


def _remapped_rows(nvml: Any, handle: Any) -> str:
    _, _, pending, failed = nvml.nvmlDeviceGetRemappedRows(handle)
    if failed:
        return "a memory row could not be remapped: the hardware needs inspection"
    return "a memory row waits to be remapped: drain and reset it" if pending else ""


def _retired_pages(nvml: Any, handle: Any) -> str:
    pending = nvml.nvmlDeviceGetRetiredPagesPendingStatus(handle)
    return "memory pages wait to be retired: drain and reset it" if pending else ""


def _ecc(nvml: Any, handle: Any) -> str:
    count = nvml.nvmlDeviceGetTotalEccErrors(handle, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC)
    return f"{count} uncorrectable memory errors since it was started: drain and reset it" if count else ""


def _fan(nvml: Any, handle: Any) -> str:
    """Its speed is nobody's business; that a fan cannot be asked is."""
    nvml.nvmlDeviceGetFanSpeed(handle)
    return ""


SIGNS: dict[str, Callable[[Any, Any], str]] = {
    "its recovery action": _recovery,
    "row remapping": _remapped_rows,
    "page retirement": _retired_pages,
    "its memory errors": _ecc,
    "its fan": _fan,
}
"""Most telling first; each says what is wrong, or nothing."""
