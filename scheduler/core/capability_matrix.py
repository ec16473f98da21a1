"""Could this worker ever run it: can its platform, devices, driver, Python and build of a framework work together.

Asked of jobs that want devices: of the platform always, of a framework where the job names it or is distributed.
The devices asked about are those of the kind that the task would get.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.core.builds import Build, builds_asked
from scheduler.core.capability_software import environment_of
from scheduler.core.fleet import DeviceView, WorkerFacts
from scheduler.core.kernels import read_capability
from scheduler.core.matching import has_the_accelerator, is_whole, meets_all_of_it, one_kind, qualifying
from scheduler.core.reasons import Code, Fact, Matter, Reason
from scheduler.core.spec import Accelerator, JobSpec, QueueEntry
from scheduler.core.suitability import (
    Finding,
    Host,
    build_for_platform,
    device_has_code,
    driver_for,
    every_build_has_code,
    host_of,
    platform,
    python_for,
)
from scheduler.core.support_matrix import Rule, of_version, rows
from scheduler.core.versions import parse_version
from scheduler.core.ways_out import build_with_code, platforms_of, release_for_python

Devices = tuple[DeviceView, ...]


@dataclass(frozen=True, slots=True)
class _Case:
    """One build and what it would have to suit."""

    spec: JobSpec
    worker: WorkerFacts
    host: Host
    build: Build
    pool: Devices
    """Whole devices of the kind that the task would get."""

    @property
    def kind(self) -> Accelerator | None:
        return self.pool[0].kind

    @property
    def is_of_the_kind(self) -> bool:
        """Whether the build is known to be for the kind of device that the task would get."""
        return self.build.known and self.build.serves is self.kind

    @property
    def python(self) -> str | None:
        environment = environment_of(self.worker, self.spec.runtime.environment)
        return environment.python if environment else None

    def code(self) -> list[Finding]:
        """For each device of the pool, whether the build has code for it."""
        return [device_has_code(self.build, self.host, device) for device in self.pool]

    def needed(self) -> int:
        """How many devices must have code; that there are too few in all, others say."""
        return min(self.spec.resources.gpus, len(self.pool))

    def lacks_code(self) -> bool:
        """Whether too few devices of the pool are known to have code."""
        return sum(finding.supported is True for finding in self.code()) < self.needed()

    def reason(
        self, matter: Matter, finding: Finding, required: Fact, actual: Fact, enough_at: Fact,
        lacking: Devices = (), have: int | None = None,
    ) -> Reason:  # fmt: skip
        """A reason about this build, with the row that says so, and the devices that it keeps from the job."""
        named = any(name == self.build.framework for name, _ in self.spec.runtime.frameworks)
        return Reason(
            code=Code.SUPPORT_MATRIX, field="runtime.frameworks" if named else "distributed", matter=matter,
            row=finding.row.id if finding.row else None, unknown=finding.supported is None,
            subject=described(self.build), required=required, actual=actual, enough_at=enough_at,
            devices=tuple(device.index for device in lacking), have=have,
            of=None if have is None else len(self.worker.devices or ()),
        )  # fmt: skip


def is_a_supported_combination(entry: QueueEntry, worker: WorkerFacts) -> Iterator[Reason]:
    """Its platform supports devices of that kind, and a framework's build suits the Python, the driver and devices."""
    pool = pool_of(entry.spec, worker)
    if not pool:
        return
    yield from _of_platform(entry.spec, worker, pool)
    if pool[0].kind is not None:
        for case in _cases(entry.spec, worker, pool):
            yield from _of_python(case)
            if not case.is_of_the_kind:
                yield _wrong_kind(case)
            elif platform(pool[0].kind, case.host).supported:
                yield from _of_build(case)


def too_few_have_code(spec: JobSpec, worker: WorkerFacts) -> bool:
    """Whether this check has said already that a build has code for too few devices."""
    pool = pool_of(spec, worker)
    return bool(pool) and any(case.lacks_code() for case in _cases(spec, worker, pool))


def newer_than_the_table(spec: JobSpec, worker: WorkerFacts) -> tuple[str, ...]:
    """What of this worker is newer than the table and for that reason taken to be supported; sorted."""
    return tuple(sorted(_newer(spec, worker, pool_of(spec, worker))))


def anything_newer(spec: JobSpec, worker: WorkerFacts) -> bool:
    """Whether anything of this worker, any of its devices included, is newer than the table."""
    return bool(_newer(spec, worker, worker.devices or ()))


def _newer(spec: JobSpec, worker: WorkerFacts, devices: Devices) -> set[str]:
    findings: list[Finding] = []
    for case in _cases(spec, worker, devices) if devices else ():
        findings += [python_for(case.build, case.python), build_for_platform(case.build, case.host), *case.code()]
        if case.build.serves is Accelerator.CUDA:
            findings.append(driver_for(case.build, case.host))
    return {finding.newer for finding in findings if finding.supported and finding.newer}


def pool_of(spec: JobSpec, worker: WorkerFacts) -> Devices:
    """The whole devices of the kind that the task would get, however few of them qualify; none where it gets none.

    Where no kind has enough that qualify, it is the kind that would without this check, then the one with code.
    """
    count, asked = spec.resources.gpus, spec.resources
    whole = tuple(device for device in worker.devices or () if is_whole(device)) if count else ()
    of_kind = tuple(device for device in whole if has_the_accelerator(asked, device))
    chosen = _settled(spec, worker, of_kind)
    return tuple(device for device in of_kind if device.kind is chosen[0].kind) if chosen else ()


