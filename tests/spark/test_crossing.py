"""Traces go on from DataFrames to the RDDs that they were made of, and back."""

from __future__ import annotations

import gc
import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError, ReplayError, UnknownOperatorError, UntraceableError


@pytest.fixture
def lines(dbg: Any, tmp_path: Path) -> Any:
    (tmp_path / "numbers.txt").write_text("".join(f"{i},{i % 4}\n" for i in range(20)))
    return dbg.context.textFile(str(tmp_path / "numbers.txt"), 3)


def numbers(line: str) -> tuple[int, ...]:
    return tuple(map(int, line.split(",")))


@pytest.fixture
def frame(spark: Any, lines: Any) -> Any:
    return spark.createDataFrame(lines.map(numbers), "i int, k int")


def summed(frame: Any) -> Any:
    return frame.groupBy("k").agg(F.sum("i").alias("s"))


def test_back_to_the_lines_of_a_text_and_ahead_again(dbg: Any, lines: Any, frame: Any) -> None:
    result = summed(frame)
    with dbg.capture():
        result.collect()
    back = dbg.lineage(result).where("k = 2").back_to(lines)
    assert back.collect() == ["2,2", "6,2", "10,2", "14,2", "18,2"]
    assert [origin.line for origin in back.origins()] == [3, 7, 11, 15, 19]
    assert back.forward_to(result).collect() == [Row(k=2, s=50)]
    assert back.at(back.rids()[:1]).forward_to(frame).collect() == [Row(i=2, k=2)]


def test_steps_between(dbg: Any, spark: Any, lines: Any) -> None:
    pairs = lines.map(numbers)
    odd = pairs.filter(lambda pair: pair[0] % 3 != 0)
    frame = spark.createDataFrame(odd, ["i", "k"]).where("i > 5")
    trace = dbg.lineage(frame).where("i = 8")
    assert trace.back_to(odd).collect() == trace.back_to(pairs).collect() == [(8, 0)]
    assert trace.back_to(lines).collect() == ["8,0"]


def test_from_an_rdd_of_rows_to_the_dataframe_and_on_to_the_text(dbg: Any, lines: Any, frame: Any) -> None:
    result = summed(frame)
    halves = result.rdd.map(lambda row: (row.k % 2, row.s)).reduceByKey(lambda a, b: a + b)
    with dbg.capture():
        halves.collect()
    back = halves.getLineage().where(lambda pair: pair[0] == 1)
    assert sorted(back.back_to(result).collect()) == [Row(k=1, s=45), Row(k=3, s=55)]
    assert sorted(r.i for r in back.back_to(frame).collect()) == list(range(1, 20, 2))
    assert back.back_to(result).back_to(lines).count() == 10
    assert dbg.lineage(result).where("k = 3").forward_to(halves).collect() == [(1, 100)]
    assert dbg.lineage(result).goBackAll().where("i = 3").forward_to(halves).collect() == [(1, 100)]


