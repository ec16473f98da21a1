"""Sets of ranks as whole numbers agree with sets of Python."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler.core.bits import Growing, each, groups_of, members, of_ranks, where

ranks = st.sets(st.integers(0, 300))


@given(ranks)
def test_ranks_come_out_as_they_went_in(found: set[int]) -> None:
    bits = of_ranks(found, 301)
    assert list(each(bits)) == sorted(found)
    assert members(bits, range(301)) == tuple(sorted(found))
    assert where(rank in found for rank in range(301)) == bits


@given(st.lists(st.sampled_from("abc")))
def test_every_rank_is_in_the_group_of_its_value(values: list[str]) -> None:
    groups = groups_of(values)
    assert {rank: value for value, bits in groups.items() for rank in each(bits)} == dict(enumerate(values))


@given(ranks, st.lists(st.tuples(st.integers(0, 300), st.integers(0, 3)), unique_by=lambda pair: pair[0]))
def test_a_growing_set_remembers_every_earlier_moment(begin: set[int], joined: list[tuple[int, int]]) -> None:
    growing, epoch, expected = Growing(of_ranks(begin, 301)), 0, [set(begin)]
    for rank, wait in joined:
        epoch += wait
        expected += [set(expected[-1]) for _ in range(epoch + 2 - len(expected))]
        if rank not in begin:
            growing.add(rank, 1 << rank, epoch)
            expected[epoch + 1].add(rank)
    assert [set(each(growing.before(moment))) for moment in range(len(expected))] == expected
