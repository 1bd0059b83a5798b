"""What a program brings along stays the user's: classes, accumulators, resources, the moment at which a function is called."""

from __future__ import annotations

import enum
import os
import threading
import uuid
from dataclasses import make_dataclass
from operator import add
from typing import Any, NamedTuple

import pytest
from pyspark.accumulators import AccumulatorParam

from bigdebug.errors import NondeterminismError, ReplayError
from tests.left import cached, cached_for_good


class Lists(AccumulatorParam[list[Any]]):
    def zero(self, value: list[Any]) -> list[Any]:
        return []

    def addInPlace(self, left: list[Any], right: list[Any]) -> list[Any]:  # noqa: N802 (PySpark's name)
        left.extend(right)
        return left


def notebook_class(name: str, **members: Any) -> Any:
    """A class as a notebook has it: cloudpickle sends it by value, and knows it again by an id."""
    return type(name, (), {"__module__": "__main__", **members})


# ---- classes --------------------------------------------------------------------------------------------------


def test_a_class_that_changed_after_a_definition_is_not_set_back(dbg: Any) -> None:
    config = notebook_class("Config", threshold=1, seen=[])
    seen = config.seen
    counts = dbg.context.parallelize(range(10), 2).filter(lambda x: x > config.threshold).map(lambda x: (x % 2, 1)).reduceByKey(add)
    config.threshold = 5
    seen.append("driver")
    with dbg.capture("classes"):
        assert sorted(counts.collect()) == [(0, 4), (1, 4)], "PySpark pickled it with the threshold of then"
    assert sorted(counts.getLineage().goBackAll().collect()) == list(range(2, 10))
    assert counts.getLineage().replay().rdd.count() == 2
    assert (config.threshold, config.seen is seen, seen) == (5, True, ["driver"])
    assert dbg.plain_context.parallelize(range(10), 2).filter(lambda x: x > config.threshold).count() == 4


def test_records_of_a_notebook_class_are_of_that_class(dbg: Any) -> None:
    point = notebook_class("Point", factor=3, value=0)

    def make(x: int) -> Any:
        made = point()
        made.value = x * point.factor
        return made

    points = dbg.context.parallelize(range(4), 2).map(make)
    with dbg.capture("points"):
        assert all(isinstance(p, point) for p in points.collect())
    trace = points.getLineage()
    assert [(type(p) is point, p.value) for p in trace.collect()] == [(True, value) for value in (0, 3, 6, 9)]
    assert [p.value for p in trace.where(lambda p: isinstance(p, point) and p.value > 3).replay().collect()] == [6, 9]


def test_members_of_an_enumeration_stay_themselves(dbg: Any) -> None:
    colour: Any = enum.Enum("colour", "red blue", module="__main__")
    sums = dbg.context.parallelize(range(4), 2).map(lambda x: (colour.red if x % 2 else colour.blue, x)).reduceByKey(add)
    with dbg.capture("colours"):
        assert dict(sums.collect()) == {colour.red: 4, colour.blue: 2}
    assert sums.getLineage().where(lambda kv: kv[0] is colour.red).goBackAll().collect() == [1, 3]


def test_records_of_classes_that_a_function_makes_are_recognized(dbg: Any) -> None:
    def pairs(records: Any) -> Any:
        class Pair(NamedTuple):  # each call makes another one
            a: int
            b: int

        return (Pair(x, x) for x in records)

    made = dbg.context.parallelize(range(4), 2).mapPartitions(pairs)

    def point(x: int) -> Any:
        return make_dataclass("Point", ["a"])(x)

    points = dbg.context.parallelize(range(4), 2).map(point)
    with dbg.capture("made"):
        made.collect()
        points.map(lambda p: (p.a % 2, p)).groupByKey().mapValues(len).collect()
    assert made.getLineage().collect() == [(x, x) for x in range(4)]
    assert [p.a for p in points.getLineage().collect()] == [0, 1, 2, 3]


def test_what_looks_like_the_id_of_a_class_is_compared_all_the_same(dbg: Any) -> None:
    def drawn(x: int) -> Any:
        return make_dataclass("Point", ["a", "b"])(uuid.uuid4().hex, None)

    points = dbg.context.parallelize(range(4), 2).map(drawn)
    with dbg.capture("drawn"):
        points.collect()
    with pytest.raises(NondeterminismError):
        points.getLineage().collect()


# ---- accumulators ---------------------------------------------------------------------------------------------


def test_questions_leave_accumulators_of_several_kinds_alone(dbg: Any) -> None:
    count, odd = dbg.context.accumulator(0), dbg.context.accumulator([], Lists())

    def look(x: int) -> int:
        count.add(1)
        if x % 2:
            odd.add([x])
        return 2 * x

    doubled = dbg.context.parallelize(range(6), 2).map(look)
    with dbg.capture("kinds"):
        doubled.map(lambda x: (x % 4, x)).reduceByKey(add).collect()
    assert doubled.getLineage().where(lambda x: x >= 6).collect() == [6, 8, 10]
    assert (count.value, sorted(odd.value)) == (6, [1, 3, 5])


