"""What the table of supported combinations says of one platform, build, driver and device.

Every answer is a finding: supported, not, or unknown (None), the row that says so, and what was newer than the table
and therefore taken to be supported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from packaging.version import Version

from scheduler.core.builds import Build, read_build
from scheduler.core.fleet import DeviceView, TorchBuild, WorkerFacts
from scheduler.core.kernels import Capability, Reach, reach, read_capability
from scheduler.core.platforms import canonical_arch, canonical_os
from scheduler.core.spec import Accelerator
from scheduler.core.support_matrix import (
    FRAMEWORKS,
    Row,
    Rule,
    first_unknown_python,
    newest_capability,
    newest_cuda,
    of_version,
    rows,
    span,
    toolkit_version,
)
from scheduler.core.versions import parse_version, satisfies


@dataclass(frozen=True, slots=True)
class Finding:
    """An answer of the table."""

    supported: bool | None
    row: Row | None = None
    newer: str | None = None
    """What the table doesn't know yet, where that is why it is taken to be supported: `torch 3.1`."""


@dataclass(frozen=True, slots=True)
class Host:
    """What of a worker the table asks about, in the table's own spelling."""

    os: str | None
    arch: str | None
    driver: str | None


Card = str | tuple[Accelerator] | None
"""All that decides whether there is code for a device: its compute capability, or its kind where that isn't CUDA."""
Places = tuple[int, ...]
"""Devices by their place among a worker's."""
SUPPORTED, UNKNOWN, UNSUPPORTED = Finding(True), Finding(None), Finding(False)


def host_of(worker: WorkerFacts) -> Host:
    """The worker as the table sees it; an empty name is an unknown one."""
    return _host(worker.os, worker.arch, worker.driver)


@lru_cache(maxsize=4096)
def _host(os: str | None, arch: str | None, driver: str | None) -> Host:
    return Host(canonical_os(os) if os else None, canonical_arch(arch) if arch else None, driver)


def device_has_code(build: Build, host: Host, device: DeviceView) -> Finding:
    """Whether the build has code that runs on the device. Compute capability is asked of CUDA devices alone."""
    return code_for(build, host, device.kind, device.compute_capability)


def every_build_has_code(builds: Iterable[Build], host: Host, device: DeviceView) -> bool | None:
    """Whether all of these builds have code for the device."""
    answers = [device_has_code(build, host, device).supported for build in builds]
    return False if False in answers else None if None in answers else True


def without_code(worker: WorkerFacts) -> tuple[tuple[str, str, Places], ...]:
    """By environment and framework the devices that are not known to have code; nothing where all have it."""
    if not worker.devices:
        return ()
    cards = tuple([_card(device) for device in worker.devices])
    return tuple(
        (name, framework, lacking)
        for name, environment in worker.environments
        for framework, version in environment.frameworks or ()
        if framework in FRAMEWORKS
        and (lacking := _lacking(framework, version or "", environment.torch_build, host_of(worker), cards))
    )


@lru_cache(maxsize=16384)
def platform(kind: Accelerator, host: Host) -> Finding:
    """Whether devices of this kind work on the operating system and architecture at all."""
    return _on_platform(rows(Rule.PLATFORM, accelerator=kind), host)


@lru_cache(maxsize=16384)
def build_for_platform(build: Build, host: Host) -> Finding:
    """Whether such a build exists for the platform. Of CUDA there are many that others make, so it isn't asked."""
    if build.serves in (None, Accelerator.CUDA):
        return SUPPORTED
    all_versions = rows(Rule.BUILD, framework=build.framework, accelerator=build.serves)
    found = of_version(all_versions, build.release)
    return _on_platform(found, host) if found else _outside_the_table(build)


@lru_cache(maxsize=16384)
def python_for(build: Build, python: str | None) -> Finding:
    """Whether this release of the framework runs on that Python."""
    version = parse_version(python) if python is not None else None
    found = of_version(rows(Rule.PYTHON, framework=build.framework), build.release)
    if version is None:
        return Finding(None, found[0] if found else None)
    if not found:
        return _outside_the_table(build)
    if Version(version.base_version) >= first_unknown_python(build.framework):
        return Finding(True, newer=f"Python {_series(version)}")
    return Finding(satisfies(version.base_version, found[0].python), found[0])


