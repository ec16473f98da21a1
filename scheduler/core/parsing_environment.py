"""The Python environments of a worker document."""

from __future__ import annotations

from scheduler.core.fleet import EnvironmentView, TorchBuild
from scheduler.core.parsing_device import fact
from scheduler.core.parsing_job import MOST_ENTRIES, distribution, name_line
from scheduler.core.readers import line, list_of, pairs_of
from scheduler.core.reading import At, Section

ENVIRONMENT_FIELDS = ("python", "frameworks", "torch_build", "launchers", "comm_backends")
MOST_PACKAGES = 10_000
DEFAULT = "default"
_version = fact("versions")
_names = list_of(name_line, most=MOST_ENTRIES)


def environment(section: Section) -> EnvironmentView:
    """The environment whose keys stand in this section."""
    frameworks = section.read("frameworks", pairs_of(distribution, _version_or_empty, most=MOST_PACKAGES))
    return EnvironmentView(
        python=section.read("python", _version),
        frameworks=None if frameworks is None else tuple((name, version or None) for name, version in frameworks),
        torch_build=section.read("torch_build", _torch_build),
        launchers=section.read("launchers", _names),
        comm_backends=section.read("comm_backends", _names),
    )


def _version_or_empty(value: object, at: At) -> str | None:
    """An installed package's version; null, like the empty text, says that it is there and its version unknown."""
    return "" if value is None else line(what="versions", longest=1_000, empty=True)(value, at)


def _torch_build(value: object, at: At) -> TorchBuild:
    build = Section(value, at, ("cuda", "hip", "archs"))
    return TorchBuild(
        cuda=build.read("cuda", _version), hip=build.read("hip", _version), archs=build.read("archs", _names)
    )  # fmt: skip


def environments(section: Section) -> tuple[tuple[str, EnvironmentView], ...]:
    """`default`, described by the worker's own keys, then the further ones by name."""
    further = section.read("environments", pairs_of(_further_name, _further, most=MOST_ENTRIES)) or ()
    return ((DEFAULT, environment(section)), *further)


def _further_name(value: object, at: At) -> str | None:
    name = name_line(value, at)
    if name == DEFAULT:
        at.wrong(value, "further environments; default is described by the worker's own keys")
        return None
    return name


def _further(value: object, at: At) -> EnvironmentView:
    return environment(Section({} if value is None else value, at, ENVIRONMENT_FIELDS))