def _settled(spec: JobSpec, worker: WorkerFacts, of_kind: Devices) -> Devices:
    """Some devices of the one kind that the task would get."""
    count, builds, host = spec.resources.gpus, builds_asked(spec, worker), host_of(worker)
    qualified = qualifying(spec, worker)
    if not of_kind or len(qualified) >= count:
        return qualified
    suited = one_kind((device for device in of_kind if meets_all_of_it(spec.resources, device)), count)
    coded = one_kind((device for device in of_kind if every_build_has_code(builds, host, device)), count)
    pools = (suited, coded, one_kind(of_kind, count))
    return next((pool for pool in pools if len(pool) >= count), coded or pools[-1])


def described(build: Build) -> str:
    """`torch 2.6.0+cu124`; `torch 2.6.0 (CUDA 12.4)` where the version alone doesn't say it."""
    kinds = {Accelerator.CUDA: "CUDA", Accelerator.ROCM: "ROCm"}
    if build.toolkit is None or build.serves not in kinds or "+" in build.version:
        return build.name
    return f"{build.name} ({kinds[build.serves]} {build.toolkit})"


def _cases(spec: JobSpec, worker: WorkerFacts, pool: Devices) -> list[_Case]:
    return [_Case(spec, worker, host_of(worker), build, pool) for build in builds_asked(spec, worker)]


def _of_platform(spec: JobSpec, worker: WorkerFacts, pool: Devices) -> Iterator[Reason]:
    kind, host = pool[0].kind, host_of(worker)
    finding = platform(kind, host) if kind else Finding(None)
    if not finding.supported:
        yield Reason(
            code=Code.SUPPORT_MATRIX, matter=Matter.PLATFORM, unknown=finding.supported is None,
            field="resources.accelerator" if spec.resources.accelerator else "resources.gpus",
            required=kind.value if kind else None, actual=_platform_name(host),
            enough_at=platforms_of(rows(Rule.PLATFORM, accelerator=kind)) if kind else None,
            devices=tuple(device.index for device in pool),
        )  # fmt: skip


def _of_python(case: _Case) -> Iterator[Reason]:
    finding = python_for(case.build, case.python)
    if not finding.supported:
        version = parse_version(case.python or "")
        required = finding.row.python if finding.row else None
        enough_at = release_for_python(case.build, version) if version and finding.row else None
        yield case.reason(Matter.PYTHON, finding, required, case.python, enough_at)


def _of_build(case: _Case) -> Iterator[Reason]:
    """Of a build for that kind of device; of another kind, or on another platform, nothing more is asked."""
    exists = build_for_platform(case.build, case.host)
    if not exists.supported:
        found = rows(Rule.BUILD, framework=case.build.framework, accelerator=case.kind)
        where = platforms_of(of_version(found, case.build.release) or found)
        yield case.reason(Matter.PLATFORM, exists, case.kind, _platform_name(case.host), where)
    if case.kind is Accelerator.CUDA:
        yield from _of_driver(case)
    if case.lacks_code():
        yield _no_code(case)


def _wrong_kind(case: _Case) -> Reason:
    build = case.build
    actual = None if not build.known else build.serves or "cpu"
    row = next((row for row in rows(Rule.BUILD, framework=build.framework) if row.build == actual == "cpu"), None)
    finding = Finding(False if build.known else None, row)
    enough_at = build_with_code(build, case.host, case.kind, _capabilities(case.pool)) if case.kind else None
    return case.reason(Matter.BUILD, finding, case.kind, actual, enough_at, case.pool, have=0)


def _of_driver(case: _Case) -> Iterator[Reason]:
    finding = driver_for(case.build, case.host)
    if not finding.supported:
        least = finding.row.driver if finding.row else None
        yield case.reason(Matter.DRIVER, finding, least, case.host.driver, least)


def _no_code(case: _Case) -> Reason:
    """Which devices it has no code for; where only the driver keeps it from compiling some, what driver would."""
    findings = case.code()
    lacking = [(device, found) for device, found in zip(case.pool, findings, strict=True) if not found.supported]
    have = len(findings) - len(lacking)
    unknown = have + sum(found.supported is None for _, found in lacking) >= case.needed()
    told = [(device, found.row) for device, found in lacking if unknown or found.supported is False]
    row = next((row for _, row in told if row), None)
    finding = Finding(None if unknown else False, row)
    capabilities = _capabilities(tuple(device for device, _ in told))
    devices = tuple(device for device, _ in lacking)
    if row and row.rule is Rule.PTX and all(other is row for _, other in told):
        return case.reason(Matter.PTX, finding, case.needed(), capabilities, row.driver, devices, have)
    instead = build_with_code(case.build, case.host, Accelerator.CUDA, capabilities) if capabilities else None
    return case.reason(Matter.CODE, finding, case.needed(), capabilities, instead, devices, have)


def _capabilities(devices: Devices) -> tuple[str, ...]:
    """The known ones of CUDA devices, each once, lowest first."""
    known = {
        capability: text
        for device in devices
        if device.kind is Accelerator.CUDA
        and (text := device.compute_capability)
        and (capability := read_capability(text))
    }
    return tuple(known[capability] for capability in sorted(known))


def _platform_name(host: Host) -> str:
    return f"{host.os or 'unknown'} {host.arch or 'unknown'}"
