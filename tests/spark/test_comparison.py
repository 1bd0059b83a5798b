"""Replays compare records by value, whatever process made them; so do comparisons of two results."""

from __future__ import annotations

from decimal import Decimal
from operator import add
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Row

from bigdebug.errors import PredicateError, ReplayError, UnknownColumnError
from bigdebug.localize.comparison import compared


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


def test_outputs_are_the_same_as_those_that_were_expected_are(dbg: Any) -> None:
    """Numbers by their values, of one key to 9 digits; 1 and True are two, and so are numbers that are not so close."""
    assert compared([1, ("a", 0.5), {"n": 2}], [1.0, ("a", Decimal("0.5")), {"n": 2.0}]).kept == 3
    assert compared([("a", 0.1 + 0.2), ("b", 1.0), ("b", 0.1 + 0.2)], [("a", 0.3), ("b", 0.3), ("b", 1.0)]).kept == 3
    assert compared([1, ("a", 0.3), 10**400], [True, ("a", 0.3001), 10**400 + 1]).kept == 0
    assert compared([Row(a=1)], [Row(b=1)]).kept == 1


def test_a_key_that_is_not_there_or_raises_or_changes_outputs_is_named(dbg: Any, spark: Any) -> None:
    before, after = spark.createDataFrame([(1, 2)], "a int, b int"), spark.createDataFrame([(1, 3)], "a int, b int")
    for key in ("zz", ["a", "zz"], 5):
        for other in (after, before):  # also where nothing changed
            with pytest.raises(UnknownColumnError, match=r"The output Row\(a=1, b=2\) has no field ('zz'|5)"):
                dbg.compare(before, other, key=key)
    with pytest.raises(PredicateError, match=r"key= at .*test_comparison.py:\d+ raised ZeroDivisionError: .*, on the record Row\(a=1, b=2\)"):
        dbg.compare(before, after, key=lambda row: 1 // 0)
    assert dbg.compare(before, after, key="a").changed
    numbers = dbg.context.parallelize([("a", [1])], 1)
    with dbg.capture():
        numbers.collect()
    with pytest.raises(PredicateError, match=r"key= at .*test_comparison.py:\d+ changes what it is given"):
        dbg.compare(numbers, numbers, key=lambda out: out[1].clear())


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


# ---- two runs, with the inputs behind what changed ------------------------------------------------------------------


def sums(dbg: Any, records: list[tuple[Any, int]], plus: int = 0) -> Any:
    rdd = dbg.context.parallelize(records, 3).reduceByKey(add, 2).mapValues(lambda total: total + plus)
    with dbg.capture():
        rdd.collect()
    return rdd


OLD = [("a", 1), ("b", 2), ("a", 3), (None, 4), ("gone", 5)]


def behind(change: Any) -> tuple[str, Any, Any, Any, Any, int]:
    found = change.inputs
    return change.kind, change.before, change.after, [s.record for s in found.gone], [s.record for s in found.new], found.same


def test_two_runs_are_compared_with_the_inputs_behind_each_change(dbg: Any) -> None:
    new = [("b", 2), ("new", 9), ("a", 3), ("a", 7), ("a", 8), (None, 4)]
    found = dbg.compare(sums(dbg, OLD), sums(dbg, new))
    assert [behind(change) for change in found.changes] == [
        ("changed", (("a", 4),), (("a", 18),), [("a", 1)], [("a", 7), ("a", 8)], 1),
        ("removed", (("gone", 5),), (), [("gone", 5)], [], 0), ("added", (), (("new", 9),), [], [("new", 9)], 0),
    ]
    assert (found.kept, len(found.added), len(found.removed)) == (2, 2, 2)
    assert str(found.changes[0].inputs.gone[0].origin) == "parallelize[0]"
    assert "changed  ('a', 4)" in found.table().text()


def test_what_changed_on_the_same_inputs_is_said_to_be_the_programs(dbg: Any) -> None:
    found = dbg.compare(sums(dbg, OLD), sums(dbg, OLD, plus=1))
    assert {change.kind for change in found.changes} == {"changed"}
    assert not any(change.inputs.differ for change in found.changes)
    assert "4 records changed though made of the same inputs: the program differs" in found.table().text()


def test_a_replay_is_compared_with_its_run(dbg: Any) -> None:
    ran = sums(dbg, OLD)
    bad = ran.getLineage().goBackAll().where(lambda r: r == ("a", 3))
    before = len(dbg.runs)
    (change,) = dbg.compare(ran, bad.replay(exclude=True)).changes
    assert behind(change) == ("changed", (("a", 4),), (("a", 1),), [("a", 3)], [], 1)
    (edited,) = dbg.compare(ran, bad.replay(exclude=True, edit=lambda r: ("a", 30))).changes
    assert behind(edited) == ("changed", (("a", 4),), (("a", 31),), [("a", 3)], [("a", 30)], 1)
    assert len(dbg.runs) == before


def test_only_the_first_changes_are_looked_behind_and_large_ones_not_at_all(dbg: Any) -> None:
    many = [(n % 4, n) for n in range(9_000)]
    found = dbg.compare(sums(dbg, many), sums(dbg, [*many, (0, 1)]))
    assert found.changes[0].inputs is None
    assert "made of more than 2,000 inputs" in found.table().text()
    few = dbg.compare(sums(dbg, OLD), sums(dbg, [(key, value + 1) for key, value in OLD]), most=1)
    assert [change.inputs is None for change in few.changes] == [False, True, True, True]
    assert "Behind 3 more changes nobody has looked" in few.table().text()


def test_rows_of_queries_are_compared_by_a_key(dbg: Any, spark: Any) -> None:
    def totals(rows: list[tuple[int, str, int]]) -> Any:
        return spark.createDataFrame(rows, "n int, city string, amount int").groupBy("city").agg({"amount": "sum"}).selectExpr("`sum(amount)` total", "city")

    found = dbg.compare(totals([(1, "x", 2), (2, "y", 3), (3, "x", 5)]), totals([(1, "x", 2), (2, "y", 3), (4, "x", 6)]), key="city")
    (change,) = found.changes
    assert (change.kind, change.before[0].total, change.after[0].total) == ("changed", 7, 8)
    assert ([s.record.n for s in change.inputs.gone], [s.record.n for s in change.inputs.new], change.inputs.same) == ([3], [4], 1)
    with pytest.raises(TypeError, match="key is a function"):
        dbg.compare(spark.range(1), spark.range(2), key=3.5)
