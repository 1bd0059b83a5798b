"""Crash culprits of expressions that give something else each time: a query goes on with what was drawn of the rows that are left (FEATURES B1, B3)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import functions as F

from tests.spark.test_sql_culprits import culprits_of

DRAWS = {
    "if(rand(7) < 0.5, cast(concat('x', id) as int), 0)": "if(rand(7) < 0.5, null, 0)",
    "10 / (monotonically_increasing_id() - 5 + 0 * id)": "try_divide(10, monotonically_increasing_id() - 5 + 0 * id)",
    "if(rand(7) < 0.5, 1 / (id - 1), 0) + if(rand(8) < 0.5, 1 / (id - 6), 0)": "if(rand(7) < 0.5, try_divide(1, id - 1), 0) + if(rand(8) < 0.5, try_divide(1, id - 6), 0)",
}


@pytest.mark.many
@pytest.mark.parametrize("drawn", DRAWS)
def test_rows_keep_what_was_drawn_of_them(drawn: str, dbg: Any, spark: Any) -> None:
    rows = spark.range(0, 8, 1, 1)
    drew = {row.id: row.q for row in rows.selectExpr("id", f"{DRAWS[drawn]} q").collect()}
    left = {number: q for number, q in drew.items() if q is not None}
    assert 0 < len(left) < 8
    frame = rows.selectExpr("id", f"{drawn} q")
    culprits = culprits_of(dbg, frame)
    assert [c.record.id for c in culprits] == [number for number in range(8) if number not in left]
    assert {row.id: row.q for row in dbg.runs[-1].resume(skip=True).result} == left
    with dbg.capture(on_crash="skip"):
        assert {row.id: row.q for row in frame.collect()} == left
    above = rows.where(f"{drawn} > -100")
    assert len(culprits_of(dbg, above)) == 8 - len(left)
    assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [*left]


def test_two_that_draw_do_so_on_each_row(dbg: Any, spark: Any) -> None:
    rows = spark.range(0, 40, 1, 1)
    drew = rows.selectExpr("id", "rand(7) < 0.3 a", "rand(8) < 0.3 b").collect()
    frame = rows.selectExpr("id", "if(rand(7) < 0.3, cast(concat('x', id) as int), 0) a", "if(rand(8) < 0.3, cast(concat('y', id) as int), 0) b")
    assert [c.record.id for c in culprits_of(dbg, frame)] == [row.id for row in drew if row.a or row.b]
    assert list(map(tuple, dbg.runs[-1].resume(skip=True).result)) == [(row.id, 0, 0) for row in drew if not (row.a or row.b)]


@pytest.mark.many
@pytest.mark.parametrize("arrow", [False, True])
def test_a_function_that_draws_in_secret_is_called_once_of_a_row(arrow: bool, dbg: Any, spark: Any) -> None:
    coin = F.udf(lambda n: random.randrange(2), "int", useArrow=arrow)
    tossed = spark.range(0, 200, 1, 1).select("id", coin("id").alias("r"))
    culprits_of(dbg, tossed.selectExpr("id", "r", "10 / r q"))
    result = dbg.runs[-1].resume(skip=True).result
    assert 0 < len(result) < 200
    assert {(row.r, row.q) for row in result} == {(1, 10.0)}
    culprits_of(dbg, tossed.selectExpr("id", "10 / r q"))
    assert {row.q for row in dbg.runs[-1].resume(skip=True).result} == {10.0}
    culprits_of(dbg, tossed.selectExpr("id % 2 k", "10 / r q").groupBy("k").agg(F.count("*").alias("n"), F.count("q").alias("some")))
    assert [row.n == row.some for row in dbg.runs[-1].resume(skip=True).result] == [True, True]


def test_functions_of_sparks_that_are_said_to_draw_tell_what_they_throw(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(0, 1.0, "a"), (1, None, "a"), (2, 3.0, "b")], "id int, v double, s string").coalesce(1)
    (null,) = culprits_of(dbg, VectorAssembler(inputCols=["v"], outputCol="made").transform(rows))
    assert null.record.id == 1
    assert "Encountered null while assembling a row" in null.message
    model = StringIndexer(inputCol="s", outputCol="number").fit(rows.where("id < 2"))
    (unseen,) = culprits_of(dbg, model.transform(rows.select("id", "s")))
    assert unseen.record.id == 2
    assert "Unseen label: b" in unseen.message
    assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [0, 1]


def test_what_is_drawn_says_that_a_row_does_not_throw_by_itself(dbg: Any, spark: Any) -> None:
    (culprit,) = culprits_of(dbg, spark.range(0, 8, 1, 1).selectExpr("id", "10 / (monotonically_increasing_id() - 5) q"))
    assert (culprit.record.id, culprit.message) == (5, "it throws in this query, and not by itself")
