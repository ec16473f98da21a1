"""What a job asks for, requirement by requirement: how to ask for less of each, from the nearest value to the loosest.

A requirement is one field of the job's document that an edit can loosen. Whatever is not here, such as a reservation
for somebody else, no edit of the job can change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scheduler.core.reasons import Code, Kind
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec

Step = tuple[JobSpec, str]
"""A spec with one requirement loosened, and the requirement's new value in words."""
Stage = Sequence[Step]
"""Values that are equally near."""
MOST_OF_A_KIND = 24
"""Of labels and of frameworks only the first so many are looked at: nobody loosens more by hand."""
MOST_ALIKE = 24
"""Of values that are equally near only so many are tried, those that most workers have."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One requirement of one job. Its functions take any spec that states it, so that edits can be combined."""

    field: str
    """Its place in the job's document, such as `resources.gpu_memory_gb`; of a label or a framework with its name."""
    label: str
    said: Callable[[JobSpec], str]
    """The value asked for, in words."""
    codes: frozenset[Code]
    """The codes whose checks look at it."""
    loosest: Callable[[JobSpec, Scene], Sequence[JobSpec]]
    """The least that can be asked in its place; several where they cannot be compared."""
    stages: Callable[[JobSpec, Scene, int], Sequence[Stage]]
    """Ways to ask for less that may gain one of these workers, the nearest first; the last asks for the least."""


def all_or_nothing(
    field: str,
    label: str,
    codes: Iterable[Code],
    said: Callable[[JobSpec], str],
    without: Callable[[JobSpec], JobSpec],
    *,
    word: str = "any",
) -> Ask:
    """A requirement that is either asked or not; `word` says the value where it is not."""
    return Ask(
        field=field,
        label=label,
        said=said,
        codes=frozenset(codes),
        loosest=lambda spec, scene: (without(spec),),
        stages=lambda spec, scene, workers: (((without(spec), word),),),
    )


def with_hidden(codes: Iterable[Code]) -> frozenset[Code]:
    """These codes, and those that may stand behind them: what was not asked because one of these was not met."""
    behind = set(codes)
    if behind & (SOFTWARE | DEVICES):  # a framework must have code for devices, so these two hang together
        behind |= SOFTWARE | DEVICES
    if any(code.kind is Kind.CAPABILITY for code in behind):
        behind |= IN_USE
    return frozenset(behind)


SOFTWARE = frozenset(
    {Code.ENVIRONMENT, Code.PYTHON, Code.FRAMEWORK, Code.SUPPORT_MATRIX}
    | {Code.DIST_LAUNCHER, Code.DIST_BACKEND, Code.DIST_TORCH}
)
"""What the checks of an environment say."""
DEVICES = frozenset(code for code in Code if code.text.startswith("gpu_") and code.kind is Kind.CAPABILITY) | {
    Code.SUPPORT_MATRIX
}
DEVICES_NOW = frozenset(code for code in Code if code.text.startswith("gpu_") and code.kind is Kind.AVAILABILITY)
IN_USE = DEVICES_NOW | {Code.CPU_IN_USE, Code.MEMORY_IN_USE, Code.DISK_IN_USE, Code.TIER_CLOSED}
"""What the checks of what is left now say, as far as asking for less can help."""
