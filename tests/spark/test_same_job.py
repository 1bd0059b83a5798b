"""A captured job is the job that PySpark would run: the functions it pickled, what it has cached, the order it pairs in."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from operator import add
from pathlib import Path
from typing import Any

import pytest

from bigdebug.errors import IncompleteLineageError, NondeterminismError, SourceChangedError

cell = {"step": 0}
"""What a notebook's cells change between definitions."""


def loop(sc: Any) -> Any:
    """Each round's functions see the round's number; PySpark pickles them when the next shuffle is defined."""
    rdd = sc.parallelize(range(12), 2).map(lambda x: (x % 3, x))
    for cell["step"] in (1, 2, 3):
        rdd = rdd.map(lambda kv: (kv[0], kv[1] * 10 + cell["step"])).reduceByKey(add, 2)
    return rdd


@pytest.mark.many
@pytest.mark.parametrize("joined", [
    lambda a, b: a.union(b), lambda a, b: a.zip(b), lambda a, b: a.cartesian(b), lambda a, b: a.coalesce(1),
    lambda a, b: a.repartition(2), lambda a, b: a.join(b), lambda a, b: a.sortByKey(), lambda a, b: a.cache().values(),
])
def test_variables_that_change_after_a_definition_do_not_reach_it(dbg: Any, joined: Any) -> None:
    def program(sc: Any) -> Any:
        cell["step"] = 1
        left = sc.parallelize(range(6), 2).map(lambda x: (x % 2, x * cell["step"]))
        both = joined(left, sc.parallelize(range(6), 2).map(lambda x: (x % 2, -x * cell["step"])))
        cell["step"] = 50
        return both

    expected = sorted(program(dbg.plain_context).collect())
    rdd = program(dbg.context)
    with dbg.capture("late"):
        assert sorted(rdd.collect()) == expected
    assert sorted(rdd.getLineage().replay().collect()) == expected


def test_a_loop_over_a_global_gives_what_pyspark_gives(dbg: Any) -> None:
    expected = sorted(loop(dbg.plain_context).collect())
    rdd = loop(dbg.context)
    cell["step"] = 99
    with dbg.capture("loop"):
        assert sorted(rdd.collect()) == expected
    trace = rdd.getLineage()
    for rid, (key, _) in zip(trace.rids().tolist(), rdd.collect()):
        assert trace.at([rid]).goBackAll().collect() == [x for x in range(12) if x % 3 == key]


def test_what_an_action_froze_stays_frozen_under_capture(dbg: Any) -> None:
    cell["step"] = 1
    rdd = dbg.context.parallelize(range(3), 1).map(lambda x: x * cell["step"])
    assert rdd.collect() == [0, 1, 2]
    cell["step"] = 10
    with dbg.capture("frozen"):
        assert rdd.collect() == [0, 1, 2]
    assert rdd.collect() == [0, 1, 2]


# ---- what Spark holds already -------------------------------------------------------------------------------------


def stored(sc: Any, how: str, path: Path) -> Any:
    rdd = sc.parallelize(range(8), 3).map(lambda x: (x, random.random()))
    if how == "checkpoint":
        sc.setCheckpointDir(str(path))
        rdd.checkpoint()
        rdd.count()
    else:
        getattr(rdd, how)()
    return rdd


@pytest.mark.parametrize("how", ["cache", "persist", "checkpoint", "localCheckpoint"])
def test_what_was_stored_without_capture_is_read_and_not_computed_again(dbg: Any, tmp_path: Path, how: str) -> None:
    rdd = stored(dbg.context, how, tmp_path)
    before = rdd.collect()
    child = rdd.map(lambda kv: kv[1])
    with dbg.capture("stored") as run:
        assert rdd.collect() == before
        if how != "localCheckpoint":  # PySpark pipelines through it
            assert child.collect() == [value for _, value in before]
    assert run.incomplete == ()
    trace = rdd.getLineage().at(rdd.getLineage().rids()[2:3])
    assert trace.collect() == [before[2]]
    with pytest.raises((IncompleteLineageError, NondeterminismError), match="map#"):
        trace.goBackAll().rids()
    rdd.unpersist()


