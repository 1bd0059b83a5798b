"""Declared workloads: indexes hold what will be asked, answers are the same, and other questions are still answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.errors import UnknownColumnError, UnknownOperatorError

SQL = """
select o.region, count(*) n, sum(l.price) revenue from lines l join orders o on l.o = o.o where l.price > 1 group by o.region
"""


@pytest.fixture(scope="module")
def views(spark: Any) -> Iterator[None]:
    lines = [
        (i % 90, ["air", "sea", "rail", None][i % 4], Decimal(i % 37) / 4, date(2026, 1, 1) + timedelta(i % 9), i) for i in range(900)
    ]
    spark.createDataFrame(lines, "o int, mode string, price decimal(10,2), day date, id int").createOrReplaceTempView("lines")
    spark.createDataFrame([(i, f"r{i % 3}") for i in range(90)], "o int, region string").createOrReplaceTempView("orders")
    yield
    for name in ("lines", "orders"):
        spark.catalog.dropTempView(name)


@contextmanager
def no_jobs(spark: Any) -> Iterator[None]:
    tracker = spark.sparkContext._jsc.sc().statusStore()
    before = tracker.jobsList(None).length()
    yield
    assert tracker.jobsList(None).length() == before


def kept(dbg: Any, frame: Any) -> dict[str, tuple[int, int]]:
    """By index its entries and bytes."""
    return {built.what: (built.witnesses, built.bytes) for built in dbg.lineage(frame).run.questions.built}


def test_relations_and_direction_prune(dbg: Any, spark: Any, views: None) -> None:
    whole, pruned = spark.sql(SQL), spark.sql(SQL)
    dbg.index(whole)
    workload = dbg.declare(pruned, relations="lines", direction="backward")
    built = dbg.index(pruned)
    [(_, before)], [(_, after)] = kept(dbg, whole).values(), kept(dbg, pruned).values()
    assert after < before
    assert str(workload) in built.text()
    expected = dbg.lineage(whole).where("region = 'r1'").goBackAll()
    trace = dbg.lineage(pruned).where("region = 'r1'")
    with no_jobs(spark):
        assert list(dbg.lineage(pruned).goBackAll()["lines"].rids()) == list(dbg.lineage(whole).goBackAll()["lines"].rids())
    back = trace.goBackAll()
    assert list(back["lines"].rids()) == list(expected["lines"].rids())
    assert list(back["orders"].rids()) == list(expected["orders"].rids())
    assert back["orders"].goNextAll().collect() == expected["orders"].goNextAll().collect()


def test_a_selection_is_pushed(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, "lines", where="mode = 'air'")
    everything = dbg.lineage(spark.sql(SQL)).where("region = 'r2'").goBackAll()["lines"].where("mode = 'air'")
    assert "lines where mode = 'air'" in dbg.index(frame).text()
    back = dbg.lineage(frame).where("region = 'r2'")
    assert back.count() == 1
    lines = back.goBackAll()["lines"]
    with no_jobs(spark):
        found = lines.where("'air' = mode").rids()
    assert list(found) == list(everything.rids())
    assert len(found) == everything.count() > 0
    other = back.goBackAll()["lines"].where("mode = 'sea'")
    assert other.count() == spark.sql("select * from lines join orders using (o) where region = 'r2' and mode = 'sea' and price > 1").count()


@pytest.mark.parametrize(("column", "value", "condition"), [
    ("mode", "sea", "mode = 'sea'"), ("mode", None, "mode <=> null"), ("day", date(2026, 1, 3), "day = date'2026-01-03'"),
    ("price", Decimal("4.00"), "price = 4.00"), ("mode", "none such", "mode = 'none such'"),
])
def test_rids_are_partitioned(column: str, value: Any, condition: str, dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, ["lines"], partition_by=column)
    dbg.index(frame)
    plain = dbg.lineage(spark.sql(SQL)).goBackAll()["lines"].where(condition)
    for asked in (condition, F.expr(condition), {column: value}):
        trace = dbg.lineage(frame).goBackAll()["lines"].where(asked)
        assert list(trace.rids()) == list(plain.rids())
        assert trace.toDF().where(f"not ({condition})").count() == 0
    assert list(dbg.lineage(frame).goBackAll()["lines"].rids()) == list(dbg.lineage(spark.sql(SQL)).goBackAll()["lines"].rids())


def test_groups_are_pushed(dbg: Any, spark: Any, views: None) -> None:
    frame, plain = spark.sql(SQL), spark.sql(SQL)
    dbg.declare(frame, "lines", group_by="mode", sums=["price", "id"])
    dbg.index(frame)
    expected = dbg.lineage(plain).where("region = 'r0'").goBackAll()["lines"]
    names = dbg.lineage(frame).where("region = 'r0'")
    assert names.count() == 1
    back = names.goBackAll()["lines"]
    with no_jobs(spark):
        found = back.grouped("mode", sums=["price"])
    assert found.equals(expected.grouped("mode", sums=["price"]))
    assert list(found.columns) == ["mode", "count", "sum(price)"]
    every = dbg.lineage(frame).goBackAll()["lines"].grouped("mode")
    assert every["count"].sum() == dbg.lineage(plain).goBackAll()["lines"].count()
    assert back.grouped("day").equals(expected.grouped("day"))


def test_a_selection_and_groups_within_it(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, "lines", where="price > 5", group_by=["mode", "day"], partition_by="mode")
    dbg.index(frame)
    expected = dbg.lineage(spark.sql(SQL)).where("region = 'r1'").goBackAll()["lines"].where("price > 5")
    within = dbg.lineage(frame).where("region = 'r1'").goBackAll()["lines"].where("price > 5")
    assert within.grouped("mode", "day").equals(expected.grouped("mode", "day"))
    assert list(within.where("mode = 'air'").rids()) == list(expected.where("mode = 'air'").rids())
    unfiltered = dbg.lineage(frame).where("region = 'r1'").goBackAll()["lines"]
    assert unfiltered.grouped("mode", "day")["count"].sum() == unfiltered.count()


def test_a_record_in_several_groups_counts_once(dbg: Any, spark: Any, views: None) -> None:
    sql = "select mode, day, sum(price) s from lines group by cube(mode, day)"
    frame = spark.sql(sql)
    dbg.declare(frame, "lines", group_by="mode")
    dbg.index(frame)
    assert dbg.lineage(frame).goBackAll()["lines"].grouped("mode")["count"].tolist() == [225, 225, 225, 225]
    alone = dbg.lineage(frame).where("mode is null and day is null and s > 2000").goBackAll()["lines"]
    assert alone.grouped("mode")["count"].sum() == alone.count()


def test_think_time_builds_what_was_declared(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, "orders", direction="backward")
    with dbg.capture(strategy="defer"):
        rows = frame.collect()
    assert dbg.wait_for_indexes(60)
    assert len(dbg.index(frame).rows) == 1
    lineage = dbg.lineage(frame).where(rows[0])
    with no_jobs(spark):
        assert len(lineage.goBackAll()["orders"].rids()) == 30


def test_what_cannot_be_declared(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    with pytest.raises(UnknownOperatorError, match=r"no such relation .*'line'.*lines"):
        dbg.declare(frame, "line")
    with pytest.raises(UnknownColumnError, match=r"lines has no such column .*mod.*mode"):
        dbg.declare(frame, "lines", partition_by="mod")
    with pytest.raises(UnknownColumnError, match="no such column"):
        dbg.declare(frame, "lines", where="weight > 1")
    with pytest.raises(ValueError, match="one relation"):
        dbg.declare(frame, ["lines", "orders"], where="o > 1")
    with pytest.raises(ValueError, match="direction is one of"):
        dbg.declare(frame, "lines", direction="sideways")
    with pytest.raises(TypeError, match="takes a DataFrame"):
        dbg.declare("lines", "lines")
    dbg.index(frame)
    assert dbg.lineage(frame).run.questions.declared is None
