"""Sizes and cores: exact integers inside, decimal units outside. 1 GB is 10^9 bytes everywhere."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

UNITS = {
    "b": 1,
    "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
GB = UNITS["gb"]
MIB = UNITS["mib"]
MOST_BYTES = 2**63 - 1
MOST_MILLICORES = 10**9
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?b|b)\s*", re.IGNORECASE)
_LONGEST_SIZE = 40
_SHOWN_IN = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"), (1, "B"))


def parse_size(value: object, *, at_least: bool) -> int | None:
    """Bytes of a number of GB or of text with its own unit; None where it is neither, negative or out of bounds.

    A part of a byte is rounded up where the size is needed (`at_least`) and down where it is had,
    so that rounding never makes anything fit.
    """
    amount = _amount(value)
    if amount is None:
        return None
    exact = amount.to_integral_value(ROUND_CEILING if at_least else ROUND_FLOOR)
    return int(exact) if 0 <= exact <= MOST_BYTES else None


def _amount(value: object) -> Decimal | None:
    if isinstance(value, str):
        if len(value) > _LONGEST_SIZE or (match := _SIZE.fullmatch(value)) is None:
            return None
        return Decimal(match[1]) * UNITS[match[2].lower()]
    number = as_decimal(value)
    return None if number is None else number * GB


def as_decimal(value: object) -> Decimal | None:
    """The number as its author wrote it; None for anything else, for infinities and for the absurdly large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > MOST_BYTES:
        return None
    number = Decimal(repr(value))
    return number if number.is_finite() and abs(number) <= MOST_BYTES else None


def parse_cores(value: object) -> int | None:
    """Thousandths of a core; None where the value is no number, negative, or has more than three decimals."""
    number = as_decimal(value)
    if number is None:
        return None
    thousandths = number * 1000
    if thousandths != thousandths.to_integral_value() or not 0 <= thousandths <= MOST_MILLICORES:
        return None
    return int(thousandths)


def size_document(size: int) -> str:
    """The exact size as a document says it: whole MiB or GB where that is exact, else bytes."""
    if size % MIB == 0:
        return f"{size // MIB}MiB"
    return f"{size // GB}GB" if size % GB == 0 else f"{size}B"


def cores_document(millicores: int) -> int | float:
    """The number of cores as a document says it."""
    whole, rest = divmod(millicores, 1000)
    return millicores / 1000 if rest else whole


def size(size_bytes: int) -> str:
    """A size for people, with at most one decimal: `85.5 GB`."""
    return sizes(size_bytes)[0]


def sizes(*several: int) -> tuple[str, ...]:
    """Sizes to be compared: all in one unit, with as many decimals as it takes to tell different ones apart."""
    unit, name = next((entry for entry in _SHOWN_IN if max(several) >= entry[0]), _SHOWN_IN[-1])
    for decimals in range(1, 10):
        shown = {value: _rounded(value, unit, decimals) for value in several}
        if len(set(shown.values())) == len(shown) and all(text != "0" for value, text in shown.items() if value):
            break
    return tuple(f"{shown[value]} {name}" for value in several)


def _rounded(value: int, unit: int, decimals: int) -> str:
    number = (Decimal(value) / unit).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{number:,f}"
    return text.rstrip("0").rstrip(".")


def cores(millicores: int) -> str:
    """CPU cores for people, exact: `8`, `0.5`."""
    return f"{Decimal(millicores).scaleb(-3):,f}".rstrip("0").rstrip(".")
