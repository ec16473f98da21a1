"""Specs with one part changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scheduler.core.spec import JobSpec, Resources

Pairs = tuple[tuple[str, str], ...]


def with_placement(spec: JobSpec, **fields: object) -> JobSpec:
    """With these fields of `placement`."""
    return replace(spec, placement=replace(spec.placement, **fields))  # type: ignore[arg-type]


def with_resources(spec: JobSpec, **fields: object) -> JobSpec:
    """With these fields of `resources`."""
    return replace(spec, resources=replace(spec.resources, **fields))  # type: ignore[arg-type]


def with_runtime(spec: JobSpec, **fields: object) -> JobSpec:
    """With these fields of `runtime`."""
    return replace(spec, runtime=replace(spec.runtime, **fields))  # type: ignore[arg-type]


def with_gang(spec: JobSpec, **fields: object) -> JobSpec:
    """With these fields of `distributed`, of a distributed job."""
    return replace(spec, distributed=spec.distributed and replace(spec.distributed, **fields))  # type: ignore[arg-type]


def without_devices(spec: JobSpec) -> JobSpec:
    """With `gpus: 0`, and so nothing asked of devices."""
    asked = spec.resources
    return replace(
        spec,
        resources=Resources(
            os=asked.os, arch=asked.arch, cpu_millicores=asked.cpu_millicores, memory_bytes=asked.memory_bytes,
            disk_bytes=asked.disk_bytes,
        ),
    )  # fmt: skip


def without(pairs: Pairs, name: str) -> Pairs:
    """Pairs of names and values without one of them."""
    return tuple(pair for pair in pairs if pair[0] != name)


def in_place(pairs: Pairs, name: str, value: str) -> Pairs:
    """Pairs of names and values with another value for one of them."""
    return tuple((key, value if key == name else old) for key, old in pairs)


def rest(all_of: Sequence[str], known: Sequence[str]) -> list[str]:
    """Those that are not known yet, in order."""
    return [name for name in all_of if name not in known]
