"""What the PCI bus itself shows, whether any driver works or not."""

from __future__ import annotations

from pathlib import Path

NVIDIA_VENDOR = "0x10de"
DISPLAY_CLASSES = ("0x0300", "0x0302")


def count_pci_devices(root: Path = Path("/sys/bus/pci/devices")) -> int:
    """NVIDIA display controllers on the PCI bus."""
    return sum(1 for folder in root.glob("*") if _is_nvidia_display(folder))


def _is_nvidia_display(folder: Path) -> bool:
    try:
        vendor, kind = (folder / "vendor").read_text().strip(), (folder / "class").read_text().strip()
    except OSError:
        return False
    return vendor == NVIDIA_VENDOR and kind.startswith(DISPLAY_CLASSES)
