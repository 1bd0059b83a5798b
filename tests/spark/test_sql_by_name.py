"""Every table replaced by its lineage, a row comes out again: also where rows that the lineage has for other reasons meet there."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from pyspark.sql import functions as F

from tests.spark.oracle import check, check_whole

pytestmark = pytest.mark.slow

CASES = {
    "a part of a group below another, where nothing matched": (
        {"t": ("id int", [(5,)]), "s": ("k int, g int, v int", [(1, 5, 5), (1, 5, 7)])},
        """select t.id, s2.v, b.n from t join s s2 on s2.v = t.id left join
           (select g, count(*) n from (select g, k, sum(v) x from s group by g, k having sum(v) < 10) group by g) b on b.g = t.id""",
    ),
    "a part of a group below another, where nothing may be": (
        {"t": ("id int", [(5,)]), "s": ("k int, g int, v int", [(1, 5, 5), (1, 5, 7)])},
        """select t.id, s2.v from t join s s2 on s2.v = t.id where not exists
           (select 1 from (select g, k, sum(v) x from s group by g, k having sum(v) < 10) b where b.g = t.id group by b.g)""",
    ),
    "a part of a window below a group": (
        {"t": ("id int", [(5,)]), "s": ("k int, g int, v int", [(1, 5, 5), (1, 5, 3), (2, 5, 5)])},
        """select t.id, s2.v, s2.k, b.n from t join s s2 on s2.v = t.id left join
           (select g, count(*) n from (select g, v, row_number() over (partition by k order by v) r from s) where r = 1 and v = 5 group by g) b
           on b.g = t.id""",
    ),
    "a limit that matched": (
        {"t": ("k int", [(1,)]), "s": ("k int, v int", [(1, 1), (2, 2), (1, 3)])},
        """select d.n, s2.v from (select count(*) n from t left join (select k, v from s order by v limit 2) l on l.k = t.k) d cross join s s2""",
    ),
    "a removed row that would be a group": (
        {"s": ("g int, v int", [(5, 1), (7, 2)]), "y": ("a int", [(5,)])},
        "select d.n, s2.v from (select count(*) n from (select g from s except select a from y)) d cross join s s2",
    ),
    "a removed row of another branch": (
        {"s": ("g int, v int", [(5, 1)]), "y": ("a int", [(5,)])},
        "select k, count(*) n from (select g k from s where v = 1 union all (select g from s except select a from y)) group by k",
    ),
    "a part of a group of another branch": (
        {"s": ("k int, g int, v int", [(1, 5, 5), (1, 5, 7)])},
        """select k, count(*) n from (select v k from s where v = 5 union all
           select distinct g from (select g, k, sum(v) x from s group by g, k having sum(v) < 10)) group by k""",
    ),
    "a pair of a product": (
        {"t": ("a int", [(1,), (2,)]), "d": ("a int", [(1,), (2,)]), "y": ("a int, b int", [(1, 2)])},
        "select count(*) n from t cross join d where not exists (select 1 from y where y.a = t.a and y.b = d.a)",
    ),
    "a pair that stood beside another": (
        {"t": ("a int, k int", [(1, 0), (2, 0)]), "d": ("a int, k int", [(1, 0), (2, 0)]), "y": ("a int, b int", [(1, 2)])},
        "select count(*) n from t join d on t.k = d.k left join y on y.a = t.a and y.b = d.a where y.a is null",
    ),
    "an element of an array": (
        {"s": ("xs array<int>", [([1, 2],)]), "y": ("a int", [(2,)])},
        "select count(*) n from (select explode(xs) x from s) e where not exists (select 1 from y where y.a = e.x)",
    ),
    "a row of a window": (
        {"s": ("id int, k int, v int", [(1, 1, 1), (2, 1, 1)]), "y": ("a int", [(2,)])},
        "select count(*) n from (select id, sum(v) over (partition by k) x from s) w where not exists (select 1 from y where y.a = w.id)",
    ),
    "a part of a grouping set": (
        {"s": ("k int, v int", [(1, 1), (2, 1), (2, 1)])},
        "select count(*) n from (select k, v, count(*) c from s group by grouping sets ((k), (v)) having count(*) = 1)",
    ),
    "a part of a group of elements": (
        {"s": ("id int, xs array<int>", [(1, [1, 2]), (2, [2])])},
        "select count(*) n from (select x, count(*) c from s lateral view explode(xs) e as x group by x having count(*) = 1)",
    ),
    "a removed row of a scalar subquery": (
        {"s": ("g int, v int", [(5, 1), (7, 2)]), "y": ("a int", [(5,)])},
        "select v, (select g from s where not exists (select 1 from y where y.a = s.g)) x from s",
    ),
    "both readings in a group": (
        {"e": ("a int, b int", [(1, 2), (2, 3), (3, 2)])},
        """select count(*) n from (select v from (select a v from e union all select b v from e) group by v having count(*) = 1)""",
    ),
    "a pair of a product that stood beside another": (
        {"p": ("id int, cat string", [(1, "A"), (2, "A")]), "d": ("id int", [(1,), (2,)]), "s": ("p int, d int", [(1, 2)])},
        "select cat, count(*) n from p cross join d left join s on s.p = p.id and s.d = d.id where s.p is null group by cat",
    ),
    "what was removed from a running count": (
        {"o": ("id int, ts int", [(1, 10), (2, 20)]), "r": ("oid int", [(2,)])},
        """select id, (select count(*) from o p where p.ts <= o.ts and not exists (select 1 from r where r.oid = p.id)) n from o""",
    ),
    "a group below a window": (
        {"s": ("id int, g int, h int", [(1, 5, 1), (2, 5, 1), (3, 7, 1)])},
        """select d.n, s2.id from (select count(*) n from (select g, h, c, row_number() over (partition by g order by h) r from
           (select g, h, count(*) c from s group by g, h)) where c = 1) d cross join s s2""",
    ),
    "a window below a window": (
        {"s": ("id int, k int, g int, v int", [(1, 1, 1, 1), (2, 1, 1, 5), (3, 2, 2, 5)])},
        """select d.n, s2.id from (select count(*) n from (select *, count(*) over (partition by g) c from
           (select *, row_number() over (partition by k order by v) r from s)) where r = 1 and v = 5) d cross join s s2""",
    ),
    "an anti join below a left join": (
        {"s": ("g int, v int", [(5, 1), (7, 2)]), "y": ("a int", [(5,)]), "z": ("k int", [(5,)])},
        """select d.n, s2.v from (select count(*) n from (select g from s where not exists (select 1 from y where y.a = s.g)) a
           left join z on z.k = a.g) d cross join s s2""",
    ),
    "a part of what is behind an offset": (
        {"s": ("id int", [(0,), (1,), (2,)])},
        "select a.id from s a left join (select * from s order by id offset 1) b on a.id = b.id",
    ),
    "what an offset removes": (
        {"s": ("id int", [(0,), (1,), (2,)])},
        "select a.id from s a left anti join (select * from s order by id limit 1 offset 1) b on a.id = b.id",
    ),
    "groups without a key": (
        {"s": ("id int, k int, v int", [(1, None, 5), (2, 1, 5), (3, 2, 7)])},
        """select d.n, s2.id from (select count(*) n from (select m from (select k, max(v) m from s group by k) group by m having count(*) = 1)) d
           cross join s s2""",
    ),
    "a question of a side that is missing": (
        {"s": ("id int", [(1,)]), "y": ("a int", [(7,)])},
        "select a.id, b.id bid from s a left join (select * from s where not exists (select 1 from y)) b on a.id = b.id",
    ),
    "a value that a side that is missing asks for": (
        {"s": ("id int, v int", [(1, 5)]), "cfg": ("lim int", [(10,)])},
        "select a.id, b.v from s a left join (select * from s where v > coalesce((select lim from cfg), 0)) b on a.id = b.id",
    ),
    "a value that nothing may exceed": (
        {"s": ("id int, v int", [(1, 5)]), "cfg": ("lim int", [(10,)])},
        "select a.id from s a left anti join (select * from s where v > coalesce((select lim from cfg), 0)) b on a.id = b.id",
    ),
    "a value that no row of a branch exceeds": (
        {"s": ("g int, v int", [(1, 1)]), "y": ("a int", [(1,), (2,)])},
        """select k, count(*) n from (select v k from s where v = 1 union all select g from s where v > (select count(*) from y)) group by k""",
    ),
    "a question below a count of nothing": (
        {"s": ("v int", [(1,)]), "y": ("a int", [(1,)])},
        "select d.n, s2.v from (select count(*) n from s where not exists (select 1 from y)) d cross join s s2",
    ),
    "a question within a question": (
        {"s": ("v int", [(1,)]), "t": ("v int", [(1,)]), "y": ("a int", [(1,)])},
        """select d.n, s2.v, t2.v w from (select count(*) n from s where exists (select 1 from t where not exists (select 1 from y))) d
           cross join s s2 cross join t t2""",
    ),
    "a value beside a count of nothing": (
        {"s": ("v int", [(1,)]), "y": ("a int", [(5,)])},
        "select count(*) + (select max(a) from y) n from s where v > 100",
    ),
    "a count of counts": (
        {"y": ("a int", [(1,), (2,), (3,)])},
        "select count(*) n from (select count(*) c from y having count(*) < 3)",
    ),
    "a count beside a constant": (
        {"y": ("a int", [(i,) for i in range(6)])},
        "select count(*) n from (select 5 v) k, (select count(*) c from y) d where k.v > d.c",
    ),
    "a constant that something removes": (
        {"z": ("a int", [(1,)])},
        "select count(*) n from (select 1 id union all select 2) k where not exists (select 1 from z where z.a = k.id)",
    ),
    "values that something removes": (
        {"z": ("a int", [(1,)])},
        "select count(*) n from values (1), (2) k(id) where not exists (select 1 from z where z.a = k.id)",
    ),
    "a count that something removes": (
        {"y": ("a int", [(1,), (2,), (3,)]), "z": ("a int", [(3,)])},
        "select count(*) n from (select count(*) c from y) d where not exists (select 1 from z where z.a = d.c)",
    ),
    "a limit over a join that removes": (
        {
            "t": ("x int, y int", [(1, 1), (2, 2), (1, 2)]), "s": ("k int, x int", [(0, 1), (0, 2), (0, 3)]),
            "u": ("k int, y int", [(0, 1), (0, 2), (0, 3)]),
        },
        """select d.n, e.m from (select count(*) n from t left anti join
           (select s.x, u.y from s join u on s.k = u.k order by abs(s.x - u.y), s.x, u.y limit 3) l on l.x = t.x and l.y = t.y) d
           cross join (select count(*) m from t) e""",
    ),
    "a count that matches nothing": (
        {"t": ("a int", [(0,)]), "y": ("a int", [(1,), (2,), (3,)])},
        """select d.n, t2.a from (select count(*) n from t left join (select count(*) c from y) d on d.c = t.a where d.c is not null) d
           cross join t t2""",
    ),
    "a value by which something is removed": (
        {"t": ("a int", [(1,)]), "y": ("a int", [(2,)]), "z": ("a int", [(0,), (0,)])},
        """select d.n, t2.a from (select count(*) n from t left anti join y on y.a < t.a + (select count(*) from z)) d cross join t t2""",
    ),
    "a value in a column below a group of values": (
        {"y": ("a int", [(1,)])},
        """select count(*) n from (select id, max(w) m from (select id, v + coalesce((select max(a) from y), 1000) w from values (1, 5), (2, 7) k(id, v))
           group by id having max(w) > 100)""",
    ),
    "numbers that something removes": (
        {"z": ("a int", [(1,)])},
        "select count(*) n from range(3) r where not exists (select 1 from z where z.a = r.id)",
    ),
    "a column called as Spark's own": (
        {"t": ("vcol int, a int", [(1, 1), (2, 2)]), "u": ("vcol int, a int", [(5, 5)])},
        "select vcol, a from t union all select vcol, a from u",
    ),
    "a column that is called as those of Spark's own": (
        {"t": ("a int", [(1,), (2,)]), "u": ("a int", [(5,)])},
        "select 'a' vcol, count(*) n from t union all select 'b' vcol, count(*) n from u",
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("case", CASES)
def test_a_row_comes_out_again(case: str, dbg: Any, spark: Any) -> None:
    tables, sql = CASES[case]
    views = {name: spark.createDataFrame(rows, schema) for name, (schema, rows) in tables.items()}
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    rows = spark.sql(sql).collect()
    assert rows
    found = check(dbg, sql, views, [*rows[:1], *rows[1:][-1:]])
    check_whole(dbg, sql, views)
    frame = spark.sql(sql)
    dbg.index(frame)
    for row, back in found[:1]:
        again = dbg.lineage(frame).where(row).goBackAll()
        assert {name: again[name].rids().tolist() for name in again.inputs} == {name: back[name].rids().tolist() for name in back.inputs}


def test_functions_over_many_rows(dbg: Any, spark: Any) -> None:
    def doubled(frames: Any) -> Any:
        for frame in frames:
            yield frame.loc[frame.index.repeat(2)].assign(x=[1, 2] * len(frame))[["x"]]

    def counted(s: Any, y: Any) -> Any:
        return s.mapInPandas(doubled, "x int").join(y, F.col("x") == y.a, "left_anti").groupBy().count()

    s, y = spark.range(1), spark.createDataFrame([(2,)], "a int")
    back = dbg.lineage(counted(s, y)).goBackAll()
    assert {name: back[name].count() for name in back.inputs} == {"range": 1, "createDataFrame": 1}


def test_an_as_of_join_below_a_group(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, 10, 0), (2, 25, 0)], "id int, t int, a int").createOrReplaceTempView("trades")
    spark.createDataFrame([(0, "x")], "a int, owner string").createOrReplaceTempView("accounts")
    quotes = spark.createDataFrame([(5, 100), (20, 200)], "t int, q int")
    left = spark.sql("select trades.id, trades.t, owner from trades join accounts using (a)")
    joined = left._joinAsOf(quotes, leftAsOfColumn="t", rightAsOfColumn="t", how="left").groupBy("q").count()
    back = dbg.lineage(joined).where("q = 100").goBackAll()
    assert {name: back[name].count() for name in back.inputs} == {"trades": 1, "accounts": 1, "createDataFrame": 1}


def test_a_group_of_two_of_which_one_is_not_there(dbg: Any, spark: Any) -> None:
    def sizes(key: Any, left: Any, right: Any) -> Any:
        return pd.DataFrame({"x": [len(left)]})

    def sql(s: Any, u: Any) -> Any:
        both = s.groupBy("k").cogroup(u.groupBy("k")).applyInPandas(sizes, "x int")
        return both.where("x = 1").groupBy().count().crossJoin(s.select("id"))

    s, u = spark.createDataFrame([(1, 1), (2, 1)], "id int, k int").alias("s"), spark.createDataFrame([(9,)], "k int").alias("u")
    frame = sql(s, u)
    [row] = frame.where("id = 1").collect()
    back = dbg.lineage(frame).where({"id": 1}).goBackAll()
    assert row in sql(back["s"].toDF(), back["u"].toDF() if "u" in back.inputs else u.limit(0)).collect()


def test_a_chain_is_not_followed_further_than_its_group(dbg: Any, spark: Any) -> None:
    rows = [(i, i - 1, i % 2 if i else 1) for i in range(30)]  # each in another department than the one before, but for 0 and 1
    spark.createDataFrame(rows, "id int, mgr int, dept int").createOrReplaceTempView("emp")
    sql = """select a.dept, a.n, b.id from (select e.dept, count(*) n from emp e left join emp m on m.id = e.mgr and m.dept = e.dept + 1
             where m.id is null group by e.dept) a join emp b on b.dept = a.dept"""
    frame = spark.sql(sql)
    back = dbg.lineage(frame).where("id = 5").goBackAll()["emp"]
    assert back.count() < 20


def test_parts_of_an_order_alone_stay_parts(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, 1), (1, 2), (2, 1), (2, 2)], "g int, x int").createOrReplaceTempView("sales")
    sql = """select n, x.x from (select count(*) n from (select g, sum(x) s from sales group by g order by s)) cross join sales x"""
    assert [dbg.lineage(spark.sql(sql)).where("x = 2").goBackAll()["sales"].count()] == [4]


def test_a_source_that_is_asked_as_a_whole(dbg: Any, spark: Any) -> None:
    t, y = spark.range(2).alias("t"), spark.createDataFrame([(1,), (2,), (3,)], "a int").alias("y")
    frame = t.where(y.exists())
    back = dbg.lineage(frame).where("id = 1").goBackAll()
    assert {name: back[name].count() for name in back.inputs} == {"t": 1, "y": 3}
    assert sorted(row.a for row in back["y"].where("a > 1").collect()) == [2, 3]
    assert len(back["y"].rids()) == len(back["y"].origins()) == 3
    assert {variable.source for variable in dbg.lineage(frame).where("id = 1").how().variables} == {"t", "y"}
    assert len(dbg.lineage(frame).where("id = 1").how().variables) == 4
    assert back["y"].where("a = 1").goNextAll().count() == 2
    assert dbg.lineage(frame).where("id = 1").goBack()["y"].count() == 3


def test_nothing_is_added_where_nothing_can_come_back(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, None), (5, 2), (6, 2), (2, 1)], "id int, mgr int").createOrReplaceTempView("emp")
    frame = spark.sql("select e.id, d.n from emp e left join (select mgr, count(*) n from emp group by mgr) d on d.mgr = e.id")
    back = dbg.lineage(frame).where("id = 5").goBackAll()["emp"]
    assert [row.id for row in back.collect()] == [5]


@pytest.mark.parametrize(("by", "needed"), [("rollup(id)", 2), ("grouping sets ((id), (x), ())", 5), ("rollup(x)", 5)])
def test_grouping_sets_ask_for_no_more_than_they_group_by(by: str, needed: int, dbg: Any, spark: Any) -> None:
    """All of a window is needed by who groups by what it gives, for a part of it would give others."""
    numbers = spark.createDataFrame([(i,) for i in range(5)], "id int")
    numbers.createOrReplaceTempView("numbers")
    sql = f"""select max(id) last, count(*) n from (select id, sum(id) over (order by id rows between 1 preceding and 1 following) x from numbers)
              group by {by} having max(id) = 0"""
    [(_, back)] = check(dbg, sql, {"numbers": numbers}, spark.sql(sql).collect()[:1])
    assert back["numbers"].count() == needed


def test_parts_of_totals_that_displace_nothing_stay_parts(dbg: Any, spark: Any) -> None:
    sold = spark.createDataFrame([(region, item, region + item + 9) for region in range(3) for item in range(3)], "region int, item int, x int")
    sold.createOrReplaceTempView("sold")
    sql = "select region, item, sum(x) s from sold group by rollup(region, item) having sum(x) > 8 order by s, region, item limit {}"
    for limit, needed in ((5, 1), (1, 9)):
        [(_, back)] = check(dbg, sql.format(limit), {"sold": sold}, spark.sql(sql.format(limit)).collect()[:1])
        assert back["sold"].count() == needed
