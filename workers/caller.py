"""Where the call that is being answered came from, for the trail of events; set at the door, empty elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """The address of who calls, and by which door they came in: `session`, `token glu_abcd`, `worker`."""

    address: str = ""
    via: str = ""


_NOBODY = Caller()
_caller: ContextVar[Caller] = ContextVar("caller", default=_NOBODY)


@contextmanager
def calling(address: str) -> Iterator[None]:
    """What is done inside was asked for from this address."""
    token = _caller.set(Caller(address=address[:45]))
    try:
        yield
    finally:
        _caller.reset(token)


def came_by(via: str) -> None:
    """Name the door, once it is known who is calling."""
    _caller.set(Caller(address=_caller.get().address, via=via[:60]))


def address_now() -> str:
    """The caller's address; empty for what the server does by itself."""
    return _caller.get().address


def way_now() -> str:
    """The caller's door; empty for what the server does by itself."""
    return _caller.get().via
