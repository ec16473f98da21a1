"""Sentences about what a worker never has: place, size, software."""

from __future__ import annotations

from scheduler.core.quantities import cores, sizes
from scheduler.core.reasons import Code, Reason
from scheduler.core.sentences_matrix import support_matrix
from scheduler.core.versions import only_its_tail_is_to_blame
from scheduler.core.words import (
    UNKNOWN,
    Clock,
    Words,
    counted,
    either,
    listed,
    number,
    reserved_for,
    value,
)


def _simple(what: str) -> Words:
    """`region eu-west-2, wanted eu-west-1`."""

    def say(reason: Reason, clock: Clock) -> str:
        if reason.unknown:
            return f"{what} unknown ({UNKNOWN}), wanted {reason.required}"
        return f"{what} {reason.actual}, wanted {reason.required}"

    return say


def _target(reason: Reason, clock: Clock) -> str:
    wanted = reason.required if isinstance(reason.required, tuple) else (reason.required,)
    return f"origin {reason.actual}, wanted {either(wanted)}"


def _not_pinned(reason: Reason, clock: Clock) -> str:
    return f"not among the workers named in placement.worker_ids ({listed(reason.required)})"


def _label(reason: Reason, clock: Clock) -> str:
    wanted = f"wanted {reason.subject}={value(reason.required)}"
    if reason.actual is None:
        return f"label {reason.subject} is absent, {wanted}"
    return f"label {reason.subject}={value(reason.actual)}, {wanted}"


def _cpu_cores(reason: Reason, clock: Clock) -> str:
    if reason.unknown:
        return f"number of CPU cores unknown ({UNKNOWN}), needs {cores(number(reason.required))}"
    has, needed = number(reason.actual), number(reason.required)
    return f"{cores(has)} CPU {'core' if has == 1000 else 'cores'}, needs {cores(needed)}"


def _size(what: str) -> Words:
    """`RAM 135 GB, needs 512 GB`."""

    def say(reason: Reason, clock: Clock) -> str:
        if reason.unknown:
            return f"{what} unknown ({UNKNOWN}), needs {sizes(number(reason.required))[0]}"
        needed, has = sizes(number(reason.required), number(reason.actual))
        return f"{what} {has}, needs {needed}"

    return say


def _environment(reason: Reason, clock: Clock) -> str:
    return f"environment {reason.required} not found; has {listed(reason.actual)}"


def _version(reason: Reason, name: str) -> str:
    wanted = str(reason.required) or "any version"
    if reason.unknown:
        reported = f", reported as {reason.actual}" if reason.actual else ""
        return f"{name} version unknown{reported} ({UNKNOWN}), wanted {wanted}"
    if reason.actual is None:
        return f"{name} is not installed, wanted {wanted}"
    plain = f"{name} {reason.actual} does not satisfy {wanted}"
    if only_its_tail_is_to_blame(str(reason.actual), str(reason.required)):
        return f"{plain}: it is a pre-release, which comes before the release itself"
    return plain


def _python(reason: Reason, clock: Clock) -> str:
    return _version(reason, "Python")


def _framework(reason: Reason, clock: Clock) -> str:
    return _version(reason, reason.subject or "framework")


def _has_not(what: str) -> Words:
    def say(reason: Reason, clock: Clock) -> str:
        if reason.unknown:
            return f"{what}s unknown ({UNKNOWN}), needs {reason.required}"
        return f"{what} {reason.required} not found; has {listed(reason.actual)}"

    return say


def _dist_torch(reason: Reason, clock: Clock) -> str:
    if reason.unknown:
        reported = f", reported as {reason.actual}" if reason.actual else ""
        return f"torch version unknown{reported} ({UNKNOWN}); all workers of a gang need the same"
    return "torch is not installed; all workers of a gang need the same version"


def _dist_address(reason: Reason, clock: Clock) -> str:
    return f"advertise_address unknown ({UNKNOWN}); the other workers of a gang need it"


def _dist_procs(reason: Reason, clock: Clock) -> str:
    needed = f"{counted(number(reason.required) // 1000, 'process', 'processes')} per worker"
    if reason.unknown:
        return f"number of CPU cores unknown ({UNKNOWN}), {needed} need one each"
    return f"{needed} need a CPU core each, has {cores(number(reason.actual))}"


SENTENCES: dict[Code, Words] = {
    Code.TARGET: _target,
    Code.PROVIDER: _simple("provider"),
    Code.REGION: _simple("region"),
    Code.NOT_PINNED: _not_pinned,
    Code.LABEL: _label,
    Code.RESERVED: reserved_for,
    Code.OS: _simple("OS"),
    Code.ARCH: _simple("CPU architecture"),
    Code.CPU_CORES: _cpu_cores,
    Code.MEMORY: _size("RAM"),
    Code.DISK: _size("disk"),
    Code.ENVIRONMENT: _environment,
    Code.PYTHON: _python,
    Code.FRAMEWORK: _framework,
    Code.SUPPORT_MATRIX: support_matrix,
    Code.DIST_LAUNCHER: _has_not("launcher"),
    Code.DIST_BACKEND: _has_not("communication backend"),
    Code.DIST_TORCH: _dist_torch,
    Code.DIST_ADDRESS: _dist_address,
    Code.DIST_PROCS: _dist_procs,
}