def test_equal_rows_that_nothing_tells_apart_are_refused(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([(1, "a"), (1, "a"), (2, "b")], "x int, s string")
    first = frame.rdd.zipWithIndex().filter(lambda pair: pair[1] == 0)
    every = frame.rdd.filter(lambda row: row.x == 1)
    with dbg.capture():
        first.collect()
        every.collect()
    with pytest.raises(NondeterminismError, match=r"2 rows of the DataFrame are equal to Row\(x=1, s='a'\), the trace names 1"):
        first.getLineage().back_to(frame)
    assert every.getLineage().back_to(frame).count() == 2


def test_an_rdd_that_draws_is_noticed(dbg: Any, spark: Any) -> None:
    drawn = dbg.context.parallelize(range(50), 2).map(lambda i: (i, random.randrange(1 << 60)))
    frame = spark.createDataFrame(drawn, "i int, r long")
    with pytest.raises(NondeterminismError, match=r"The RDD gives|gave other records"):
        dbg.lineage(frame).where("i = 7").back_to(drawn).collect()


def test_rows_with_maps_are_refused(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([(1, {"a": 1})], "x int, m map<string,int>")
    rows = frame.rdd.filter(lambda row: True)
    with dbg.capture():
        rows.collect()
    with pytest.raises(UntraceableError, match="compares no maps"):
        rows.getLineage().back_to(frame)


def test_where_nothing_crosses(dbg: Any, spark: Any, frame: Any) -> None:
    other = dbg.context.parallelize([1])
    with dbg.capture():
        other.collect()
    for wrong in (
        lambda: dbg.lineage(frame).back_to(other), lambda: dbg.lineage(frame).forward_to(other),
        lambda: other.getLineage().back_to(frame), lambda: other.getLineage().forward_to(frame),
    ):
        with pytest.raises(UnknownOperatorError, match="crosses at createDataFrame"):
            wrong()


@pytest.mark.many
@pytest.mark.parametrize("how", ["checkpoint", "localCheckpoint"])
def test_back_behind_a_checkpoint(how: str, dbg: Any, spark: Any, lines: Any, frame: Any, tmp_path: Path) -> None:
    spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    sums = summed(frame)
    kept = getattr(sums, how)()
    result = kept.groupBy((F.col("k") % 2).alias("odd")).agg(F.sum("s").alias("t"))
    trace = dbg.lineage(result).where("odd = 1")
    assert sorted(r.k for r in trace.goBackAll().collect()) == [1, 3]
    assert sorted(trace.back_to(sums).collect()) == [Row(k=1, s=45), Row(k=3, s=55)]
    assert sorted(r.i for r in trace.back_to(frame).collect()) == list(range(1, 20, 2))
    assert trace.back_to(frame).back_to(lines).count() == 10


@pytest.mark.slow
def test_back_behind_checkpoints_of_checkpoints(dbg: Any, frame: Any) -> None:
    sums = summed(frame)
    first = sums.localCheckpoint()
    even = first.where("k % 2 = 0")
    result = even.localCheckpoint().agg(F.max("s").alias("m"))
    trace = dbg.lineage(result)
    assert sorted(r.k for r in trace.back_to(first).collect()) == [0, 2]
    assert sorted(r.i for r in trace.back_to(frame).collect()) == list(range(0, 20, 2))


def test_a_checkpoint_whose_original_is_gone(dbg: Any, frame: Any) -> None:
    result = summed(frame).localCheckpoint().where("k = 1")
    assert [r.k for r in dbg.lineage(result).goBackAll().collect()] == [1]
    gc.collect()
    with pytest.raises(UnknownOperatorError, match="hold the DataFrame that it was taken of"):
        dbg.lineage(result).back_to(frame)


def test_a_crossing_follows_all_ways(dbg: Any, spark: Any) -> None:
    pairs = dbg.context.parallelize([(i, i % 3) for i in range(6)], 2)
    frame = spark.createDataFrame(pairs, "i int, k int")
    both = frame.alias("a").join(frame.alias("b"), F.expr("a.k = b.i")).selectExpr("a.i x", "b.i y")
    assert sorted(dbg.lineage(both).where("x = 4").back_to(pairs).collect()) == [(1, 1), (4, 1)]
    with dbg.capture():
        pairs.collect()
    reached = pairs.getLineage().where(lambda pair: pair[0] == 2).forward_to(both)
    assert sorted(map(tuple, reached.collect())) == [(2, 2), (5, 2)]


def test_back_from_a_union_of_rows(dbg: Any, spark: Any, frame: Any) -> None:
    parts = [frame.where(f"k = {k}").rdd for k in (0, 1)]
    union = parts[0].union(parts[1])
    with dbg.capture():
        union.collect()
    assert sorted(r.i for r in union.getLineage().back_to(frame).collect()) == [i for i in range(20) if i % 4 < 2]


def test_a_crossing_is_no_run_of_the_user(dbg: Any, lines: Any, frame: Any) -> None:
    result = summed(frame)
    with dbg.capture("mine") as mine:
        result.collect()
        assert dbg.lineage(result).where("k = 1").back_to(lines).count() == 5
    assert [run.action for run in mine.runs] == ["collect"]
    assert "count" not in [run.action for run in dbg.runs]


BELOW = {
    "an expression": lambda frame: frame.selectExpr("id", "6 div (id % 7 - 3) n"),
    "a function": lambda frame: frame.select("id", F.udf(lambda n: 6 // (n % 7 - 3), "int", useArrow=False)("id").alias("n")),
}

ABOVE = {
    "map": lambda rows: rows.map(lambda row: row.n).sum(),
    "shuffle": lambda rows: rows.map(lambda row: (row.id % 2, row.n)).reduceByKey(max).collect(),
    "for each partition": lambda rows: rows.foreachPartition(lambda part: None),
}


@pytest.mark.many
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("above", ABOVE)
@pytest.mark.parametrize("below", BELOW)
def test_what_crashes_in_the_query_that_an_rdd_reads(dbg: Any, spark: Any, below: str, above: str, captured: bool) -> None:
    frame = BELOW[below](spark.range(0, 21, 1, 4))
    before = len(dbg.runs)
    with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|division"), dbg.capture() if captured else nullcontext():
        ABOVE[above](frame.rdd)
    (run,) = dbg.runs[before:]
    assert sorted(culprit.record.id for culprit in run.culprits) == [3, 10, 17]
    assert [[source.record.id for source in culprit.sources] for culprit in run.culprits] == [[c.record.id] for c in run.culprits]
    (why,) = run.culprits.unknown
    assert why.startswith("What is above ")
    with pytest.raises(ReplayError, match="in the query of a DataFrame, below this program"):
        run.resume(skip=True)


def test_a_crash_in_an_rdd_above_a_query_is_told_as_ever(dbg: Any, spark: Any) -> None:
    before = len(dbg.runs)
    with pytest.raises(Exception, match="division"):
        spark.range(9).rdd.map(lambda row: 1 // (row.id - 5)).collect()
    (run,) = dbg.runs[before:]
    assert [culprit.record.id for culprit in run.culprits] == [5]
    assert run.culprits.unknown == []
