"""Sizes and cores are exact integers inside and read well outside."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.core.quantities import (
    MOST_BYTES,
    cores,
    cores_document,
    parse_cores,
    parse_size,
    size,
    size_document,
    sizes,
)

GB = 10**9
MIB = 2**20
SIZES = st.integers(0, MOST_BYTES)


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        (32, 32 * GB), (0, 0), (0.1, 10**8), (1.5, 15 * 10**8), (0.3, 3 * 10**8),
        ("24 GB", 24 * GB), ("24gb", 24 * GB), (" 24 gB ", 24 * GB), ("479GiB", 479 * 2**30), ("81559MiB", 81559 * MIB),
        ("1.5TiB", 3 * 2**39), ("2TB", 2 * 10**12), ("7KB", 7000), ("7KiB", 7168), ("12B", 12), ("0MiB", 0),
    ],
)  # fmt: skip
def test_a_size_is_a_number_of_gigabytes_or_has_its_own_unit(value: object, size_bytes: int) -> None:
    assert parse_size(value, at_least=True) == parse_size(value, at_least=False) == size_bytes


def test_a_part_of_a_byte_never_makes_anything_fit() -> None:
    assert parse_size("0.1GiB", at_least=True) == 107374183
    assert parse_size("0.1GiB", at_least=False) == 107374182


@pytest.mark.parametrize(
    "value",
    [
        "32", "GB", "-1GB", "1 2GB", "1,5GB", "1e3GB", "1PB", "1G", "٣GB", "1" * 50 + "GB", "", None, True, [], -1,
        -0.5, float("nan"), float("inf"), 2**70, 1e300, "9999999999TB",
    ],
)  # fmt: skip
def test_anything_else_is_no_size(value: object) -> None:
    assert parse_size(value, at_least=True) is None


@pytest.mark.parametrize(
    ("value", "millicores"),
    [
        (8, 8000), (0.5, 500), (1.001, 1001), (0, 0), (0.29, 290), (1e3, 10**6),
        *((value, None) for value in (0.0001, -1, "8", True, None, float("nan"), 10**9, 0.1 + 0.2)),
    ],
)  # fmt: skip
def test_cores_are_thousandths(value: object, millicores: int | None) -> None:
    assert parse_cores(value) == millicores


@settings(deadline=None)
@given(SIZES)
def test_a_size_comes_back_from_its_document(number: int) -> None:
    for at_least in (True, False):
        assert parse_size(size_document(number), at_least=at_least) == number


@settings(deadline=None)
@given(st.integers(0, 10**9))
def test_cores_come_back_from_their_document(millicores: int) -> None:
    assert parse_cores(cores_document(millicores)) == millicores


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (81559 * MIB, "85.5 GB"), (24 * GB, "24 GB"), (2000 * GB, "2,000 GB"), (0, "0 B"), (512, "512 B"),
        (15 * 10**8, "1.5 GB"), (23 * 10**6, "23 MB"), (999, "999 B"), (1000, "1 KB"), (1234 * 10**6, "1.2 GB"),
    ],
)  # fmt: skip
def test_a_size_for_people_is_decimal(number: int, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (80 * 2**30, 81559 * MIB, ("85.9 GB", "85.5 GB")),
        (24 * GB, 22731 * MIB, ("24 GB", "23.8 GB")),
        (80 * GB, 80 * GB - 1, ("80 GB", "79.999999999 GB")),
        (80 * GB, 79_996_000_000, ("80 GB", "79.996 GB")),
        (40 * GB, 500, ("40 GB", "0.000001 GB")),
        (40 * GB, 0, ("40 GB", "0 GB")),
        (5, 5, ("5 B", "5 B")),
    ],
)
def test_two_sizes_share_a_unit_and_differ_where_they_differ(one: int, other: int, said: tuple[str, str]) -> None:
    assert sizes(one, other) == said


@settings(deadline=None)
@given(st.lists(SIZES, min_size=1, max_size=4))
def test_different_sizes_never_look_alike(numbers: list[int]) -> None:
    said = dict(zip(numbers, sizes(*numbers), strict=True))
    assert len(set(said.values())) == len(set(numbers))
    assert len({text.split()[1] for text in said.values()}) == 1


@pytest.mark.parametrize(("millicores", "text"), [(8000, "8"), (500, "0.5"), (1250, "1.25"), (10, "0.01"), (0, "0")])
def test_cores_for_people_are_exact(millicores: int, text: str) -> None:
    assert cores(millicores) == text
