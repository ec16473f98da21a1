"""NVML's errors in words: what is not supported, what is not allowed and what is lost are different things."""

from __future__ import annotations

from typing import Any

WORDS = {
    "NVML_ERROR_NOT_SUPPORTED": "not supported",
    "NVML_ERROR_FUNCTION_NOT_FOUND": "not supported by this driver",
    "NVML_ERROR_NO_PERMISSION": "no permission",
    "NVML_ERROR_GPU_IS_LOST": "gpu is lost",
    "NVML_ERROR_RESET_REQUIRED": "gpu has to be reset",
    "NVML_ERROR_CORRUPTED_INFOROM": "its InfoROM is corrupted",
    "NVML_ERROR_LIBRARY_NOT_FOUND": "NVML's library is not installed",
    "NVML_ERROR_DRIVER_NOT_LOADED": "driver not loaded",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": "driver and library versions differ: reboot, or load the new module",
    "NVML_ERROR_UNKNOWN": "unknown error",
}


def reason(nvml: Any, error: Any) -> str:
    """Why a question has no answer, in a few words."""
    for name, words in WORDS.items():
        if error.value == getattr(nvml, name, None):
            return words
    return str(error)[:1].lower() + str(error)[1:]


def is_fatal(nvml: Any, error: Any) -> bool:
    """Whether the error itself says that the device is of no use now."""
    return error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED)


def is_absence(nvml: Any, error: Any) -> bool:
    """Whether this part or this driver simply has no answer, which says nothing of the part's health."""
    return error.value in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND)
