"""What the people's API says of files that jobs run with and of outputs that they leave."""

from __future__ import annotations

from pydantic import BaseModel

from workers.wire import Answer, Count, Id


class OutputAsked(BaseModel):
    """Which bytes of an output: from `offset`, all or at most `length` of them."""

    offset: Count = 0
    length: Id | None = None


class BundleOut(Answer):
    """Uploaded files: how much of them is here. `complete`: all of it, with the right hash."""

    sha256: str
    size: int
    stored: int
    complete: bool


class OutputOut(Answer):
    """One file that a task has left. `number` names it in its address."""

    number: int
    attempt: int
    rank: int
    path: str
    size: int
    sha256: str


class OutputRunOut(Answer):
    """Where one task's outputs lie on its host, and what of them was not brought here."""

    attempt: int
    rank: int
    worker: str
    path: str
    note: str
    complete: bool
    """Everything that will come is here."""


class OutputsOut(Answer):
    """What a job has left."""

    items: list[OutputOut]
    runs: list[OutputRunOut]
