"""Replays compare records by value, whatever process made them; so do comparisons of two results."""

from __future__ import annotations

from operator import add
from typing import Any

import numpy as np
import pytest

from bigdebug.errors import ReplayError
from bigdebug.spark.rdd.comparison import compared


class Held:
    """A class that workers get by value, as those of a notebook: theirs is another class of the same name."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __reduce__(self) -> Any:
        return type(self), (self.held,)


Held.__module__ = "__main__"

KINDS: dict[str, Any] = {
    "of a notebook's class": Held,
    "frozensets": lambda k: frozenset(f"{k} {n}" for n in range(9)),
    "dicts of sets": lambda k: {"words": {f"{k}{n}" for n in range(9)}, "n": float("nan")},
    "arrays": lambda k: np.array([k, np.nan]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_traced_record_is_known_again_behind_an_outer_join_and_a_difference(dbg: Any, kind: str) -> None:
    make = KINDS[kind]
    left = dbg.context.parallelize(range(6), 1).map(lambda k: (k, make(k)))
    right = dbg.context.parallelize([(0, "right"), (4, "right")], 1)
    joined = left.leftOuterJoin(right, 1).subtractByKey(right.filter(lambda r: r[0] == 4), 1)
    keys = joined.map(lambda r: (r[0], r[1][1]))
    with dbg.capture():
        result = keys.collect()
    rid = keys.getLineage().rids()[result.index((3, None))]
    assert keys.getLineage().at([rid]).replay().collect() == [(3, None)]


def test_records_that_cannot_be_compared_are_refused_by_name(dbg: Any) -> None:
    left = dbg.context.parallelize(range(4), 2).map(lambda k: (k, lambda: k))
    joined = left.leftOuterJoin(dbg.context.parallelize([(1, 5)], 1), 1).map(lambda r: (r[0], r[1][0](), r[1][1]))
    with dbg.capture():
        assert sorted(joined.collect()) == [(0, 0, None), (1, 1, 5), (2, 2, None), (3, 3, None)]
    assert len(joined.getLineage().replay().collect()) == 4
    functions = left.leftOuterJoin(left, 1)
    with dbg.capture():
        functions.collect()
    with pytest.raises(ReplayError, match=r"a builtins\.function, which cannot be compared"):
        functions.getLineage().replay().compare()
    with pytest.raises(ReplayError, match="generator"):
        compared([(n for n in ())], [])


def test_equal_sets_and_dicts_are_the_same_record(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(40), 2)
    words = numbers.map(lambda n: (n % 2, {f"word {n}"})).reduceByKey(lambda a, b: a | b, 2)
    nested = words.mapValues(lambda found: (frozenset(found), {"all": found}, [float("nan"), {"x": {"y", "z"}}]))
    with dbg.capture():
        nested.collect()
    found = nested.getLineage().replay().compare()
    assert (found.kept, found.added, found.removed) == (2, (), ())
    assert compared([1, 1.0, True], [True, 1, 1.0]).kept == 3
    assert compared([1], [1.0]).kept == 0


def test_changed_pairs_a_key_that_lost_one_value_and_got_one(dbg: Any) -> None:
    found = compared([(None, 1), ("a", 1), ("b", 1), ("b", 2), ("c", 1), ([1], 2), 7], [(None, 2), ("a", 3), ("b", 3), ([1], 3), 8])
    assert found.changed == (((None, 1), (None, 2)), (("a", 1), ("a", 3)), (([1], 2), ([1], 3)))
    twice = compared([("a", 1)], [("a", 2), ("a", 3)])
    assert twice.changed == ()
    assert (len(twice.added), len(twice.removed)) == (2, 1)


def test_ex_replay_tells_which_values_changed(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(12), 3)
    sums = numbers.map(lambda n: (None if n % 3 else n % 2, n)).reduceByKey(add, 2)
    with dbg.capture():
        sums.collect()
    found = numbers.getLineage().where(lambda n: n == 11).replay(exclude=True).compare()
    assert found.changed == (((None, 48), (None, 37)),)
