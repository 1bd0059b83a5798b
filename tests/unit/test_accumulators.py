"""Accumulators: what a merge that crashes has changed is undone, whatever it has changed, and at a bounded cost."""

from __future__ import annotations

import functools
import pickle
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.accumulators import Accumulators


def counted(total: list[int], value: Any) -> list[int]:
    total[0] += 1
    total[1] += int(value)
    return total


def collected(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    values.sort(key=int)
    return values


def extended(values: list[Any], more: list[Any]) -> list[Any]:
    """Changes what it merges as well as what it merges into."""
    more.append("seen")
    values += [int(value) for value in more[:-1]]
    return values


def merge_one(accumulators: Accumulators, total: Any, value: Any) -> Any:
    """A value into the accumulator number 3, if the merge does not crash on it."""
    totals = [None, None, None, total]
    with suppress(ValueError):
        accumulators.merge(totals, 3, value)
    return totals[3]


def merge_all(merge: Any, first: Any, values: list[Any]) -> Any:
    return functools.reduce(functools.partial(merge_one, Accumulators(merge, pickle.dumps)), values, first)


@given(st.lists(st.sampled_from(["1", "2", "30", "bad"]), max_size=150))
def test_what_crashed_has_changed_nothing(values: list[str]) -> None:
    good = [value for value in values if value != "bad"]
    assert merge_all(counted, [0, 0], values) == [len(good), sum(map(int, good))]
    assert merge_all(collected, [], values) == sorted(good, key=int)
    assert merge_all(extended, [], [[value] for value in values]) == list(map(int, good))


def test_plain_values_are_not_copied() -> None:
    accumulators = Accumulators(lambda one, other: one + int(other), lambda record: pytest.fail("nothing of it can change"))
    assert functools.reduce(functools.partial(merge_one, accumulators), ("1", "bad", "2"), 0) == 3


def test_pictures_are_few() -> None:
    taken = [0]

    def dumps(value: Any) -> bytes:
        taken[0] += isinstance(value, list)
        return pickle.dumps(value)

    accumulators, values = Accumulators(collected, dumps), list[Any]()
    for number in range(10_000):
        values = merge_one(accumulators, values, number)
    assert taken[0] < 40


def test_what_cannot_be_pickled_stays_as_it_is() -> None:
    total = [0, 0, lambda: 1]
    assert merge_all(counted, total, ["1", "bad", "2"]) == [3, 3, total[2]]


def test_a_value_that_answers_what_it_is_asked_with_an_exception_is_merged() -> None:
    class Odd:
        def __len__(self) -> int:
            raise KeyError

        def __reduce__(self) -> Any:
            raise TypeError

    totals: list[Any] = [[]]
    odd = Odd()
    Accumulators(lambda values, value: [*values, value], pickle.dumps).merge(totals, 0, odd)
    assert totals == [[odd]]
