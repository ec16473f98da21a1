"""Requirements on devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from scheduler.core.asks import DEVICES, DEVICES_NOW, MOST_ALIKE, Ask, Stage
from scheduler.core.asks_host import rounded
from scheduler.core.edits import with_resources
from scheduler.core.fleet import DeviceView
from scheduler.core.quantities import GB, size
from scheduler.core.questions import devices_of
from scheduler.core.scene import Scene
from scheduler.core.spec import JobSpec
from scheduler.core.widening import nearest_first, widened
from scheduler.core.words import capability, names

MOST_VERSIONS = 7
_CODES = DEVICES | DEVICES_NOW


def asks_of_devices(spec: JobSpec) -> Iterator[Ask]:
    """Those that the job states, in the order of the checks."""
    asked = spec.resources
    if asked.gpus > 1:
        yield _GPUS
    if not asked.gpus:
        return
    if asked.accelerator is not None:
        yield _ACCELERATOR
    if asked.gpu_models:
        yield _MODELS
    if asked.gpu_memory_bytes is not None:
        yield _GPU_MEMORY
    if asked.gpu_memory_kind is not None:
        yield _MEMORY_KIND
    if asked.compute_capability is not None:
        yield _COMPUTE_CAPABILITY


def _there(scene: Scene, workers: int) -> Iterator[DeviceView]:
    """The devices of these workers, one worker for all that have the same."""
    return (device for facts in scene.samples(devices_of, workers) for device in facts.devices or ())


def _fewer(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    most = max((len(facts.devices or ()) for facts in scene.samples(devices_of, workers)), default=0)
    numbers = range(min(spec.resources.gpus - 1, most), 0, -1)
    return [[(with_resources(spec, gpus=number), f"{number:,}")] for number in numbers]


def _less_memory(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    asked = spec.resources.gpu_memory_bytes or 0
    sizes = {device.memory_bytes for device in _there(scene, workers) if device.memory_bytes is not None}
    less = sorted({rounded(one, GB) for one in sizes if one < asked}, reverse=True)
    return [
        *([(with_resources(spec, gpu_memory_bytes=one), size(one))] for one in less),
        [(with_resources(spec, gpu_memory_bytes=None), "any")],
    ]


def _further_models(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    asked, found = spec.resources.gpu_models, Counter(device.model for device in _there(scene, workers))
    models = [model for model, _ in sorted(found.items(), key=lambda pair: (-pair[1], str(pair[0]))) if model]
    also = [(*asked, model) for model in models if model not in asked][:MOST_ALIKE]
    one_more: Stage = [(with_resources(spec, gpu_models=more), names(more)) for more in also]
    return [*([one_more] if one_more else []), [(with_resources(spec, gpu_models=()), "any")]]


def _further_capabilities(spec: JobSpec, scene: Scene, workers: int) -> Sequence[Stage]:
    asked = spec.resources.compute_capability or ""
    there = {device.compute_capability for device in _there(scene, workers) if device.compute_capability}
    wider = [widened(asked, version) for version in nearest_first(asked, there)[:MOST_VERSIONS]]
    return [
        *([(with_resources(spec, compute_capability=text), capability(text))] for text in dict.fromkeys(wider) if text),
        [(with_resources(spec, compute_capability=None), "any")],
    ]


def _any(spec: JobSpec, name: str) -> Sequence[Stage]:
    return [[(with_resources(spec, **{name: None}), "any")]]


_GPUS = Ask(
    field="resources.gpus",
    label="GPUs",
    said=lambda spec: f"{spec.resources.gpus:,}",
    codes=_CODES,
    loosest=lambda spec, scene: (with_resources(spec, gpus=1),),
    stages=_fewer,
)
_ACCELERATOR = Ask(
    field="resources.accelerator",
    label="accelerator",
    said=lambda spec: str(spec.resources.accelerator),
    codes=_CODES,
    loosest=lambda spec, scene: (with_resources(spec, accelerator=None),),
    stages=lambda spec, scene, workers: _any(spec, "accelerator"),
)
_MODELS = Ask(
    field="resources.gpu_models",
    label="GPU model",
    said=lambda spec: names(spec.resources.gpu_models),
    codes=_CODES,
    loosest=lambda spec, scene: (with_resources(spec, gpu_models=()),),
    stages=_further_models,
)
_GPU_MEMORY = Ask(
    field="resources.gpu_memory_gb",
    label="GPU memory",
    said=lambda spec: size(spec.resources.gpu_memory_bytes or 0),
    codes=_CODES,
    loosest=lambda spec, scene: (with_resources(spec, gpu_memory_bytes=None),),
    stages=_less_memory,
)
_MEMORY_KIND = Ask(
    field="resources.gpu_memory_kind",
    label="GPU memory kind",
    said=lambda spec: str(spec.resources.gpu_memory_kind),
    codes=_CODES,
    loosest=lambda spec, scene: (with_resources(spec, gpu_memory_kind=None),),
    stages=lambda spec, scene, workers: _any(spec, "gpu_memory_kind"),
)
_COMPUTE_CAPABILITY = Ask(
    field="resources.compute_capability",
    label="compute capability",
    said=lambda spec: capability(spec.resources.compute_capability),
    codes=_CODES,
    loosest=lambda spec, scene: (with_resources(spec, compute_capability=None),),
    stages=_further_capabilities,
)
