"""Every field of the submit form, in the order of the job document."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.core.spec import Accelerator, FallbackWhen, MemoryKind, OnUnschedulable, Origin, Policy
from scheduler.forms.kinds import ARGV, FRAMEWORKS, ITEMS, LABELS, NUMBER, PAIRS, SECONDS, SECRETS, TEXT, TRUTH, Kind

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
    hidden: bool = False
    """What is typed here is never shown again."""
    default: str = ""
    """What an absent value means; not written into the document."""


FIELDS: tuple[Field, ...] = (
    Field("name", "name", "Name", help="How you find it again", placeholder="finetune-7b"),
    Field("command", "command", "Command", ARGV, rows=2, mono=True, placeholder="python train.py"),
    Field("files", "files", "Files", mono=True, placeholder="none",
          help="The hash of files uploaded before; they are unpacked where the command runs. Not with a directory"),
    Field("workdir", "workdir", "Working directory", mono=True, placeholder="/data/mira/finetune",
          help="An absolute path that must exist where it runs. Empty: a fresh private directory"),
    Field("env", "env", "Environment values", PAIRS, rows=2, mono=True, placeholder="EPOCHS=3",
          help="name=value, one a line; seen by you and operators"),
    Field("secrets", "secrets", "Secrets", SECRETS, rows=2, mono=True, placeholder="HF_TOKEN=…", hidden=True,
          help="The same for values that nobody sees again: kept encrypted, given to the job only"),
    Field("target", "target", "1. Target", choices=_named(*Origin)),
    Field("fallback_1", "fallback_targets[0]", "2. Fallback", choices=NOWHERE + _named(*Origin)),
    Field("fallback_2", "fallback_targets[1]", "3. Fallback", choices=NOWHERE + _named(*Origin)),
    Field("fallback_when", "fallback_when", "Go to the next when it is",
          help="No worker there can take it now, or none could ever run it",
          default=FallbackWhen.UNAVAILABLE, choices=(
        (FallbackWhen.UNAVAILABLE, "unavailable: now"),
        (FallbackWhen.INCOMPATIBLE, "incompatible: ever"))),
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
    Field("gpus", "resources.gpus", "GPUs", NUMBER, placeholder="0", help="Whole devices"),
    Field("accelerator", "resources.accelerator", "Kind of GPU", choices=ANY + _named(*Accelerator)),
    Field("gpu_models", "resources.gpu_models", "GPU models", ITEMS, placeholder="NVIDIA H100*",
          help="Any of these, comma-separated; * and ? match"),
    Field("gpu_memory_gb", "resources.gpu_memory_gb", "GPU memory, each", NUMBER, least=True, unit="GB",
          help="1 GB is 10⁹ bytes; 24GiB works too"),
    Field("gpu_memory_kind", "resources.gpu_memory_kind", "Its memory is", choices=ANY + _named(*MemoryKind)),
    Field("compute_capability", "resources.compute_capability", "Compute capability", placeholder=">=8.0"),
    Field("environment", "runtime.environment", "Environment of the worker", placeholder="default",
          help="Python and frameworks are those of this environment"),
    Field("python", "runtime.python", "Python", placeholder=">=3.10"),
    Field("frameworks", "runtime.frameworks", "Frameworks", FRAMEWORKS, rows=2, mono=True,
          placeholder="torch >=2.5,<3", help="name and rule, as in pip, one a line"),
    Field("retries_max", "retries.max", "Retries", NUMBER, placeholder="0"),
    Field("retries_on", "retries.on", "Retry when", ITEMS, placeholder="lost", help="lost, failed, or both"),
    Field("lease_s", "retries.lease_s", "Lost after", SECONDS, placeholder="as the server says",
          help="How long its host may be out of contact before it is run elsewhere"),
    Field("timeout_s", "timeout_s", "Timeout", SECONDS, placeholder="none",
          help="Seconds, or 90 min, 6 h, 2 d"),
    Field("hold_s", "hold_s", "Hold them for", SECONDS, placeholder="4 h",
          help="Seconds, or 90 min, 6 h, 2 d; at most 7 d. It ends by itself, and you may end it sooner"),
)  # fmt: skip

BY_NAME: dict[str, Field] = {field.name: field for field in FIELDS}

GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("runs", "What runs", ("name", "environment", "command", "files", "workdir", "env", "secrets")),
    ("gpus", "GPUs it needs", (
        "gpus", "gpu_memory_gb", "gpu_models", "compute_capability", "accelerator", "gpu_memory_kind")),
    ("host", "What else it needs", ("cpu_cores", "memory_gb", "disk_gb", "os", "arch", "python", "frameworks")),
    ("where", "Where it may run", (
        "target", "fallback_1", "fallback_2", "fallback_when", "worker_labels", "worker_ids", "provider", "region",
        "reserved_only")),
    ("more", "More", ("timeout_s", "policy", "on_unschedulable", "retries_max", "retries_on", "lease_s")),
)  # fmt: skip
"""(key, heading, field names) in the order of the page."""
HELD: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("runs", "What is held", ("name", "hold_s", "environment")),
    *(group for group in GROUPS if group[0] in ("gpus", "host", "where")),
    ("more", "More", ("policy", "on_unschedulable")),
)  # fmt: skip
"""The same for a hold, which runs nothing."""
