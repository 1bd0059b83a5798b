"""bigdebug.brush(...) on Spark: linked views of DataFrames and RDDs show what their programs give on the rows that are brushed."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from operator import add
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bigdebug
from bigdebug.errors import NotCapturedError, ViewError
from bigdebug.views.payload import VERSION

MADE = "count(*) n, sum(x) total, avg(x) mean, sum(price) paid, avg(price) fair, min(d) first, max(at) last, min(b) least, max(k) most, count(distinct g) kinds, max(flag) some"
BY_KEY = f"select k, {MADE} from t group by k order by k nulls first"


@pytest.fixture(scope="module")
def table(spark: Any, dbg: Any) -> None:
    rows = [
        (number, None if number % 7 == 0 else "ab<"[number % 3], number % 4, number * 5 % 11 - 3, Decimal(number * 37 % 101) / 100, date(2026, 1, 1 + number % 9),
         datetime(2026, 1, 1, number % 24), bytes([number % 5, 200]), number % 5 == 0, [number], (number,))
        for number in range(60)
    ]
    columns = "id int, k string, g int, x int, price decimal(12,2), d date, at timestamp, b binary, flag boolean, words array<int>, s struct<u: int>"
    spark.createDataFrame(rows, columns).localCheckpoint().createOrReplaceTempView("t")


def given(spark: Any, sql: str) -> pd.DataFrame:
    return spark.sql(sql).toArrow().to_pandas()


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    return list(one.columns) == list(other.columns) and one.astype(object).where(one.notna(), None).values.tolist() == other.astype(object).where(other.notna(), None).values.tolist()


def test_frames_are_what_the_queries_give_on_the_brushed_rows(spark: Any, dbg: Any, table: None) -> None:
    by_key, by_group = spark.sql(BY_KEY), spark.sql("select g, count(*) n from t group by g")
    view = bigdebug.brush(by_key, bigdebug.chart(by_group, "bar", name="by group"), bigdebug.chart(by_key, "table"), over="t")
    assert view.names == ("k", "by group", "k 2")
    everything = view.frame("k")
    assert same(everything, given(spark, BY_KEY))
    view.brush("by group", lambda frame: frame.g == 1)
    left = given(spark, BY_KEY.replace("from t", "from t where g = 1"))
    shown = view.frame("k")
    assert same(shown[shown.n > 0], left)
    assert view.frame("k 2").n.tolist() == shown.n.tolist()
    assert view.frame("by group").n.tolist() == [15] * 4
    view.clear()
    assert same(view.frame("k"), everything)


def test_rows_of_any_type_are_shown_and_highlighted(spark: Any, dbg: Any, table: None) -> None:
    view = bigdebug.brush(bigdebug.chart(spark.sql("select * from t"), name="rows"), spark.sql("select k, count(*) n from t group by k"))
    view.brush("k", lambda frame: frame.k.isna())
    ids = view.frame("rows").id
    assert sorted(ids[view.lit("rows")]) == [*range(0, 60, 7)]
    page = view.answer({"version": VERSION, "id": 1, "request": "page", "content": {"view": 0, "start": 50, "sort": 9, "descending": False}})["content"]
    assert (page["total"], len(page["rows"])) == (60, 10)
    fields = view.answer({"version": VERSION, "id": 1, "request": "mark", "content": {"view": 0, "mark": ids.tolist().index(1)}})["content"]
    assert [each["now"] for each in fields["fields"]] == ["1", "b", "1", "2", "0.37", "2026-01-02", *[each["now"] for each in fields["fields"][6:]]]
    assert fields["fields"][7]["now"] == repr(bytes([1, 200]))


def test_rdds_are_highlighted_by_their_lineage(spark: Any, dbg: Any) -> None:
    lines = dbg.context.parallelize(["a b", "b c", "c c d"], 2)
    words = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(add)
    lengths = lines.map(lambda line: (len(line), 1)).reduceByKey(add)
    with dbg.capture("words"):
        words.collect()
        lengths.collect()
    view = bigdebug.brush(bigdebug.chart(words, name="words"), bigdebug.chart(lengths, "table", name="lengths"))
    assert view.mode == "highlight"
    view.brush("words", lambda frame: frame["_1"] == "b")
    lit = view.frame("lengths")[view.lit("lengths")]
    assert lit["_1"].tolist() == [3]
    assert view.frame("words")["_1"].sort_values().tolist() == ["a", "b", "c", "d"]
    assert np.count_nonzero(view.lit("words")) == 4


def test_what_has_no_input_in_common_is_refused(spark: Any, dbg: Any, table: None) -> None:
    with pytest.raises(ViewError):
        bigdebug.brush(spark.sql("select k, count(*) n from t group by k"), spark.range(5).groupBy("id").count())
    with pytest.raises(NotCapturedError):
        bigdebug.brush(7)
    with pytest.raises(ViewError, match="Linked views of nothing"):
        bigdebug.brush()


def test_a_brush_becomes_a_trace_over_the_rows_behind_it(spark: Any, dbg: Any, table: None) -> None:
    by_key, by_group = spark.sql("select k, count(*) n from t group by k"), spark.sql("select g, sum(x) total from t group by g")
    view = bigdebug.brush(by_key, by_group)
    view.brush("k", lambda frame: frame.k == "a")
    view.brush("g", lambda frame: frame.g.isin([1, 2]))
    trace = view.trace()
    where = "k = 'a' and g in (1, 2)"
    assert sorted(row.id for row in trace.toDF().collect()) == sorted(row.id for row in spark.sql(f"select id from t where {where}").collect())
    assert trace.count() == spark.sql(f"select * from t where {where}").count()
    assert [row.k for row in trace.goNextAll().toDF().collect()] == ["a"]
    assert sorted(row.g for row in view.trace("g").goNextAll().toDF().collect()) == [1, 2]
    page = view.answer({"version": VERSION, "id": 1, "request": "rows", "content": {"start": 0}})["content"]
    assert (page["total"], len(page["rows"]), page["columns"][0]) == (trace.count(), trace.count(), "id")
    view.brush("g", [])
    assert view.trace().toDF().count() == 0


def test_rows_that_a_query_reads_twice_are_there_once(spark: Any, dbg: Any, table: None) -> None:
    pairs = spark.sql("select a.k, count(*) n from t a join t b on a.g = b.g and a.id < b.id where a.id < 9 and b.id < 9 group by a.k")
    view = bigdebug.brush(pairs)
    view.brush("k", lambda frame: frame.k == "b")
    expected = spark.sql("select distinct explode(array(a.id, b.id)) id from t a join t b on a.g = b.g and a.id < b.id where a.id < 9 and b.id < 9 and a.k = 'b'")
    assert sorted({row.id for row in view.trace().toDF().collect()}) == sorted(row.id for row in expected.collect())


def test_a_brush_of_rdds_becomes_an_rdd_of_the_records_behind_it(dbg: Any) -> None:
    lines = dbg.context.parallelize(["a b", "b c", "c", "<b>"], 2)
    words = lines.flatMap(str.split).map(lambda word: (word, 1)).reduceByKey(add)
    lengths = lines.map(len).map(lambda length: (length, 1)).reduceByKey(add)
    with dbg.capture("words"):
        words.collect()
        lengths.collect()
    view = bigdebug.brush(bigdebug.chart(words, name="words"), bigdebug.chart(lengths, name="lengths"))
    view.brush("words", lambda frame: frame["_1"] == "c")
    assert sorted(view.trace().collect()) == ["b c", "c"]
    view.brush("lengths", lambda frame: frame["_1"] == 1)
    assert view.trace().map(str.upper).collect() == ["C"]
    assert view.trace("lengths").goNextAll().collect() == [(1, 1)]
    page = view.answer({"version": VERSION, "id": 1, "request": "rows", "content": {"start": 0}})["content"]
    assert (page["total"], page["rows"]) == (1, [["'c'"]])
