"""Halving: which of many rows a function crashes on that is given them together (FEATURES B1)."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.halving import culprits

ENOUGH = ValueError("a row is bad")


@given(st.sets(st.integers(0, 39)), st.integers(2, 5))
def test_a_function_that_needs_several_rows_crashes_on_the_bad_ones(bad: set[int], needs: int) -> None:
    """Alone, a row raises something else; in the company of others it is only the bad ones that crash."""
    rows = range(60)

    def crash(places: Sequence[int]) -> BaseException | None:
        if len(places) < needs:
            return IndexError("too few")
        return ENOUGH if bad.intersection(map(int, places)) else None

    found = [] if not bad else list(culprits(crash, rows, ENOUGH))
    assert sorted(each.place for each in found) == sorted(bad)
    assert all(each.together == 1 for each in found)


@given(st.lists(st.integers(0, 39), min_size=2, max_size=2, unique=True))
def test_rows_that_crash_as_a_pair_are_told_as_one(pair: list[int]) -> None:
    first, last = sorted(pair)

    def crash(places: Sequence[int]) -> BaseException | None:
        return ENOUGH if {first, last} <= {*map(int, places)} else None

    (found,) = culprits(crash, range(40), ENOUGH)
    assert (found.place, found.together) == (last, last - first + 1)


def test_of_rows_that_are_too_many_none_is_told_alone() -> None:
    def crash(places: Sequence[int]) -> BaseException | None:
        return ENOUGH if len(places) > 10 else None

    (found,) = culprits(crash, range(40), ENOUGH)
    assert (found.place, found.together) == (10, 11)