def test_lineage_of_what_was_stored_without_capture_is_derived_and_compared(dbg: Any) -> None:
    rdd = dbg.context.parallelize(range(40), 4).flatMap(lambda x: [x] * (x % 3)).map(lambda x: (x % 5, x)).cache()
    values = rdd.collect()
    sums = rdd.reduceByKey(add, 2)
    with dbg.capture("sums"):
        found = sums.collect()
    trace = sums.getLineage()
    for rid, (key, total) in zip(trace.rids().tolist(), found):
        behind = trace.at([rid]).goBackAll().collect()
        assert behind == sorted({x for k, x in values if k == key})
        assert total == sum(x * (x % 3) for x in behind)
        assert trace.at([rid]).goBackAll().goNextAll().rids().tolist() == [rid]
    rdd.unpersist()


def test_a_checkpoint_whose_source_is_gone_is_still_read(dbg: Any, tmp_path: Path) -> None:
    dbg.context.setCheckpointDir(str(tmp_path / "checkpoints"))
    path = tmp_path / "gone.txt"
    path.write_text("a\nb\n")
    upper = dbg.context.textFile(str(path), 1).map(str.upper)
    upper.checkpoint()
    assert upper.collect() == ["A", "B"]
    path.unlink()
    with dbg.capture("gone") as run:
        assert upper.collect() == ["A", "B"]
    assert run.status == "succeeded"
    with pytest.raises(SourceChangedError):
        upper.getLineage().goBackAll().collect()


def test_a_coalesce_of_what_is_cached_traces_to_the_groups_that_spark_chose(dbg: Any) -> None:
    base = dbg.context.parallelize(range(40), 10).map(lambda x: x).cache()
    with dbg.capture("cached"):
        base.count()
        base.count()
    groups = base.coalesce(3)
    with dbg.capture("groups"):
        values = groups.collect()
    trace = groups.getLineage()
    assert [trace.at([rid]).goBackAll().collect() for rid in trace.rids().tolist()] == [[value] for value in values]
    base.unpersist()


# ---- what PySpark does not move -----------------------------------------------------------------------------------

ALIGNED = [
    lambda a, b: a.join(b), lambda a, b: a.fullOuterJoin(b), lambda a, b: a.cogroup(b).mapValues(in_order), lambda a, b: a.subtractByKey(b),
    lambda a, b: a.groupWith(b, b).mapValues(in_order), lambda a, b: a.groupByKey().mapValues(sorted), lambda a, b: a.reduceByKey(add),
    lambda a, b: a.join(b, 4), lambda a, b: a.leftOuterJoin(b.map(lambda kv: kv), 3), lambda a, b: a.join(a),
    lambda a, b: a.join(b).mapValues(sum).reduceByKey(add).join(a), lambda a, b: a.cache().join(b.cache()),
    lambda a, b: a.repartitionAndSortWithinPartitions(3), lambda a, b: a.groupByKey(2).mapValues(sorted),
]


def in_order(groups: Any) -> list[list[Any]]:
    return [sorted(group) for group in groups]


@pytest.mark.many
@pytest.mark.parametrize("make", ALIGNED)
def test_records_that_are_partitioned_as_they_are_to_be_are_not_moved(dbg: Any, make: Any) -> None:
    def program(sc: Any) -> Any:
        left = sc.parallelize([(n % 7, n) for n in range(40)], 4).partitionBy(3).mapValues(lambda v: v + 1)
        return make(left, sc.parallelize([(n % 5, -n) for n in range(20)], 2).partitionBy(3))

    def stages(group: str) -> int:
        tracker = dbg.context.statusTracker()
        return sum(len(tracker.getJobInfo(job).stageIds) for job in tracker.getJobIdsForGroup(group))

    plain, captured = (f"{ALIGNED.index(make)} {how}" for how in ("plain", "captured"))
    dbg.context.setJobGroup(plain, "")
    expected = program(dbg.plain_context).glom().collect()
    dbg.context.setJobGroup(captured, "")
    rdd = program(dbg.context)
    with dbg.capture("aligned") as run:
        assert [sorted(part) for part in rdd.glom().collect()] == [sorted(part) for part in expected]
    assert run.incomplete == ()
    assert stages(captured) == stages(plain)
    trace = rdd.getLineage()
    assert sorted(trace.collect()) == sorted(record for part in expected for record in part)


