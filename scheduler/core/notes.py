"""What no single worker can say: a job asks for a name that nothing has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from scheduler.core.capability_software import DEFAULT_ENVIRONMENT
from scheduler.core.fleet import WorkerFacts
from scheduler.core.nearest import nearest
from scheduler.core.reasons import Note, NoteCode
from scheduler.core.spec import JobSpec

MOST_LOOKED_UP = 8
"""Unknown pins for which the nearest name is looked for; nobody mistypes more by hand."""


class Names:
    """Every name in a fleet that a job may ask for, gathered once."""

    def __init__(self, facts: Iterable[WorkerFacts]) -> None:
        self._facts = tuple(facts)

    @property
    def any_workers(self) -> bool:
        """Whether there is a worker at all."""
        return bool(self._facts)

    @cached_property
    def workers(self) -> frozenset[str]:
        """Worker ids."""
        return frozenset(facts.id for facts in self._facts)

    @cached_property
    def labels(self) -> dict[str, frozenset[str]]:
        """The values of each label key."""
        values: dict[str, set[str]] = {}
        for facts in self._facts:
            for key, value in facts.labels:
                values.setdefault(key, set()).add(value)
        return {key: frozenset(found) for key, found in values.items()}

    @cached_property
    def environments(self) -> frozenset[str]:
        """Names of environments; every worker has `default`."""
        named = {name for facts in self._facts for name, _ in facts.environments}
        return frozenset(named | {DEFAULT_ENVIRONMENT})


def notes(spec: JobSpec, names: Names, newer: Iterable[str] = ()) -> tuple[Note, ...]:
    """Remarks on the job against the whole fleet, in a fixed order.

    `newer` is what of its compatible workers is newer than the table of supported combinations.
    """
    if not names.any_workers:
        return (Note(code=NoteCode.NO_WORKERS),)
    return (*_pins(spec, names), *_labels(spec, names), *_environment(spec, names), *_newer(newer))


def _pins(spec: JobSpec, names: Names) -> Iterator[Note]:
    unknown = [wanted for wanted in spec.placement.worker_ids if wanted not in names.workers]
    for place, wanted in enumerate(unknown):
        near = nearest(wanted, names.workers) if place < MOST_LOOKED_UP else None
        yield Note(code=NoteCode.PINNED_UNKNOWN, subject=wanted, nearest=near)


def _labels(spec: JobSpec, names: Names) -> Iterator[Note]:
    for key, value in spec.placement.worker_labels:
        values = names.labels.get(key)
        if values is None:
            near = nearest(key, frozenset(names.labels))
        elif value in values:
            continue
        else:
            close = nearest(value, values)
            near = None if close is None else f"{key}={close}"
        yield Note(code=NoteCode.LABEL_UNKNOWN, subject=f"{key}={value}", nearest=near)


def _environment(spec: JobSpec, names: Names) -> Iterator[Note]:
    wanted = spec.runtime.environment
    if wanted != DEFAULT_ENVIRONMENT and wanted not in names.environments:
        near = nearest(wanted, names.environments)
        yield Note(code=NoteCode.ENVIRONMENT_UNKNOWN, subject=wanted, nearest=near)


def _newer(subjects: Iterable[str]) -> Iterator[Note]:
    for subject in sorted(set(subjects)):
        yield Note(code=NoteCode.NEWER_THAN_MATRIX, subject=subject)
