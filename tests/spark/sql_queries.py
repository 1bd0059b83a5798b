"""Queries of every kind over small tables with NULLs, duplicates and an empty one."""

from __future__ import annotations

import random
from typing import Any

QUERIES = """
select x, k from t where x > 50
select t.x, u.y from t join u on t.k = u.k
select t.x, u.y from t left join u on t.k = u.k and u.y > 25
select t.x, u.y from t right join u on t.k = u.k and t.x > 50
select t.x, u.y from t full join u on t.k = u.k and t.x > 50
select t.x from t left semi join u on t.k = u.k
select t.x from t left anti join u on t.k = u.k
select t.x, u.y from t cross join u where t.x + u.y < 20
select t.x, u.y from t join u on t.k < u.k and t.x > u.y
select a.x, b.x y from t a join t b on a.k = b.k and a.x < b.x
select k, sum(x), count(*), avg(x) from t group by k
select k, count(distinct s), collect_set(s) c from t group by k
select k, sum(x) filter (where s = 'a') from t group by k
select k, percentile(x, 0.5), percentile_approx(x, 0.5) from t group by k
select k, sum(x) from t group by k having sum(x) > 100
select k, s, sum(x) from t group by rollup(k, s)
select k, s, sum(x) from t group by cube(k, s)
select k, s, sum(x), grouping_id() from t group by grouping sets ((k), (s), ())
select distinct k, s from t
select k from t union all select k from u
select k from t union select k from u
select k from t intersect select k from u
select k from t except select k from u
select k from t except all select k from u
select k from t intersect all select k from u
select x, sum(x) over (partition by k order by x) from t
select id, sum(w) over (partition by g order by id rows between 2 preceding and current row) q from d
select id, lag(w, 2) over (partition by g order by id) q from d
select id, lead(w) over (order by id) q from d
select id, row_number() over (partition by g order by id desc) q from d
select id, rank() over (partition by g order by w) q from d
select id, dense_rank() over (order by g) q from d
select id, ntile(3) over (partition by g order by id) q, percent_rank() over (partition by g order by w) p from d
select * from (select id, g, row_number() over (partition by g order by id desc) q from d) where q = 1
select g, max(q) from (select g, sum(w) over (partition by g order by id rows between 1 preceding and 1 following) q from d) group by g
select id, w from d order by id limit 5
select id, w from d order by id limit 5 offset 3
select sum(w) from (select w from d order by id limit 4)
select k, e from v lateral view explode(a) x as e
select k, e from v lateral view outer explode(a) x as e
select k, e, sum(p) from v lateral view posexplode(a) x as p, e group by k, e
select * from (select g, w, id from d) pivot (sum(w) for g in ('g0','g1','g2'))
select * from (select g, w, id%2 i from d) pivot (sum(w) s, count(w) c for g in ('g0','g1','g2'))
select * from d unpivot (val for name in (id, w))
select x, (select max(y) from u) m from t
select x from t where x > (select avg(y) from u)
select x, (select max(y) from u where u.k = t.k) m from t
select x, (select count(*) from u where u.k = t.k) m from t
select x from t where k in (select k from u)
select x from t where k not in (select k from u where k is not null)
select x from t where k not in (select k from u)
select x from t where exists (select 1 from u where u.k = t.k and u.y > t.x)
select x from t where not exists (select 1 from u where u.k = t.k)
select x from t where exists (select 1 from u where u.k = t.k) or x > 80
select x from t where k in (select k from u) or not exists (select 1 from e)
select x from t where exists (select 1 from u where y > 40)
select x, k in (select k from u) b from t
with c as (select k, sum(x) s from t group by k) select c.k, c.s, u.y from c join u on c.k = u.k
with c as (select k, sum(x) s from t group by k) select a.k, b.s from c a join c b on a.k = b.k
with c as (select k, sum(x) s from t group by k) select k, s from c where s = (select max(s) from c)
select t.x, l.m from t, lateral (select max(y) m from u where u.k = t.k) l
select t.x, l.y from t, lateral (select y from u where u.k = t.k and u.y > t.x) l
select t.x, l.y from t left join lateral (select y from u where u.k = t.k) l
select count(*) from e
select k, count(*) from e group by k
select t.x, e.z from t left join e on t.k = e.k
select max(s), min(c) from (select k, sum(x) s, count(*) c from t group by k)
select k, x from t where (k, s) in (select k, 'a' from u)
select x from t where exists (select 1 from u where u.k = t.k and exists (select 1 from v where v.k = u.k))
select x from t where exists (select 1 from u where u.k = t.k and u.y > (select avg(e.z) from e))
select case when x > 50 then 'hi' else 'lo' end b, count(*) from t group by 1
select sum(a.x) from t a join u on a.k = u.k where u.y = (select min(y) from u b where b.k = a.k)
select 1 a, 'b' c
select k, any_value(k), first(k) from t group by k
select struct(k, s) z, count(*) from t group by struct(k, s)
select array(k) z, count(*) from t group by array(k)
select stack(2, x, k) from t
select x from t where x in (select y from u union all select z from e)
select x, count(*) over () from t
select grouping(k), k, max(x) from t group by k with rollup
select sum(s) from (select sum(x) s from t group by k union all select sum(y) from u)
select * from values (1, 'a'), (2, 'b') as q(m, n) where m > 1
select y, count(*) from (select k, count(*) y from t group by k) group by y
""".strip().split("\n")


def tables(spark: Any) -> dict[str, Any]:
    """The tables that the queries read."""
    draw = random.Random(1)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.15 else value

    rows = {
        "t": [(draw.randrange(100), some(draw.randrange(5)), some(draw.choice("abc"))) for _ in range(30)],
        "u": [(some(draw.randrange(6)), draw.choice(["p", "q", None]), draw.randrange(50)) for _ in range(12)],
        "v": [(draw.randrange(6), [draw.randrange(9) for _ in range(draw.randrange(4))]) for _ in range(8)],
        "e": [],
        "d": [(i, i * 10 % 70, f"g{i % 3}") for i in range(20)],
    }
    schemas = {
        "t": "x int, k int, s string", "u": "k int, n string, y int", "v": "k int, a array<int>", "e": "k int, z int",
        "d": "id int, w int, g string",
    }
    return {name: spark.createDataFrame(rows[name], schema) for name, schema in schemas.items()}
