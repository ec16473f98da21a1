"""The table of supported combinations can be read, says where it has everything from, and never contradicts itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from itertools import combinations

import pytest

from scheduler.core.kernels import Reach, reach, read_capability
from scheduler.core.platforms import canonical_arch, canonical_os
from scheduler.core.spec import Accelerator
from scheduler.core.support_matrix import (
    FRAMEWORKS,
    ROWS,
    Row,
    Rule,
    bounds,
    newest_capability,
    newest_cuda,
    read_table,
    rows,
    span,
    toolkit_version,
)
from scheduler.core.versions import normalised_name, parse_specifier, parse_version, satisfies

BUILD = re.compile(r"cu[0-9]{2,4}|rocm[0-9]+(\.[0-9]+)+|xpu|mps|cpu")
RELEASES = sorted({bound for row in rows(Rule.PYTHON, framework="torch") for bound in map(str, bounds(row.versions))})


def by_id(row: Row) -> str:
    return row.id


def test_there_are_rows_of_every_rule_each_by_a_name_of_its_own() -> None:
    assert {row.rule for row in ROWS} == set(Rule)
    assert len({row.id for row in ROWS}) == len(ROWS) > 100
    assert frozenset({"torch"}) == FRAMEWORKS


@pytest.mark.parametrize("row", ROWS, ids=by_id)
def test_a_row_names_its_source(row: Row) -> None:
    assert row.publisher.strip()
    assert row.title.strip()
    assert date(2020, 1, 1) < date.fromisoformat(row.date) < date(2100, 1, 1)


@pytest.mark.parametrize("row", ROWS, ids=by_id)
def test_what_a_row_says_can_be_understood(row: Row) -> None:
    assert tuple(map(canonical_os, row.os)) == row.os
    assert tuple(map(canonical_arch, row.arch)) == row.arch
    assert not row.framework or normalised_name(row.framework) == row.framework
    assert not row.build or BUILD.fullmatch(row.build)
    assert parse_specifier(row.python) is not None
    assert not row.driver or parse_version(row.driver)
    assert not row.versions or bounds(row.versions)
    assert all(re.fullmatch(r"(sm|compute)_[0-9]+a?", target) for target in row.code)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule.PLATFORM, ("os", "arch", "accelerator")),
        (Rule.PYTHON, ("framework", "versions", "python")),
        (Rule.BUILD, ("framework", "build")),
        (Rule.CUDA, ("build", "code")),
        (Rule.DRIVER, ("os", "build", "driver")),
        (Rule.PTX, ("os", "build", "driver")),
    ],
)
def test_a_row_says_what_its_rule_is_about(rule: Rule, said: tuple[str, ...]) -> None:
    for row in ROWS:
        if row.rule is rule:
            assert all(getattr(row, column) for column in said), row.id


def test_a_cuda_build_says_what_it_has_code_for() -> None:
    for row in rows(Rule.BUILD, framework="torch", accelerator=Accelerator.CUDA):
        assert row.code, row.id


def test_no_two_rows_answer_the_same_question() -> None:
    assert list(_twice()) == []


def _twice() -> Iterator[tuple[str, str]]:
    for one, other in combinations(ROWS, 2):
        asked_alike = (one.rule, one.framework, one.accelerator, one.build) == (
            other.rule, other.framework, other.accelerator, other.build,
        )  # fmt: skip
        if (
            asked_alike
            and _meet(one.os, other.os)
            and _meet(one.arch, other.arch)
            and _releases(one) & _releases(other)
        ):
            yield one.id, other.id


def _meet(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return not one or not other or not set(one).isdisjoint(other)


def _releases(row: Row) -> set[str]:
    return {release for release in RELEASES if satisfies(release, row.versions)}


def test_every_release_that_is_known_has_its_python_and_a_build_for_linux() -> None:
    first, unknown_from = span("torch")
    known = [release for release in RELEASES if satisfies(release, f">={first},<{unknown_from}")]
    assert len(known) == 16
    for release in known:
        for rule in (Rule.PYTHON, Rule.BUILD):
            found = [row for row in rows(rule, framework="torch") if satisfies(release, row.versions)]
            assert any(row.suits("linux", "x86_64") for row in found), (release, rule)


def test_a_build_has_no_code_that_its_cuda_cannot_make() -> None:
    limits = {row.build: row.code for row in rows(Rule.CUDA)}
    for row in rows(Rule.BUILD, framework="torch", accelerator=Accelerator.CUDA):
        limit = limits.get(f"cu{toolkit_version(row.build).major}")
        for target in row.code if limit else ():
            capability = read_capability(f"{target.partition('_')[2][:-1]}.{target[-1]}")
            assert capability
            assert reach(limit or (), capability) is not Reach.NOT_AT_ALL, (row.id, target)


def test_every_toolkit_of_a_build_has_a_driver_and_every_floor_is_below_its_own() -> None:
    floors = {(row.build, row.os): row.driver for row in rows(Rule.DRIVER)}
    for row in rows(Rule.PTX):
        floor = floors[f"cu{toolkit_version(row.build).major}", row.os]
        assert satisfies(row.driver, f">={floor}") or row.build == "cu110", row.id  # whose first release had a bug
    for row in rows(Rule.BUILD, framework="torch", accelerator=Accelerator.CUDA):
        for os in row.os:
            assert (f"cu{toolkit_version(row.build).major}", (os,)) in floors


def test_how_far_the_table_goes() -> None:
    assert tuple(map(str, span("torch"))) == ("1.13", "2.15")
    assert newest_capability() == 12
    assert str(newest_cuda()) == "13.2"


@pytest.mark.parametrize(
    ("column", "value"), [("rule", "hearsay"), ("status", "perhaps"), ("accelerator", "tpu")]
)  # fmt: skip
def test_a_table_with_a_value_that_cannot_be_is_refused(column: str, value: str) -> None:
    header = "id rule framework versions os arch accelerator build python driver code status publisher title date note"
    cells = dict.fromkeys(header.split(), "") | {"rule": "platform", "status": "stable", column: value}
    with pytest.raises(ValueError, match=value):
        read_table(f"{','.join(cells)}\n{','.join(cells.values())}\n")


@pytest.mark.parametrize("text", ["2.6", ">=2.6", ">=2.6,<2.7,!=2.6.1", ""])
def test_a_range_has_two_ends(text: str) -> None:
    with pytest.raises(ValueError, match="no range"):
        bounds(text)
