"""Requirements on the host: its system, and how much of everything it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scheduler.core.asks import Ask, Stage, all_or_nothing
from scheduler.core.edits import with_resources
from scheduler.core.quantities import GB, cores, size
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec

Amounts = Callable[[Scene], tuple[Sequence[int], Sequence[int]]]
"""How much of something each worker has in all, and how much is left."""


def asks_of_host(spec: JobSpec) -> Iterator[Ask]:
    """Those that the job states, in the order of the checks."""
    asked = spec.resources
    if asked.os is not None:
        yield _OS
    if asked.arch is not None:
        yield _ARCH
    if asked.cpu_millicores is not None:
        yield _CPU
    if asked.memory_bytes is not None:
        yield _MEMORY
    if asked.disk_bytes is not None:
        yield _DISK


def rounded(amount: int, unit: int) -> int:
    """An amount that people say: whole units where it is at least two of them, never more than it is."""
    return amount // unit * unit if amount >= 2 * unit else amount


def _amount(
    field: str, label: str, codes: tuple[Code, Code], name: str, shown: Callable[[int], str], unit: int, of: Amounts
) -> Ask:
    """So much of something that a worker has in all, of which other tasks leave less."""

    def asking(spec: JobSpec, amount: int | None) -> JobSpec:
        return with_resources(spec, **{name: amount})

    def stages(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
        totals, left = of(scene)
        amounts = (*scene.amounts(totals, workers), *scene.amounts(left, workers))
        asked = getattr(spec.resources, name)
        fewer = sorted({rounded(amount, unit) for amount in amounts if 0 < amount < asked}, reverse=True)
        return [*([(asking(spec, amount), shown(amount))] for amount in fewer), [(asking(spec, None), "any")]]

    return Ask(
        field=field, label=label, said=lambda spec: shown(getattr(spec.resources, name)), codes=frozenset(codes),
        loosest=lambda spec, scene: (asking(spec, None),), stages=stages,
    )  # fmt: skip


_OS = all_or_nothing(
    "resources.os", "OS", {Code.OS}, lambda spec: str(spec.resources.os), lambda spec: with_resources(spec, os=None)
)
_ARCH = all_or_nothing(
    "resources.arch",
    "CPU architecture",
    {Code.ARCH},
    lambda spec: str(spec.resources.arch),
    lambda spec: with_resources(spec, arch=None),
)
_CPU = _amount(
    "resources.cpu_cores", "CPU cores", (Code.CPU_CORES, Code.CPU_IN_USE), "cpu_millicores", cores, 1,
    lambda scene: (scene.census.cpu, scene.board.cpu.left),
)  # fmt: skip
_MEMORY = _amount(
    "resources.memory_gb", "RAM", (Code.MEMORY, Code.MEMORY_IN_USE), "memory_bytes", size, GB,
    lambda scene: (scene.census.memory, scene.board.memory.left),
)  # fmt: skip
_DISK = _amount(
    "resources.disk_gb", "disk", (Code.DISK, Code.DISK_IN_USE), "disk_bytes", size, GB,
    lambda scene: (scene.census.disk, scene.board.disk.left),
)  # fmt: skip
