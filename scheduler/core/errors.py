"""What is wrong with a document: where, what was found, what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a document."""

    path: str
    """Where, such as `resources.gpu_memory_gb`; empty for the document itself."""
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path or 'document'}: found {self.found}; expected {self.expected}"


class DocumentError(ValueError):
    """A document is wrong; carries every problem at once, in reading order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
