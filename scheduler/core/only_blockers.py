"""For each requirement the workers that it alone keeps from the job."""

from __future__ import annotations

from scheduler.core.decision import Parts
from scheduler.core.edits import without_devices
from scheduler.core.reasons import Code
from scheduler.core.requirements import requirements
from scheduler.core.scene import Scene

_FIELDS: dict[Code, str] = {
    Code.TARGET: "fallback_targets",
    Code.ENVIRONMENT: "runtime.environment",
    Code.PYTHON: "runtime.python",
    Code.GPU_ACCELERATOR: "resources.accelerator",
    Code.GPU_MODEL: "resources.gpu_models",
    Code.GPU_MEMORY: "resources.gpu_memory_gb",
    Code.GPU_MEMORY_KIND: "resources.gpu_memory_kind",
    Code.GPU_COMPUTE_CAPABILITY: "resources.compute_capability",
}
"""The requirements behind which others may stand that are not asked until it is met: of these the job is asked anew."""
_COUNTING = (Code.GPU_COUNT, Code.GPU_MIG, Code.GPU_COMBINATION)


def only_blockers(scene: Scene, code: Code, subject: str | None, parts: Parts) -> int:
    """The workers that would be compatible, or of what is asked now free, if this alone were not asked.

    Of an environment: with some other one.
    """
    field = _field(code, subject)
    if field is not None:
        return _asked_anew(scene, field)
    if code in _COUNTING:
        failing = sum(bits for (_, codes), bits in parts.items() if code in codes)
        return failing & scene.compatible(without_devices(scene.entry.spec))
    return sum(bits for (_, codes), bits in parts.items() if codes == (code,))


def _field(code: Code, subject: str | None) -> str | None:
    if subject is not None:
        return f"placement.worker_labels.{subject}" if code is Code.LABEL else f"runtime.frameworks.{subject}"
    return _FIELDS.get(code)


def _asked_anew(scene: Scene, field: str) -> int:
    found = 0
    for ask in requirements(scene.entry.spec):
        if ask.field == field:
            for spec in ask.loosest(scene.entry.spec, scene):
                found |= scene.compatible(spec)
    return found & ~scene.standing.compatible
