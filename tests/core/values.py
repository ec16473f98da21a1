"""Hypothesis strategies: any job, any worker and any decision that a document can say."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from scheduler.core.decision import Assignment, Candidate, Listed, SchedulingDecision, Tier, TierStatus
from scheduler.core.fleet import DeviceView, EnvironmentView, TaskLoad, TorchBuild, Window, WorkerFacts, WorkerView
from scheduler.core.parsing_window import in_order
from scheduler.core.reasons import Code, GroupReason, Kind, Matter, Note, NoteCode, Reason
from scheduler.core.spec import (
    Accelerator,
    Distributed,
    FallbackWhen,
    JobSpec,
    MemoryKind,
    OnUnschedulable,
    Origin,
    Placement,
    Policy,
    Resources,
    Retries,
    RetryOn,
    Runtime,
)

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Large values are slow to make; forty of them have every field in every state."""

NAMES = st.text("ab9.-_:/=*é漢🂡", min_size=1, max_size=6)
TEXTS = st.text("a \n\t'\"\\é\u202e\x1b", max_size=6)
SIZES = st.integers(0, 2**63 - 1)
MILLICORES = st.integers(0, 10**9)
VERSIONS = st.sampled_from(["2.6.0+cu124", "3.11.9", "2.7.0.dev20250301", "nightly", "1.0"])
SPECIFIERS = st.sampled_from(["", ">=2.6", "==3.11.*", ">=2.5,<3", "==2.6.0+cu124"])
PACKAGES = st.sampled_from(["torch", "numpy", "torch-vision"])
HOLDERS = st.builds("{}:{}".format, st.sampled_from(["job", "user", "team"]), NAMES)
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
INDICES = st.lists(st.integers(0, 15), max_size=4, unique=True).map(lambda found: tuple(sorted(found)))


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """The value, or None."""
    return st.none() | strategy


