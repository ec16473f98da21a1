"""Sentences about devices: never enough of them, and not enough of them now."""

from __future__ import annotations

from typing import TypeGuard

from scheduler.core.quantities import sizes
from scheduler.core.reasons import Code, Fact, Reason
from scheduler.core.words import (
    UNKNOWN,
    Clock,
    Words,
    agrees,
    capability,
    counted,
    devices,
    either,
    lasting,
    listed,
    names,
    number,
    part,
    reserved_ahead,
    reserved_for,
)

_HAVE = ("has it", "have it", "have it")
_BE = ("is", "are", "be one")


def _gpu_count(reason: Reason, clock: Clock) -> str:
    needed = f"needs {counted(number(reason.required), 'GPU')}"
    if reason.unknown:
        return f"{needed}, devices not reported ({UNKNOWN})"
    return f"{needed}, has {number(reason.actual) or 'none'}"


def _gpu_mig(reason: Reason, clock: Clock) -> str:
    needed = counted(number(reason.required), "whole GPU")
    have = reason.have or 0
    whole = f"{part(have, reason.of)} {agrees(have, 'is', 'are')} whole"
    return f"needs {needed}, {whole}; {_are(reason)} partitioned (MIG)"


def _of_each(reason: Reason, wanted: str, verb: tuple[str, str, str], has: str) -> str:
    """`needs GPUs with ≥ 40 GB each; 1 of 4 has it (the largest has 85.5 GB)`."""
    have = reason.have or 0
    if reason.unknown:
        known = f"{part(have, reason.of)} {agrees(have, 'is', 'are')} known to {verb[2]}"
        return f"needs {wanted}; {known}, the rest is unknown ({UNKNOWN})"
    return f"needs {wanted}; {part(have, reason.of)} {agrees(have, *verb[:2])}{f' ({has})' if has else ''}"


def _gpu_accelerator(reason: Reason, clock: Clock) -> str:
    return _of_each(reason, f"{reason.required} GPUs", _BE, f"has {listed(reason.actual)}")


def _gpu_model(reason: Reason, clock: Clock) -> str:
    models = reason.required if isinstance(reason.required, tuple) else (reason.required,)
    wanted = f"GPUs of the model {either(models)}"
    return _of_each(reason, wanted, _BE, f"has {listed(reason.actual)}")


def _gpu_memory(reason: Reason, clock: Clock) -> str:
    known = [size for size in (reason.actual, reason.enough_at) if _is_size(size)]
    needed, *rest = sizes(number(reason.required), *known)
    largest = [f"the largest has {rest[0]}"] if _is_size(reason.actual) else []
    enough = [f"enough have at least {rest[-1]}"] if reason.have and _is_size(reason.enough_at) else []
    return _of_each(reason, f"GPUs with ≥ {needed} each", _HAVE, ", ".join(largest + enough))


def _is_size(fact: Fact) -> TypeGuard[int]:
    return isinstance(fact, int)


def _gpu_memory_kind(reason: Reason, clock: Clock) -> str:
    wanted = f"GPUs with {reason.required} memory"
    return _of_each(reason, wanted, _HAVE, f"has {listed(reason.actual)}")


def _gpu_compute_capability(reason: Reason, clock: Clock) -> str:
    facts = [listed(reason.actual)] if reason.actual else []
    facts += [f"a CUDA notion, which {reason.subject} devices do not have"] if reason.subject else []
    wanted = f"GPUs of compute capability {capability(reason.required)}"
    return _of_each(reason, wanted, _HAVE, "; ".join(facts))


def _gpu_combination(reason: Reason, clock: Clock) -> str:
    have = reason.have or 0
    kinds = reason.actual if isinstance(reason.actual, tuple) else ()
    tally = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
    needed = f"needs {counted(number(reason.required), 'GPU')} of one kind that each meet every requirement together"
    unknown = f", the rest is unknown ({UNKNOWN})" if reason.unknown else ""
    code = f"; those without kernels of {reason.subject} do not count" if reason.subject else ""
    return f"{needed}; {part(have, reason.of)} {agrees(have, 'does', 'do')}{unknown} (has {tally or 'none'}){code}"


def _too_few_free(cause: Words) -> Words:
    """`needs 2 GPUs, 1 of 4 is free: …`."""

    def say(reason: Reason, clock: Clock) -> str:
        have = reason.have or 0
        free = f"{part(have, reason.of)} {agrees(have, 'is', 'are')} free"
        return f"needs {counted(number(reason.required), 'GPU')}, {free}: {cause(reason, clock)}"

    return say


def _are(reason: Reason) -> str:
    return f"{devices(reason.devices)} {agrees(len(reason.devices), 'is', 'are')}"


def _unhealthy_devices(reason: Reason, clock: Clock) -> str:
    return f"{_are(reason)} unhealthy{f' ({reason.subject})' if reason.subject else ''}"


def _reserved_devices(reason: Reason, clock: Clock) -> str:
    return f"{_are(reason)} {reserved_for(reason, clock)}"


def _devices_reserved_ahead(reason: Reason, clock: Clock) -> str:
    kept = f"{_are(reason)} {reserved_ahead(reason, clock)}"
    if not isinstance(reason.enough_at, int):
        return kept
    most = f"{lasting(reason.enough_at)} (timeout_s: {reason.enough_at})"
    return f"{kept}; with a time limit of at most {most} this job fits before"


def _devices_not_reserved(reason: Reason, clock: Clock) -> str:
    return f"{_are(reason)} not reserved for this job, which waits for its own reservation (placement.reserved_only)"


def _foreign_devices(reason: Reason, clock: Clock) -> str:
    return f"{_are(reason)} used outside gpulayer"


def _devices_in_use(reason: Reason, clock: Clock) -> str:
    return f"devices are in use by other tasks{f' ({names(reason.holders)})' if reason.holders else ''}"


SENTENCES: dict[Code, Words] = {
    Code.GPU_COUNT: _gpu_count,
    Code.GPU_MIG: _gpu_mig,
    Code.GPU_ACCELERATOR: _gpu_accelerator,
    Code.GPU_MODEL: _gpu_model,
    Code.GPU_MEMORY: _gpu_memory,
    Code.GPU_MEMORY_KIND: _gpu_memory_kind,
    Code.GPU_COMPUTE_CAPABILITY: _gpu_compute_capability,
    Code.GPU_COMBINATION: _gpu_combination,
    Code.GPU_UNHEALTHY: _too_few_free(_unhealthy_devices),
    Code.GPU_RESERVED: _too_few_free(_reserved_devices),
    Code.GPU_RESERVED_FROM: _too_few_free(_devices_reserved_ahead),
    Code.GPU_NOT_RESERVED: _too_few_free(_devices_not_reserved),
    Code.GPU_FOREIGN: _too_few_free(_foreign_devices),
    Code.GPU_IN_USE: _too_few_free(_devices_in_use),
}
