"""Queries of every kind: rows come out again from their lineage alone, and forward leads back to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError, UntraceableError
from tests.spark.oracle import check, check_whole, restored
from tests.spark.sql_queries import QUERIES, tables


@pytest.fixture(scope="module")
def views(spark: Any) -> Iterator[dict[str, Any]]:
    known = tables(spark)
    restored(known)
    yield known
    for name in known:
        spark.catalog.dropTempView(name)


@pytest.mark.many
@pytest.mark.parametrize("sql", QUERIES)
def test_a_row_comes_out_of_its_lineage(sql: str, dbg: Any, views: dict[str, Any]) -> None:
    frame = dbg.spark.sql(sql)
    with dbg.capture():
        rows = frame.collect()
    assert frame.schema == dbg.spark.sql(sql).schema
    distinct = [row for i, row in enumerate(rows) if row not in rows[:i]]
    chosen = random.Random(len(sql)).sample(distinct, min(1, len(distinct)))
    for row, lineage in check(dbg, sql, views, chosen):
        for name in lineage.inputs:
            if lineage[name].count():
                assert row in lineage[name].goNextAll().collect()


def lineage(dbg: Any, sql: str, row: Any = None) -> dict[str, list[Any]]:
    """The rows of each input that a row of the query came from; of all rows, if None."""
    frame = dbg.spark.sql(sql)
    trace = dbg.lineage(frame) if row is None else dbg.lineage(frame).where(row)
    back = trace.goBackAll()
    return {name: sorted(map(tuple, back[name].collect())) for name in back.inputs}


def test_filters_joins_and_groups_are_precise(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, "a"), (1, "b"), (2, "c"), (None, "d")], "k int, s string").createOrReplaceTempView("l")
    spark.createDataFrame([(1, 10), (1, 20), (3, 30), (None, 40)], "k int, y int").createOrReplaceTempView("r")
    assert lineage(dbg, "select s, y from l join r on l.k = r.k", {"s": "b", "y": 20}) == {"l": [(1, "b")], "r": [(1, 20)]}
    assert lineage(dbg, "select k, sum(y) t from r group by k", {"k": None}) == {"r": [(None, 40)]}
    assert lineage(dbg, "select s from l where k = 1", {"s": "a"}) == {"l": [(1, "a")]}
    assert lineage(dbg, "select s, y from l left join r on l.k = r.k", {"s": "c"}) == {"l": [(2, "c")], "r": []}
    assert lineage(dbg, "select s from l left semi join r on l.k = r.k", {"s": "a"}) == {"l": [(1, "a")], "r": [(1, 10), (1, 20)]}
    assert lineage(dbg, "select k, count(*) from (select l.k, y from l join r on l.k = r.k where y > 10) group by k") == {
        "l": [(1, "a"), (1, "b")], "r": [(1, 20)],
    }


def test_a_window_reads_its_frame(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(i, i % 2, i * 10) for i in range(10)], "i int, g int, v int").createOrReplaceTempView("w")
    sql = "select i, sum(v) over (partition by g order by i rows between 1 preceding and current row) s from w"
    assert [i for i, _, _ in lineage(dbg, sql, {"i": 6})["w"]] == [4, 6]
    sql = "select i, rank() over (order by g) r from w"
    assert [i for i, _, _ in lineage(dbg, sql, {"i": 3})["w"]] == [0, 2, 3, 4, 6, 8]


def test_relations_that_are_called_alike_are_two(dbg: Any, spark: Any) -> None:
    left = spark.createDataFrame([(1, 2), (2, 3), (3, 4)], "a int, b int")
    right = spark.createDataFrame([(4, "x"), (3, "y"), (2, "z")], "b int, s string")
    frame = left.join(right, "b").join(left.select(F.col("a").alias("c")), F.col("a") == F.col("c"))
    back = dbg.lineage(frame).where("a = 1").goBackAll()
    assert back.inputs == ("createDataFrame", "createDataFrame#2", "createDataFrame#3")
    assert back["createDataFrame"].collect() == back["createDataFrame#3"].collect() == [Row(a=1, b=2)]
    assert back["createDataFrame#2"].collect() == [Row(b=2, s="z")]
    assert back["createDataFrame"].count() == 1


def test_a_relation_that_is_read_twice_is_one_name_and_two(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, 2), (2, 3), (3, 4)], "a int, b int").createOrReplaceTempView("edges")
    frame = spark.sql("select x.a, y.b from edges x join edges y on x.b = y.a")
    back = dbg.lineage(frame).where("a = 1").goBackAll()
    assert back.inputs == ("edges", "edges#2")
    assert sorted(back["edges"].collect()) == [Row(a=1, b=2), Row(a=2, b=3)]
    assert back["edges#2"].collect() == [Row(a=2, b=3)]
    assert back["edges"].count() == 2


PARTS = [
    ("select x.id, q.n from r x cross join (select count(*) n from (select a from r group by a having count(*) = 1)) q", (1, 3)),
    ("select x.id, q.n from r x cross join (select count(*) n from (select count(*) over (partition by a) c from r) where c = 1) q", (1, 3)),
    ("select x.id, q.n from r x cross join (select count(*) n from (select s from r order by id limit 2) where s = 'p') q", (2, 1)),
    ("select x.id, q.n from r x cross join (select count(*) n from r y join (select count(*) n from o) z on y.b = z.n + 2) q", (2, 0)),
    ("select s, count(*) n from (select id, s, lag(a) over (order by id) p from r) where p is null group by s", ("q", 1)),
    ("select x.id, q.n from r x cross join (select count(*) n from r where not exists (select 1 from o where o.id = b) or s = 'z') q", (0, 1)),
    ("select r.id from r left anti join (select x.id from r x left anti join o on x.a = o.a) q on r.b = q.id", (0,)),
]
"""Where a part of a relation would give rows that all of it does not: in groups, windows and limits, or for want of a match."""


@pytest.mark.many
@pytest.mark.parametrize(("sql", "row"), PARTS)
def test_a_part_does_not_count_for_the_whole(sql: str, row: tuple[Any, ...], dbg: Any, spark: Any) -> None:
    rows = [(0, 1, 0, "p"), (1, 2, 1, "q"), (2, 2, 2, "p"), (3, None, 3, "q"), (4, 0, 1, "q")]
    given = {
        "r": spark.createDataFrame(rows, "id int, a int, b int, s string"),
        "o": spark.createDataFrame([(0, 1), (1, 2), (2, 2)], "id int, a int"),
    }
    restored(given)
    check(dbg, sql, given, [found for found in spark.sql(sql).collect() if found == row])


def test_an_index_knows_that_nothing_is_made_of_what_removes(dbg: Any, spark: Any) -> None:
    spark.range(3).createOrReplaceTempView("kept")
    spark.range(1, 5).createOrReplaceTempView("gone")
    frame = spark.sql("select * from kept left anti join gone using (id)")
    dbg.index(frame)
    ahead = {name: dbg.lineage(frame).standing_at({at: pa.array([0])}).goNextAll() for at, name in dbg.lineage(frame).run.input_names().items()}
    assert {name: trace.collect() for name, trace in ahead.items()} == {"kept": [Row(id=0)], "gone": []}


@pytest.mark.slow
def test_what_is_read_twice_brings_no_groups_that_nothing_is_there_of(dbg: Any, spark: Any) -> None:
    """Days that are a part of every group are none by themselves."""
    given = {
        "days": spark.createDataFrame([(day, day // 10) for day in range(8, 13)], "day int, year int"),
        "sales": spark.createDataFrame([(item, day, item + day) for item in range(3) for day in range(8, 13)], "item int, day int, x int"),
        "returns": spark.createDataFrame([(item, day, day) for item in (1, 3) for day in range(8, 11)], "item int, day int, y int"),
    }
    restored(given)
    totals = "select item, d.{0}, sum({1}) {1} from {2} natural join days d group by 1, 2".format
    years = f"with t as ({totals('year', 'x', 'sales')}) select a.item, b.x - a.x x from t a join t b on a.item = b.item and a.year < b.year and a.x < b.x"
    both = f"with s as ({totals('day', 'x', 'sales')}), r as ({totals('day', 'y', 'returns')}) select *, count(*) over (partition by item) n"
    for sql in (years, f"{both} from s full join r using (item, day)"):
        for row, back in check(dbg, sql, given, random.Random(0).sample(spark.sql(sql).collect(), 3)):
            known = {name: {r.item for r in back[name].collect()} for name in back.inputs if "days" not in name}
            assert set().union(*known.values()) == {row.item}
            assert known["sales"] or known["returns"]


def test_an_index_of_what_nothing_was_made_of(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1,)], "id int").createOrReplaceTempView("few")
    frame = spark.sql("select id, n from few left join (select id % 2 + 7 k, count(*) n from range(4) group by 1) on id = k")
    dbg.index(frame)
    back = dbg.lineage(frame).goBackAll()
    assert {name: back[name].count() for name in back.inputs} == {"few": 1, "range": 0}


def test_an_index_holds_what_only_some_rows_depend_on(dbg: Any, spark: Any) -> None:
    spark.range(3).createOrReplaceTempView("some")
    spark.range(5, 7).createOrReplaceTempView("two")
    sql = "select id, n from some left join (select count(*) n from two) on id = n"
    found = [lineage(dbg, sql, {"id": i}) for i in (1, 2)]
    frame = spark.sql(sql)
    dbg.index(frame)
    back = [dbg.lineage(frame).where({"id": i}).goBackAll() for i in (1, 2)]
    assert found == [{name: sorted(map(tuple, b[name].collect())) for name in b.inputs} for b in back]
    assert found[0] == {"some": [(1,)], "two": [(5,), (6,)]}


def test_a_limit_that_a_subquery_leaves_without_an_order_is_refused(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(0, 1), (1, 1), (2, 1)], "id int, a int").createOrReplaceTempView("r")
    sql = "select r.id, l.b from r, lateral (select x.a b from r x where x.a = r.a and x.id > r.id order by x.id limit 1) l"
    with pytest.raises(NondeterminismError, match="Let the subquery order its rows by what it selects"):
        dbg.lineage(spark.sql(sql)).goBackAll().count()
    sql = sql.replace("select x.a b", "select x.a b, x.id")
    check(dbg, sql, {"r": spark.table("r")}, spark.sql(sql).collect())


def test_steps_stop_at_boundaries_and_anywhere(dbg: Any, spark: Any) -> None:
    numbers = spark.range(20).selectExpr("id", "id % 4 k")
    even = numbers.where("id % 2 = 0")
    sums = even.groupBy("k").sum("id")
    result = sums.where("k = 2")
    trace = dbg.lineage(result)
    assert trace.goBack(2).operators == trace.goBackAll().operators
    assert sorted(trace.back_to(sums).collect()) == [Row(k=2, **{"sum(id)": 50})]
    assert sorted(r.id for r in trace.back_to(even).collect()) == [2, 6, 10, 14, 18]
    assert trace.goBackAll()["range"].where("id = 6").forward_to(even).collect() == [Row(id=6, k=2)]
    assert trace.goBackAll()["range"].where("id = 6").goNextAll().collect() == result.collect()


def test_a_trace_goes_on_in_sql(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(i, i % 3) for i in range(9)], "i int, k int").createOrReplaceTempView("numbers")
    frame = spark.sql("select k, sum(i) s from numbers group by k")
    dbg.lineage(frame).where("s > 9").goBackAll()["numbers"].createOrReplaceTempView("suspects")
    assert sorted(r.i for r in spark.sql("select i from suspects where i > 1").collect()) == [2, 4, 5, 7, 8]


@pytest.mark.many
@pytest.mark.parametrize("sql", [
    "select id, x from (select id, explode(array(1, 2, null)) x from three)",
    "select id, x, count(*) over () n from (select id, explode(array(1, 2, null)) x from three)",
    "select a.id, x from (select id, explode(array(1, 2, null)) x from three) a join three b on a.id = b.id where b.id < 5",
])
def test_rows_of_one_record_are_told_apart(sql: str, dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(i,) for i in range(3)], "id int").createOrReplaceTempView("three")
    frame = spark.sql(f"select id, x from ({sql})")
    with dbg.capture():
        rows = frame.collect()
    for row in rows[1:6]:  # all of one record, and some of another
        trace = dbg.lineage(frame).where(row)
        back = trace.goBackAll()["three"]
        assert trace.collect() == [row]
        assert trace.count() == 1
        made_of = range(3) if "over ()" in sql else [row.id]  # it counts all rows
        assert sorted(r.id for r in back.collect()) == list(made_of)
        assert sorted(map(repr, back.goNextAll().collect())) == sorted(repr(r) for r in rows if r.id in made_of)
    dbg.index(frame)
    again = dbg.lineage(frame).where(rows[0])
    assert rows[0] in again.goBackAll()["three"].goNextAll().collect()
    assert rows[0].id in {r.id for r in again.goBackAll()["three"].collect()}


@pytest.mark.many
@pytest.mark.parametrize("sql", [
    "select id, explode(array(1, 2)) x from three order by id, x limit 3 offset 1",
    "select explode(array(1, 1)) x from three order by x limit 3",
    "select id, x, row_number() over (partition by id order by x) r from (select id, explode(array(1, 1, 2)) x from three)",
    "select * from (select x, row_number() over (order by x) r from (select explode(array(1, 1, 2)) x from three where id = 2)) where r = 2",
    "select id x from three union all select 100 union all select 200 order by x desc limit 3",
    "select x, row_number() over (order by x) r from (select 100 x union all select 100 union all select 50)",
    "select a, n, rank() over (order by n, a) r from (select id % 2 a, count(*) n from three group by grouping sets ((id % 2), ()))",
    "select * from (select stack(2, id, 5, 5, id) as (u, v) from three) order by u, v limit 4",
])
@pytest.mark.parametrize("captured", [False, True])
def test_windows_and_limits_tell_rows_of_one_record_apart(sql: str, captured: bool, dbg: Any, spark: Any) -> None:
    views = {"three": spark.createDataFrame([(i,) for i in range(3)], "id int")}
    restored(views)
    frame = spark.sql(sql)
    rows = spark.sql(sql).collect()
    if captured:
        with dbg.capture():
            frame.collect()
    for row in {rows[0], rows[-1]}:
        trace = dbg.lineage(frame).where(row)
        assert trace.collect() == [row] * rows.count(row)
        assert trace.count() == rows.count(row)
        if trace.inputs and (back := trace.goBackAll()).count():
            assert back.goNextAll().collect().count(row) == rows.count(row)
    if not captured:
        check_whole(dbg, sql, views)
    dbg.index(frame)
    assert dbg.lineage(frame).where(rows[0]).collect() == [rows[0]] * rows.count(rows[0])


def test_a_recursion_is_refused_by_name(dbg: Any, spark: Any) -> None:
    frame = spark.sql("with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select n from r")
    assert spark.version.startswith("4.0.") or frame.count() == 5  # 4.0 reads recursions, and executes none
    with pytest.raises(UntraceableError, match=r"r \(line 1: r\) is recursive"):
        dbg.lineage(frame).goBackAll().count()
