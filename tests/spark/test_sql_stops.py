"""Stops: a trace goes to any DataFrame that a query was made of, to all places where it stands, and on from there."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug import DebugSession


@pytest.fixture(scope="module")
def rows(spark: Any) -> Any:
    return spark.createDataFrame([(i, i % 2, 10 * i) for i in range(1, 7)], "id int, p int, v int")


def ids(trace: Any) -> list[int]:
    return sorted(row.id for row in trace.collect())


@pytest.fixture(scope="module")
def chosen(rows: Any) -> Any:
    return rows.where("v > 10").select("id", "p", "v")


def test_to_both_sides_of_a_self_join(dbg: DebugSession, chosen: Any) -> None:
    pairs = chosen.alias("x").join(chosen.alias("y"), F.col("x.id") == F.col("y.id") - 1)
    counted = pairs.groupBy(F.col("x.p").alias("p")).count()
    trace = dbg.lineage(counted).where("p = 1")
    assert ids(trace.back_to(chosen)) == [3, 4, 5, 6]
    assert trace.back_to(chosen).count() == 4
    ahead = dbg.lineage(counted).goBackAll().where("id = 3").forward_to(counted)
    assert sorted(row.p for row in ahead.collect()) == [0, 1]


@pytest.mark.slow
def test_to_both_branches_of_a_union(dbg: DebugSession, chosen: Any) -> None:
    counted = chosen.union(chosen.where("id > 4")).groupBy("id").count()
    assert ids(dbg.lineage(counted).where("id = 2").back_to(chosen)) == [2]
    assert ids(dbg.lineage(counted).where("id = 5").back_to(chosen)) == [5]
    source = dbg.lineage(counted).goBackAll().where("id = 2")
    assert ids(source.forward_to(chosen)) == [2]
    assert [row.id for row in source.forward_to(chosen).goNextAll().collect()] == [2]


def test_from_a_result_that_no_boundary_names(dbg: DebugSession, chosen: Any) -> None:
    made = chosen.withColumn("z", F.lit(1))
    assert ids(dbg.lineage(made).where("v = 20").back_to(chosen)) == [2]
    higher = made.where("id > 1").withColumn("w", F.col("v") + 1)
    trace = dbg.lineage(higher).where("v = 30").back_to(made).back_to(chosen)
    assert ids(trace) == [3]
    assert ids(trace.forward_to(made)) == [3]
    assert ids(trace.goBackAll()) == [3]


def test_from_rows_that_share_what_they_are_made_of(dbg: DebugSession, chosen: Any) -> None:
    exploded = chosen.select("id", F.explode(F.array("p", "v", "v")).alias("e"))
    made = exploded.withColumn("f", F.col("e") + 1)
    back = dbg.lineage(made).where("e = 40").back_to(exploded)
    assert [tuple(row) for row in back.collect()] == [(4, 40), (4, 40)]
    assert ids(back.back_to(chosen)) == [4]
    assert ids(dbg.lineage(made).where("e = 40").back_to(chosen)) == [4]


def test_from_a_row_that_has_nothing_on_one_side(dbg: DebugSession, rows: Any, chosen: Any) -> None:
    other = rows.where("id > 4").select(F.col("id").alias("other"), F.col("v").alias("w")).withColumn("k", F.col("w") * 2)
    joined = chosen.join(other, chosen.id == other.other, "full").withColumn("z", F.lit(1))
    trace = dbg.lineage(joined)
    assert ids(trace.where("id = 3").back_to(chosen)) == [3]
    assert trace.where("id = 3").back_to(other).collect() == []
    assert [row.other for row in trace.where("id = 5").back_to(other).collect()] == [5]


@pytest.mark.slow
def test_to_a_source_under_two_aliases(dbg: DebugSession, spark: Any) -> None:
    made = spark.createDataFrame([(1, 1, 2, 0), (2, 1, 9, 0), (9, 2, None, 5)], "id int, k int, nxt int, b int")

    def counted(frame: Any) -> Any:
        pairs = frame.alias("l").join(frame.alias("m"), F.col("m.id") == F.col("l.nxt"), "left")
        return pairs.where("m.b is null or m.b = 5").groupBy("l.k").count()

    asked = counted(made)
    back = dbg.lineage(asked).where("k = 2").goBackAll()
    assert back.inputs == ("l", "m")
    assert ids(back["l"]) == [9]
    assert ids(back["m"]) == []
    [row] = [row for row in asked.collect() if row.k == 1]
    whole = dbg.lineage(asked).where("k = 1").goBackAll()
    assert row in counted(whole.toDF()).collect()
