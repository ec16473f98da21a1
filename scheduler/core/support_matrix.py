"""The table of what can work together, and questions to it. `support_matrix.csv` beside this file holds its rows.

One row is one supported combination, or one rule, and names its source. Columns that list several things separate
them by spaces; an empty column says nothing, so it suits anything. Targets of code are spelled as torch spells them.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files

from packaging.version import Version

from scheduler.core.spec import Accelerator
from scheduler.core.versions import parse_specifier, satisfies


class Rule(StrEnum):
    """What a row is about."""

    PLATFORM = "platform"
    """This kind of device works on this operating system and architecture at all."""
    PYTHON = "python"
    """These versions of the framework run on these of Python."""
    BUILD = "build"
    """There is such a build of the framework, and it has this code."""
    CUDA = "cuda"
    """No build with this major version of CUDA can have other code."""
    DRIVER = "driver"
    """Any build with this major version of CUDA needs such a driver."""
    PTX = "ptx"
    """To compile the PTX of this very version of CUDA, a driver must be as new as its own."""


class Status(StrEnum):
    """How far its publisher stands by a combination; either counts as supported."""

    STABLE = "stable"
    EXPERIMENTAL = "experimental"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table; see the module for what is empty."""

    id: str
    rule: Rule
    framework: str
    versions: str
    """A PEP 440 specifier over releases of the framework."""
    os: tuple[str, ...]
    arch: tuple[str, ...]
    accelerator: Accelerator | None
    build: str
    """`cu124`, `rocm6.2`, `xpu`, `mps`, `cpu`; `cu12` in a rule over a major version."""
    python: str
    """A PEP 440 specifier."""
    driver: str
    """The least version."""
    code: tuple[str, ...]
    status: Status
    publisher: str
    title: str
    date: str
    note: str

    def suits(self, os: str | None, arch: str | None) -> bool:
        """Whether it speaks of this platform; an unknown one suits only a row that doesn't ask."""
        return (not self.os or os in self.os) and (not self.arch or arch in self.arch)


def read_table(text: str) -> tuple[Row, ...]:
    """The rows of a table in CSV; raises ValueError where a column has a value that it cannot have."""
    return tuple(_row(cells) for cells in csv.DictReader(text.splitlines()))


def _row(cells: dict[str, str]) -> Row:
    return Row(
        id=cells["id"], rule=Rule(cells["rule"]), framework=cells["framework"], versions=cells["versions"],
        os=tuple(cells["os"].split()), arch=tuple(cells["arch"].split()),
        accelerator=Accelerator(cells["accelerator"]) if cells["accelerator"] else None,
        build=cells["build"], python=cells["python"], driver=cells["driver"], code=tuple(cells["code"].split()),
        status=Status(cells["status"]), publisher=cells["publisher"], title=cells["title"], date=cells["date"],
        note=cells["note"],
    )  # fmt: skip


ROWS = read_table(files("scheduler.core").joinpath("support_matrix.csv").read_text(encoding="utf-8"))
"""Read once, at import, from the package itself: it is part of the program."""
FRAMEWORKS = frozenset(row.framework for row in ROWS if row.framework)
"""The frameworks that the table knows, by normalised name."""


def rows(rule: Rule, *, framework: str = "", accelerator: Accelerator | None = None) -> tuple[Row, ...]:
    """The rows of one rule for a framework, and for a kind of device where one is given, in the table's order."""
    return tuple(
        row
        for row in _of_rule(rule)
        if row.framework == framework and (accelerator is None or row.accelerator is accelerator)
    )


def release_of(version: Version) -> str:
    """The release that a version belongs to or leads up to, by which rows are looked up."""
    return version.base_version


def of_version(found: tuple[Row, ...], version: Version) -> tuple[Row, ...]:
    """Those of the rows that speak of this version of their framework."""
    return tuple(row for row in found if satisfies(release_of(version), row.versions))


@lru_cache(maxsize=64)
def span(framework: str) -> tuple[Version, Version]:
    """The first release of a framework that the table knows, and the first that it doesn't know any more."""
    specifiers = [row.versions for row in rows(Rule.PYTHON, framework=framework)]
    return min(bounds(text)[0] for text in specifiers), max(bounds(text)[1] for text in specifiers)


@lru_cache(maxsize=64)
def first_unknown_python(framework: str) -> Version:
    """The first release of Python of which the table says nothing for any release of the framework."""
    return max(bounds(row.python)[1] for row in rows(Rule.PYTHON, framework=framework))


@lru_cache(maxsize=1)
def newest_capability() -> int:
    """The highest major compute capability that any build in the table has code for."""
    targets = [target for row in _of_rule(Rule.BUILD) for target in row.code]
    return max(int(target.partition("_")[2].rstrip("abcdefghijklmnopqrstuvwxyz")) // 10 for target in targets)


@lru_cache(maxsize=1)
def newest_cuda() -> Version:
    """The highest version of CUDA that any build in the table was made with."""
    return max(toolkit_version(row.build) for row in rows(Rule.BUILD, framework="torch", accelerator=Accelerator.CUDA))


def toolkit_version(build: str) -> Version:
    """`cu124` -> 12.4."""
    digits = build.removeprefix("cu")
    return Version(f"{digits[:-1]}.{digits[-1]}")


@lru_cache(maxsize=1024)
def bounds(specifier: str) -> tuple[Version, Version]:
    """The two ends of `>=a,<b` (or `<=b`); raises ValueError where it is written otherwise."""
    found = {clause.operator.rstrip("="): Version(clause.version) for clause in parse_specifier(specifier) or ()}
    if found.keys() != {"<", ">"}:
        raise ValueError(f"{specifier!r} is no range; it reads like >=2.6,<2.7")
    return found[">"], found["<"]


@lru_cache(maxsize=16)
def _of_rule(rule: Rule) -> tuple[Row, ...]:
    return tuple(row for row in ROWS if row.rule is rule)
