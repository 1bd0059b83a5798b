"""Crash culprits of what fills a cache: all of its rows and columns, whatever the query asks of it (FEATURES B1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.spark.test_sql_culprits import culprits_of

BAD = (4, 9)


@pytest.fixture
def rows(spark: Any) -> Any:
    return spark.createDataFrame([(i, f"x{i}" if i in BAD else str(i)) for i in range(12)], "id int, v string").coalesce(1)


@pytest.fixture(params=["expression", "function"])
def cached(rows: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    number = F.col("v").cast("int") if request.param == "expression" else F.udf(int, "int", useArrow=False)("v")
    frame = rows.select("id", number.alias("a")).cache()
    yield frame
    frame.unpersist()


def bad(culprits: Any) -> list[int]:
    assert culprits.unknown == []
    found = sorted(culprit.record.id for culprit in culprits)
    assert sorted(source.record.id for culprit in culprits for source in culprit.sources) == found
    return found


def test_all_rows_that_a_cache_is_filled_with(dbg: Any, cached: Any) -> None:
    assert bad(culprits_of(dbg, cached.where("id > 5"))) == [4, 9]
    assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [6, 7, 8, 10, 11]


def test_all_columns_that_a_cache_is_filled_with(dbg: Any, cached: Any) -> None:
    for ask in (cached.count, cached.select("id").collect):
        with pytest.raises(Exception, match="x4"):
            ask()
        assert bad(dbg.runs[-1].culprits) == [4, 9]
        assert dbg.runs[-1].resume(skip=True).result in (10, [(i,) for i in range(12) if i not in BAD])


def test_a_cache_that_is_filled_beside_one_that_is_full(dbg: Any, cached: Any, rows: Any) -> None:
    full = rows.selectExpr("id", "upper(v) w").cache()
    full.count()
    try:
        assert bad(culprits_of(dbg, full.join(cached, "id"))) == [4, 9]
        assert sorted((row.id, row.w, row.a) for row in dbg.runs[-1].resume(skip=True).result) == [(i, str(i), i) for i in range(12) if i not in BAD]
    finally:
        full.unpersist()


def test_a_cache_over_others_one_of_them_full(dbg: Any, rows: Any) -> None:
    full = rows.where("id <> 9").cache()
    full.count()
    filled = full.selectExpr("id", "int(v) a").cache()
    above = filled.selectExpr("id", "1 / (id - 2) b", "a").cache()
    try:
        assert sorted(c.record.id for c in culprits_of(dbg, above.where("id > 3").select("id"))) == [2, 4]
        assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [5, 6, 7, 8, 10, 11]
    finally:
        for frame in (above, filled, full):
            frame.unpersist()


@pytest.mark.parametrize("twice", ["join", "union"])
def test_a_cache_that_is_read_twice_is_filled_once(twice: str, dbg: Any, cached: Any) -> None:
    both = cached.alias("l").join(cached.alias("r"), "id") if twice == "join" else cached.union(cached)
    assert bad(culprits_of(dbg, both.where("id > 7"))) == [4, 9]
    assert sorted({row.id for row in dbg.runs[-1].resume(skip=True).result}) == [8, 10, 11]


def test_a_cache_in_a_subquery(dbg: Any, spark: Any, cached: Any) -> None:
    cached.createOrReplaceTempView("cached_numbers")
    frame = spark.sql("select id, (select count(id) from cached_numbers) n from range(3)")
    assert bad(culprits_of(dbg, frame)) == [4, 9]
    assert [row.n for row in dbg.runs[-1].resume(skip=True).result] == [10] * 3


def test_another_dataframe_of_the_same_query_reads_the_cache(dbg: Any, rows: Any) -> None:
    cached = rows.selectExpr("id", "int(v) a").cache()
    try:
        assert bad(culprits_of(dbg, rows.selectExpr("id", "int(v) b").selectExpr("b is null", "id").where("id = 5"))) == [4, 9]
        run = dbg.runs[-1]
        assert [tuple(row) for row in run.resume(skip=True).result] == [(False, 5)]
        assert [tuple(row) for row in run.resume(repair=lambda row: (row.id, "7")).result] == [(False, 5)]
    finally:
        cached.unpersist()


def test_what_a_lazy_cache_of_sql_is_filled_with(dbg: Any, spark: Any, rows: Any) -> None:
    rows.createOrReplaceTempView("to_cache")
    spark.sql("cache lazy table lazily as select id, int(v) a from to_cache")
    try:
        assert bad(culprits_of(dbg, spark.sql("select id from lazily where id = 9"))) == [4, 9]
    finally:
        spark.sql("uncache table lazily")
