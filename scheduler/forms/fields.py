"""Every field of the submit form, in the order of the job document, and where it stands on the page."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.spec import Accelerator, FallbackWhen, MemoryKind, OnUnschedulable, Origin, Policy
from scheduler.forms.kinds import ARGV, FRAMEWORKS, ITEMS, LABELS, NUMBER, SECONDS, TEXT, TRUTH, Kind

Choices = tuple[tuple[str, str], ...]

ANY = (("", "any"),)
NOWHERE = (("", "nowhere else"),)


def _named(*words: str) -> Choices:
    return tuple((word, word) for word in words)


@dataclass(frozen=True, slots=True)
class Field:
    """One field and its place in the document."""

    name: str
    path: str
    label: str
    kind: Kind = TEXT
    help: str = ""
    choices: Choices = ()
    unit: str = ""
    least: bool = False
    """Shown with a `≥` before it."""
    rows: int = 0
    """Lines of a text area; 0 is a single line."""
    placeholder: str = ""
    mono: bool = False
    named_values: bool = False
    """A row of two fields for each value."""
    hidden: bool = False
    """What is typed here is never shown again."""
    default: str = ""
    """What an absent value means; not written into the document."""


FIELDS: tuple[Field, ...] = (
    Field("name", "name", "Name", help="How you find it again", placeholder="finetune-7b"),
    Field("command", "command", "Command", ARGV, rows=2, mono=True, placeholder="python train.py"),
    Field("files", "files", "Files", mono=True, placeholder="none",
          help="The hash of files that were uploaded before"),
    Field("workdir", "workdir", "Working directory", mono=True, placeholder="/data/mira/finetune",
          help="An absolute path that must exist where it runs; not checked before it starts"),
    Field("env", "env", "Environment values", named_values=True, mono=True, help="Seen by you and operators"),
    Field("secrets", "secrets", "Secrets", named_values=True, mono=True, hidden=True,
          help="Values that nobody sees again: kept encrypted, given to the job only"),
    Field("target", "target", "Targets, tried in this order", choices=_named(*Origin)),
    Field("fallback_1", "fallback_targets[0]", "Second target", choices=NOWHERE + _named(*Origin)),
    Field("fallback_2", "fallback_targets[1]", "Third target", choices=NOWHERE + _named(*Origin)),
    Field("fallback_when", "fallback_when", "Fall back to the next when it is",
          default=FallbackWhen.UNAVAILABLE, choices=(
        (FallbackWhen.UNAVAILABLE, "no worker there can take it now"),
        (FallbackWhen.INCOMPATIBLE, "no worker there could ever run it"))),
    Field("on_unschedulable", "on_unschedulable", "If no worker could ever run it",
          default=OnUnschedulable.QUEUE, choices=(
        (OnUnschedulable.QUEUE, "queue: wait for the fleet"),
        (OnUnschedulable.FAIL, "fail, with the reasons"))),
    Field("policy", "policy", "Among free workers take",
          default=Policy.FIRST_FIT, choices=(
        (Policy.FIRST_FIT, "first_fit: the lowest id"),
        (Policy.MOST_FREE_MEMORY, "most_free_memory"))),
    Field("provider", "placement.provider", "Provider", placeholder="any"),
    Field("region", "placement.region", "Region", placeholder="any"),
    Field("worker_ids", "placement.worker_ids", "Only these workers", ITEMS, placeholder="any",
          help="Ids, comma-separated"),
    Field("worker_labels", "placement.worker_labels", "Labels", LABELS, placeholder="zone=a",
          help="key=value, comma-separated; all must match"),
    Field("reserved_only", "placement.reserved_only", "Reservations", TRUTH, choices=(
        ("", "any worker that fits"),
        ("true", "only what is reserved for it"))),
    Field("os", "resources.os", "Operating system", placeholder="any"),
    Field("arch", "resources.arch", "Architecture", placeholder="any"),
    Field("cpu_cores", "resources.cpu_cores", "CPU cores", NUMBER, least=True),
    Field("memory_gb", "resources.memory_gb", "RAM", NUMBER, least=True, unit="GB"),
    Field("disk_gb", "resources.disk_gb", "Disk", NUMBER, least=True, unit="GB"),
    Field("gpus", "resources.gpus", "GPUs", NUMBER, placeholder="0", help="Whole devices, on each worker"),
    Field("accelerator", "resources.accelerator", "Kind of GPU", choices=ANY + _named(*Accelerator)),
    Field("gpu_models", "resources.gpu_models", "GPU models", ITEMS, placeholder="NVIDIA H100*",
          help="Any of these, comma-separated; * and ? match"),
    Field("gpu_memory_gb", "resources.gpu_memory_gb", "GPU memory, each", NUMBER, least=True, unit="GB"),
    Field("gpu_memory_kind", "resources.gpu_memory_kind", "Its memory is", choices=ANY + _named(*MemoryKind)),
    Field("compute_capability", "resources.compute_capability", "Compute capability", placeholder=">=8.0"),
    Field("environment", "runtime.environment", "Environment",
          help="Python and frameworks are those of this environment of the worker"),
    Field("python", "runtime.python", "Python", placeholder=">=3.10"),
    Field("frameworks", "runtime.frameworks", "Frameworks", FRAMEWORKS, rows=1, mono=True,
          placeholder="torch >=2.5,<3", help="Name and rule, as in pip, one a line"),
    Field("num_workers", "distributed.num_workers", "Distributed", NUMBER, unit="workers",
          help="All of one target, with one torch version, or none. Empty: one worker, without a gang"),
    Field("procs_per_worker", "distributed.procs_per_worker", "Processes on each", NUMBER,
          placeholder="one for each GPU"),
    Field("launcher", "distributed.launcher", "Launcher", placeholder="torchrun"),
    Field("comm_backend", "distributed.comm_backend", "Communication backend", placeholder="nccl"),
    Field("retries_max", "retries.max", "Retries", NUMBER, placeholder="0"),
    Field("retries_on", "retries.on", "Retry when", ITEMS, placeholder="lost", help="lost, failed, or both"),
    Field("lease_s", "retries.lease_s", "Lost after", SECONDS, placeholder="as the server says",
          help="How long its host may be out of contact before it is run elsewhere"),
    Field("timeout_s", "timeout_s", "Timeout", SECONDS, placeholder="none",
          help="Seconds, or 90 min, 6 h, 2 d. Lets others see when devices come free"),
    Field("hold_s", "hold_s", "Hold them for", SECONDS, placeholder="4 h",
          help="Seconds, or 90 min, 6 h, 2 d; at most 7 d. From the moment it starts; ends by itself"),
)  # fmt: skip

BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}

TARGETS = ("target", "fallback_1", "fallback_2")
"""Where it may run, in order."""
PLACES = ("files", "workdir")
"""Where the command runs; none of them is a fresh private directory."""


@dataclass(frozen=True, slots=True)
class Section:
    """The fields under one heading; those that are seldom used are behind `more`."""

    key: str
    heading: str
    names: tuple[str, ...]
    more: str = ""
    more_names: tuple[str, ...] = ()


_NEEDS = Section(
    "needs", "What it needs",
    ("gpus", "gpu_memory_gb", "memory_gb", "compute_capability", "frameworks", "worker_labels"),
    "More requirements: GPU model, CPU, disk, Python, platform",
    ("gpu_models", "accelerator", "gpu_memory_kind", "cpu_cores", "disk_gb", "python", "os", "arch"),
)  # fmt: skip
_WHERE = Section(
    "where", "Where it may run", ("target", "fallback_when"),
    "Only some workers: by name, provider, region, reservation",
    ("worker_ids", "provider", "region", "reserved_only"),
)  # fmt: skip
SECTIONS = (
    Section("runs", "What runs", ("name", "environment", "command", "workdir", "env", "secrets")),
    _NEEDS,
    _WHERE,
    Section("more", "", (), "More: timeout, retries, policy, distributed", (
        "timeout_s", "policy", "on_unschedulable", "retries_max", "retries_on", "lease_s", "num_workers",
        "procs_per_worker", "launcher", "comm_backend")),
)  # fmt: skip
HELD = (
    Section("runs", "What is held", ("name", "hold_s", "environment")),
    _NEEDS,
    _WHERE,
    Section("more", "", (), "More: policy, what never fits", ("policy", "on_unschedulable")),
)
"""The same for a hold, which runs nothing."""
