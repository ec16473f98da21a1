"""A refusal that a caller can act on: what every service raises and every door turns into problem+json."""

from __future__ import annotations

from typing import Any

from scheduler.core.errors import Problem


class Refused(Exception):  # noqa: N818 - a refusal is an answer
    """A request that is understood and not done.

    `code` is stable; `problems` are all the things that are wrong with it; `extra` are further members of the answer.
    """

    def __init__(
        self, code: str, detail: str, *, status: int = 409, problems: tuple[Problem, ...] = (), **extra: Any
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.status = status
        self.problems = problems
        self.extra = extra


class NotFound(Refused):
    """What is asked for does not exist, or not for this caller: the two are answered alike."""

    def __init__(self, detail: str, *, code: str = "not_found") -> None:
        super().__init__(code, detail, status=404)


class Unauthorized(Refused):
    """The credential is known and worthless: expired, used up or revoked."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail, status=401)
