"""Which devices a build has code for: its targets, as torch spells them, against a compute capability.

`sm_86` is machine code: it runs on 8.6 and on any later 8.x. `compute_90` is PTX, which a driver turns into machine
code for 9.0 and anything later. `sm_90a` and `compute_90a` use what one chip alone has: they run on 9.0 and nowhere
else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache

Capability = tuple[int, int]
_TARGET = re.compile(r"(sm|compute)_([0-9]{1,4})([0-9])([a-z]?)")
_CAPABILITY = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})")


class Reach(StrEnum):
    """How a build's code gets onto a device."""

    NATIVE = "native"
    """As machine code."""
    PTX = "ptx"
    """Only through the driver's compiler, which must know the toolkit that wrote it."""
    NOT_AT_ALL = "not_at_all"


@lru_cache(maxsize=4096)
def read_capability(text: str) -> Capability | None:
    """`12.0` -> (12, 0); None where the text is no compute capability."""
    match = _CAPABILITY.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else None


def reach(targets: Iterable[str], capability: Capability) -> Reach:
    """The best of these targets on a device; names that are none of CUDA's are passed over."""
    found = [_reach(target, capability) for target in targets]
    return next((how for how in Reach if how in found), Reach.NOT_AT_ALL)


def is_for(target: str, *kinds: str) -> bool:
    """Whether the target's name begins like one of these, such as `sm`, `compute` or `gfx`."""
    return target.startswith(kinds)


@lru_cache(maxsize=65536)
def _reach(target: str, capability: Capability) -> Reach:
    match = _TARGET.fullmatch(target)
    if match is None:
        return Reach.NOT_AT_ALL
    kind, built_for, variant = match[1], (int(match[2]), int(match[3])), match[4]
    how = Reach.PTX if kind == "compute" else Reach.NATIVE
    if variant == "a":
        runs = capability == built_for
    elif how is Reach.PTX:
        runs = capability >= built_for
    else:
        runs = capability[0] == built_for[0] and capability >= built_for
    return how if runs else Reach.NOT_AT_ALL