def test_a_join_takes_the_first_two_parts_of_a_record(dbg: Any) -> None:
    def program(sc: Any) -> Any:
        triples = sc.parallelize([(n % 3, n, "more") for n in range(6)], 2)
        return triples.join(sc.parallelize([[0, "a", 1], [1, "b", 2]], 1))

    rdd = program(dbg.context)
    with dbg.capture("triples"):
        found = rdd.collect()
    assert sorted(found) == sorted(program(dbg.plain_context).collect()) == [(0, (0, "a")), (0, (3, "a")), (1, (1, "b")), (1, (4, "b"))]
    one = rdd.getLineage().where(lambda r: r[1][0] == 4)
    assert [list(side) for side in sorted(one.goBackAll().collect(), key=len)] == [[1, 4, "more"], [1, "b", 2]]
    assert one.replay().collect() == one.replay().rdd.collect() == [(1, (4, "b"))]


# ---- which run knows ----------------------------------------------------------------------------------------------


def test_a_run_over_a_shuffle_of_an_earlier_run_knows_the_file_of_that_run(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a 1\nb 2\na 3\n")
    sums = dbg.context.textFile(str(path), 1).map(lambda line: (line[0], int(line[2:]))).reduceByKey(add)
    with dbg.capture("first"):
        sums.collect()
    path.write_text("a 7\nz 8\na 9\n")
    with dbg.capture("second"):
        assert sorted(sums.collect()) == [("a", 4), ("b", 2)]
    with pytest.raises(SourceChangedError, match="written again"):
        sums.getLineage().goBackAll().collect()


def test_stages_of_another_run_do_not_answer(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a b c\nd\n")
    words = dbg.context.textFile(str(path), 1).flatMap(str.split)
    with dbg.capture("first"):
        words.collect()
    path.write_text("a\nb c d\n")
    upper = words.map(str.upper)
    with dbg.capture("second"):
        assert upper.collect() == ["A", "B", "C", "D"]
    trace = upper.getLineage().at([1])
    assert trace.goBackAll().collect() == ["b c d"]
    assert trace.back_to(words).goBackAll().collect() == ["b c d"]
    first = upper.getLineage().goBackAll().at([0])
    assert first.forward_to(words).rids().tolist() == first.forward_to(upper).rids().tolist() == [0]


def test_captures_in_two_threads_keep_their_own_runs(dbg: Any) -> None:
    inside, leave = threading.Event(), threading.Event()
    found: dict[str, Any] = {}

    def other() -> None:
        with dbg.capture("other") as capture:
            inside.set()
            leave.wait(30)
            dbg.context.parallelize([1, 2], 1).count()
        found["other"] = capture

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(30)
    with dbg.capture("mine") as mine:
        leave.set()
        thread.join()
        assert dbg.context.isCaptureLineage()
        dbg.context.parallelize([1, 2, 3], 1).count()
    assert not dbg.context.isCaptureLineage()
    assert [(run.name, run.statistics.records_in) for run in mine.runs] == [("mine", 3)]
    assert [(run.name, run.statistics.records_in) for run in found["other"].runs] == [("other", 2)]


def test_a_block_around_another_hears_of_its_runs(dbg: Any) -> None:
    with dbg.capture("outer") as outer:
        with dbg.capture("inner") as inner:
            dbg.context.parallelize([1], 1).count()
        dbg.context.parallelize([1], 1).count()
    assert [run.name for run in outer.runs] == ["inner", "outer"]
    assert [run.name for run in inner.runs] == ["inner"]


def test_an_action_of_a_process_that_ends_runs_without_capture(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    over = ThreadPoolExecutor(1)
    over.shutdown()  # as Python does before it calls what atexit knows
    with dbg.capture() as capture:
        with monkeypatch.context() as patched:
            patched.setattr(dbg._recorder, "beside", over)
            patched.setattr(dbg._frames, "beside", over)
            assert spark.range(3).count() == 3
            assert dbg.context.parallelize([1, 2], 1).count() == 2
        assert not capture.runs
        assert spark.range(3).count() == 3
        assert dbg.context.parallelize([1, 2], 1).count() == 2
    assert len(capture.runs) == 2
