"""What would be supported instead: the nearest release of a framework, and build of it, in the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.version import Version

from scheduler.core.builds import Build
from scheduler.core.kernels import Reach, reach, read_capability
from scheduler.core.spec import Accelerator
from scheduler.core.suitability import Host, driver_for
from scheduler.core.support_matrix import Row, Rule, bounds, rows, toolkit_version
from scheduler.core.versions import satisfies

_Choice = tuple[Version, Version]
"""A release of a framework and the toolkit of a build of it."""
_NO_TOOLKIT = Version("0")


def build_with_code(build: Build, host: Host, kind: Accelerator, capabilities: Iterable[str]) -> str | None:
    """`2.7 with CUDA 12.8 or later`: the nearest build for devices of this kind and of all these capabilities."""
    wanted = tuple(capabilities)
    there_are = {
        _choice(row): all(_has_code(row, text) for text in wanted)
        for row in rows(Rule.BUILD, framework=build.framework, accelerator=kind)
        if row.versions and row.suits(host.os, host.arch)
    }
    able = [choice for choice, has in there_are.items() if has]
    able = [choice for choice in able if _driver_will_do(build, host, kind, choice)] or able
    nearest = _nearest(able, build.release, Version(build.toolkit) if build.toolkit else _NO_TOOLKIT)
    if nearest is None:
        return None
    release, toolkit = nearest
    onwards = all(has for (later, with_), has in there_are.items() if later >= release and with_ >= toolkit)
    name = {Accelerator.CUDA: " with CUDA", Accelerator.ROCM: " with ROCm"}.get(kind)
    return f"{release}{f'{name} {toolkit}' if name else ''}{' or later' if onwards else ''}"


def release_for_python(build: Build, python: Version) -> str | None:
    """`2.9 or later`: the nearest release that runs on this Python."""
    there_are = {
        bounds(row.versions)[0]: bool(satisfies(python.base_version, row.python))
        for row in rows(Rule.PYTHON, framework=build.framework)
    }
    able = [(release, _NO_TOOLKIT) for release, runs in there_are.items() if runs]
    nearest = _nearest(able, build.release, _NO_TOOLKIT)
    if nearest is None:
        return None
    onwards = all(runs for release, runs in there_are.items() if release >= nearest[0])
    return f"{nearest[0]}{' or later' if onwards else ''}"


def platforms_of(found: Sequence[Row]) -> tuple[str, ...]:
    """Every platform that these rows speak of: `linux x86_64`."""
    return tuple(dict.fromkeys(f"{os} {arch}" for row in found for os in row.os for arch in row.arch))


def _choice(row: Row) -> _Choice:
    release = bounds(row.versions)[0]
    match row.accelerator:
        case Accelerator.CUDA:
            return release, toolkit_version(row.build)
        case Accelerator.ROCM:
            return release, Version(row.build.removeprefix("rocm"))
        case _:
            return release, _NO_TOOLKIT


def _has_code(row: Row, capability: str) -> bool:
    read = read_capability(capability)
    return row.accelerator is not Accelerator.CUDA or (read is not None and reach(row.code, read) is Reach.NATIVE)


def _driver_will_do(build: Build, host: Host, kind: Accelerator, choice: _Choice) -> bool:
    if kind is not Accelerator.CUDA:
        return True
    release, toolkit = choice
    instead = Build(build.framework, str(release), True, kind, str(toolkit))
    return driver_for(instead, host).supported is not False


def _nearest(choices: Iterable[_Choice], release: Version, toolkit: Version) -> _Choice | None:
    """The first release that is not earlier than the one in use, else the last before it; likewise its toolkit."""
    ordered = sorted(choices)
    if not ordered:
        return None
    onwards = [choice for choice in ordered if choice[0].release[:2] >= release.release[:2]]
    chosen = (onwards[0] if onwards else ordered[-1])[0]
    of_it = [choice for choice in ordered if choice[0] == chosen]
    return next((choice for choice in of_it if choice[1] >= toolkit), of_it[-1])
