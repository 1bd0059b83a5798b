"""Halving: which of many rows a function crashes on that is given them together (FEATURES B1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
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


@pytest.mark.parametrize(("values", "raises"), [
    ([1, 2, 3, 4, 5, 7, 8, 9, 10, 11], lambda given: any(b - a > 1 for a, b in pairwise(given))),
    ([10, 11, 1, 2, 3, 4, 5, 6, 7], lambda given: any(a > b for a, b in pairwise(given))),
    ([3, 1, 2, 3, 4, 5], lambda given: len({*given}) < len(given)),
], ids=["gap", "unsorted", "duplicate"])
def test_rows_that_are_compared_with_others_are_not_blamed_for_those_they_met(values: list[int], raises: Callable[[list[int]], bool]) -> None:
    """The function needs two rows, and crashes on what two of them are to each other."""

    def crash(places: Sequence[int]) -> BaseException | None:
        given = [values[place] for place in places]
        return IndexError("too few") if len(given) < 2 else ENOUGH if raises(given) else None

    (found,) = culprits(crash, range(len(values)), ENOUGH)
    assert found.together > 1


def raised(function: Callable[[Sequence[int]], object], places: Sequence[int]) -> BaseException | None:
    try:
        function([int(place) for place in places])
    except ValueError as problem:
        return problem
    return None


@given(st.sets(st.integers(0, 39), min_size=1), st.integers(2, 5), st.integers(60, 70), st.booleans())
def test_a_function_that_says_so_by_the_same_class_crashes_on_the_bad_ones(bad: set[int], needs: int, rows: int, late: bool) -> None:
    """Where it is raised tells that a row has no part in it. ``late`` says that how few there are is looked at behind them."""

    def function(given: list[int]) -> None:
        if late and bad.intersection(given):
            raise ValueError("a row is bad")
        if len(given) < 2:
            raise ValueError("a spread needs two")
        if len(given) < needs:
            raise ValueError("too few")
        if bad.intersection(given):
            raise ValueError("a row is bad")

    def crash(places: Sequence[int]) -> BaseException | None:
        return raised(function, places)

    whole = crash(range(rows))
    assert whole is not None
    found = list(culprits(crash, range(rows), whole))
    assert sorted(each.place for each in found) == sorted(bad)
    assert {(str(each.problem), each.together) for each in found} == {("a row is bad", 1)}


@given(st.dictionaries(st.integers(0, 59), st.sampled_from("abc"), min_size=1))
def test_rows_that_crash_at_several_lines_are_found_in_few_calls(bad: dict[int, str]) -> None:
    calls = 0

    def function(given: list[int]) -> None:
        for row in given:
            if bad.get(row) == "a":
                raise ValueError("a")
            if bad.get(row) == "b":
                raise ValueError("b")
            if bad.get(row) == "c":
                raise ValueError("c")

    def crash(places: Sequence[int]) -> BaseException | None:
        nonlocal calls
        calls += 1
        return raised(function, places)

    whole = crash(range(60))
    assert whole is not None
    assert {each.place: str(each.problem) for each in culprits(crash, range(60), whole)} == bad
    assert calls <= 2 + 14 * len(bad)


def test_all_rows_that_crash_at_several_lines() -> None:
    def function(given: list[int]) -> None:
        for row in given:
            if row % 2:
                raise ValueError("odd")
            raise ValueError("even")

    def crash(places: Sequence[int]) -> BaseException | None:
        return raised(function, places)

    whole = crash(range(5))
    assert whole is not None
    assert sorted((each.place, str(each.problem), each.together) for each in culprits(crash, range(5), whole)) == [
        (row, "odd" if row % 2 else "even", 1) for row in range(5)
    ]
