"""Sets of candidates behind a number: those of a cell of the matrix, of a group of workers, or that a word is in."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.core.bits import where
from scheduler.core.fleet import WorkerView
from scheduler.core.grouping import columns
from scheduler.core.labels import check_label, code_label
from scheduler.core.matrix import failing_of
from scheduler.core.only_blockers import only_blockers
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene


def in_targets(scene: Scene) -> int:
    """The workers of an origin among the job's targets."""
    return scene.census.everyone ^ failing_of(scene, Code.TARGET)


def failing(scene: Scene, code: Code, subject: str) -> int:
    """The workers that fail a check; `subject`: of one label's key or framework's name alone."""
    return failing_of(scene, code, subject or None)


def kept_by(scene: Scene, code: Code, subject: str) -> int:
    """The workers that this check alone keeps from the job."""
    return only_blockers(scene, code, subject or None, scene.parts())


def of_group(scene: Scene, grouping: str, name: str, within: int) -> int:
    """The workers of the group of that name, when a set is parted by a grouping; nobody where it has no such group."""
    return next((column.workers for column in columns(scene, grouping, within) if column.label == name), 0)


def with_word(scene: Scene, text: str) -> int:
    """The workers that a word is in: their id, GPU models, labels, the jobs on them, or what stands against them."""
    needle = text.casefold()
    found = where(needle in " ".join(_words(view)).casefold() for view in scene.board.views)
    for (_, codes), bits in scene.parts().items():
        if any(needle in words for code in codes for words in (code.text, code_label(code), check_label(code))):
            found |= bits
    return found


def _words(view: WorkerView) -> Iterator[str]:
    facts = view.facts
    yield view.id
    yield from dict.fromkeys(device.model or "unknown model" for device in facts.devices or ())
    yield from (f"{key}={value}" for key, value in facts.labels)
    yield from (task.job_id for task in view.tasks)
