"""Every table replaced by its lineage, a row comes out again: also where rows that the lineage has for other reasons meet there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.oracle import check, check_whole

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
}


@pytest.mark.parametrize("case", CASES)
def test_a_row_comes_out_again(case: str, dbg: Any, spark: Any) -> None:
    tables, sql = CASES[case]
    views = {name: spark.createDataFrame(rows, schema) for name, (schema, rows) in tables.items()}
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    rows = spark.sql(sql).collect()
    assert rows
    check(dbg, sql, views, rows)
    check_whole(dbg, sql, views)
