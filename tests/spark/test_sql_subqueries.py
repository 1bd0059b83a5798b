"""Subqueries whose answer may be unknown, that give one row or none, or that are computed for each row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from bigdebug.errors import UntraceableError
from tests.spark.oracle import check, check_whole, restored

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def views(spark: Any) -> Iterator[dict[str, Any]]:
    known = {
        "t": spark.createDataFrame([(1, 5), (2, 7), (9, 8), (4, None)], "id int, b int"),
        "u": spark.createDataFrame([(7,), (None,), (3,), (3,)], "x int"),
        "w": spark.createDataFrame([(1,), (2,)], "id int"),
        "s": spark.createDataFrame([("A", 1, 3, None), ("B", 1, 2, "C"), ("C", 1, 1, "D"), ("D", 2, 5, None)], "id string, k int, b int, nxt string"),
    }
    restored(known)
    yield known
    for name in known:
        spark.catalog.dropTempView(name)


SETTLED = """
select id from t where not (id = 9 or b in (select x from u))
select id from t where not (id < 5 and b in (select x from u))
select id from t where not (not (b in (select x from u)))
select id from t where (b in (select x from u)) = false
select id from t where id = 9 or b not in (select x from u)
select id from t where id = 9 or b not in (select x from u where x > 0)
select id, b not in (select x from u) f from t
select id, not (id = 2 or b in (select x from u)) f from t
select id from t where case when b in (select x from u) then id > 1 else id < 2 end
select id, count(*) filter (where b in (select x from u)) c from t group by id
select count(*) n from w where not exists (select 1 from t where t.id = w.id and not (t.id = 9 or t.b in (select x from u)))
select t.id, w.id from t left join w on t.id = w.id and t.b in (select x from u)
select id, (select b from (select k g, b, row_number() over (partition by k order by b desc) n from s) where n = 1 and g = o.k and b < 3) x from s o
select k, count(*) n from (select k, (select b from s i where i.id = o.nxt) x from s o) where x is null or x = 5 group by k
select id, (select count(*) from u where u.x < t.b) n from t
select t.id, l.m from t, lateral (select max(u.x) m from u where u.x < t.b) l
select t.id, l.x from t, lateral (select w.id x from w where w.id < t.b order by x limit 1) l
select t.id, l.x, l.c from t left join lateral (select x, count(*) c from u where u.x < t.b group by x) l
select id, (select sum(b) from s i where i.k < o.k) x from s o
select id, exists (select 1 from u where u.x = t.b) a, exists (select 1 from w) b from t
select id from t where exists (select 1 from u where u.x = t.b) and exists (select 1 from w)
select k, count(*) n from s a where not exists (select 1 from s b where b.nxt = a.id) group by k
select id from t where exists (select 1 from u where u.x < t.b limit 1)
select id from t where exists (select x, count(*) from u where u.x <> t.b group by x order by x limit 1)
select id from t where not exists (select x from u where u.x = t.b order by x limit 2) and exists (select 1 from w limit 1)
select k, count(*) n from s where exists (select * from (select x from u order by x desc) where x < s.b limit 3) group by k
select id from t where exists (select 1 from u where x > 90 limit 1) or exists (select 1 from w where exists (select 1 from s where s.k = w.id limit 1))
select id from s o where b < (select max(n) from (select sum(b) over (partition by k order by b) n from s i where i.k <= o.k))
select id from t where exists (select x from u where u.x < t.b order by x limit 2 offset 1)
select id from t where exists (select x from (select x from u order by x desc limit 2) where x > t.b limit 5)
select id from t where exists (select distinct x from u where u.x < t.b union all select id from w where w.id > t.id limit 1 + 1)
select id from s o where b < (select max(r) from (select row_number() over (order by b) r from s i where i.k = o.k))
select id from t where b < (select count(*) + 6 from s o where k in (select rank() over (partition by k order by b) r from s i where i.b < o.b))
select id from s o where k in (select rank() over (partition by k order by b) r from s i where i.b < o.b)
select t.id, l.n from t, lateral (select id, (select count(*) from u where u.x > s.b) n from s where s.b >= t.id) l
select id, (select sum(coalesce(m, 9)) from (select (select max(x) from u where u.x < s.b) m from s where s.b >= t.id)) n from t
select id, (select max(n) from (select (select count(*) from u where u.x > s.b) n from s where s.k > t.id)) n from t
""".strip().splitlines()


@pytest.mark.many
@pytest.mark.parametrize("sql", SETTLED)
def test_all_rows_come_out_of_their_lineage(sql: str, dbg: Any, views: dict[str, Any]) -> None:
    rows = dbg.spark.sql(sql).collect()
    assert Counter(dbg.lineage(dbg.spark.sql(sql)).collect()) == Counter(rows)
    check(dbg, sql, views, [*rows[:1], *rows[1:][-1:]])
    check_whole(dbg, sql, views)


@pytest.mark.parametrize("asked", ["limit 0", "order by x limit 0", "order by x offset 9"])
def test_an_exists_that_asks_for_no_row_at_all(asked: str, dbg: Any, spark: Any, views: dict[str, Any]) -> None:
    sql = f"select id from t where not exists (select x from u where u.x > 3 {asked})"
    rows = spark.sql(sql).collect()
    assert len(rows) == 4
    check(dbg, sql, views, rows)


@pytest.fixture
def functions(spark: Any, views: dict[str, Any]) -> Iterator[None]:
    spark.sql("create temporary function above(n int) returns bigint return select count(*) from u where u.x > n")
    spark.sql("create temporary function beyond(n int) returns table(x int, n int) return select u.x, n from u where u.x > n")
    yield
    spark.sql("drop temporary function above")
    spark.sql("drop temporary function beyond")


@pytest.mark.parametrize("sql", [
    "select id, above(b) n from t",
    "select x, count(*) c from beyond(2) group by x",
    "select t.id, f.x from t, lateral beyond(t.b) f",
    "select id from t where exists (select 1 from beyond(t.b))",
    "select t.id, f.x, f.n from t left join lateral (select x, above(x) n from beyond(t.id)) f",
])
def test_functions_that_are_written_in_sql(sql: str, dbg: Any, spark: Any, views: dict[str, Any], functions: None) -> None:
    rows = spark.sql(sql).collect()
    assert rows
    check(dbg, sql, views, [*rows[:1], *rows[1:][-1:]])
    check_whole(dbg, sql, views)


@pytest.mark.parametrize("sql", [
    "select id from t where (b in (select x from u)) is null",
    "select id from t where coalesce(b in (select x from u), true)",
    "select * from (select id, b in (select x from u) f from t) where not f",
    "select t.id from t join w on t.id = w.id and not (t.id = 9 or t.b in (select x from u))",
])
def test_use_of_what_may_be_unknown_is_refused(sql: str, dbg: Any, views: dict[str, Any]) -> None:
    with pytest.raises(UntraceableError, match=r"may be NULL.*EXISTS"):
        dbg.lineage(dbg.spark.sql(sql)).collect()


def test_what_is_not_null_may_be_used_anywhere(dbg: Any, views: dict[str, Any]) -> None:
    sql = "select * from (select id, coalesce(b, 0) in (select coalesce(x, 0) from u) f from t) where not f"
    assert Counter(dbg.lineage(dbg.spark.sql(sql)).collect()) == Counter(dbg.spark.sql(sql).collect())


@pytest.mark.parametrize(("index", "strategy"), [(False, "auto"), (True, "auto"), (False, "inject")])
def test_the_values_that_a_subquery_is_computed_for_are_no_second_reading(index: bool, strategy: Any, dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(0, 1), (1, 1), (2, 3)], "id int, a int").createOrReplaceTempView("outer_rows")
    spark.createDataFrame([(0,), (2,)], "x int").createOrReplaceTempView("inner_rows")
    frame = spark.sql("select id, (select count(*) from inner_rows where x < a) n from outer_rows")
    with dbg.capture(strategy=strategy):
        frame.collect()
    if index:
        dbg.index(frame)
    trace = dbg.lineage(frame)
    assert trace.inputs == ("outer_rows", "inner_rows")
    back = trace.where("id = 0").goBackAll()
    assert [tuple(row) for row in back["outer_rows"].collect()] == [(0, 1)]
    assert [tuple(row) for row in back["inner_rows"].collect()] == [(0,)]
    assert [row.id for row in trace.goBackAll()["outer_rows"].where("id = 1").goNextAll().collect()] == [1]
    assert sorted(row.id for row in trace.goBackAll()["inner_rows"].where("x = 2").goNextAll().collect()) == [2]
    assert len(trace.where("id = 2").why()) == 2
    assert trace.columns == {"id": ("outer_rows.id",), "n": ()}


def test_a_subquery_that_gave_nothing_takes_no_way_from_a_row(dbg: Any, views: dict[str, Any]) -> None:
    frame = dbg.spark.sql(SETTLED[12])
    assert [str(way) for way in dbg.lineage(frame).where("id = 'B'").how().terms[0]] == ["s[1]"]


def test_rows_ahead_are_joined_above_a_union(dbg: Any, spark: Any) -> None:
    """Spark puts a semi join into the branches of a union below it, and fails where it has to rename one of them for that."""
    rows = [(0, 1, "p"), (1, 2, "q"), (2, None, "p")]
    spark.createDataFrame(rows, "id int, a int, s string").createOrReplaceTempView("united")
    frame = spark.sql(
        "select x.id c from (select * from united where s not in (select s from united)) y full join "
        "(select t.id, e.e from united t lateral view outer explode(array(a, id)) e as e) x on y.id <=> x.e where x.e is not null "
        "union all select a c from (select distinct a from united where s <> 'p' or id <=> a)",
    )
    with dbg.capture("union"):
        result = frame.collect()
    trace = dbg.lineage(frame).goBackAll()
    ahead = Counter[Any]()
    for name in ("united", "united#2", "united#3", "united#4"):
        assert Counter(trace[name].goNextAll().collect()) <= Counter(result)
        ahead |= Counter(trace[name].goNextAll().collect())
    assert ahead == Counter(result)
