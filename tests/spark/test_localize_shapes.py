"""Localization in programs of all shapes: records that are dealt out, sorted, joined with themselves, of strange keys; many wrong outputs, many candidates."""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from operator import add, itemgetter
from typing import Any

import pytest

from bigdebug.errors import LocalizeError

NUMBERS = [*range(1, 20), 1_000, *range(20, 40)]


def captured(dbg: Any, rdd: Any) -> Any:
    with dbg.capture():
        rdd.count()
    return rdd


def numbers(dbg: Any, partitions: int = 3) -> Any:
    return dbg.context.parallelize(NUMBERS, partitions)


def blamed(found: Any) -> list[list[Any]]:
    return [[source.record for source in fault.records] for fault in found.fault_sets]


def keyed(number: int) -> tuple[int, int]:
    return number % 2, number


def running_totals(records: Iterable[int]) -> Iterator[tuple[str, int]]:
    total = 0
    for record in records:
        total += record
        yield "total", total


SHAPES: dict[str, Callable[[Any], Any]] = {
    "repartition": lambda rdd: rdd.repartition(4).map(keyed).reduceByKey(add, 2),
    "coalesce with a shuffle": lambda rdd: rdd.coalesce(1, True).map(keyed).groupByKey(2).mapValues(sum),
    "coalesce": lambda rdd: rdd.coalesce(2).map(keyed).reduceByKey(add, 2),
    "sortBy before": lambda rdd: rdd.sortBy(lambda n: -n, numPartitions=2).map(keyed).reduceByKey(add, 2),
    "sortByKey with a keyfunc": lambda rdd: rdd.map(lambda n: (str(n), n)).sortByKey(True, 2, lambda key: key[::-1]).values().map(keyed).reduceByKey(add, 2),
    "sortBy behind": lambda rdd: rdd.map(keyed).reduceByKey(add, 2).sortBy(itemgetter(1), numPartitions=2),
    "repartition behind": lambda rdd: rdd.map(keyed).reduceByKey(add, 2).repartition(3).filter(lambda out: out[0] >= 0),
    "partitionBy before": lambda rdd: rdd.map(keyed).partitionBy(3).reduceByKey(add),
    "union with itself": lambda rdd: rdd.union(rdd).map(keyed).reduceByKey(add, 2),
    "distinct before": lambda rdd: rdd.distinct(2).map(keyed).reduceByKey(add, 2),
    "two exchanges": lambda rdd: rdd.map(lambda n: (n % 5, n)).reduceByKey(add, 2).map(lambda pair: (0, pair[1])).reduceByKey(add, 2),
    "a join with itself": lambda rdd: rdd.map(keyed).join(rdd.map(keyed), 2).mapValues(sum).reduceByKey(max, 2),
    "a product with itself": lambda rdd: rdd.cartesian(rdd.filter(lambda n: n < 3)).map(lambda pair: (pair[1], pair[0])).reduceByKey(add, 2),
    "cogroup with nothing": lambda rdd: rdd.map(keyed).cogroup(rdd.filter(lambda n: n > 5_000).map(keyed), 2).mapValues(lambda sides: sum(sides[0]) + sum(sides[1])),
    "fullOuterJoin of sides that miss keys": lambda rdd: rdd.map(keyed).reduceByKey(add, 2).fullOuterJoin(rdd.map(lambda n: (n % 3, n)).reduceByKey(max, 2), 2).mapValues(
        lambda pair: sum(filter(None, pair))),
    "subtractByKey": lambda rdd: rdd.map(lambda n: (n // 4, n)).subtractByKey(rdd.filter(lambda n: n < 12).map(lambda n: (n // 4, n)), 2).values().map(keyed).reduceByKey(add, 2),
    "leftOuterJoin": lambda rdd: rdd.map(keyed).reduceByKey(add, 2).leftOuterJoin(rdd.filter(lambda n: n > 2_000).map(keyed), 2).mapValues(itemgetter(0)),
    "None as a key": lambda rdd: rdd.map(lambda n: (None, n)).reduceByKey(add, 2),
    "True and 1 as keys": lambda rdd: rdd.map(lambda n: (True if n % 2 else 1, n)).reduceByKey(add, 2),
    "empty partitions": lambda rdd: rdd.filter(lambda n: n > 900 or n < 4).map(keyed).reduceByKey(add, 7),
    "aggregateByKey into lists": lambda rdd: rdd.map(keyed).aggregateByKey([], lambda values, value: [*values, value], add, 2).mapValues(sum),
    "values that their combiner changes": lambda rdd: rdd.map(lambda n: (n % 2, [n])).reduceByKey(_extended, 2).mapValues(sum),
    "mapValues of a set": lambda rdd: rdd.map(lambda n: (n % 2, {n})).reduceByKey(lambda a, b: a | b, 2).mapValues(sum),
}


def _extended(left: list[int], right: list[int]) -> list[int]:
    left.extend(right)
    return left


def value(output: Any) -> float:
    return float(output[1])


@pytest.mark.many
@pytest.mark.parametrize("shape", SHAPES)
def test_the_corrupt_record_is_found_whatever_it_passes(dbg: Any, shape: str) -> None:
    report = captured(dbg, SHAPES[shape](numbers(dbg)))
    found = dbg.localize(report, lambda out: value(out) > 900)
    assert found.verdict == ("ambiguous" if "product" in shape else "culprit"), found  # that with which it is multiplied may be wrong
    assert all(each == [1_000] for each in blamed(found))
    assert len(found.fault_sets) == 1, "it explains all wrong outputs"
    assert found.incomplete is None
    others = [number for number in NUMBERS if number != 1_000]
    assert not [out for out in SHAPES[shape](dbg.plain_context.parallelize(others, 3)).collect() if value(out) > 900], "Spark says so too"


@pytest.mark.slow
def test_records_of_what_a_place_decided_are_blamed_as_they_were(dbg: Any) -> None:
    """A function over the partitions of a repartition(): what it gave is looked at, for nobody knows what it would give of fewer."""
    totals = captured(dbg, numbers(dbg).repartition(1).mapPartitions(running_totals).reduceByKey(max, 1))
    found = dbg.localize(totals, lambda out: out[1] > 1_770)
    assert found.verdict == "ambiguous", "the last total is of all records, and none of them is named for it"
    assert "was made of several source records" in found.explanation
    indexed = captured(dbg, numbers(dbg).zipWithIndex().map(lambda pair: (pair[1] % 2, pair[0])).reduceByKey(add, 2))
    assert blamed(dbg.localize(indexed, lambda out: out[1] > 900)) == [[1_000]]


def test_what_the_absence_of_others_decides_is_kept_where_they_are_no_candidates(dbg: Any) -> None:
    """Keys of five numbers or more are taken away: of the candidates alone, none has so many but the one that is whole."""
    pairs = dbg.context.parallelize([*((0, n) for n in range(1, 6)), (1, 7), (1, 1_000)], 3)
    few = pairs.groupByKey(2).filter(lambda pair: len(list(pair[1])) < 3)
    whole = captured(dbg, pairs.subtractByKey(few, 2).map(lambda pair: ("all", pair[1])).reduceByKey(add, 1))
    found = dbg.localize(whole, lambda out: out[1] > 14)
    assert found.verdict == "ambiguous", "any of the five will do"
    [fault] = found.fault_sets
    assert {source.record for each in (fault.records, *fault.instead) for source in each} == {(0, n) for n in range(1, 6)}


def test_of_a_join_either_side_might_be_to_blame_and_that_is_first_without_which_the_output_is_right(dbg: Any) -> None:
    stores = dbg.context.parallelize([(key, f"store {key}") for key in range(5)], 2)
    sales = dbg.context.parallelize([(number % 5, number) for number in NUMBERS], 3)
    found = dbg.localize(captured(dbg, stores.join(sales, 2).map(lambda pair: (pair[1][0], pair[1][1])).reduceByKey(add, 2)), lambda out: out[1] > 900)
    assert found.verdict == "ambiguous"
    assert blamed(found) == [[(0, 1_000)]]
    assert [[source.record for source in each] for each in found.fault_sets[0].instead] == [[(0, "store 0")]]


def test_two_corrupt_records_that_one_takes_along_do_not_make_it_the_culprit(dbg: Any) -> None:
    """Without the one row that both are joined with, the output is there and right, as it is without the two."""
    stores = dbg.context.parallelize([("a", "x"), ("b", "x")], 1)
    sold = dbg.context.parallelize([("a", 1_000), ("a", 1_000), ("b", 1)], 2)
    found = dbg.localize(captured(dbg, sold.join(stores, 2).map(lambda pair: (pair[1][1], pair[1][0])).reduceByKey(add, 2)), lambda out: out[1] > 900)
    assert (found.verdict, blamed(found)) == ("ambiguous", [[("a", "x")]])
    assert [[source.record for source in each] for each in found.fault_sets[0].instead] == [[("a", 1_000), ("a", 1_000)]], "both"
    assert "Nothing comes of ('a', 1000)" in " ".join(found.fault_sets[0].evidence)


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_value_is_null_without_is_not_the_culprit_beside_a_key_that_is_a_number(dbg: Any, whole: bool) -> None:
    """Both facts of 1000 are corrupt; without the rate, which is right, there is no total."""
    facts, rates = dbg.context.parallelize([(7, 1), (7, 1_000), (7, 1_000), (8, 3)], 2), dbg.context.parallelize([(7, 2), (8, 2)], 1)
    totals = captured(dbg, facts.groupByKey(2).leftOuterJoin(rates).map(lambda out: (out[0], None if out[1][1] is None else sum(out[1][0]) * out[1][1])))

    def wrong(out: Any) -> bool:
        return out[1] is not None and out[1] > 50

    found = dbg.localize(totals, whole=lambda outs: any(map(wrong, outs))) if whole else dbg.localize(totals, wrong)
    (fault_set,) = found.fault_sets
    assert (found.verdict, blamed(found)) == ("ambiguous", [[(7, 1_000), (7, 1_000)]])
    assert [[source.record for source in each] for each in fault_set.instead] == [[(7, 2)]]


def test_nan_is_a_key_that_outputs_share(dbg: Any) -> None:
    """Each NaN is a group of its own, as in PySpark."""
    report = captured(dbg, dbg.context.parallelize([1, 1_000, 2], 2).map(lambda n: (math.nan, n)).reduceByKey(add, 2))
    assert blamed(dbg.localize(report, lambda out: out[1] > 900)) == [[1_000]]


def test_of_many_wrong_outputs_those_of_the_fewest_records_are_looked_at(dbg: Any) -> None:
    """Keys from 0 to 299, of 1 to 3 records each."""
    report = captured(dbg, dbg.context.parallelize(range(600), 3).map(lambda n: ((n % 300) if n < 300 + n % 100 else -(n % 7) - 1, 1)).reduceByKey(add, 2).map(lambda pair: (pair[0], pair[1])))
    found = dbg.localize(report, lambda out: True)
    assert all(len(fault.records) == 1 for fault in found.fault_sets)
    sizes = [out[1] for fault in found.fault_sets for out in fault.outputs]
    assert (len(sizes), set(sizes)) == (20, {1})
    assert found.incomplete is not None
    assert "20 were looked at, those made of the fewest records" in found.incomplete


def test_of_many_wrong_outputs_of_one_fault_the_first_line_says_how_many_were_looked_at(dbg: Any) -> None:
    copied = dbg.context.parallelize(range(61), 2).flatMap(lambda n: [(f"k{i}", 1_000) for i in range(60)] if n == 60 else [(f"k{n}", 1)])
    found = dbg.localize(captured(dbg, copied.reduceByKey(add, 2)), lambda out: out[1] > 500)
    assert (found.verdict, blamed(found)) == ("culprit", [[60]])
    assert repr(found).startswith("culprit: without 1 record, the 20 that were looked at of 60 wrong outputs are right")


@pytest.mark.slow
def test_counts_of_equal_records_are_ended_soon(dbg: Any) -> None:
    counted = captured(dbg, dbg.context.parallelize(["k"] * 20_000, 2).map(lambda key: (key, 1)).reduceByKey(add, 2))
    found = dbg.localize(counted, lambda out: out[1] > 19_999)
    assert (found.verdict, len(found.fault_sets[0].records)) == ("ambiguous", 1)
    assert "Where so many would do" in " ".join(found.fault_sets[0].evidence)
    assert found.cost.tests < 400
    many = dbg.localize(counted, lambda out: out[1] > 100)
    assert (many.verdict, many.fault_sets) == ("ambiguous", ())
    assert "it is not right without any 1,000 records" in str(many.incomplete)


def test_a_hundred_thousand_candidates_of_one_key_take_seconds(dbg: Any) -> None:
    size = 100_000
    report = captured(dbg, dbg.context.parallelize(range(size), 4).map(lambda n: ("all", -(10**12) if n == 77_777 else n)).reduceByKey(add, 2))
    found = dbg.localize(report, lambda out: out[1] < 0)
    assert (found.verdict, blamed(found)) == ("culprit", [[77_777]])
    assert found.cost.tests < 600
    assert found.cost.seconds < 20


def test_records_that_cannot_be_pickled_are_refused_by_name(dbg: Any) -> None:
    locks = dbg.context.parallelize([1, 1_000, 3], 2).map(lambda n: (threading.Lock(), n)).map(lambda pair: (0, pair[1])).reduceByKey(add, 1)
    assert blamed(dbg.localize(captured(dbg, locks), lambda out: out[1] > 900)) == [[1_000]]


def counting(limit: int) -> Callable[[int], tuple[str, int]]:
    """A function that keeps how often it was called: the records behind the first ones count a thousand times."""
    calls = [0]

    def counted(number: int) -> tuple[str, int]:
        calls[0] += 1
        return "all", number * 1_000 if calls[0] > limit else number

    return counted


def test_functions_that_keep_something_are_asked_by_running_them(dbg: Any) -> None:
    """What each record adds hangs on the others here: the folds say that the first records are innocent."""
    report = captured(dbg, dbg.context.parallelize([1] * 12, 1).map(counting(10)).reduceByKey(add, 1))
    found = dbg.localize(report, lambda out: out[1] > 1_500)
    assert found.verdict == "ambiguous", "any one of the twelve will do"
    assert len(found.fault_sets[0].instead) == 11


def test_unhashable_keys_fail_as_in_pyspark_and_are_no_wrong_outputs(dbg: Any) -> None:
    from pyspark.errors import PythonException

    grouped = dbg.context.parallelize([1, 2], 2).groupBy(lambda n: [n])
    with pytest.raises(PythonException, match="unhashable"):
        captured(dbg, grouped)
    with pytest.raises(LocalizeError, match="crashed, so not all of its outputs are there to be tested"):
        dbg.localize(grouped, lambda out: True)


def test_more_candidates_than_a_task_holds_are_refused_by_name(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.rdd.inquiry.localizing.MOST", 20)
    report = captured(dbg, numbers(dbg).map(lambda n: (n == 1_000 or n > 30, n)).reduceByKey(add, 2))
    with pytest.raises(LocalizeError, match="was made of 30, and one task holds 20 at most"):
        dbg.localize(report, lambda out: not out[0])
    found = dbg.localize(report, lambda out: True)
    assert found.incomplete == "of 2 wrong outputs, 1 were looked at, those made of the fewest records"


def test_what_was_found_by_running_the_program_is_not_run_once_more(dbg: Any) -> None:
    """Any of twelve will do, and eleven are tried again only where it was what each adds that said so."""
    ones = dbg.context.parallelize([1] * 12, 2).map(lambda n: ("all", n))
    folded = dbg.localize(captured(dbg, ones.reduceByKey(add, 2)), lambda out: out[1] > 11)
    run = dbg.localize(captured(dbg, ones.zipWithIndex().map(lambda pair: (pair[1], pair[0][1])).groupByKey(2).map(lambda pair: ("all", sum(pair[1]))).reduceByKey(add, 2)), lambda out: out[1] > 11)
    assert [len(found.fault_sets[0].instead) for found in (folded, run)] == [11, 11]
    assert folded.cost.tests - run.cost.tests == 11


def test_outputs_of_a_union_that_no_key_tells_apart_make_nobody_a_culprit(dbg: Any) -> None:
    totals = numbers(dbg).map(keyed).reduceByKey(add, 2)
    both = captured(dbg, totals.union(numbers(dbg).map(lambda n: ("all", n)).reduceByKey(add, 1)))
    found = dbg.localize(both, lambda out: out[1] > 1_500 and out[0] == "all")
    assert found.verdict == "ambiguous"
    assert blamed(found) == [[1_000]]


def test_what_a_function_keeps_from_record_to_record_is_not_folded(dbg: Any) -> None:
    """Rows without a value take the last one: only the first of them is corrupt, and what each adds alone does not tell."""
    report = captured(dbg, dbg.context.parallelize([("k", 1_000), ("k", None), ("k", None), ("k", 2)], 1).map(Filling()).reduceByKey(add, 1))
    found = dbg.localize(report, lambda out: out[1] > 100)
    assert (found.verdict, blamed(found)) == ("culprit", [[("k", 1_000)]])


class Filling:
    def __init__(self) -> None:
        self.last = 0

    def __call__(self, pair: tuple[str, int | None]) -> tuple[str, int]:
        self.last = self.last if pair[1] is None else pair[1]
        return pair[0], self.last


@pytest.mark.parametrize(("rows", "verdict"), [([1_000, 1_000], "ambiguous"), ([1_000, 1_000, 1], "culprit")])
def test_what_leaves_no_output_is_no_culprit(dbg: Any, rows: list[int], verdict: str) -> None:
    """The two innocent records of the other side, without which nothing is joined. That they are right is seen where there is something else that they are joined with."""
    left, right = dbg.context.parallelize([("k", 1), ("k", 1)], 1), dbg.context.parallelize([("k", row) for row in rows], 1)
    found = dbg.localize(captured(dbg, left.join(right).mapValues(lambda pair: pair[0] * pair[1]).reduceByKey(add, 1)), lambda out: out[1] > 100)
    assert found.verdict == verdict
    assert verdict == "ambiguous" or blamed(found) == [[("k", 1_000), ("k", 1_000)]]


def test_what_two_outputs_share_is_not_the_culprit_of_two_faults(dbg: Any) -> None:
    facts = dbg.context.parallelize([("k", (name, value)) for name, value in [("a", 1_000), ("b", 2_000), ("c", 3)]], 1)
    report = captured(dbg, facts.join(dbg.context.parallelize([("k", 1)], 1)).map(lambda pair: (pair[1][0][0], pair[1][0][1] * pair[1][1])).reduceByKey(add, 2))
    found = dbg.localize(report, lambda out: out[1] > 100)
    assert found.verdict == "ambiguous"
    pairs = [("y", [("A", 90)]), ("x", [("A", 20), ("B", 20)]), ("z", [("B", 90)])]
    shared = dbg.localize(captured(dbg, dbg.context.parallelize(pairs, 3).flatMap(itemgetter(1)).reduceByKey(add, 2)), lambda out: out[1] > 100)
    assert (shared.verdict, blamed(shared)) == ("ambiguous", [[pairs[1]]])
    assert [[source.record for source in each] for each in shared.fault_sets[0].instead] == [[pairs[0]], [pairs[2]]], "the two corrupt ones are named"
    alone = captured(dbg, dbg.context.parallelize([("k", 5)], 1).leftOuterJoin(dbg.context.parallelize([("other", 5)], 1), 1))
    assert dbg.localize(alone, lambda out: out[1][1] is None).verdict == "ambiguous", "what is not there is the cause"


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_what_comes_first_decides_is_order_dependent_in_any_number_of_partitions(dbg: Any, partitions: int) -> None:
    report = captured(dbg, dbg.context.parallelize([1_000, 1, 2, 3, 4], partitions).map(lambda n: (0, n)).reduceByKey(lambda first, other: first, 1))
    assert dbg.localize(report, lambda out: out[1] > 900).verdict == "order-dependent"


def test_an_output_that_hangs_on_the_order_is_told_apart_though_a_fault_explains_it(dbg: Any) -> None:
    pairs = [("big", [("s", 1_000), ("o", 1_000)]), ("u", [("o", 1)]), ("v", [("s", 1)])]
    groups = dbg.context.parallelize(pairs, 1).flatMap(itemgetter(1)).groupByKey(1)
    found = dbg.localize(captured(dbg, groups.map(lambda group: (group[0], sum(group[1]) if group[0] == "s" else next(iter(group[1]))))), lambda out: out[1] > 500)
    assert [(fault.verdict, fault.outputs) for fault in found.fault_sets] == [("culprit", (("s", 1_001),)), ("order-dependent", (("o", 1_000),))]
    assert found.verdict == "ambiguous"


def test_an_output_that_is_right_on_its_records_alone_leaves_another_its_culprit(dbg: Any) -> None:
    report = captured(dbg, dbg.context.parallelize([("a", 900), ("a", 1), ("r", 1), ("r", 2)], 2).reduceByKey(add, 2))

    def once(out: Any) -> bool:
        """The other output is wrong where all of the result is looked at, and never again."""
        return out[1] > 500 or (out[0] == "r" and "trials" not in "".join(frame.filename for frame in inspect.stack()))

    found = dbg.localize(report, once)
    assert (found.verdict, blamed(found)) == ("culprit", [[("a", 900)]])
    assert found.incomplete is not None
    assert "gave no wrong output when the program was run on them alone: ('r', 3)" in found.incomplete
