"""Could this worker ever run it: what must be installed in the job's environment, and what a gang needs."""

from __future__ import annotations

from collections.abc import Iterator

from scheduler.core.fleet import EnvironmentView, WorkerFacts
from scheduler.core.reasons import Code, Reason
from scheduler.core.spec import QueueEntry
from scheduler.core.versions import parse_version, satisfies

DEFAULT_ENVIRONMENT = "default"
TORCH = "torch"
_NOTHING_KNOWN = EnvironmentView()


def environment_of(worker: WorkerFacts, name: str) -> EnvironmentView | None:
    """The environment of that name; every worker has `default`, known or not."""
    for has, environment in worker.environments:
        if has == name:
            return environment
    return _NOTHING_KNOWN if name == DEFAULT_ENVIRONMENT else None


def torch_of(worker: WorkerFacts, name: str) -> str | None:
    """The torch version, as reported, of the environment of that name; None where it is missing or unknown."""
    environment = environment_of(worker, name)
    return dict(environment.frameworks or ()).get(TORCH) if environment else None


def has_the_environment(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It has the environment that the job names."""
    wanted = entry.spec.runtime.environment
    if environment_of(worker, wanted) is None:
        names = tuple(name for name, _ in worker.environments)
        yield Reason(code=Code.ENVIRONMENT, field="runtime.environment", required=wanted, actual=names, subject=wanted)


def has_the_python(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """The environment's Python is of a version asked for."""
    asked = entry.spec.runtime.python
    environment = environment_of(worker, entry.spec.runtime.environment)
    if asked is None or environment is None:
        return
    answer = satisfies(environment.python, asked)
    if not answer:
        yield Reason(
            code=Code.PYTHON, field="runtime.python", required=asked, actual=environment.python, unknown=answer is None
        )


def has_the_frameworks(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Each framework is installed in a version asked for; one reason for each that isn't."""
    asked = entry.spec.runtime.frameworks
    environment = environment_of(worker, entry.spec.runtime.environment) if asked else None
    if environment is None:
        return
    installed = None if environment.frameworks is None else dict(environment.frameworks)
    for name, specifier in asked:
        missing = installed is not None and name not in installed
        version = (installed or {}).get(name)
        answer = False if missing else None if installed is None else satisfies(version, specifier)
        if not answer:
            yield Reason(
                code=Code.FRAMEWORK, field="runtime.frameworks", subject=name,
                required=specifier, actual=version, unknown=answer is None,
            )  # fmt: skip


def has_the_launcher(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """The environment has the launcher of a distributed job."""
    gang = entry.spec.distributed
    environment = environment_of(worker, entry.spec.runtime.environment)
    if gang and environment:
        yield from _listed(Code.DIST_LAUNCHER, "distributed.launcher", gang.launcher, environment.launchers)


def has_the_backend(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """The environment has the communication backend of a distributed job."""
    gang = entry.spec.distributed
    environment = environment_of(worker, entry.spec.runtime.environment)
    if gang and environment:
        yield from _listed(Code.DIST_BACKEND, "distributed.comm_backend", gang.comm_backend, environment.comm_backends)


def has_torch(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """The environment's torch is known, for a gang must share one version."""
    environment = environment_of(worker, entry.spec.runtime.environment)
    if entry.spec.distributed is None or environment is None:
        return
    version = torch_of(worker, entry.spec.runtime.environment)
    if version is None or parse_version(version) is None:
        missing = environment.frameworks is not None and TORCH not in dict(environment.frameworks)
        yield Reason(code=Code.DIST_TORCH, field="distributed", subject=TORCH, actual=version, unknown=not missing)


def has_an_address(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """The other members of a gang can reach it."""
    if entry.spec.distributed and not worker.advertise_address:
        yield Reason(code=Code.DIST_ADDRESS, field="distributed", unknown=True)


def has_a_core_per_process(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """It has a core for each process of a distributed job. Both figures are thousandths of a core."""
    gang = entry.spec.distributed
    if gang is None:
        return
    required, actual = gang.procs_per_worker * 1000, worker.cpu_millicores
    if actual is None or actual < required:
        yield Reason(
            code=Code.DIST_PROCS, field="distributed.procs_per_worker",
            required=required, actual=actual, unknown=actual is None, enough_at=actual,
        )  # fmt: skip


def _listed(code: Code, field: str, required: str | None, has: tuple[str, ...] | None) -> Iterator[Reason]:
    if required is not None and (has is None or required not in has):
        yield Reason(code=code, field=field, required=required, actual=has, unknown=has is None)
