"""Sorting where keys do not compare: which records are left out, and that the others are in order."""

from __future__ import annotations

import random
import time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.inflight import NO_RECORD
from bigdebug.agents.guards.sorting import in_order


def sorted_of(keys: list[Any], descending: bool = False) -> tuple[list[Any], list[Any]]:
    """The keys that are kept, and those that are told."""
    kept, unfit = in_order([(key, at, at) for at, key in enumerate(keys)], descending)
    assert all(isinstance(problem, Exception) for _, _, problem in unfit)
    return [key for key, _, _ in kept], [NO_RECORD if at is None else keys[at] for at, _, _ in unfit]


NAN = Decimal("sNaN")

UNFIT: dict[str, tuple[list[Any], list[Any]]] = {
    "None in second place": ([(1, 2), (1, None), (2, None), (2, 3), (3, 1), (1, 5)], [(1, None), (2, None)]),
    "None came first": ([(1, None), (2, 1), *((1, n) for n in range(5)), (2, 7), (3, 1)], [(1, None)]),
    "None beside nothing": ([(1, 2), (5, None), (1, 3)], []),
    "two kinds": ([1, "x", 2.5, "y", 3], ["x", "y"]),
    "what compares with nothing": ([NAN, Decimal(3), Decimal(1)], [NAN]),
    "the same in second place": ([(1, NAN), (1, Decimal(3)), (2, Decimal(5)), (1, Decimal(1))], [(1, NAN)]),
    "deep": ([(1, (2, 3)), (1, (2, None)), (1, (0, None)), (1, (2, 1))], [(1, (2, None))]),
}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", UNFIT)
def test_keys_that_do_not_compare_are_left_out(name: str, descending: bool) -> None:
    keys, unfit = UNFIT[name]
    kept, told = sorted_of(keys, descending)
    assert repr(told) == repr(unfit)
    assert kept == sorted((key for key in keys if repr(key) not in map(repr, unfit)), reverse=descending)


def test_of_keys_of_which_hardly_any_two_compare_none_is_told() -> None:
    assert sorted_of([{} for _ in range(100)]) == ([], [NO_RECORD])


keys = st.lists(st.tuples(st.integers(0, 3), st.none() | st.integers(0, 9), st.integers(0, 9) | st.text(max_size=1)), max_size=40)


@given(keys, st.booleans())
def test_what_is_kept_is_in_order_and_nothing_is_lost(keys: list[Any], descending: bool) -> None:
    kept, unfit = in_order([(key, at, at) for at, key in enumerate(keys)], descending)
    assert sorted([at for _, at, _ in kept] + [at for at, _, _ in unfit]) == [*range(len(keys))] or not kept
    for one, other in pairwise(kept):
        assert one[0] >= other[0] if descending else one[0] <= other[0]
        assert one[0] != other[0] or one[1] < other[1]
    assert [at for at, _, _ in unfit] == sorted(at for at, _, _ in unfit)
    try:
        sorted(keys)
    except TypeError:
        assert unfit
    else:
        assert not unfit


def test_many_keys_of_which_some_do_not_compare_take_seconds() -> None:
    draw = random.Random(3)
    keys: list[Any] = [(draw.randrange(1_000), draw.randrange(100) if draw.random() < 0.9 else None) for _ in range(100_000)]
    began = time.monotonic()
    kept, told = sorted_of(keys)
    assert time.monotonic() - began < 20
    assert set(told) == {key for key in keys if key[1] is None}
    assert kept == sorted(key for key in keys if key[1] is not None)
