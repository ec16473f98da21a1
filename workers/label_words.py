"""Labels as people type them: `key=value` sets one, `key-` takes the operator's off."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.core.errors import DocumentError, Problem
from scheduler.core.reading import quoted

EXPECTED = "key=value to set a label, or key- to take it off"


def label_words(words: Iterable[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """What to set and what to take off. Raises `DocumentError` with every word that is neither."""
    labels: dict[str, str] = {}
    removed: list[str] = []
    problems = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key in labels and labels[key] != value:
            problems.append(Problem("labels", f"{quoted(key)} twice", "each key once"))
        elif equals:
            labels[key] = value
        elif word.endswith("-") and len(word) > 1:
            removed.append(word[:-1])
        else:
            problems.append(Problem("labels", quoted(word), EXPECTED))
    if problems:
        raise DocumentError(problems)
    return labels, tuple(dict.fromkeys(removed))
