"""What Spark takes for equal is one group, one tie and one answer, with an index and without."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import IntEnum
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError, UnknownColumnError, UnknownRecordError, UntraceableError
from tests.spark.oracle import check, check_whole, restored


@pytest.fixture(scope="module")
def zeros(spark: Any) -> Any:
    nan = float("nan")
    return spark.createDataFrame([(1, 0.0), (2, -0.0), (3, nan), (4, nan), (5, None), (6, 1.5)], "id int, x double").localCheckpoint()


@pytest.fixture(scope="module")
def names(spark: Any) -> Any:
    frame = spark.createDataFrame([(1, "Ann"), (2, "ann"), (3, "ANN"), (4, "bob"), (5, None)], "id int, s string")
    return frame.select("id", F.expr("s collate UTF8_LCASE").alias("s")).localCheckpoint()


@pytest.mark.many
@pytest.mark.parametrize("indexed", [False, True])
def test_groups(indexed: bool, dbg: Any, zeros: Any, names: Any) -> None:
    for frame, key, groups in ((zeros, "x", [{1, 2}, {3, 4}, {5}, {6}]), (names, "s", [{1, 2, 3}, {4}, {5}])):
        result = frame.groupBy(key).agg(F.count("*").alias("n"), F.sum("id").alias("total"))
        if indexed:
            dbg.index(result)
        for group in groups:
            trace = dbg.lineage(result).where(f"total = {sum(group)}")
            back = trace.goBackAll()
            assert {r.id for r in back.collect()} == group
            for id_ in group:
                ahead = back.where(f"id = {id_}").goNextAll()
                assert ahead.count() == len(ahead.collect()) == 1


def test_groups_of_functions(dbg: Any, zeros: Any, names: Any) -> None:
    for frame, group in ((zeros.dropna(), {1, 2}), (names, {1, 2, 3})):
        key = frame.columns[1]
        result = frame.groupBy(key).applyInPandas(lambda rows: rows[["id"]], "id int")
        assert {r.id for r in dbg.lineage(result).where("id = 1").goBackAll().collect()} == group


def test_distinct_rows_and_windows(dbg: Any, zeros: Any, names: Any) -> None:
    for frame, group in ((zeros, {1, 2}), (names, {1, 2, 3})):
        key = frame.columns[1]
        ranked = frame.withColumn("n", F.count("*").over(Window.partitionBy(key)))
        assert {r.id for r in dbg.lineage(ranked).where("id = 2").goBackAll().collect()} == group
        assert dbg.lineage(frame.select(key).distinct()).goBackAll().count() == frame.count()


def test_ties_of_a_limit(dbg: Any, zeros: Any, names: Any) -> None:
    for inner in (zeros.where("id < 3").orderBy("x").limit(1), names.orderBy(F.desc("s")).where("id < 4").limit(1)):
        with pytest.raises(NondeterminismError, match="does not tell apart"):
            dbg.lineage(inner.groupBy().count()).goBackAll().count()


@pytest.mark.parametrize("sql", [
    "select m from (select max(s) m from names where id < 4) where m collate utf8_binary = 'Ann'",
    "select count(*) n from names group by s having s collate utf8_binary = 'ann'",
    "select count(*) n from (select distinct s from names) where ascii(s) = 65",
    "select count(*) n from (select id % 2 k, concat(min(s), '!') m from names group by id % 2) group by m collate utf8_binary",
])
def test_which_of_equal_values_stands_for_them_is_nothing_to_decide_by(sql: str, dbg: Any, spark: Any, names: Any) -> None:
    names.createOrReplaceTempView("names")
    with pytest.raises(NondeterminismError, match="depends on the order in which rows arrived"):
        dbg.lineage(spark.sql(sql)).goBackAll().count()


@pytest.mark.many
@pytest.mark.parametrize("sql", [
    "select count(*) n from names group by s having s = 'ann' or s is null",
    "select n from (select max(s) m, count(*) n from names group by id % 2) where m >= 'b'",
    "select count(*) n, max(b.id) i from (select distinct s from names) a join names b on a.s = b.s group by a.s",
    "select rank() over (order by s) r from (select distinct s from names)",
    "select n, count(*) c from (select s, count(*) n from names group by s) group by n order by n limit 1",
])
def test_equal_values_decide_alike(sql: str, dbg: Any, spark: Any, names: Any) -> None:
    restored({"names": names})
    check(dbg, sql, {"names": names}, spark.sql(sql).collect())
    check_whole(dbg, sql, {"names": names})


def test_a_nested_collation_is_refused(dbg: Any, names: Any) -> None:
    with pytest.raises(UntraceableError, match="collated"):
        dbg.lineage(names.groupBy(F.array("s")).count()).goBackAll().count()


@pytest.mark.parametrize("action", ["collect", "count"])
def test_values_that_are_asked_for(action: str, dbg: Any, spark: Any, zeros: Any, names: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        times = spark.sql("select id, timestamp_ntz '2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, int(id)) t from range(9)")
        frames = [(zeros, {"x": float("nan")}, 2), (zeros, {"x": 0.0}, 2), (names, {"s": "ANN"}, 3), (times, {"t": datetime(2024, 1, 1, 5)}, 1)]
        for frame, condition, count in frames:
            with dbg.capture():
                getattr(frame, action)()
            assert dbg.lineage(frame).where(condition).count() == count
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_constants_are_told_apart(dbg: Any, spark: Any) -> None:
    frame = spark.sql("select id from range(3) union all select 100 union all select 200")
    assert [tuple(r) for r in dbg.lineage(frame).where("id = 100").collect()] == [(100,)]
    assert [tuple(r) for r in dbg.lineage(frame).where("id = 1").goBackAll().collect()] == [(1,)]
    product = spark.sql("select * from range(2) cross join (select 1 x union all select 2 x)")
    assert [tuple(r) for r in dbg.lineage(product).where("id = 1 and x = 2").collect()] == [(1, 2)]
    alone = dbg.lineage(spark.sql("select 1 x union all select 2"))
    assert [tuple(r) for r in alone.where("x = 2").collect()] == [(2,)]
    assert alone.count() == 2


def test_session_windows_are_refused(dbg: Any, spark: Any) -> None:
    events = spark.sql("select timestamp '2024-01-01 10:00:00' + make_interval(0, 0, 0, 0, 0, int(id)) ts from range(5)")
    with pytest.raises(UntraceableError, match=r"session_window.*lag"):
        dbg.lineage(events.groupBy(F.session_window("ts", "5 minutes")).count()).goBackAll().count()


@pytest.mark.slow
def test_old_days_and_hours_that_are_there_twice(dbg: Any, spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        for sql in (
            "select id, date'0001-01-01' + int(id) d from range(3)", "select id, date'1582-10-10' + int(id) d from range(3)",
            "select id, timestamp_seconds(1604208600 + id * 3600) d from range(3)",
            "select id, timestamp_ntz'0001-01-01 00:00:00' + make_interval(0, 0, 0, int(id)) d from range(3)",
        ):
            for frame in (spark.sql(sql), spark.sql(f"select d, count(*) n, max(id) id from ({sql}) group by d")):
                for row in frame.collect():
                    assert [r.id for r in dbg.lineage(frame).where(row).goBackAll().collect()] == [row.id]
                    assert [r.id for r in dbg.lineage(frame).where({"d": row.d}).goBackAll().collect()] == [row.id]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Berlin"])
def test_times_without_a_zone_are_in_none(zone: str, dbg: Any, spark: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        day = "2021-03-14" if zone.startswith("America") else "2024-03-31"  # when clocks go from 2 to 3
        hours = [timestamp for hour in range(1, 5) for timestamp in [f"timestamp_ntz'{day} 0{hour}:30:00'"]]
        frame = spark.sql(" union all ".join(f"select {i} id, {hour} d" for i, hour in enumerate(hours))).localCheckpoint()
        counted = frame.groupBy("d").agg(F.sum("id").alias("s"))
        for i in range(4):
            assert [row.id for row in dbg.lineage(counted).where(f"s = {i}").goBackAll().collect()] == [i]
        first = frame.withColumn("n", F.row_number().over(Window.partitionBy("d").orderBy("id"))).groupBy("n", "d").count()
        assert dbg.lineage(first).where(f"d = {hours[1]}").goBackAll().count() == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_two_times_of_an_autumn_hour_are_two(dbg: Any, spark: Any) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = spark.range(1604208600, 1604217000, 3600).selectExpr("id", "timestamp_seconds(id) d")  # 1:30 EDT, 1:30 EST, 2:30
        with dbg.capture():
            frame.collect()
        assert [row.id for row in dbg.lineage(frame).where("d = timestamp_seconds(1604208600)").collect()] == [1604208600]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@pytest.mark.parametrize("indexed", [False, True])
def test_months_are_numbers(indexed: bool, dbg: Any, spark: Any) -> None:
    spark.range(12).selectExpr("id", "make_ym_interval(0, cast(id % 3 as int)) m").createOrReplaceTempView("spans")
    counted = spark.sql("select cast(m as string) s, sum(id) t from spans group by m")
    if indexed:
        dbg.index(counted)
    assert sorted(row.id for row in dbg.lineage(counted).where("t = 22").goBackAll().toDF().select("id").collect()) == [1, 4, 7, 10]
    ordered = spark.sql("select id, count(*) over (partition by m order by id) n from spans")
    assert dbg.lineage(ordered).where("id = 7").goBackAll().count() == 3


def test_a_value_that_is_none_of_the_columns(dbg: Any, zeros: Any) -> None:
    with pytest.raises(UnknownColumnError, match="id is of type int, and 'x' is no such value"):
        dbg.lineage(zeros).where({"id": "x"}).count()
    assert dbg.lineage(zeros).where({"id": "6"}).count() == 1


def test_numbers_of_the_widest_range(dbg: Any, spark: Any) -> None:
    counted = spark.range(-(2**62), 2**63 - 1, 2**61).selectExpr("id", "id div 2305843009213693952 q").groupBy("q").count()
    assert [row.id for row in dbg.lineage(counted).where("q = 3").goBackAll().collect()] == [3 * 2**61]


@pytest.mark.slow
def test_a_row_of_many_columns(dbg: Any, spark: Any) -> None:
    wide = spark.range(3).select("id", *((F.col("id") * i).alias(f"c{i}") for i in range(300)))
    row = wide.collect()[1]
    assert [r.id for r in dbg.lineage(wide).where(row).goBackAll().collect()] == [1]


class Level(IntEnum):
    ONE = 1


VALUES = [
    ("k", 1, True), ("k", 1.0, True), ("k", True, True), ("k", Decimal("1.00"), True), ("k", 1.5, False), ("k", 2**40, False),
    ("k", float("nan"), False), ("b", -128, True), ("b", 128, False), ("b", -129, False), ("l", -(2**63), True), ("l", 2**63, False),
    ("p", Decimal("1.01"), True), ("p", 1.01, True), ("p", Decimal("1.010"), True), ("p", Decimal("1.005"), False), ("p", 10**12, False),
    ("z", 0, True), ("f", 0.5, True), ("f", Decimal("0.5"), True), ("f", Decimal("1e-50"), False), ("f", 1, False), ("d", date(1500, 2, 28), True),
    ("d", datetime(1500, 2, 28), True), ("d", datetime(1500, 2, 28, 1), False), ("d", "1500-02-28", True),
    ("t", datetime(2026, 1, 1, 1, 2, 3, 4), True), ("t", datetime(2026, 1, 1), False), ("s", "it's \\n \U0001f600", True), ("s", "it's", False),
    ("y", b"\x00'", True), ("y", b"", False), ("i", timedelta(days=-1, microseconds=1), True), ("i", timedelta(0), False),
    ("n", None, True), ("k", None, False), ("k", np.int64(1), True), ("k", np.float64(1.0), True), ("k", np.float64(1.5), False),
    ("k", pd.NA, False), ("n", pd.NaT, True), ("f", np.float32(0.5), True), ("f", np.float64("nan"), False), ("o", np.bool_(True), True),
    ("o", 1, True), ("o", 2, False), ("t", pd.Timestamp("2026-01-01 01:02:03.000004"), True), ("t", np.datetime64("2026-01-01"), False),
    ("i", np.timedelta64(1, "D"), False), ("i", pd.Timedelta(timedelta(days=-1, microseconds=1)), True), ("s", np.str_("x"), False), ("k", Level.ONE, True),
    ("f", 10**400, False), ("f", Decimal("sNaN"), False), ("f", Decimal("1E400"), False), ("o", Decimal("sNaN"), False), ("s", "\ud800", False),
    ("k", Decimal("1E+999999999"), False), ("t", pd.Timestamp("2026-01-01 01:02:03.000004001"), False), ("i", pd.Timedelta(-1), False),
]


@pytest.mark.parametrize(("column", "value", "there"), VALUES)
def test_a_value_is_found_where_it_is_equal(column: str, value: Any, there: bool, dbg: Any, spark: Any, kinds: Any) -> None:
    assert dbg.lineage(kinds).where({column: value}).count() == there


@pytest.fixture(scope="module")
def kinds(spark: Any) -> Any:
    row = (
        1, -128, -(2**63), Decimal("1.01"), Decimal(0), 0.5, date(1500, 2, 28), datetime(2026, 1, 1, 1, 2, 3, 4),
        "it's \\n \U0001f600", bytearray(b"\x00'"), timedelta(days=-1, microseconds=1), None, True,
    )
    types = ("int", "tinyint", "bigint", "decimal(10,2)", "decimal(2,2)", "float", "date", "timestamp", "string", "binary",
             "interval day to second", "int", "boolean")
    return spark.createDataFrame([row], ", ".join(f"{name} {kind}" for name, kind in zip("kblpzfdtsyino", types, strict=True)))


def test_the_text_of_a_literal_does_not_hang_on_settings(dbg: Any, spark: Any, kinds: Any) -> None:
    for setting in ("spark.sql.parser.escapedStringLiterals", "spark.sql.ansi.enforceReservedKeywords", "spark.sql.ansi.doubleQuotedIdentifiers"):
        spark.conf.set(setting, "true")
        try:
            assert dbg.lineage(kinds).where({column: value for column, value, there in VALUES if there}).count() == 1, setting
        finally:
            spark.conf.unset(setting)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Berlin"])
@pytest.mark.parametrize("day", [datetime(9999, 12, 31, 23, 59, 59), datetime(1, 1, 1)])
def test_the_first_and_the_last_times_that_there_are(day: datetime, zone: str, dbg: Any, spark: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = spark.sql("select timestamp'9999-12-31 23:59:59' t union all select timestamp'0001-01-01 00:00:00'")
        assert dbg.lineage(frame).where({"t": day}).count() == 1
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
        monkeypatch.undo()
        time.tzset()


@pytest.mark.many
@pytest.mark.parametrize("key", [
    "date_add(date'2024-01-15', 6650000 * cast(id as int))", "cast(unhex(concat('ff4', id)) as string)", "1e3BD * cast(id as int)",
])
def test_keys_that_python_or_sql_has_no_values_for(key: str, dbg: Any, spark: Any) -> None:
    """A day of the year 20231, text that is no UTF-8, a decimal of a negative scale."""
    spark.conf.set("spark.sql.legacy.allowNegativeScaleOfDecimal", "true")
    try:
        frame = spark.sql(f"select {key} k, sum(id) s from range(3) group by 1")
        assert [row.id for row in dbg.lineage(frame).where("s = 1").goBackAll().collect()] == [1]
        pairs = spark.sql(f"select {key} k, id % 2 p, sum(id) s from range(3) group by 1, 2")
        assert [row.id for row in dbg.lineage(pairs).where("s = 1").goBackAll().collect()] == [1]
    finally:
        spark.conf.unset("spark.sql.legacy.allowNegativeScaleOfDecimal")


def test_groups_are_ordered_whatever_they_are(dbg: Any, spark: Any) -> None:
    trace = dbg.lineage(spark.createDataFrame([(3, (2, 4)), (1, (2, 3)), (1, (2, 3))], "count int, s struct<a: int, b: int>"))
    assert trace.grouped("count").to_numpy().tolist() == [[1, 2], [3, 1]]
    assert trace.grouped("s").to_numpy().tolist() == [[{"a": 2, "b": 3}, 2], [{"a": 2, "b": 4}, 1]]


def test_intervals_of_days_and_rows_that_are_nearly_there(dbg: Any, spark: Any) -> None:
    frame = spark.sql("select 1 id, interval '1' day d, true flag, 'a' s, array(1, 2) xs")
    row = frame.collect()[0]
    for given, found in (({"d": timedelta(days=1)}, 1), ({"d": timedelta(hours=25)}, 0), ({"xs": np.array([1, 2])}, 1)):
        assert dbg.lineage(frame).where(given).count() == found
    with pytest.raises(UnknownRecordError):
        dbg.lineage(frame).where(Row(**{**row.asDict(), "id": 1.0000000001, "flag": 1.0})).count()


def test_numbers_that_are_none_and_numbers_that_are_close(dbg: Any, spark: Any) -> None:
    frame = spark.createDataFrame([("p", float("nan")), ("p", float("nan")), ("q", 1e-13), ("q", 2e-13)], "s string, d double").select("s", "d")
    with dbg.capture():
        rows = frame.collect()
    assert [dbg.lineage(frame).where(row).goBackAll().count() for row in rows] == [2, 2, 1, 1]


@pytest.mark.many
@pytest.mark.parametrize("indexed", [False, True])
def test_a_struct_that_is_null_is_a_group_though_its_fields_may_not_be(indexed: bool, dbg: Any, spark: Any) -> None:
    """As toArrow() of Spark 4.3 has it, nothing would be in a struct that is NULL, not even NULL."""
    for value in ("named_struct('a', 1, 'b', named_struct('c', 2))", "array(named_struct('a', 1))"):
        result = spark.sql(f"select k, sum(v) s, count(*) n from values ({value}, 5), (null, 3), ({value}, 7), (null, 4) t(k, v) group by k")
        if indexed:
            dbg.index(result)
        trace = dbg.lineage(result)
        assert {row.v for row in trace.where("k is null").goBackAll().collect()} == {3, 4}
        assert {row.v for row in trace.where("k is not null").goBackAll().collect()} == {5, 7}
        assert [row.s for row in trace.goBackAll().where("v = 3").goNextAll().collect()] == [7]
