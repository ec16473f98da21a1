"""What a job asks for, as options of commands: each changes one field of a document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from scheduler.forms.kinds import FRAMEWORKS, NUMBER, SECONDS, UnreadableError

Document = dict[str, Any]
Command = Callable[..., None]


class Duration(click.ParamType):
    """Seconds, or `90min`, `6h`, `2d`."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The seconds."""
        if isinstance(value, int):
            return value
        seconds = SECONDS.read(value)
        if not isinstance(seconds, int):
            self.fail(f"{value!r} is no length of time; write 3600, 90min, 6h or 2d", param, ctx)
        return seconds


class Pair(click.ParamType):
    """`NAME=VALUE`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The two."""
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not equals or not name:
            self.fail(f"{value!r} has to be NAME=VALUE", param, ctx)
        return name, text


DURATION, PAIR = Duration(), Pair()

TEAM = click.option("--team", help="The team that owns the job beside you; '' for none. Left out: your only one.")
_WHERE = (
    click.option("--name", help="How the job is found again."),
    click.option("--gpus", type=click.IntRange(0), help="Whole devices, on each worker."),
    click.option("--gpu-memory", metavar="SIZE", help="Of each of them at least: 40 (GB), 24GiB."),
    click.option("--gpu-model", multiple=True, metavar="MODEL", help='Any of these, such as "NVIDIA H100*".'),
    click.option("--compute-capability", metavar="RULE", help='Such as 8.0 (at least), or ">=8.0,<10".'),
    click.option("--cpu-cores", metavar="N", help="At least."),
    click.option("--memory", metavar="SIZE", help="RAM of the host, at least: 32 (GB), 64GiB."),
    click.option("--disk", metavar="SIZE", help="At least."),
    click.option("--environment", metavar="NAME", help="Environment of the worker; default when left out."),
    click.option("--python", metavar="RULE", help='Such as ">=3.11".'),
    click.option("--require", multiple=True, metavar="PACKAGE", help='Installed there, such as "torch>=2.5,<3".'),
    click.option("--target", help="local, remote or cloud; local when left out."),
    click.option("--fallback", multiple=True, metavar="TARGET", help="Tried next, in this order."),
    click.option("--worker", multiple=True, metavar="ID", help="Only these workers."),
    click.option("--label", multiple=True, type=PAIR, help="Only workers with this label."),
    click.option("--reserved-only", is_flag=True, default=None, help="Only what is reserved for it, you or your team."),
)
_FIELDS = {
    "name": "name", "target": "target", "gpus": "resources.gpus", "gpu_memory": "resources.gpu_memory_gb",
    "gpu_model": "resources.gpu_models", "compute_capability": "resources.compute_capability",
    "cpu_cores": "resources.cpu_cores", "memory": "resources.memory_gb", "disk": "resources.disk_gb",
    "environment": "runtime.environment", "python": "runtime.python", "require": "runtime.frameworks",
    "fallback": "fallback_targets", "worker": "placement.worker_ids", "label": "placement.worker_labels",
    "reserved_only": "placement.reserved_only",
}  # fmt: skip
_NUMBERS = ("gpu_memory", "cpu_cores", "memory", "disk")


def where_it_may_run(command: Command) -> Command:
    """Adds the options that say what a job asks of its workers."""
    for option in reversed(_WHERE):
        command = option(command)
    return command


def put_into(document: Document, given: dict[str, Any]) -> Document:
    """The document with everything that options say; the rest stays. Raises click.UsageError."""
    for name, value in given.items():
        if value is not None and value != ():
            put(document, _FIELDS[name], _value(name, value))
    document.setdefault("target", "local")
    return document


def put(document: Document, path: str, value: object) -> None:
    """Set one field; a mapping is added to what stands there."""
    *above, last = path.split(".")
    for key in above:
        inner = document.setdefault(key, {})
        if not isinstance(inner, dict):
            raise click.UsageError(f"the spec's {key} is no mapping")
        document = inner
    there = document.get(last)
    document[last] = {**there, **value} if isinstance(there, dict) and isinstance(value, dict) else value


def _value(name: str, value: Any) -> object:
    if name in _NUMBERS:
        return NUMBER.read(value)
    if name == "label":
        return dict(value)
    if name == "require":
        return _frameworks(value)
    return list(value) if isinstance(value, tuple) else value


def _frameworks(lines: tuple[str, ...]) -> dict[str, str]:
    try:
        found: dict[str, str] = FRAMEWORKS.read("\n".join(lines))
    except UnreadableError as error:
        raise click.UsageError(f"--require is {error}") from error
    return found
