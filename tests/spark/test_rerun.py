"""What is computed again for a question: shown as the run saw it, compared with all that the run tells, and harmless."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from bigdebug.errors import NondeterminismError


def bump(record: dict[str, int]) -> dict[str, int]:
    record["v"] += 100
    return record


def test_records_are_shown_as_they_were_before_later_functions_changed_them(dbg: Any) -> None:
    before = dbg.context.parallelize(range(3), 1).map(lambda x: {"v": x})
    after = before.map(bump)
    with dbg.capture("bump"):
        assert after.collect() == [{"v": 100}, {"v": 101}, {"v": 102}]
    trace = after.getLineage().back_to(before)
    assert trace.collect() == [{"v": 0}, {"v": 1}, {"v": 2}]
    assert trace.where(lambda record: record["v"] < 2).collect() == [{"v": 0}, {"v": 1}]
    assert trace.map(lambda record: record["v"]).collect() == [0, 1, 2]


def test_values_that_a_reduce_extends_in_place_are_shown_as_they_came(dbg: Any) -> None:
    def extend(left: list[int], right: list[int]) -> list[int]:
        left.extend(right)
        return left

    pairs = dbg.context.parallelize(range(6), 2).map(lambda i: (i % 2, [i]))
    lists = pairs.reduceByKey(extend)
    with dbg.capture("extend"):
        lists.collect()
    assert lists.getLineage().back_to(pairs).collect() == [(i % 2, [i]) for i in range(6)]


@pytest.mark.parametrize("strategy", ["auto", "lazy"])
def test_a_question_does_not_repeat_what_an_action_did(dbg: Any, tmp_path: Path, strategy: str) -> None:
    log = tmp_path / "log"

    def write(record: int) -> None:
        with log.open("a") as file:
            file.write(f"{record}\n")

    squares = dbg.context.parallelize(range(5), 2).map(lambda x: x * x)
    for act in (lambda: squares.foreach(write), lambda: squares.foreachPartition(lambda it: [write(r) for r in it] and None)):
        log.write_text("")
        with dbg.capture("write", strategy=strategy):
            act()
        trace = squares.getLineage()
        assert trace.where(lambda x: x > 3).collect() == [4, 9, 16]
        assert trace.goBackAll().collect() == [0, 1, 2, 3, 4]
        assert sorted(map(int, log.read_text().split())) == [0, 1, 4, 9, 16]


NOISY = {
    "count": lambda rdd: rdd.count(), "foreach": lambda rdd: rdd.foreach(lambda x: None),
    "dropped by a map": lambda rdd: rdd.map(lambda x: 0).collect(),
    "dropped by a reduce": lambda rdd: rdd.map(lambda x: (0, 1)).reduceByKey(lambda a, b: a + b).collect(),
    "union": lambda rdd: rdd.union(rdd).collect(), "coalesce": lambda rdd: rdd.coalesce(1).collect(),
    "zip": lambda rdd: rdd.zip(rdd).collect(),
}


@pytest.mark.many
@pytest.mark.parametrize("act", NOISY.values(), ids=NOISY)
@pytest.mark.parametrize("strategy", ["auto", "lazy"])
def test_records_that_do_not_repeat_themselves_are_refused_also_where_the_result_hides_them(dbg: Any, act: Any, strategy: str) -> None:
    noise = dbg.context.parallelize(range(10), 2).map(lambda x: (x, random.SystemRandom().random()))
    with dbg.capture("noise", strategy=strategy):
        act(noise)
    trace = dbg.lineage(dbg.runs[-1])
    with pytest.raises(NondeterminismError, match=r"gave (other|different) records"):
        (trace if trace.operators == (noise._definition.operator.id,) else trace.back_to(noise)).collect()


def test_a_filter_that_reads_a_changed_world_is_refused(dbg: Any, tmp_path: Path) -> None:
    world = tmp_path / "world"
    world.write_text("3")
    some = dbg.context.parallelize(range(40), 2).filter(lambda x: x % 10 == int(world.read_text()))
    with dbg.capture("world"):
        assert some.count() == 4
    world.write_text("4")
    trace = some.getLineage()
    assert trace.goBackAll().collect() == [3, 13, 23, 33]  # from the tables of the run
    with pytest.raises(NondeterminismError):
        trace.map(lambda x: x).collect()
    with pytest.raises(NondeterminismError):
        trace.collect()


def test_an_outside_rdd_that_no_stage_reads_is_compared_with_itself(dbg: Any) -> None:
    noise = dbg.plain_context.parallelize(range(6), 2).map(lambda x: random.SystemRandom().random())
    both = dbg.context.union([noise, dbg.context.parallelize([7.0], 1)])
    with dbg.capture("outside"):
        both.collect()
    with pytest.raises(NondeterminismError):
        both.getLineage().collect()


@pytest.mark.many
@pytest.mark.parametrize("make", [
    lambda a, b: a.union(b), lambda a, b: a.union(b).coalesce(2), lambda a, b: a.zip(b), lambda a, b: a.coalesce(1).union(a),
])
def test_records_that_the_jvm_moved_are_found_at_their_parents(dbg: Any, make: Any) -> None:
    sc = dbg.context
    made = make(sc.parallelize(range(7), 3).map(lambda x: (x, "a")), sc.parallelize(range(10, 17), 3).map(lambda x: (x, "b")))
    with dbg.capture("moved"):
        values = made.collect()
    trace = made.getLineage()
    assert trace.collect() == values
    assert trace.map(repr).collect() == list(map(repr, values))
    assert [trace.at([rid]).collect() for rid in trace.rids().tolist()[::3]] == [[value] for value in values[::3]]
    assert trace.where(lambda record: "a" in repr(record)).count() == sum("a" in repr(value) for value in values)


@pytest.mark.parametrize("act", [lambda rdd: rdd.take(2), lambda rdd: rdd.first(), lambda rdd: rdd.foreachPartition(next)])
def test_an_action_that_stops_early_behind_a_shuffle_is_asked_as_far_as_it_went(dbg: Any, act: Any) -> None:
    sums = dbg.context.parallelize(range(100), 2).map(lambda x: (x % 7, x)).reduceByKey(lambda a, b: a + b, 2)
    values = sums.map(lambda kv: kv[1])
    with dbg.capture("early"):
        act(values)
    expected = [sum(range(key, 100, 7)) for key in (0, 2, 4, 6, 1, 3, 5)]
    seen = values.getLineage().collect()
    assert 1 <= len(seen) <= 4
    assert set(seen) <= set(expected)
    assert set(values.getLineage().back_to(sums).replay().collect()) == set(seen)


@pytest.mark.parametrize("strategy", ["auto", "lazy"])
def test_an_operator_inside_a_stage_that_take_left_is_derived_as_far_as_it_went(dbg: Any, strategy: str) -> None:
    numbers = dbg.context.parallelize(range(100), 2)
    twice = numbers.map(lambda x: x + 1).flatMap(lambda x: [x] * (x % 3))
    result = twice.filter(lambda x: x % 2).map(lambda x: 2 * x)
    with dbg.capture("early", strategy=strategy):
        assert result.take(3) == [2, 10, 10]
    step = result.getLineage().at([1]).back_to(twice)
    assert (step.collect(), step.goBackAll().collect()) == ([5], [4])


@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_function_that_stops_early_has_ended_though_its_input_has_not(dbg: Any, n: int) -> None:
    head = dbg.context.parallelize(range(100), 2).map(lambda x: x + 1).mapPartitions(lambda it: (r for r, _ in zip(it, range(2))))
    result = head.map(lambda x: 2 * x)
    with dbg.capture("early"):
        assert result.take(n) == [2, 4, 102, 104][:n]
    trace = result.getLineage()
    assert trace.back_to(head).collect() == [1, 2, 51, 52][:n]
    assert trace.at([1]).back_to(head).collect() == [2]


def test_what_several_jobs_of_one_action_saw_is_shown_by_partition(dbg: Any) -> None:
    sizes = {0: 6, 1: 1, 2: 3, 3: 3}
    rdd = dbg.context.parallelize(range(4), 4).flatMap(lambda p: [(p, i) for i in range(sizes[p])])
    with dbg.capture("take"):
        taken = rdd.take(11)
    trace = rdd.getLineage()
    assert trace.collect()[:11] == taken
    assert trace.where(lambda record: True).count() == trace.count() == len(trace.collect())


@pytest.mark.parametrize("read", [
    lambda rdd: rdd.mapPartitions(lambda it: islice(it, 1)).collect(), lambda rdd: rdd.foreachPartition(next),
    lambda rdd: rdd.take(1),
])
def test_lines_are_counted_from_the_start_of_the_file_also_where_a_function_stopped_early(dbg: Any, tmp_path: Path, read: Any) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1, 101)))
    lines = dbg.context.textFile(str(path), 2)
    with dbg.capture("early"):
        read(lines)
    known = dbg.lineage(lines).source_records()
    assert all(k.record == f"line {k.origin.line}" for k in known)
    saved = dbg.save(str(tmp_path / "saved"), [dbg.runs[-1]])
    assert saved.is_dir()


def test_a_replay_without_a_record_has_all_that_the_function_did_not_read(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {i}\n" for i in range(1, 101)))
    firsts = dbg.context.textFile(str(path), 2).mapPartitions(lambda it: islice(it, 1))
    with dbg.capture("early"):
        assert firsts.collect() == ["line 1", "line 52"]
    without = firsts.getLineage().goBackAll().where(lambda line: line == "line 1").replay(exclude=True)
    assert without.collect() == ["line 2", "line 52"]


def test_a_trace_used_as_an_rdd_looks_at_its_files_each_time(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a 1\nb 2\n")
    upper = dbg.context.textFile(str(path), 1).map(str.upper)
    with dbg.capture("upper"):
        upper.collect()
    lines = upper.getLineage().goBackAll().map(len)
    assert lines.collect() == [3, 3]
    path.write_text("x 8\ny 9\n")
    with pytest.raises(Exception, match="has changed since the run read it"):
        lines.collect()


def test_a_trace_can_be_joined_with_captured_rdds(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(5), 2)
    with dbg.capture("numbers"):
        numbers.map(lambda x: x).collect()
    assert dbg.context.parallelize([9], 1).union(dbg.lineage(numbers)).collect() == [9, 0, 1, 2, 3, 4]
