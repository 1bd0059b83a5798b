"""Declared workloads: indexes hold what will be asked, answers are the same, and other questions are still answered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import functions as F

from bigdebug.errors import BigdebugError, UnknownColumnError, UnknownOperatorError
from tests.left import jobs_run

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
    before = jobs_run(spark)
    yield
    assert jobs_run(spark) == before


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


@pytest.mark.many
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_index_of_what_was_used_is_enough_where_records_go_one_way(dbg: Any, spark: Any, views: None) -> None:
    sql = """select o.region, count(*) n from lines l join orders o on l.o = o.o
             where l.o in (select o from lines group by o having sum(id) > 4900) group by o.region"""
    frame = spark.sql(sql)
    with dbg.capture():
        rows = frame.collect()
    plain = dbg.lineage(frame).where(rows[0]).goBackAll()["lines"]
    assert plain.count() == rows[0].n > 0
    dbg.index(frame)
    with no_jobs(spark):
        assert list(dbg.lineage(frame).where(rows[0]).goBackAll()["lines"].rids()) == list(plain.rids())


@pytest.mark.slow
def test_an_index_knows_what_no_row_was_made_of(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql("select mode, s from (select mode, sum(id) s, count(*) n from lines group by mode) where s > 1e9 or mode = 'sea' order by s")
    group = dbg.lineage(frame).goBack(1)
    lines = dbg.lineage(frame).goBackAll()["lines"]
    every = lines.standing_at({lines.operators[0]: None})
    for _ in range(2):
        reached = every.where("mode = 'air'").goNext(1)
        assert reached.operators == group.operators
        assert [r.mode for r in reached.collect()] == ["air"]
        assert {r.mode for r in reached.goBack(1).collect()} == {"air"}
        assert reached.goNextAll().count() == 0
        assert {r.mode for r in every.goNext(1).collect()} > {"sea", "air"}
        dbg.index(frame)


def test_what_cannot_be_declared(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    with pytest.raises(UnknownOperatorError, match=r"no such relation .*'line'.*lines"):
        dbg.declare(frame, "line")
    with pytest.raises(UnknownColumnError, match=r"no such column in lines .*mod.*mode"):
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


@pytest.mark.many
@pytest.mark.parametrize("sql", [
    "select l.id, o.region, l.mode from lines l join orders o on l.o = o.o",
    "select id, sum(price) over (partition by mode order by id) s from lines",
    "select id, mode from lines order by id limit 40",
    "select id, mode, rand() r from lines",
])
def test_queries_without_groups(sql: str, dbg: Any, spark: Any, views: None) -> None:
    frame, plain = spark.sql(sql), spark.sql(sql)
    for each in (frame, plain):
        with dbg.capture():
            each.collect()
    dbg.declare(frame, "lines", partition_by="mode", group_by="mode")
    dbg.index(frame)
    for condition in ("id = 21", "id < 9"):
        back, expected = (dbg.lineage(each).where(condition).goBackAll()["lines"] for each in (frame, plain))
        assert back.grouped("mode").equals(expected.grouped("mode"))
        assert list(back.where("mode = 'sea'").rids()) == list(expected.where("mode = 'sea'").rids())


def test_a_value_that_is_null_is_equal_to_none(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, "lines", partition_by="mode")
    dbg.index(frame)
    lines = dbg.lineage(frame).goBackAll()["lines"]
    assert lines.where("mode = null").count() == 0
    assert lines.where("mode <=> null").count() == lines.where("mode is null").count() > 0


@pytest.mark.slow
def test_a_relation_that_is_read_twice(dbg: Any, spark: Any, views: None) -> None:
    sql = "select a.o, count(*) n from orders a join orders b on a.o = b.o + 1 group by a.o"
    frame, plain = spark.sql(sql), spark.sql(sql)
    dbg.declare(frame, "orders", partition_by="region", group_by="region")
    dbg.index(frame)
    for name in ("orders", "orders#2"):
        back, expected = (dbg.lineage(each).where("o = 7").goBackAll()[name] for each in (frame, plain))
        assert back.grouped("region").equals(expected.grouped("region"))
        assert sorted(back.where("region = 'r1'").collect()) == sorted(expected.where("region = 'r1'").collect())


def test_another_declaration_takes_the_place_of_the_first(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, "lines", where="price > 5")
    dbg.index(frame)
    within = dbg.lineage(frame).goBackAll()["lines"].where("price > 5")
    dbg.declare(frame, "lines", partition_by="mode")
    dbg.index(frame)
    assert within.where("mode = 'air'").toDF().where("price <= 5").count() == 0


@pytest.mark.slow
def test_a_pruned_index_invents_nothing_ahead(dbg: Any, spark: Any, views: None) -> None:
    sql = "select l.id, o.region from lines l join orders o on l.o = o.o order by l.id limit 5"
    frame = spark.sql(sql)
    dbg.declare(frame, "lines", direction="backward")
    dbg.index(frame)
    assert dbg.lineage(frame).goBackAll()["orders"].goNextAll().count() == 5


def test_a_trace_at_its_sources_stays_there(dbg: Any, spark: Any, views: None) -> None:
    frame = spark.sql(SQL)
    dbg.declare(frame, "lines", where="mode = 'air'")
    back = dbg.lineage(frame).where("region = 'r1'").goBackAll()
    assert back.goBackAll()["lines"].where("mode = 'air'").count() == back["lines"].where("mode = 'air'").count()


def test_sums_that_are_too_large_fail_as_in_spark(dbg: Any, spark: Any) -> None:
    rows = [(i, i % 2, (1 << 62) + 5) for i in range(4)]
    spark.createDataFrame(rows, "id long, k long, big long").createOrReplaceTempView("wide")
    frame = spark.sql("select id, count(*) n from wide group by id")
    dbg.declare(frame, "wide", group_by="k", sums="big")
    dbg.index(frame)
    wide = dbg.lineage(frame).goBackAll()["wide"]
    assert wide.where("id < 2").grouped("k", sums="big")["sum(big)"].tolist() == [(1 << 62) + 5] * 2
    with pytest.raises(ArithmeticException):
        wide.grouped("k", sums="big")


@pytest.mark.parametrize("wrong", [
    {"partition_by": "d"}, {"group_by": "d"}, {"sums": "id"}, {"where": lambda row: True}, {"relations": 5}, {"where": "id > rand()"},
])
def test_what_an_index_cannot_tell_apart_is_refused(wrong: Any, dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(i, i / 2) for i in range(4)], "id long, d double").createOrReplaceTempView("measured")
    frame = spark.sql("select id, max(d) from measured group by id")
    with pytest.raises((BigdebugError, ValueError, TypeError)):  # each says what of it is wrong
        dbg.declare(frame, **{"relations": "measured", **wrong})
    assert dbg.lineage(frame).run.questions.declared is None
