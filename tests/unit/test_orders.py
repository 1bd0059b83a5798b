"""Other orders of the same records: each is one of all records, the same each time, and what hangs on the order of neighbours is seen to."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.orders import arranged, ranks
from bigdebug.localize.faults import faults
from bigdebug.localize.oracle import Answer, Budget, Oracle
from bigdebug.localize.ordered import MANY, ORDERS, Asked, unordered
from bigdebug.localize.subject import Subject
from bigdebug.model import Outcome

NUMBERS = st.lists(st.integers(0, 10**9), unique=True).map(sorted)


@given(NUMBERS, st.integers(0, 5), st.data())
def test_an_order_is_of_all_records_and_that_of_two_does_not_hang_on_others(numbers: list[int], order: int, data: st.DataObject) -> None:
    every = np.array(numbers, dtype=np.int64)
    found = every[arranged(every, order)].tolist()
    assert sorted(found) == numbers
    fewer = np.array(sorted(data.draw(st.sets(st.sampled_from(numbers)))) if numbers else [], dtype=np.int64)
    assert fewer[arranged(fewer, order)].tolist() == [each for each in found if each in set(fewer.tolist())]
    assert [numbers[place] for place in np.argsort(ranks(len(numbers), order))] == [numbers[place] for place in arranged(np.arange(len(numbers)), order)]


def test_orders_by_their_numbers() -> None:
    numbers = np.array([3, 3, 5, 8, 8, 9])
    assert arranged(numbers, 0).tolist() == [0, 1, 2, 3, 4, 5]
    assert arranged(numbers, 1).tolist() == [5, 3, 4, 2, 0, 1]  # what is of one record keeps its order
    assert ranks(4, 1).tolist() == [3, 2, 1, 0]
    drawn = [tuple(arranged(np.arange(20), order).tolist()) for order in range(2, 12)]
    assert len({*drawn}) == 10
    assert min(abs(one - other) for one, other in pairwise(drawn[0])) == 8
    assert arranged(np.arange(2), 2).tolist() == [1, 0]
    assert all(arranged(np.arange(many), 2)[0] for many in (2, 10, 25_000))  # a program may keep the first one


class Ordered:
    """An output that is wrong where two neighbours come to more than 105."""

    def __init__(self, values: list[int]) -> None:
        self.values, self.orders = values, list[int]()

    def answers(self, sets: Collection[Collection[int]], order: int = 0) -> list[Answer]:
        return [*self._answers(sets, order)]

    def _answers(self, sets: Collection[Collection[int]], order: int) -> Iterator[Answer]:
        for each in sets:
            places = np.array(sorted(each), dtype=np.int64)
            found = max((a + b for a, b in pairwise(self.values[place] for place in places[arranged(places, order)])), default=0)
            yield Answer(Outcome.FAIL if found > 105 else Outcome.PASS, found, gone=not len(places))

    def in_order(self, asked: Asked, order: int) -> dict[int, list[Answer]]:
        self.orders.append(order)
        return {number: self.answers(sets, order) for number, sets in asked.items()}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_the_same_backwards_and_hangs_on_neighbours_is_seen_to(seed: int) -> None:
    ones = [1] * random.Random(seed).randrange(10, 40)
    place = random.Random(seed).randrange(len(ones))
    program = Ordered([*ones[:place], 50, 60, 50, *ones[place:]])
    budget = Budget()
    subjects = [Subject(np.arange(len(program.values)), Oracle(program.answers, budget))]
    known = faults(subjects, budget)
    assert known.found
    assert unordered(known, subjects, program.in_order) == {0}
    assert unordered(known, subjects, program.in_order, orders=(1,)) == set()


def test_what_does_not_hang_on_order_is_tried_in_each_and_many_records_in_one() -> None:
    for size, orders in ((30, [*ORDERS]), (MANY + 1, [ORDERS[0]])):
        program = Ordered([200 if place == 20 else 1 for place in range(size)])
        budget = Budget()
        subjects = [Subject(np.arange(size), Oracle(program.answers, budget))]
        known = faults(subjects, budget, each_of=10)
        assert unordered(known, subjects, program.in_order) == set()
        assert program.orders == orders