@lru_cache(maxsize=16384)
def driver_for(build: Build, host: Host) -> Finding:
    """Whether the driver is new enough for any build with this major version of CUDA."""
    if build.toolkit is None:
        return UNKNOWN
    toolkit = Version(build.toolkit)
    found = [row for row in rows(Rule.DRIVER) if row.build == f"cu{toolkit.major}" and row.suits(host.os, None)]
    if found:
        return _new_enough(host.driver, found[0])
    if toolkit.major > newest_cuda().major:
        return Finding(True, newer=f"CUDA {build.toolkit}")
    return UNKNOWN


@lru_cache(maxsize=65536)
def code_for(build: Build, host: Host, kind: Accelerator | None, capability: str | None) -> Finding:
    """Whether the build has code for a device of this kind and compute capability. What it says itself goes first."""
    if build.known and build.serves is None:
        return UNSUPPORTED
    if not build.known or kind is None:
        return UNKNOWN
    if kind is not build.serves:
        return UNSUPPORTED
    if kind is not Accelerator.CUDA:
        return SUPPORTED
    version = read_capability(capability or "")
    if version is None:
        return UNKNOWN
    if build.archs is not None:
        return _by_targets(build.archs, None, build, host, version)
    return _by_table(build, host, version)


def _by_targets(targets: tuple[str, ...], row: Row | None, build: Build, host: Host, device: Capability) -> Finding:
    match reach(targets, device):
        case Reach.NATIVE:
            return Finding(True, row)
        case Reach.PTX:
            return _compiled(build, host)
        case _:
            return Finding(False, row)


def _compiled(build: Build, host: Host) -> Finding:
    """Whether the driver can compile the PTX of the build's toolkit; where that isn't known, its floor is enough."""
    tag = "cu" + (build.toolkit or "").replace(".", "")
    for row in rows(Rule.PTX):
        if row.build == tag and row.suits(host.os, None):
            return _new_enough(host.driver, row)
    return SUPPORTED


def _by_table(build: Build, host: Host, device: Capability) -> Finding:
    """By the row of this build; where there is none, by what no build with this CUDA can have."""
    toolkit = Version(build.toolkit) if build.toolkit else None
    found = of_version(rows(Rule.BUILD, framework=build.framework, accelerator=Accelerator.CUDA), build.release)
    for row in found:
        if toolkit == toolkit_version(row.build) and row.suits(host.os, host.arch):
            finding = _by_targets(row.code, row, build, host, device)
            beyond = finding.supported is False and device[0] > newest_capability()
            return Finding(True, newer=f"compute capability {device[0]}.{device[1]}") if beyond else finding
    for row in rows(Rule.CUDA):
        if toolkit and row.build == f"cu{toolkit.major}" and reach(row.code, device) is Reach.NOT_AT_ALL:
            return Finding(False, row)
    if toolkit and toolkit > newest_cuda():
        return Finding(True, newer=f"CUDA {build.toolkit}")
    return UNKNOWN if found else _outside_the_table(build)


def _on_platform(found: tuple[Row, ...], host: Host) -> Finding:
    """Whether a row speaks of the platform; what of it is unknown might be what a row asks for."""
    for row in found:
        if row.suits(host.os, host.arch):
            return Finding(True, row)
    perhaps = [row for row in found if row.suits(host.os or row.os[0], host.arch or row.arch[0])]
    return UNKNOWN if perhaps else UNSUPPORTED


def _outside_the_table(build: Build) -> Finding:
    """What is later than the table is taken to be supported; what is earlier, nobody here knows."""
    _, unknown_from = span(build.framework)
    if Version(build.release.base_version) >= unknown_from:
        return Finding(True, newer=f"{build.framework} {_series(build.release)}")
    return UNKNOWN


def _new_enough(driver: str | None, row: Row) -> Finding:
    version = parse_version(driver) if driver is not None else None
    return Finding(None if version is None else version >= Version(row.driver), row)


def _series(version: Version) -> str:
    return f"{version.major}.{version.minor}"


def _card(device: DeviceView) -> Card:
    if device.kind is Accelerator.CUDA:
        return device.compute_capability or ""
    return None if device.kind is None else (device.kind,)


@lru_cache(maxsize=65536)
def _lacking(framework: str, version: str, said: TorchBuild | None, host: Host, cards: tuple[Card, ...]) -> Places:
    build = read_build(framework, version, said, host.os)
    if build is None:
        return ()
    return tuple(place for place, card in enumerate(cards) if not _has_code(build, host, card))


def _has_code(build: Build, host: Host, card: Card) -> bool:
    if isinstance(card, str):
        return code_for(build, host, Accelerator.CUDA, card).supported is True
    return code_for(build, host, card and card[0], None).supported is True
