"""What a process remembers, and when it looks for cycles."""

import gc

import pytest

from scheduler.memory import no_search_for_cycles


def test_the_search_for_cycles_waits_until_the_last_pass_is_over() -> None:
    with no_search_for_cycles():
        with no_search_for_cycles():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_pass_that_fails_leaves_the_search_on() -> None:
    with pytest.raises(RuntimeError), no_search_for_cycles():
        raise RuntimeError
    assert gc.isenabled()
