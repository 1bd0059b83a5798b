"""Which rows of two groups are the cause: as few as can be left out, of the side that they are on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import pytest

from bigdebug.agents.guards.sides import Sides

Rows = Sequence[int]


def merging(bad: Callable[[int, int], bool]) -> Callable[[Rows, Rows], BaseException | None]:
    """What a function of pairs raises."""
    return lambda left, right: ValueError("bad") if any(bad(*pair) for pair in product(left, right)) else None


def causes(sizes: tuple[int, int], crash: Callable[[Rows, Rows], BaseException | None]) -> tuple[list[int], list[int]]:
    problem = crash(range(sizes[0]), range(sizes[1]))
    assert problem is not None
    left, right = Sides(crash, sizes, problem).causes()
    assert crash([row for row in range(sizes[0]) if row not in left], [row for row in range(sizes[1]) if row not in right]) is None
    return sorted(left), sorted(right)


@pytest.mark.parametrize("sizes", [(3, 2), (3, 1), (2, 40), (40, 2)])
def test_a_bad_row_on_one_side(sizes: tuple[int, int]) -> None:
    assert causes(sizes, merging(lambda left, right: left == 1)) == ([1], [])
    assert causes(sizes[::-1], merging(lambda left, right: right == 1)) == ([], [1])


def test_the_only_row_of_a_side_that_crashes_with_all_others() -> None:
    assert causes((1, 5), merging(lambda left, right: True)) == ([0], [])
    assert causes((5, 1), merging(lambda left, right: True)) == ([], [0])


def test_several_bad_rows_beside_an_only_one_that_is_fine() -> None:
    assert causes((1, 5), merging(lambda left, right: right in (1, 3))) == ([], [1, 3])
    assert causes((5, 1), merging(lambda left, right: left in (1, 3))) == ([1, 3], [])


@pytest.mark.parametrize("sizes", [(2, 2), (3, 4), (30, 20)])
def test_bad_rows_on_both_sides_of_pairs(sizes: tuple[int, int]) -> None:
    """Each row of the one side crashes with the bad one of the other."""
    assert causes(sizes, merging(lambda left, right: left == 1 or right == 0)) == ([1], [0])


def test_many_bad_rows_beside_few_rows() -> None:
    assert causes((2, 60), merging(lambda left, right: left == 0 or right % 20 == 5)) == ([0], [5, 25, 45])


def test_pairs_that_meet_by_another_key() -> None:
    assert causes((12, 9), merging(lambda left, right: left % 3 == right % 3 and (left == 4 or right == 5))) == ([4], [5])


def test_one_row_of_each_is_both() -> None:
    assert causes((1, 1), merging(lambda left, right: True)) == ([0], [0])


def test_a_side_that_needs_no_other() -> None:
    assert causes((4, 3), lambda left, right: ValueError("bad") if 2 in left else None) == ([2], [])
    assert causes((4, 3), lambda left, right: ValueError("bad") if 2 in left or 1 in right else None) == ([2], [1])


def test_as_many_calls_as_the_cause_takes() -> None:
    """The rows of the other side all crash with the bad one: as soon as there are more than on this side, they are no cause."""
    calls = 0

    def crash(left: Rows, right: Rows) -> BaseException | None:
        nonlocal calls
        calls += 1
        return ValueError("bad") if 7 in left and len(right) else None

    assert causes((1_000, 1_000), crash) == ([7], [])
    assert calls < 100