def pairs(keys: st.SearchStrategy[str], values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Sorted pairs, each key once."""
    return st.dictionaries(keys, values, max_size=3).map(lambda found: tuple(sorted(found.items(), key=lambda p: p[0])))


def several(items: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """A tuple of different items."""
    return st.lists(items, max_size=3, unique=True).map(tuple)


@st.composite
def resources(draw: st.DrawFn) -> Resources:
    """With device fields only where devices are asked for."""
    gpus = draw(st.integers(0, 16))
    of_devices = {
        "accelerator": draw(maybe(st.sampled_from(Accelerator))),
        "gpu_models": draw(several(NAMES)),
        "gpu_memory_bytes": draw(maybe(SIZES)),
        "gpu_memory_kind": draw(maybe(st.sampled_from(MemoryKind))),
        "compute_capability": draw(st.sampled_from([None, ">=8.0", "==9.*"])),
    }
    return Resources(
        os=draw(maybe(NAMES)), arch=draw(maybe(NAMES)), cpu_millicores=draw(maybe(MILLICORES)),
        memory_bytes=draw(maybe(SIZES)), disk_bytes=draw(maybe(SIZES)), gpus=gpus, **(of_devices if gpus else {}),
    )  # fmt: skip


@st.composite
def jobs(draw: st.DrawFn) -> JobSpec:
    """Any job."""
    target, *fallbacks = draw(st.permutations(list(Origin)))
    stated = draw(st.booleans())
    env = draw(pairs(st.sampled_from("ABC"), TEXTS))
    files = draw(maybe(st.just("0" * 60 + "beef")))
    spec = JobSpec(
        name=draw(NAMES),
        command=(draw(NAMES), *draw(st.lists(TEXTS, max_size=3))),
        target=target,
        files=files,
        workdir=None if files else draw(maybe(TEXTS.map("/{}".format))),
        env=env,
        secrets=draw(pairs(st.sampled_from("XYZ"), TEXTS)),
        fallback_targets=tuple(fallbacks[: draw(st.integers(0, 2))]),
        fallback_when=draw(st.sampled_from(FallbackWhen)),
        on_unschedulable=draw(st.sampled_from(OnUnschedulable)),
        policy=draw(st.sampled_from(Policy)),
        placement=Placement(
            provider=draw(maybe(NAMES)), region=draw(maybe(NAMES)), worker_ids=draw(several(NAMES)),
            worker_labels=draw(pairs(NAMES, NAMES | st.just(""))), reserved_only=draw(st.booleans()),
        ),
        resources=draw(resources()),
        runtime=Runtime(
            environment=draw(NAMES) if stated else "default", environment_stated=stated,
            python=draw(maybe(SPECIFIERS)), frameworks=draw(pairs(PACKAGES, SPECIFIERS)),
        ),
        distributed=draw(
            maybe(
                st.builds(
                    Distributed, num_workers=st.integers(1, 99), procs_per_worker=st.integers(1, 99),
                    launcher=maybe(NAMES), comm_backend=maybe(NAMES),
                )
            )
        ),
        retries=Retries(
            max=draw(st.integers(0, 9)),
            on=draw(st.sampled_from([(), (RetryOn.LOST,), (RetryOn.FAILED,), (RetryOn.FAILED, RetryOn.LOST)])),
            lease_s=draw(maybe(st.integers(180, 86_400))),
        ),
        timeout_s=draw(maybe(st.integers(1, 10**6))),
    )  # fmt: skip
    return _as_hold(spec, draw(st.integers(60, 604_800))) if draw(st.booleans()) else spec


def _as_hold(spec: JobSpec, seconds: int) -> JobSpec:
    """The same placement, held for a person in place of a command."""
    return replace(
        spec, command=(), files=None, workdir=None, env=(), secrets=(), timeout_s=None, distributed=None,
        retries=Retries(), hold_s=seconds,
    )  # fmt: skip


ENVIRONMENTS = st.builds(
    EnvironmentView,
    python=maybe(VERSIONS),
    frameworks=maybe(pairs(PACKAGES, maybe(VERSIONS))),
    torch_build=maybe(st.builds(TorchBuild, cuda=maybe(VERSIONS), hip=maybe(VERSIONS), archs=maybe(several(NAMES)))),
    launchers=maybe(several(NAMES)),
    comm_backends=maybe(several(NAMES)),
)


@st.composite
def _window(draw: st.DrawFn) -> Window:
    starts_at = draw(MOMENTS)
    return Window(
        holder=draw(HOLDERS), starts_at=starts_at, devices=draw(INDICES), notice_s=draw(st.integers(0, 10**6)),
        ends_at=draw(maybe(st.timedeltas(timedelta(seconds=1), timedelta(days=99)).map(lambda span: starts_at + span))),
    )  # fmt: skip


WINDOWS = st.lists(_window(), max_size=2).map(lambda found: in_order(tuple(found)))


@st.composite
def _device(draw: st.DrawFn, index: int) -> DeviceView:
    reserved_for = draw(maybe(HOLDERS))
    return DeviceView(
        index=index, uuid=draw(st.sampled_from([None, f"GPU-{index}"])), model=draw(maybe(NAMES)),
        kind=draw(maybe(st.sampled_from(Accelerator))), memory_bytes=draw(maybe(SIZES)),
        memory_kind=draw(maybe(st.sampled_from(MemoryKind))), compute_capability=draw(maybe(VERSIONS)),
        mig=draw(maybe(st.booleans())), healthy=draw(maybe(st.booleans())), health_note=draw(NAMES | st.just("")),
        foreign_memory_bytes=draw(maybe(SIZES)), reserved_for=reserved_for,
        reserved_until=draw(maybe(MOMENTS)) if reserved_for else None,
    )  # fmt: skip


@st.composite
def facts(draw: st.DrawFn) -> WorkerFacts:
    """Any worker's facts."""
    further = draw(st.dictionaries(NAMES.filter(lambda name: name != "default"), ENVIRONMENTS, max_size=2))
    reserved_for = draw(maybe(HOLDERS))
    indices = draw(maybe(INDICES))
    return WorkerFacts(
        id=draw(NAMES), origin=draw(st.sampled_from(Origin)), provider=draw(maybe(NAMES)), region=draw(maybe(NAMES)),
        os=draw(maybe(NAMES)), os_version=draw(maybe(VERSIONS)), arch=draw(maybe(NAMES)),
        cpu_millicores=draw(maybe(MILLICORES)), memory_bytes=draw(maybe(SIZES)), disk_bytes=draw(maybe(SIZES)),
        driver=draw(maybe(VERSIONS)), advertise_address=draw(maybe(NAMES)),
        max_concurrent_tasks=draw(maybe(st.integers(0, 99))), foreign_allowance_bytes=draw(maybe(SIZES)),
        environments=(("default", draw(ENVIRONMENTS)), *sorted(further.items(), key=lambda pair: pair[0])),
        labels=draw(pairs(NAMES, NAMES | st.just(""))), reserved_for=reserved_for,
        reserved_until=draw(maybe(MOMENTS)) if reserved_for else None,
        devices=None if indices is None else tuple(draw(_device(index)) for index in indices),
        simulated=draw(st.booleans()), upcoming=draw(WINDOWS),
    )  # fmt: skip


TASKS = st.builds(
    TaskLoad, job_id=NAMES, devices=INDICES, cpu_millicores=MILLICORES, memory_bytes=SIZES, disk_bytes=SIZES
)
WORKERS = st.builds(
    WorkerView,
    facts=facts(),
    online=st.booleans(),
    draining=st.booleans(),
    unhealthy=st.booleans(),
    state_note=NAMES | st.just(""),
    state_since=maybe(MOMENTS),
    tasks=st.lists(TASKS, max_size=3).map(tuple),
    at=maybe(MOMENTS),
)

SENTENCED = [code for code in Code if code.kind is not Kind.GROUP]
FACTS = maybe(st.integers(0, 10**12) | NAMES | st.lists(NAMES, max_size=3).map(tuple))
REASONS = st.builds(
    Reason,
    code=st.sampled_from(SENTENCED),
    field=NAMES,
    required=FACTS,
    actual=FACTS,
    unknown=st.booleans(),
    subject=maybe(NAMES),
    have=maybe(st.integers(0, 16)),
    of=maybe(st.integers(0, 16)),
    enough_at=FACTS,
    devices=INDICES,
    holders=st.lists(HOLDERS | NAMES, max_size=3).map(tuple),
    until=maybe(MOMENTS),
    since=maybe(MOMENTS.map(lambda moment: moment + timedelta(microseconds=1))),
    matter=maybe(st.sampled_from(Matter)),
    row=maybe(NAMES),
)
TIERS = st.builds(Tier, st.sampled_from(["local", "remote", "cloud"]), st.sampled_from(TierStatus))
NOTES = st.builds(Note, code=st.sampled_from(NoteCode), subject=NAMES, nearest=maybe(NAMES))
GROUP_REASONS = st.builds(
    GroupReason,
    code=st.sampled_from([code for code in Code if code.kind is Kind.GROUP]),
    tier=NAMES,
    torch=maybe(VERSIONS),
    compatible=st.integers(0, 9),
    free=st.integers(0, 9),
    needed=st.integers(1, 9),
)
KEYS = st.one_of(NAMES.map(lambda name: (name,)), st.tuples(maybe(SIZES), NAMES))


@st.composite
def _candidate(draw: st.DrawFn, worker: str, selected: bool) -> Candidate:
    if selected or draw(st.booleans()):
        return Candidate(worker=worker, selected=selected, key=draw(KEYS))
    return Candidate(worker=worker, reasons=tuple(draw(st.lists(REASONS, min_size=1, max_size=2))))


@st.composite
def decisions(draw: st.DrawFn) -> SchedulingDecision:
    """Any decision that is consistent in itself."""
    workers = draw(st.lists(NAMES, max_size=6, unique=True))
    chosen = workers[: draw(st.integers(0, len(workers)))]
    return SchedulingDecision(
        job_id=draw(NAMES),
        policy=draw(st.sampled_from(Policy)),
        tiers=tuple(draw(st.lists(TIERS, max_size=3))),
        assignments=tuple(
            Assignment(worker=worker, node_rank=rank, devices=draw(INDICES)) for rank, worker in enumerate(chosen)
        ),
        group_reasons=tuple(draw(st.lists(GROUP_REASONS, max_size=2))),
        job_reasons=tuple(draw(st.lists(REASONS, max_size=1))),
        notes=tuple(draw(st.lists(NOTES, max_size=2))),
        ever_schedulable=draw(st.booleans()),
        evidence=Listed(draw(_candidate(worker, worker in chosen)) for worker in workers),
    )  # fmt: skip
