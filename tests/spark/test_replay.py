"""Replay runs the program that ran, on chosen records; law 3 and the ex-replay law hold for random programs besides."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from operator import add
from typing import Any
from uuid import uuid4

import pytest
from pyspark import TaskContext
from pyspark.errors import PythonException

from bigdebug.errors import NondeterminismError, PredicateError


def both(replay: Any) -> list[Any]:
    """The records of a replay, the same in one task and by the stages of the program."""
    here, there = replay.collect(), replay.rdd.collect()
    assert sorted(map(repr, here)) == sorted(map(repr, there))
    return sorted(here, key=repr)


def sums(sc: Any) -> tuple[Any, Any, Any]:
    numbers = sc.parallelize(range(12), 3)
    doubled = numbers.map(lambda n: (n % 3, 2 * n))
    return numbers, doubled, doubled.reduceByKey(add, 2)


def test_functions_run_as_they_were_in_the_run_whatever_their_variables_are_now(dbg: Any) -> None:
    ran = []
    factor = 2
    table = dbg.context.broadcast({})

    def scale(n: int) -> tuple[int, int]:
        return n % 2, n * factor + table.value[n]

    for factor in (2, 3):
        table = dbg.context.broadcast({n: n * factor for n in range(6)})
        scaled = dbg.context.parallelize(range(6), 2).map(scale).reduceByKey(add, 2)
        with dbg.capture(f"factor {factor}"):
            ran.append((scaled, sorted(scaled.collect())))
    for scaled, result in ran:
        trace = scaled.getLineage()
        assert sorted(trace.collect()) == result
        assert both(trace.replay()) == result
        assert trace.replay().compare().added == ()


def test_questions_and_replays_leave_the_users_accumulators_alone(dbg: Any) -> None:
    seen = dbg.context.accumulator(0)

    def look(n: int) -> tuple[int, int]:
        seen.add(1)
        return n % 3, n

    result = dbg.context.parallelize(range(12), 3).map(look).reduceByKey(add, 2)
    with dbg.capture():
        result.collect()
    trace = result.getLineage()
    assert sorted(trace.collect()) == [(0, 18), (1, 22), (2, 26)]
    assert len(trace.goBack().collect()) == 12
    assert len(both(trace.replay(exclude=False))) == 3
    assert seen.value == 12


@pytest.mark.many
@pytest.mark.parametrize("moved", [
    lambda a, b, f: a.union(b), lambda a, b, f: a.coalesce(1), lambda a, b, f: a.zip(b), lambda a, b, f: a.cartesian(b),
    lambda a, b, f: a.cache().union(b), lambda a, b, f: a.partitionBy(2).mapValues(f).join(b.partitionBy(2)),
])
def test_questions_behind_what_the_jvm_moves_leave_accumulators_alone(dbg: Any, moved: Any) -> None:
    seen = dbg.context.accumulator(0)

    def look(value: int) -> int:
        seen.add(1)
        return value

    left, right = (dbg.context.parallelize([(n % 3, n) for n in range(6)], 2).mapValues(look) for _ in range(2))
    behind = moved(left, right, look).map(lambda r: (r, 1))
    result = behind.filter(lambda r: True)
    with dbg.capture():
        records = result.collect()
    added = seen.value
    trace = result.getLineage()
    assert trace.collect() == records
    assert len(trace.back_to(behind).collect()) == len(records)
    assert both(trace.at(trace.rids()[:1]).replay(exclude=True)) is not None
    assert seen.value == added
    left.unpersist()


def test_records_are_left_out_at_any_operator(dbg: Any) -> None:
    numbers, doubled, result = sums(dbg.context)
    with dbg.capture():
        result.collect()
    behind = result.getLineage().where(lambda r: r[0] == 1).back_to(doubled)
    bad = behind.where(lambda r: r[1] >= 14)
    assert both(bad.replay(exclude=True, at=doubled)) == [(0, 36), (1, 10), (2, 52)]
    assert both(bad.replay(exclude=True)) == [(0, 36), (1, 10), (2, 52)]
    assert both(numbers.getLineage().where(lambda n: n > 8).replay(exclude=True)) == [(0, 18), (1, 24), (2, 30)]


def test_records_are_changed_on_the_way(dbg: Any) -> None:
    numbers, doubled, result = sums(dbg.context)
    with dbg.capture():
        result.collect()
    eleven = numbers.getLineage().where(lambda n: n == 11)
    assert both(eleven.replay(exclude=True, edit=lambda n: 100 * n)) == [(0, 36), (1, 44), (2, 2230)]
    found = eleven.replay(exclude=True, edit=lambda n: 100 * n).compare()
    assert found.changed == (((2, 52), (2, 2230)),)
    assert found.kept == 2
    one = eleven.forward_to(doubled)
    assert both(one.replay(exclude=True, at=doubled, edit=lambda r: (0, r[1]))) == [(0, 58), (1, 44), (2, 30)]


def test_an_output_is_reproduced_through_operators_that_lose_it_on_less_input(dbg: Any) -> None:
    """Newt 3.4: without the record on the right a left outer join and a difference would give more than was traced."""
    left = dbg.context.parallelize([(k, f"left {k}") for k in range(6)], 2)
    right = dbg.context.parallelize([(k, f"right {k}") for k in range(0, 6, 2)], 2)
    gone = dbg.context.parallelize([4], 1)
    joined = left.leftOuterJoin(right, 2).map(lambda r: (r[0], r[1][1]))
    kept = joined.subtractByKey(gone.map(lambda k: (k, None)), 2)
    with dbg.capture():
        result = kept.collect()
    for rid, record in zip(kept.getLineage().rids().tolist(), result):
        assert both(kept.getLineage().at([rid]).replay()) == [record]


def test_a_difference_from_sums_is_reproduced_though_other_sums_come_of_less_input(dbg: Any) -> None:
    pairs = dbg.context.parallelize([(0, 0), (1, 1), (1, 1)], 1)
    left = pairs.subtract(pairs.reduceByKey(add, 1), 1)
    missed = pairs.map(lambda r: (r, 1)).leftOuterJoin(pairs.reduceByKey(add, 1).map(lambda r: (r, 2)), 1)
    for rdd in (left, missed):
        record, replay = traced(dbg, rdd)[-1]
        assert both(replay) == [record]


def test_a_replay_with_another_fault_raises_what_the_function_raises(dbg: Any) -> None:
    halves = dbg.context.parallelize([4, 2, 1], 1).map(lambda n: 8 // n)
    with dbg.capture():
        halves.collect()
    replay = halves.getLineage().goBackAll().replay(exclude=True, edit=lambda n: 0)
    with pytest.raises(PythonException, match="ZeroDivisionError"):
        replay.collect()


def test_an_edit_that_raises_is_named_with_its_record(dbg: Any) -> None:
    numbers = dbg.context.parallelize([4, 2, 1], 1)
    with dbg.capture():
        numbers.count()
    replay = numbers.getLineage().goBackAll().replay(exclude=True, edit=lambda n: 1 // (n - 2))
    for ask in (replay.collect, replay.count, lambda: replay.take(3)):
        with pytest.raises(PredicateError, match=r"edit= at .*test_replay.py:\d+ raised ZeroDivisionError: .*, on the record 2"):
            ask()


def test_large_replays_run_on_spark_and_agree(dbg: Any) -> None:
    pairs = dbg.context.parallelize(range(60_000), 3).map(lambda n: (n % 5, 1)).reduceByKey(add, 2)
    with dbg.capture():
        pairs.collect()
    bad = pairs.getLineage().where(lambda r: r[0] == 3).goBackAll()
    assert bad.count() == 12_000
    assert sorted(bad.replay(exclude=True).collect()) == [(k, 12_000) for k in (0, 1, 2, 4)]
    assert bad.replay().collect() == [(3, 12_000)]


def traced(dbg: Any, rdd: Any) -> list[tuple[Any, Any]]:
    """The records of an RDD that ran, each with the replay of it alone."""
    with dbg.capture():
        records = rdd.collect()
    everything = rdd.getLineage()
    return [(record, everything.at([rid]).replay()) for rid, record in zip(everything.rids().tolist(), records)]


# ---- in one task, as in a job ---------------------------------------------------------------------------------------


def test_functions_find_the_hashes_of_a_worker(dbg: Any) -> None:
    """Text hashes by process: what depends on it must not depend on who computes a replay."""
    words = dbg.context.parallelize([f"word {n % 17}" for n in range(60)], 3)
    hashed = words.map(lambda w: (next(iter({w, w + "!", w + "?"})), hash(w)))
    grouped = hashed.map(lambda r: (r[0], 1)).reduceByKey(add, 3).map(lambda r: (r[1], r[0])).groupByKey(2).mapValues(list)
    with dbg.capture():
        ran = grouped.collect()
    replay = grouped.getLineage().replay()
    assert replay.collect() == ran
    assert replay.count() == len(ran)
    assert replay.take(1) == ran[:1]
    with dbg.capture():
        firsts = hashed.collect()
    assert hashed.getLineage().replay().collect() == firsts


def test_functions_find_partitions_as_after_a_shuffle_by_hash(dbg: Any) -> None:
    words = dbg.context.parallelize([f"word {n % 9}" for n in range(30)], 3).map(lambda w: (w, 1)).reduceByKey(add, 3)
    places = words.mapPartitionsWithIndex(lambda i, rs: ((i, n, r) for n, r in enumerate(rs)))
    with dbg.capture():
        ran = places.collect()
    assert places.getLineage().replay().collect() == ran
    replay = words.getLineage().where(lambda r: r[0] == "word 3").replay(exclude=True)
    assert replay.collect() == replay.rdd.collect()


def test_a_function_that_asks_for_its_task_is_answered_by_the_task_that_it_would_run_in(dbg: Any) -> None:
    where = dbg.context.parallelize(range(6), 3).map(lambda n: (n, TaskContext.get().partitionId()))  # type: ignore[union-attr]
    with dbg.capture():
        ran = where.collect()
    assert {p for _, p in ran} == {0, 1, 2}
    assert where.getLineage().replay().collect() == ran


def test_what_a_function_keeps_in_its_closure_stays_in_its_partition(dbg: Any) -> None:
    numbers = iter(range(100))
    numbered = dbg.context.parallelize("abcdef", 3).map(lambda c: (c, next(numbers)))
    with dbg.capture():
        ran = numbered.collect()
    assert [n for _, n in ran] == [0, 1, 0, 1, 0, 1]
    assert numbered.getLineage().replay().collect() == ran


def test_functions_may_change_the_records_that_several_operators_read(dbg: Any) -> None:
    def marked(mark: str) -> Any:
        def mark_it(record: tuple[int, list[str]]) -> Any:
            record[1].append(mark)
            return record[0], tuple(record[1])

        return mark_it

    lists = dbg.context.parallelize([(n, []) for n in range(4)], 2)
    both_ways = lists.map(marked("left")).union(lists.map(marked("right"))).union(lists.map(lambda r: (r[0], tuple(r[1]))))
    again = lists.map(lambda r: r).map(lambda r: r)
    crossed = both_ways.union(again.map(marked("third"))).union(again.map(marked("fourth")))
    with dbg.capture():
        ran = crossed.collect()
    assert crossed.getLineage().replay().collect() == ran
    assert {len(r[1]) for r in ran} == {0, 1}
    assert crossed.getLineage().goBackAll().replay(exclude=True).collect() == []


def test_records_that_cannot_be_pickled_may_be_read_by_several_operators(dbg: Any) -> None:
    streams = dbg.context.parallelize([1, 2, 3], 2).map(lambda n: (i for i in range(n)))
    read = streams.map(list).union(streams.map(sum))
    with dbg.capture():
        ran = read.collect()
    assert read.getLineage().replay().collect() == ran == [[0], [0, 1], [0, 1, 2], 0, 1, 3]


def test_an_object_that_a_function_gives_again_and_again_is_each_time_what_it_was(dbg: Any) -> None:
    def sums(numbers: Iterator[int]) -> Iterator[list[int]]:
        known = [0]
        for n in numbers:
            known[0] += n
            yield known

    totals = dbg.context.parallelize(range(4), 1).mapPartitions(sums).map(tuple)
    with dbg.capture():
        ran = totals.collect()
    assert totals.getLineage().replay().collect() == ran == [(0,), (1,), (3,), (6,)]


def test_take_ends_where_the_program_does_not(dbg: Any) -> None:
    endless = dbg.context.parallelize([1, 2], 2).flatMap(count)
    with dbg.capture():
        assert endless.take(3) == [1, 2, 3]
    assert endless.getLineage().replay().take(3) == [1, 2, 3]


def test_a_replay_does_not_begin_with_records_that_the_run_did_not_have(dbg: Any) -> None:
    drawn = dbg.context.parallelize(range(4), 2).map(lambda n: (n, uuid4().hex)).zipWithIndex()
    with dbg.capture():
        drawn.collect()
    with pytest.raises(NondeterminismError, match="map#"):
        drawn.getLineage().replay().collect()


# ---- where the place of a record decides ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_replay_keeps_what_the_run_decided_by_the_place_of_a_record(dbg: Any) -> None:
    letters = dbg.context.parallelize("abcdef", 3)
    sampled = dbg.context.parallelize(range(20), 1).sample(False, 0.3, 0)
    uneven = dbg.context.parallelize(range(6), 3).flatMap(lambda n: [n] * (n % 2 + 1))
    for rdd in (
        sampled, sampled.map(lambda n: n + 1), letters.zipWithIndex(), letters.zipWithUniqueId().map(lambda r: r),
        letters.randomSplit([1, 1], 7)[0], letters.map(lambda c: (c, 1)).sampleByKey(False, dict.fromkeys("abcdef", 0.7), 3),
        uneven.zip(uneven.map(lambda n: -n)), sampled.union(letters), letters.sortBy(lambda c: c, False, 2).zipWithIndex(),
    ):
        ran = traced(dbg, rdd)
        assert ran
        for record, replay in ran[-2:]:
            assert both(replay) == [record]


def test_partitions_without_traced_records_give_nothing(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(6), 3)
    largest = numbers.mapPartitions(lambda rs: [max(rs)])  # fails on an empty partition
    for rdd in (numbers.glom(), largest, largest.map(str), numbers.sortBy(lambda n: -n, True, 3).glom()):
        record, replay = traced(dbg, rdd)[-1]
        assert both(replay) == [record]
    both_sides = largest.map(lambda n: (n, n)).union(numbers.map(lambda n: (n, n))).reduceByKey(add, 2)
    for record, replay in traced(dbg, both_sides)[:2]:
        assert both(replay) == [record]


def test_without_a_record_places_are_counted_anew(dbg: Any) -> None:
    numbered = dbg.context.parallelize("abcd", 2).zipWithIndex()
    with dbg.capture():
        numbered.collect()
    first = numbered.getLineage().where(lambda r: r[0] == "a")
    assert first.replay(exclude=True).collect() == [("b", 0), ("c", 1), ("d", 2)]
    assert first.goBackAll().replay(exclude=True, edit=str.upper).collect() == [("A", 0), ("b", 1), ("c", 2), ("d", 3)]


def test_without_a_record_a_sort_draws_its_bounds_anew(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(20), 2)
    ordered = numbers.sortBy(lambda n: -n, True, 3)
    for rdd in (ordered, ordered.zipWithUniqueId(), ordered.glom(), ordered.map(lambda n: (n % 2, [n])).reduceByKey(add, 2)):
        with dbg.capture():
            rdd.collect()
        replay = numbers.getLineage().where(lambda n: n > 9).replay(exclude=True)
        assert replay.collect() == replay.rdd.collect()