def test_an_accumulator_of_a_class_stays_the_same_object(dbg: Any) -> None:
    job = notebook_class("Job", seen=dbg.context.accumulator(0))
    seen = job.seen
    values = dbg.context.parallelize(range(6), 2).map(lambda x: (job.seen.add(1), x)[1])
    with dbg.capture("job"):
        values.map(lambda x: x + 1).collect()
    assert values.getLineage().where(lambda x: x > 3).collect() == [4, 5]
    assert job.seen is seen
    dbg.plain_context.parallelize(range(6), 2).foreach(lambda x: job.seen.add(1))
    assert seen.value == 12


@pytest.mark.slow
def test_functions_too_large_to_be_kept_leave_accumulators_alone_too(dbg: Any) -> None:
    seen, table = dbg.context.accumulator(0), os.urandom(65 << 20)
    values = dbg.context.parallelize(range(4), 1).map(lambda x: (seen.add(1), table[x])[1])
    with dbg.capture("large"):
        values.map(lambda x: x + 1).collect()
    assert values.getLineage().collect() == list(table[:4])
    assert seen.value == 4


# ---- functions over partitions --------------------------------------------------------------------------------

worker: dict[str, int] = {}


def connect(records: Any) -> Any:
    worker["offset"] = 10
    return records


def use(records: Any) -> Any:
    return [worker["offset"] + record for record in records]


def disconnect(records: Any) -> Any:
    worker.clear()
    return records


def test_functions_over_partitions_are_called_in_the_order_of_the_program(dbg: Any) -> None:
    clean = dbg.context.parallelize(range(4), 2).mapPartitions(disconnect)
    result = clean.mapPartitions(connect).mapPartitions(use)
    with dbg.capture("order"):
        assert result.collect() == [10, 11, 12, 13]
    assert result.getLineage().where(lambda x: x == 12).goBackAll().collect() == [2, 3], "it read both before it gave one"


def test_functions_over_partitions_are_called_though_nobody_wants_their_records(dbg: Any) -> None:
    called = dbg.context.accumulator(0)

    def begin(records: Any) -> Any:
        called.add(1)
        return records

    def refuse(records: Any) -> Any:
        raise ValueError("no licence")

    with dbg.capture("begun"):
        assert dbg.context.parallelize(range(4), 2).mapPartitions(begin).mapPartitions(lambda it: [42]).collect() == [42, 42]
    assert called.value == 2
    with dbg.capture("refused"), pytest.raises(Exception, match="no licence"):
        dbg.context.parallelize(range(4), 2).mapPartitions(refuse).mapPartitions(lambda it: [42]).collect()


# ---- sessions -------------------------------------------------------------------------------------------------


def test_threads_that_use_one_cache_fill_it_once(dbg: Any) -> None:
    computed = dbg.context.accumulator(0)
    before = cached_for_good(dbg.context)
    squares = dbg.context.parallelize(range(100), 2).map(lambda x: (computed.add(1), x * x)[1]).cache()
    together, counts = threading.Barrier(4), []

    def work() -> None:
        together.wait()
        with dbg.capture("thread"):
            counts.append(squares.map(lambda x: x).count())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [100] * 4
    squares.unpersist(blocking=True)
    assert cached(dbg.context) == before
    assert computed.value <= 200, "two tasks at once may find a partition that is not in the cache yet"


@pytest.mark.parametrize("capture", [False, True])
def test_sparks_pages_name_the_line_of_the_user(dbg: Any, capture: bool) -> None:
    rdd = dbg.context.parallelize(range(4), 2).map(abs)
    group = f"call sites {capture}"
    dbg.context.setJobGroup(group, "")
    if capture:
        with dbg.capture("site"):
            rdd.collect()
    else:
        rdd.collect()
    tracker = dbg.context.statusTracker()
    names = [tracker.getStageInfo(s).name for job in tracker.getJobIdsForGroup(group) for s in tracker.getJobInfo(job).stageIds]
    assert names
    assert all(name.startswith("collect at ") and os.path.basename(__file__) in name for name in names)


def test_what_was_taken_is_not_compared_with_all(dbg: Any) -> None:
    tens = dbg.context.parallelize(range(100), 4).map(lambda x: 10 * x)
    with dbg.capture("some"):
        tens.take(3)
    bad = tens.getLineage().where(lambda x: x == 10).goBackAll()
    with pytest.raises(ReplayError, match=r"take\(\) asked for a part"):
        bad.replay(exclude=True).compare()
    with dbg.capture("all"):
        tens.count()
    compared = tens.getLineage().where(lambda x: x == 10).goBackAll().replay(exclude=True).compare()
    assert (compared.added, compared.removed, compared.kept) == ((), (10,), 99)


def test_parents_without_partitions_take_no_part_in_an_aligned_union(dbg: Any) -> None:
    left, right = (dbg.context.parallelize([(n, side) for n in range(4)], 2).partitionBy(2) for side in "ab")
    doubled = dbg.context.union([dbg.context.emptyRDD(), left, right]).mapValues(lambda v: v * 2)
    with dbg.capture("aligned"):
        doubled.collect()
    ones = doubled.getLineage().where(lambda r: r[0] == 1)
    assert sorted(ones.goBackAll().collect()) == [(1, "a"), (1, "b")]
    assert sorted(ones.replay().collect()) == sorted(ones.replay().rdd.collect()) == [(1, "aa"), (1, "bb")]
