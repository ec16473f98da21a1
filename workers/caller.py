"""Where the call that is being answered came from, for the trail of events; set at the door, empty elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Something that was asked for and not done: who asked, for what, why not, when."""

    at: datetime
    actor: str
    subject: str
    reason: str
    """The stable word for it: `operators_only`, `token_revoked`, `wrong_password`."""
    cause: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    via: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The address of who calls, and by which door they came in: `session`, `token glu_abcd`, `worker`."""

    address: str = ""
    via: str = ""
    refusals: list[Refusal] | None = None
    """Those of this call so far; None outside of a call."""


_NOBODY = Caller()
_caller: ContextVar[Caller] = ContextVar("caller", default=_NOBODY)


@contextmanager
def calling(address: str) -> Iterator[list[Refusal]]:
    """What is done inside was asked for from this address. The list fills with what is refused meanwhile."""
    refusals: list[Refusal] = []
    token = _caller.set(Caller(address=address[:45], refusals=refusals))
    try:
        yield refusals
    finally:
        _caller.reset(token)


@contextmanager
def on_the_server() -> Iterator[None]:
    """What is done inside was asked for by a command on the server's own host."""
    token = _caller.set(Caller(via="command on the server"))
    try:
        yield
    finally:
        _caller.reset(token)


def came_by(via: str) -> None:
    """Name the door, once it is known who is calling."""
    now = _caller.get()
    _caller.set(Caller(address=now.address, via=via[:60], refusals=now.refusals))


def caller_now() -> Caller:
    """Who is calling at this moment."""
    return _caller.get()


def address_now() -> str:
    """The caller's address; empty for what the server does by itself."""
    return _caller.get().address


def way_now() -> str:
    """The caller's door; empty for what the server does by itself."""
    return _caller.get().via
