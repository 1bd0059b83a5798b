"""What is the same to a user: values that are alike, whatever their types, and which of some are not among others, in whatever order they come."""

from __future__ import annotations

import math
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.alike import alike
from bigdebug.agents.expected import side
from bigdebug.agents.partners import beyond, partners
from bigdebug.localize.comparison import compared

NAN = math.nan

SAME = [
    (1, 1.0), (0.1 + 0.2, 0.3), (np.int64(3), 3), (Decimal("0.5"), 0.5), (Fraction(1, 2), 0.5), (NAN, None), (NAN, np.float32("nan")), ((1, [2.0]), [1.0, (2,)]), ({"a": 1}, {"a": 1.0}),
    (math.inf, math.inf), (-0.0, 0), ("a", "a"), ({1, 2}, {2, 1}), (10**400, 10**400), (b"x", b"x"), (True, True),
    (0, 1e-13), (0.0, -5.6e-17), (Decimal("0.1"), 0.1), (Decimal(1) / 3, 1 / 3), (Decimal("1E+400"), Decimal("1.0000000001E+400")), (1.6e-19, 1.6e-19 * (1 + 1e-12)), (0.1 + 0.2 - 0.3, 0.2 - 0.3 + 0.1),
]
OTHER = [(1, 2), (2**53, 2**53 + 1), (1, True), (1, "1"), (None, 0), ((1,), (1, 2)), ({"a": 1}, {"b": 1}), (math.inf, -math.inf), (0.3, 0.3000001), ("a", b"a"), (1.0, 1.0 + 1e-6), (10**400, 1.5), (Decimal("0.5"), Fraction(3, 2)),
    (1.6e-19, 9e-13), (Decimal("1E+400"), Decimal("2E+400")), (Decimal("1E-400"), Decimal("2E-400")), (0, 1e-11), (math.inf, 10**400), (Decimal("Infinity"), 1e308), (np.float32(math.inf), 5)]


@pytest.mark.parametrize(("one", "other"), SAME, ids=repr)
def test_values_that_are_what_was_expected(one: Any, other: Any) -> None:
    assert alike(one, other)
    assert alike(other, one)
    assert beyond([one], [other]) == beyond([other], [one]) == []
    assert side(one, other) == 0


@pytest.mark.parametrize(("one", "other"), OTHER, ids=repr)
def test_values_that_are_not(one: Any, other: Any) -> None:
    assert not alike(one, other)
    assert not alike(other, one)
    assert side(one, other) == -side(other, one)


@given(st.lists(st.integers(0, 3)), st.lists(st.integers(0, 3)))
def test_what_is_beyond_is_the_difference_of_multisets(values: list[int], others: list[int]) -> None:
    left = Counter(values) - Counter(others)
    places = beyond(values, others)
    assert Counter(values[place] for place in places) == left
    assert places == sorted(places)


MIXED = st.sampled_from([0, 1, True, 1.0, 0.1 + 0.2, 0.3, 1.0000000004, -0.0, 1e-13, None, math.nan, 1e400, "x", (1, 2), [1, 2], {"a": 0.3}, {"a": 0.1 + 0.2}])


@given(st.lists(MIXED, max_size=24), st.lists(MIXED, max_size=24))
def test_what_is_beyond_many_is_what_is_beyond_few(values: list[Any], others: list[Any]) -> None:
    """However they are compared, as many are left, and none of them is like one that is left on the other side."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("bigdebug.agents.partners.FEW_PAIRS", -1)
        left, right = beyond(values, others), beyond(others, values)
        patched.setattr("bigdebug.agents.partners.FEW_PAIRS", 1_000)
        assert (len(left), len(right)) == (len(beyond(values, others)), len(beyond(others, values)))
    assert not any(alike(values[i], others[j]) for i in left for j in right)


NEAR = st.sampled_from([1 + step * 0.4e-9 for step in range(8)])


@given(st.lists(NEAR, max_size=6), st.lists(NEAR, max_size=6), st.randoms(use_true_random=False))
def test_values_go_with_those_that_are_alike_as_often_as_can_be_in_whatever_order(values: list[float], others: list[float], order: random.Random) -> None:
    """Being alike does not go on from one to the next: who takes the first one that comes leaves another with none."""
    found = partners(values, others, range(len(values)), range(len(others)))
    assert len(set(found.values())) == len(found)
    assert all(alike(values[i], others[j]) for i, j in found.items())
    fewer, more = sorted([values, others], key=len)
    assert len(found) == max(sum(map(alike, fewer, some)) for some in permutations(more, len(fewer)))
    order.shuffle(others)
    assert len(beyond(values, others)) == len(values) - len(found)


def test_the_same_results_are_compared_alike_in_any_order() -> None:
    before, after = [("k", 1.0), ("k", 1 + 0.8e-9)], [("k", 1 + 0.7e-9), ("k", 1 - 0.6e-9)]
    assert compared(before, after).kept == compared(before[::-1], after[::-1]).kept == compared(before, after[::-1]).kept == 2


def test_thousands_of_values_that_are_all_alike_find_partners_soon() -> None:
    values = [1 + step * 1e-14 for step in range(5_000)]
    assert partners(values, values, range(3_000), range(1_000)).keys() == set(range(1_000))
    assert len(partners(values, values, range(1_000), range(5_000))) == 1_000


@pytest.mark.slow
def test_two_hundred_thousand_pairs_are_compared_in_seconds() -> None:
    pairs = [(i, i * 0.1) for i in range(200_000)]
    assert beyond(pairs, [(i, i * 0.1 * (1 + 1e-15) if i % 1_000 == 0 else i * 0.1) for i in range(1, 200_001)]) == [0]
