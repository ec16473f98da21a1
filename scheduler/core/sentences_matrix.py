"""Sentences about combinations that the support matrix says no to, each with the way out."""

from __future__ import annotations

from collections.abc import Callable

from scheduler.core.reasons import Fact, Matter, Reason
from scheduler.core.words import UNKNOWN, Clock, counted, devices, either, number, part

_NAMES = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU", "mps": "MPS", "cpu": "CPU"}


def support_matrix(reason: Reason, clock: Clock) -> str:
    """`torch 2.5.1+cu124 has no kernels for compute capability 12.0; 2.7 with CUDA 12.8 or later does`."""
    return _OF[reason.matter](reason) if reason.matter else "the combination is not supported"


def _platform(reason: Reason) -> str:
    if reason.required is None:
        return f"kind of {devices(reason.devices)} unknown ({UNKNOWN}), so whether {reason.actual} supports it is too"
    what, verb = f"{_name(reason.required)} GPUs", "are"
    if reason.subject:
        what, verb = f"a build of {reason.subject} for {what}", "is"
    if reason.unknown:
        return (
            f"whether {what} {verb} supported on {reason.actual} is unknown ({UNKNOWN}), needs {_any(reason.enough_at)}"
        )
    return f"{what} {verb} not supported on {reason.actual}, needs {_any(reason.enough_at)}"


def _build(reason: Reason) -> str:
    such = f", such as {reason.enough_at}" if reason.enough_at else ""
    needs = f"needs one for {_name(reason.required)} GPUs{such}"
    if reason.unknown:
        return f"for which GPUs {reason.subject} was built is unknown ({UNKNOWN}), {needs}"
    return f"{reason.subject} is a {_name(reason.actual)} build, {needs}"


def _python(reason: Reason) -> str:
    if reason.required is None:
        return f"which versions of Python {reason.subject} supports is unknown ({UNKNOWN})"
    if reason.unknown:
        reported = f", reported as {reason.actual}" if reason.actual else ""
        return f"Python version unknown{reported} ({UNKNOWN}), {reason.subject} needs {reason.required}"
    instead = f"; {reason.enough_at} does" if reason.enough_at else ""
    return f"{reason.subject} does not support Python {reason.actual}, needs {reason.required}{instead}"


def _driver(reason: Reason) -> str:
    if reason.required is None:
        return f"which driver {reason.subject} needs is unknown ({UNKNOWN})"
    if reason.unknown:
        reported = f", reported as {reason.actual}" if reason.actual else ""
        return f"driver version unknown{reported} ({UNKNOWN}), {reason.subject} needs {reason.required} or later"
    return f"{reason.subject} needs driver {reason.required} or later, has {reason.actual}"


def _code(reason: Reason) -> str:
    instead = f"; {reason.enough_at} does" if reason.enough_at else ""
    if not reason.unknown:
        return f"{reason.subject} has no kernels for compute capability {_any(reason.actual)}{_rest(reason)}{instead}"
    if reason.actual:
        return (
            f"whether {reason.subject} has kernels for compute capability {_any(reason.actual)} is unknown ({UNKNOWN})"
        )
    of = devices(reason.devices)
    return f"compute capability of {of} unknown ({UNKNOWN}), {reason.subject} must have kernels for it"


def _ptx(reason: Reason) -> str:
    what = f"{reason.subject} has only PTX for compute capability {_any(reason.actual)}{_rest(reason)}"
    if reason.unknown:
        return (
            f"{what}, and whether the driver can compile it is unknown ({UNKNOWN}), needs {reason.enough_at} or later"
        )
    return f"{what}, which needs driver {reason.enough_at} or later"


def _rest(reason: Reason) -> str:
    """How many others have code, where some do."""
    if not reason.have:
        return ""
    return f" ({part(reason.have, reason.of)} {'is' if reason.have == 1 else 'are'} served, needs {_gpus(reason)})"


def _gpus(reason: Reason) -> str:
    return counted(number(reason.required), "GPU")


def _name(kind: Fact) -> str:
    return _NAMES.get(str(kind), str(kind))


def _any(fact: Fact) -> str:
    return either(fact) if isinstance(fact, tuple) else str(fact)


_OF: dict[Matter, Callable[[Reason], str]] = {
    Matter.PLATFORM: _platform,
    Matter.BUILD: _build,
    Matter.PYTHON: _python,
    Matter.DRIVER: _driver,
    Matter.CODE: _code,
    Matter.PTX: _ptx,
}
