"""Requirements on what is installed in the job's environment, and on the workers of a gang."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scheduler.core.asks import DEVICES_NOW, MOST_OF_A_KIND, SOFTWARE, Ask, Stage, Step, all_or_nothing
from scheduler.core.capability_software import environment_of
from scheduler.core.edits import in_place, with_gang, with_runtime, without
from scheduler.core.fleet import EnvironmentView
from scheduler.core.nearest import nearest
from scheduler.core.questions import environments_of
from scheduler.core.reasons import Code
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.widening import nearest_first, widened

MOST_ENVIRONMENTS = 12
MOST_VERSIONS = 7
Read = Callable[[EnvironmentView], str | None]
_CODE_FOR_DEVICES = DEVICES_NOW | {Code.SUPPORT_MATRIX, Code.GPU_COMBINATION}
"""Where it counts which devices a framework has code for."""


def asks_of_software(spec: JobSpec) -> Iterator[Ask]:
    """Those that the job states, in the order of the checks; an environment is always one of them."""
    yield _ENVIRONMENT
    if spec.runtime.python is not None:
        yield _PYTHON
    for name, _ in spec.runtime.frameworks[:MOST_OF_A_KIND]:
        yield _framework(name)


def asks_of_gang(spec: JobSpec) -> Iterator[Ask]:
    """Those that a distributed job states."""
    gang = spec.distributed
    if gang is None:
        return
    if gang.launcher is not None:
        yield _LAUNCHER
    if gang.comm_backend is not None:
        yield _BACKEND
    if gang.procs_per_worker > 1:
        yield _PROCS
    if gang.num_workers > 1:
        yield _NUM_WORKERS


def other_environments(spec: JobSpec, scene: Scene) -> list[JobSpec]:
    """The same job in each other environment that there is; first in the one that a misspelt name may mean."""
    known = scene.census.names.environments
    meant = nearest(spec.runtime.environment, known)
    others = [name for name in dict.fromkeys((meant, *sorted(known))) if name and name != spec.runtime.environment]
    return [with_runtime(spec, environment=name, environment_stated=True) for name in others[:MOST_ENVIRONMENTS]]


def _environments(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    others = other_environments(spec, scene)
    return [[(edited, edited.runtime.environment) for edited in others]] if others else []


def _versions(
    spec: JobSpec, scene: Scene, workers: int, specifier: str, read: Read, edit: Callable[[str], JobSpec]
) -> list[Stage]:
    """The specifier, widened to each version that one of these workers has, the nearest first."""
    there = {
        version
        for facts in scene.samples(environments_of, workers)
        if (environment := environment_of(facts, spec.runtime.environment)) and (version := read(environment))
    }
    wider = [widened(specifier, version) for version in nearest_first(specifier, there)[:MOST_VERSIONS]]
    return [[(edit(text), text)] for text in dict.fromkeys(wider) if text]


def _pythons(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    def edit(specifier: str | None) -> JobSpec:
        return with_runtime(spec, python=specifier)

    asked = spec.runtime.python or ""
    found = _versions(spec, scene, workers, asked, lambda environment: environment.python, edit)
    return [*found, [(edit(None), "any")]]


def _framework(name: str) -> Ask:
    def without_it(spec: JobSpec) -> JobSpec:
        return with_runtime(spec, frameworks=without(spec.runtime.frameworks, name))

    def asked(spec: JobSpec) -> str:
        return dict(spec.runtime.frameworks)[name]

    def stages(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
        def edit(specifier: str) -> JobSpec:
            return with_runtime(spec, frameworks=in_place(spec.runtime.frameworks, name, specifier))

        def read(environment: EnvironmentView) -> str | None:
            return dict(environment.frameworks or ()).get(name)

        last: list[Step] = [(without_it(spec), "not asked for")]
        some: list[Stage] = [[(edit(""), "any version")]] if asked(spec) else []
        return [*_versions(spec, scene, workers, asked(spec), read, edit), *some, last]

    return Ask(
        field=f"runtime.frameworks.{name}",
        label=name,
        said=lambda spec: asked(spec) or "any version",
        codes=frozenset({Code.FRAMEWORK}) | _CODE_FOR_DEVICES,
        loosest=lambda spec, scene: (without_it(spec),),
        stages=stages,
    )


def _gang_number(field: str, label: str, codes: set[Code], name: str, fewer: Callable[[Scene, int], list[int]]) -> Ask:
    """A number of `distributed`, of which at least one is asked."""

    def asked(spec: JobSpec) -> int:
        return int(getattr(spec.distributed, name))

    def stages(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
        numbers = {number for number in (1, *fewer(scene, workers)) if 0 < number < asked(spec)}
        return [[(with_gang(spec, **{name: number}), f"{number:,}")] for number in sorted(numbers, reverse=True)]

    return Ask(
        field=field, label=label, said=lambda spec: f"{asked(spec):,}", codes=frozenset(codes),
        loosest=lambda spec, scene: (with_gang(spec, **{name: 1}),), stages=stages,
    )  # fmt: skip


def _sizes_of_gang(scene: Scene, workers: int) -> list[int]:
    """Every size that enough workers of one version might fill."""
    return list(range(1, workers.bit_count() + scene.standing.compatible.bit_count() + 1))


def _cores(scene: Scene, workers: int) -> list[int]:
    return [amount // 1000 for amount in scene.amounts(scene.census.cpu, workers)]


_ENVIRONMENT = Ask(
    field="runtime.environment",
    label="environment",
    said=lambda spec: spec.runtime.environment,
    codes=SOFTWARE | _CODE_FOR_DEVICES,
    loosest=other_environments,
    stages=_environments,
)
_PYTHON = Ask(
    field="runtime.python",
    label="Python",
    said=lambda spec: str(spec.runtime.python),
    codes=frozenset({Code.PYTHON, Code.SUPPORT_MATRIX}),
    loosest=lambda spec, scene: (with_runtime(spec, python=None),),
    stages=_pythons,
)
_LAUNCHER = all_or_nothing(
    "distributed.launcher",
    "launcher",
    {Code.DIST_LAUNCHER},
    lambda spec: str(spec.distributed and spec.distributed.launcher),
    lambda spec: with_gang(spec, launcher=None),
)
_BACKEND = all_or_nothing(
    "distributed.comm_backend",
    "communication backend",
    {Code.DIST_BACKEND},
    lambda spec: str(spec.distributed and spec.distributed.comm_backend),
    lambda spec: with_gang(spec, comm_backend=None),
)
_PROCS = _gang_number(
    "distributed.procs_per_worker", "processes per worker", {Code.DIST_PROCS}, "procs_per_worker", _cores
)  # fmt: skip
_NUM_WORKERS = _gang_number("distributed.num_workers", "workers", set(), "num_workers", _sizes_of_gang)
