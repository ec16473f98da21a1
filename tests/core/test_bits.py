"""Sets of ranks as whole numbers and in blocks agree with sets of Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.core import bits
from scheduler.core.bits import Growing, Left, each, each_in, groups_of, members, of_ranks, spot, where

SIZE = 301
ranks = st.sets(st.integers(0, SIZE - 1))
pairs = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, 3)), unique_by=lambda pair: pair[0])


@pytest.fixture(autouse=True, scope="module", params=[8, 64, bits.BLOCK])
def blocks(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bits, "BLOCK", request.param)
        yield


@given(ranks)
def test_ranks_come_out_as_they_went_in(found: set[int]) -> None:
    whole = of_ranks(found, SIZE)
    assert list(each(whole)) == sorted(found)
    assert members(whole, range(SIZE)) == tuple(sorted(found))
    assert where(rank in found for rank in range(SIZE)) == whole


@given(ranks)
def test_blocks_hold_what_the_whole_does(found: set[int]) -> None:
    blocks = bits.blocks_of(of_ranks(found, SIZE), SIZE)
    assert bits.joined(blocks) == of_ranks(found, SIZE)
    assert [rank for block, part in enumerate(blocks) for rank in each_in(block, part)] == sorted(found)
    assert bits.in_blocks(found) == {block: part for block, part in enumerate(blocks) if part}
    assert [rank for part in bits.by_block(range(SIZE)) for rank in part] == list(range(SIZE))


@given(st.lists(st.sampled_from("abc")))
def test_every_rank_is_in_the_group_of_its_value(values: list[str]) -> None:
    groups = groups_of(values)
    assert {rank: value for value, bits in groups.items() for rank in each(bits)} == dict(enumerate(values))


@given(ranks, pairs)
def test_a_growing_set_remembers_every_earlier_moment(begin: set[int], joined: list[tuple[int, int]]) -> None:
    growing, epoch, expected = Growing(of_ranks(begin, SIZE), SIZE), 0, [set(begin)]
    for rank, wait in joined:
        epoch += wait
        expected += [set(expected[-1]) for _ in range(epoch + 2 - len(expected))]
        if rank not in begin:
            growing.add(*spot(rank, epoch))
            expected[epoch + 1].add(rank)
    assert [set(each(growing.before(moment))) for moment in range(len(expected))] == expected
    assert set(each(growing.bits)) == expected[-1]


@given(ranks, ranks, pairs)
def test_what_is_left_is_all_that_has_not_gone(those: set[int], gone: set[int], going: list[tuple[int, int]]) -> None:
    growing, other = Growing(of_ranks(gone, SIZE), SIZE), Growing(0, SIZE)
    left = Left(of_ranks(those, SIZE), SIZE, [growing, other])
    for number, (rank, _) in enumerate(going):
        if rank not in gone:
            (growing if number % 2 else other).add(*spot(rank, number))
            gone = gone | {rank}
        if number % 3 == 0:
            assert [one for block, part in left.walk() for one in each_in(block, part)] == sorted(those - gone)
    assert [one for block, part in left.walk() for one in each_in(block, part)] == sorted(those - gone)


def test_a_block_of_which_nothing_is_left_is_passed_by_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bits, "BLOCK", 8)
    looked: list[int] = []
    gone = Growing(0, 80)
    left = Left((1 << 80) - 1, 80, [gone])
    at = left.at
    monkeypatch.setattr(left, "at", lambda block: (looked.append(block), at(block))[1])
    for rank in range(40):
        gone.add(*spot(rank, rank))
    assert [next(left.walk())[0] for _ in range(3)] == [5, 5, 5]
    assert looked == [0, 1, 2, 3, 4, 5, 5, 5]
