"""Replay runs the program that ran, on chosen records; law 3 and the ex-replay law hold for random programs besides."""

from __future__ import annotations

from operator import add
from typing import Any

import pytest


def both(replay: Any) -> list[Any]:
    """The records of a replay, the same in this process and on Spark."""
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


def test_a_replay_with_another_fault_raises_what_the_function_raises(dbg: Any) -> None:
    halves = dbg.context.parallelize([4, 2, 1], 1).map(lambda n: 8 // n)
    with dbg.capture():
        halves.collect()
    replay = halves.getLineage().goBackAll().replay(exclude=True, edit=lambda n: 0)
    with pytest.raises(ZeroDivisionError):
        replay.collect()


def test_large_replays_run_on_spark_and_agree(dbg: Any) -> None:
    pairs = dbg.context.parallelize(range(60_000), 3).map(lambda n: (n % 5, 1)).reduceByKey(add, 2)
    with dbg.capture():
        pairs.collect()
    bad = pairs.getLineage().where(lambda r: r[0] == 3).goBackAll()
    assert bad.count() == 12_000
    assert sorted(bad.replay(exclude=True).collect()) == [(k, 12_000) for k in (0, 1, 2, 4)]
    assert bad.replay().collect() == [(3, 12_000)]
