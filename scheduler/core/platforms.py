"""Operating systems and processor architectures under all of their names."""

from __future__ import annotations

_SAME_OS = {"darwin": "macos"}
_SAME_ARCH = {"amd64": "x86_64", "aarch64": "arm64"}


def canonical_os(name: str) -> str:
    """One spelling for each operating system."""
    folded = name.casefold()
    return _SAME_OS.get(folded, folded)


def canonical_arch(name: str) -> str:
    """One spelling for each processor architecture."""
    folded = name.casefold()
    return _SAME_ARCH.get(folded, folded)
