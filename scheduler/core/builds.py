"""Which build of a framework an environment has: for which kind of device, with which toolkit and which code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from packaging.version import Version

from scheduler.core.capability_software import TORCH, environment_of
from scheduler.core.fleet import EnvironmentView, TorchBuild, WorkerFacts
from scheduler.core.kernels import is_for
from scheduler.core.platforms import canonical_os
from scheduler.core.spec import Accelerator, JobSpec
from scheduler.core.support_matrix import FRAMEWORKS
from scheduler.core.versions import parse_version

_TAG = re.compile(r"cu([0-9]{2,3})([0-9])(?![0-9])|rocm([0-9]+(?:\.[0-9]+)*)|(cpu)|(xpu)")
_TOOLKIT = re.compile(r"([0-9]{1,4}\.[0-9]{1,4})(?:[.\-+].*)?")


@dataclass(frozen=True, slots=True)
class Build:
    """One build of a framework. `known` is False where nothing says what it was built for."""

    framework: str
    version: str
    """As reported."""
    known: bool = False
    serves: Accelerator | None = None
    """The kind of device it has code for; None, where known: none, it computes on the CPU."""
    toolkit: str | None = None
    """The version of CUDA or ROCm, `12.4`; None where there is none or it is unknown."""
    archs: tuple[str, ...] | None = None
    """The targets it has code for, as it says itself; None where it wasn't asked."""

    @property
    def release(self) -> Version:
        """The version, parsed; a build is only made of one that can be."""
        return Version(self.version)

    @property
    def name(self) -> str:
        """`torch 2.6.0+cu124`."""
        return f"{self.framework} {self.version}"


def builds_asked(spec: JobSpec, worker: WorkerFacts) -> tuple[Build, ...]:
    """The builds that must suit the devices of a job: of frameworks that it names, or needs as a distributed one.

    None of a job that wants no device, nor of a framework that is missing or of no known version.
    """
    names = frameworks_asked(spec)
    environment = environment_of(worker, spec.runtime.environment) if names else None
    if environment is None:
        return ()
    return tuple(build for name in names if (build := build_in(environment, name, worker.os)) is not None)


def frameworks_asked(spec: JobSpec) -> tuple[str, ...]:
    """The frameworks that the table knows and the job needs beside a device, sorted."""
    if not spec.resources.gpus or not (spec.runtime.frameworks or spec.distributed):
        return ()
    return tuple(sorted(set(_named(spec)) & FRAMEWORKS))


def build_in(environment: EnvironmentView, framework: str, os: str | None) -> Build | None:
    """An environment's build of a framework; None where it is missing or of no known version."""
    for name, version in environment.frameworks or ():
        if name == framework:
            return read_build(framework, version or "", environment.torch_build, os)
    return None


@lru_cache(maxsize=4096)
def read_build(framework: str, text: str, said: TorchBuild | None, os: str | None) -> Build | None:
    """The build of this version; `said` is what torch says of itself. None where the text is no version."""
    version = parse_version(text)
    if version is None:
        return None
    tagged = _by_tag(framework, text, version.local or "")
    if said is not None and framework == TORCH:
        return _by_itself(said, tagged, os)
    if not tagged.known and _is_macos(os):
        return Build(framework, text, True, Accelerator.MPS)  # there is no other build for it
    return tagged


def _named(spec: JobSpec) -> Iterator[str]:
    yield from (name for name, _ in spec.runtime.frameworks)
    if spec.distributed:
        yield TORCH


def _by_itself(said: TorchBuild, tagged: Build, os: str | None) -> Build:
    """What it says itself goes before what its version says."""
    framework, text = tagged.framework, tagged.version
    if said.hip is not None:
        return Build(framework, text, True, Accelerator.ROCM, _toolkit(said.hip), said.archs)
    if said.cuda is not None:
        return Build(framework, text, True, Accelerator.CUDA, _toolkit(said.cuda), said.archs)
    if said.archs:
        cuda = any(is_for(target, "sm_", "compute_") for target in said.archs)
        serves = Accelerator.CUDA if cuda else Accelerator.ROCM
        return Build(framework, text, True, serves, tagged.toolkit if tagged.serves is serves else None, said.archs)
    if tagged.serves is Accelerator.XPU:  # of which neither CUDA nor HIP can be said
        return tagged
    return Build(framework, text, True, Accelerator.MPS if _is_macos(os) else None)


def _by_tag(framework: str, text: str, tag: str) -> Build:
    match = _TAG.match(tag)
    if match is None:
        return Build(framework, text)
    if match[1]:
        return Build(framework, text, True, Accelerator.CUDA, f"{match[1]}.{match[2]}")
    if match[3]:
        return Build(framework, text, True, Accelerator.ROCM, match[3])
    return Build(framework, text, True, Accelerator.XPU if match[5] else None)


def _is_macos(os: str | None) -> bool:
    return os is not None and canonical_os(os) == "macos"


def _toolkit(text: str) -> str | None:
    match = _TOOLKIT.fullmatch(text)
    return match[1] if match else None
