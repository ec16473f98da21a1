"""What one worker document has less of than another, in words for the operator who may accept it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler.core.explain import size
from scheduler.core.quantities import parse_size

_HOST = {"cpu_cores": "CPU cores", "memory": "RAM"}


def differences(kept: Mapping[str, Any], offered: Mapping[str, Any]) -> list[str]:
    """A line for each device that is not there and for each size that is smaller."""
    lines = [f"{_device(each)}: not found" for each in _devices(kept) if not _has(offered, each)]
    for name, words in _HOST.items():
        if kept.get(name) != offered.get(name):
            lines.append(f"{words}: {_amount(name, offered.get(name))} instead of {_amount(name, kept.get(name))}")
    return lines


def _devices(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(document.get("devices") or ())


def _has(document: Mapping[str, Any], device: Mapping[str, Any]) -> bool:
    key = "uuid" if device.get("uuid") else "index"
    return any(each.get(key) == device.get(key) for each in _devices(document))


def _device(device: Mapping[str, Any]) -> str:
    uuid = f" ({device['uuid']})" if device.get("uuid") else ""
    return f"device {device.get('index')}, {device.get('model') or 'unknown model'}{uuid}"


def _amount(name: str, value: Any) -> str:
    if value is None:
        return "unknown"
    amount = parse_size(value, at_least=False) if name == "memory" else None
    return f"{value}" if amount is None else size(amount)
