"""Marks of linked views: what a result shows under any brush is what its query gives on the brushed rows alone, or it says that it does not follow."""

from __future__ import annotations

import random
import re
from collections import Counter
from decimal import Decimal
from math import isnan
from typing import Any

import pytest
from pyroaring import BitMap
from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.errors import TooLargeError, UnknownOperatorError, ViewError
from bigdebug.spark.sql.brushing.grouping import Groups, group_by, groups_of
from bigdebug.trace.crossfilter.associations import Coded
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.views import Answer, Views
from bigdebug.trace.places import rids_of
from tests.left import jobs_run

COLUMNS = (
    "id int, k string, g int, x int, big bigint, small float, price decimal(12,2), much decimal(38,2), d date, at timestamp, b binary, flag boolean, "
    "words array<string>, s struct<u: int>, f double"
)

QUERIES = """
select k, count(*) n, count(x) some, sum(x) total, avg(x) mean, min(x) low, max(x) high, count(distinct x) kinds from t group by k
select g, k, sum(big) a, avg(small) b, sum(small) c, sum(f) d, max(f) e, min(f) i, count(distinct f) h, min(small) j from t group by g, k order by g, k
select g, sum(price) a, avg(price) b, min(price) c, max(much) e, count(distinct price) h, sum(price * 2 + x) i from t where g > 1 or g is null group by g
select x % 3 z, min(d) a, max(at) b, min(b) c, max(flag) e, count(distinct d) h, min(k) i, count(distinct k) j, max(k) l, count(x, g) m from t group by x % 3
select f, count(*) n from t group by f
select s, b, count(*) n from t group by s, b
select k, count(*) filter (where x > 10) a, sum(x) filter (where g = 1) b, count_if(x > 5) c, bool_or(flag) e, min(distinct x) h from t group by k
select g, k, count(*) n, sum(x) q from t group by rollup(g, k)
select w, count(*) n, sum(x) q from t lateral view explode(words) as w group by w
select upper(k) u, n m from (select k, count(*) as n from t group by k)
select u.name, count(*) n, sum(t.x) q, sum(u.weight) h from t join u on t.k = u.k group by u.name
select t.k, count(u.name) n, count(*) q from t left join u on t.k = u.k group by t.k
select k, count(*) n from t where k in (select k from u) group by k
select k, count(*) n, max(x) m from t where not exists (select 1 from u where u.k = t.k) group by k
select k, count(*) n from t where x > (select avg(weight) from u) group by k
select k, (select max(weight) from u where u.k = t.k) m from t where x > 5
select a.k, count(*) n, sum(a.x * b.x) q from t a join t b on a.g = b.g and a.id < b.id group by a.k
select k, sum(x) q from (select k, x from t where x > 3 union all select k, x from t where x < 20) group by k
select name, count(*) n from (select k name from t union all select name from u) group by name
select distinct k, g from t
select id, x, k from t where x > 10 order by x desc
select id, w from t lateral view explode(words) as w
select a.id, b.id, a.x from t a join t b on a.k = b.k and a.id < b.id
select count(*) n, sum(x) q, min(k) m from t
select y, n from (select upper(k) y, count(*) n from t group by k) where y in ('A', 'B') or y is null
select x.* from (select k, count(*) n from t group by k) x order by n desc
select k, round(avg(x), 1) r, coalesce(sum(x), 0) z, round(sum(f), 2) h, if(count(x) > 2, 'many', null) m, greatest(max(k), 'b') l, avg(x) * 2 + 1 v, count_if(flag) / count(*) p from t group by k
select g, round(avg(price), 2) r, round(sum(price * 2), 1) s, cast(sum(x) as double) c, abs(avg(small) - max(f)) e, 1 one, count(*) n from t group by g order by r, s
select upper(k) u, concat(upper(k), ': ', upper(k)) v, coalesce(concat(upper(k), '<', min(k)), '') w, bool_or(flag) is null a, isnan(max(f)) b from t group by upper(k)
select y, r, r + 1 s from (select k y, round(avg(x), 1) r from t group by k) where y <> 'b' order by r
select f, round(avg(f), 1) r, f + avg(x) s from t group by f
select g, bit_and(x) a, bit_or(cast(x as tinyint)) b, bit_xor(big) c, bit_or(x) filter (where flag) e from t group by g
select a.k, round(avg(a.x * b.x), 2) r, count_if(a.x > b.x) / count(*) p from t a join t b on a.g = b.g and a.id < b.id group by a.k
select k, coalesce(sum(x), 0) q from (select k, x from t where x > 3 union all select k, x from t where x < 20) group by k
select u.name, round(avg(t.x * u.weight), 2) q from t join u on t.k = u.k group by u.name
select round(avg(x), 1) r, coalesce(count(k), 7) c from t
""".strip().splitlines()


def row(chance: random.Random, number: int) -> tuple[Any, ...]:
    def some(value: Any) -> Any:
        return None if chance.random() < 0.15 else value

    from datetime import date, datetime, timedelta

    return (
        number, some(chance.choice(["a", "b", "A", "ß", "", "<script>alert(1)</script>"])), some(chance.randint(0, 3)), some(chance.randint(-5, 30)),
        some(chance.randint(-(2**50), 2**50)), some(chance.choice([0.5, -0.0, 0.0, float("nan"), 1.25])), some(Decimal(chance.randint(-10**9, 10**9)) / 100),
        some(Decimal(chance.randint(-10**20, 10**20)) / 100), some(date(2020, 1, 1) + timedelta(chance.randint(0, 9))),
        some(datetime(2020, 1, 1) + timedelta(hours=chance.randint(0, 9))), some(bytes([chance.choice([0, 200])])), some(chance.random() < 0.5),
        some([chance.choice("xyz") for _ in range(chance.randint(0, 3))]), (some(chance.randint(0, 1)),), some(chance.choice([0.1, 1e9, float("nan"), -0.0, 0.0, float("inf")])),
    )


@pytest.fixture(scope="module")
def tables(spark: Any, dbg: Any) -> list[int]:
    chance = random.Random(5)
    rows = [row(chance, number) for number in range(60)]
    spark.createDataFrame(rows, COLUMNS).repartition(3, "id").localCheckpoint().createOrReplaceTempView("t")
    others = [("a", "one", 3), ("a", "two", 4), ("b", "one", None), ("zz", "none", 9), (None, "null", 1)]
    spark.createDataFrame(others, "k string, name string, weight int").createOrReplaceTempView("u")
    return [each[0] for each in rows]


def views_of(marks: tuple[Marks, ...]) -> Views:
    return Views([each.view for each in marks])


def shown(marks: Marks, answer: Answer) -> list[tuple[Any, ...]]:
    """The rows that a result shows."""
    columns = [answer.values[label].tolist() if label in marks.recomputed else values.to_pylist() for label, values in marks.columns.items()]
    there = set(answer.lit)
    return [each for number, each in enumerate(zip(*columns)) if number in there]


def plain(value: Any) -> Any:
    """A value as Arrow gives it, hashable, and floats of two orders of addition alike."""
    if isinstance(value, float):
        return "nan" if isnan(value) else float(f"{value + 0.0:.9g}")
    if isinstance(value, dict):
        return tuple(map(plain, value.values()))
    return tuple(map(plain, value)) if isinstance(value, list) else bytes(value) if isinstance(value, bytearray) else value


def bag(rows: Any) -> Counter[Any]:
    return Counter(tuple(map(plain, each)) for each in rows)


def given(spark: Any, sql: str) -> list[tuple[Any, ...]]:
    table = spark.sql(sql).toArrow()
    return list(zip(*(column.to_pylist() for column in table.columns)))


@pytest.fixture(scope="module")
def brushed(spark: Any, dbg: Any, tables: list[int]) -> tuple[Marks, ...]:
    """Marks of all records of the input, and those of each query."""
    found: tuple[Marks, ...] = dbg.marks(spark.sql("select id from t"), *map(spark.sql, QUERIES), names=["ids", *QUERIES], over="t")
    return found


@pytest.mark.many
@pytest.mark.parametrize("sql", QUERIES)
def test_a_brushed_result_is_what_its_query_gives_on_the_brushed_rows(sql: str, spark: Any, brushed: tuple[Marks, ...]) -> None:
    ids, *results = brushed
    result = next(each for each in results if each.name == sql)
    assert not [note for note in result.notes if "no records" not in note]
    assert bag(shown(result, views_of((result,)).answer(sql, Selection()))) == bag(zip(*(column.to_pylist() for column in result.columns.values())))
    views, chance = views_of((ids, result)), random.Random(sql)
    for size in (20, 3):
        marks = BitMap(chance.sample(range(len(ids)), size))
        chosen = [ids.columns["id"][mark].as_py() for mark in marks]
        spark.sql("select * from t").where(f"id in ({', '.join(map(str, chosen))})").createOrReplaceTempView("chosen")
        answer = views.answer(sql, Selection().brushed("ids", marks))
        assert bag(shown(result, answer)) == bag(given(spark, re.sub(r"\bt\b(?!\.)", "chosen t", sql.replace("t a join t b", "chosen a join chosen b")))), (chosen, result.notes)


# ---- what is not computed anew ------------------------------------------------------------------------------------

LIT = {
    "select k, count(*) n from t group by k having count(*) > 5": "HAVING",
    "select k, count(*) n from t group by k order by n desc, k limit 3": "LIMIT",
    "select n, count(*) m from (select k, count(*) n from t group by k) group by n": "Aggregate#",
    "select k, count(*) n from (select k, g, count(*) from t group by k, g) group by k": "Aggregate#",
    "select t.k, name from (select k, count(*) n from t group by k) t join u on t.k = u.k": "Aggregate#",
    "select name, weight from u left semi join t on t.k = u.k": "Join#",
    "select k, count(*) n from (select * from t order by id limit 20) group by k": "Limit#",
}


@pytest.mark.many
@pytest.mark.parametrize("sql", LIT)
def test_marks_that_do_not_follow_are_lit_by_their_lineage(sql: str, spark: Any, dbg: Any, tables: list[int]) -> None:
    frame = spark.sql(sql)
    ids, result = dbg.marks(spark.sql("select id from t"), frame, over="t")
    assert result.recomputed == frozenset()
    [note] = result.notes
    assert "only lit" in note
    assert result.kept == ({*result.columns} & {"n", "m"} - ({"n"} if "group by n" in sql else set()))
    assert LIT[sql] in note
    rows = list(zip(*(column.to_pylist() for column in result.columns.values())))
    assert bag(rows) == bag(given(spark, sql))
    views, trace = views_of((ids, result)), dbg.lineage(frame)
    for mark, values in enumerate(rows):
        answer = views.answer(ids.name, Selection().brushed(result.name, [mark]))
        condition = " and ".join(f"{name} <=> {value!r}".replace("None", "null") for name, value in zip(result.columns, values))
        lineage = {each.id for each in trace.where(condition).goBackAll()["t"].collect()}
        assert {ids.columns["id"][each].as_py() for each in answer.lit} == lineage


# Functions of aggregates that Spark may not be able to compute of some rows.
FAILING = """
select k, sum(x) / nullif(sum(g), 0) a, try_divide(sum(x), count(distinct g) - 1) b, sum(price) / count(*) c, sum(x) + sum(x) d, cast(avg(x) as int) e, avg(x) between 1 and 9 f from t group by k
select g, concat(g, ': ', count(*)) a, format_number(avg(x), 2) b, date_add(min(d), 1) c, date_format(max(at), 'yyyy-MM HH') e, min(d) - interval 1 day f, nvl2(max(k), 1, 2) h from t group by g
select g, sum(price) * 3 a, sum(x) div count(*) b, pmod(sum(x), 7) c, hex(max(b)) e, length(max(k)) f, timestamp_seconds(sum(x)) h, sum(x) / count(*) filter (where id >= 0) i from t group by g
""".strip().splitlines()


@pytest.mark.many
@pytest.mark.parametrize("sql", FAILING)
def test_functions_of_aggregates_that_may_fail_follow_and_say_so(sql: str, spark: Any, dbg: Any, tables: list[int]) -> None:
    ids, result = dbg.marks(spark.sql("select id from t"), spark.sql(sql), over="t")
    labels = [*result.columns][1:]
    assert result.recomputed == {*labels}
    assert {note.split()[0] for note in result.notes if "has no value where the query would fail" in note} <= {*labels}
    assert result.notes
    views, chance = views_of((ids, result)), random.Random(sql)
    for size in (20, 3):
        marks = BitMap(chance.sample(range(len(ids)), size))
        chosen = [ids.columns["id"][mark].as_py() for mark in marks]
        spark.sql("select * from t").where(f"id in ({', '.join(map(str, chosen))})").createOrReplaceTempView("chosen")
        answer = views.answer(result.name, Selection().brushed(ids.name, marks))
        assert bag(shown(result, answer)) == bag(given(spark, sql.replace("from t", "from chosen t")))


def test_a_function_of_aggregates_has_no_value_where_its_query_would_fail(spark: Any, dbg: Any) -> None:
    values = "values (1, 'a', 6, 2), (2, 'a', 1, 0), (3, 'b', 1, 4), (4, 'b', null, null) as v(id, k, x, y)"
    ids, result = dbg.marks(spark.sql(f"select id from {values}"), spark.sql(f"select k, sum(x) / sum(y) q, k || sum(x) c from {values} group by k order by k"))
    assert result.notes == ("q has no value where the query would fail on the rows that are left.",)  # a text of a number there always is
    views = views_of((ids, result))
    assert views.answer(result.name, Selection()).values["q"].tolist() == [3.5, 0.25]
    answer = views.answer(result.name, Selection().brushed(ids.name, [1, 2]))
    assert answer.values["q"].tolist() == [None, 0.25]  # 1 / 0
    assert answer.values["c"].tolist() == ["a1", "b1"]
    assert views.answer(result.name, Selection().brushed(ids.name, [3])).values["q"].tolist() == [None, None]


def test_a_function_whose_values_python_does_not_have_is_refused_by_name(spark: Any, dbg: Any) -> None:
    late = "select id, date'9999-12-29' + cast(id as int) d from range(3)"
    ids, result = dbg.marks(spark.sql(f"select id from ({late})"), spark.sql(f"select 1 one, date_add(max(d), 1) next from ({late}) group by 1"))
    assert result.columns["next"].to_pylist() == ["10000-01-01"]
    views = views_of((ids, result))
    assert [str(each) for each in views.answer(result.name, Selection().brushed(ids.name, [0])).values["next"]] == ["9999-12-30"]
    with pytest.raises(ViewError, match=r"date_add\(max\(.*d\), 1\) gives moments after the year 9999.*without this column"):
        views.answer(result.name, Selection())


def _last_query(spark: Any) -> int:
    """The number of the query that Spark knows last: it forgets old ones."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    known = spark._jsparkSession.sharedState().statusStore().executionsList()
    return max(int(known.apply(place).executionId()) for place in range(known.length()))


def test_a_brush_over_functions_of_aggregates_is_no_job_and_no_query(spark: Any, dbg: Any, tables: list[int]) -> None:
    ids, result = dbg.marks(spark.sql("select id from t"), spark.sql("select k, round(avg(x), 1) r from t group by k"), over="t")
    views = views_of((ids, result))
    before = jobs_run(spark), _last_query(spark)
    active = spark._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession()
    views.answer(result.name, Selection().brushed(ids.name, [1, 2, 3]))
    assert (jobs_run(spark), _last_query(spark)) == before
    assert spark._jvm.org.apache.spark.sql.classic.SparkSession.getActiveSession().equals(active)


def test_a_column_that_is_not_recomputed_says_why(spark: Any, dbg: Any, tables: list[int]) -> None:
    spark.udf.register("twice", lambda x: x and x * 2, "int")
    [result] = dbg.marks(spark.sql("""
        select k, count(*) n, round(stddev(x), 1) r, twice(max(x)) q, collect_list(x) c, sum(distinct x) z, approx_count_distinct(x) a, count(distinct x, g) p, min(s) l,
               sum(much) w, upper(k) u, 1 one, struct(max(x), 1) o, s, named_struct('s', s) is null or count(*) > 1 i, max(x) + (select max(weight) from u) j,
               sum(much) * 2 v from t group by k, s
    """))
    assert result.recomputed == {"n", "w", "v"}
    assert [label for label in result.columns if label not in result.measured] == ["k", "u", "one", "s"]
    assert {note.split()[0]: note for note in result.notes} == {
        "r": "r stays as it is: linked views do not recompute stddev.", "q": "q stays as it is: a function of the user's, or a subquery, computes it of the aggregates of its group.",
        "c": "c stays as it is: linked views do not recompute collect_list.", "z": "z stays as it is: linked views do not recompute distinct sum.",
        "a": "a stays as it is: linked views do not recompute approx_count_distinct.", "p": "p stays as it is: linked views do not recompute distinct count.",
        "l": "l stays as it is: linked views do not compare values of type STRUCT<u: INT>.", "o": "o stays as it is: linked views do not compare values of type STRUCT<col1: INT, col2: INT NOT NULL>.",
        "i": "i stays as it is: linked views do not compare values of type STRUCT<u: INT>.",
        "j": "j stays as it is: a function of the user's, or a subquery, computes it of the aggregates of its group.",
        "v": "v has no value where the query would fail on the rows that are left.",
    }


def test_a_sum_that_might_overflow_stays(spark: Any, dbg: Any) -> None:
    values = "values (1, 9223372036854775807L, 99999999999999999999999999999999999999BD), (1, -9223372036854775807L, 0BD), (2, 0L, 1BD) as v(k, x, y)"
    [result] = dbg.marks(spark.sql(f"select k, sum(x) s, avg(x) m, sum(y) t from {values} where k < 3 group by k"))
    assert result.recomputed == {"s", "m"}
    assert result.notes == ("t stays as it is: Spark might not have room for its sum.",)
    [result] = dbg.marks(spark.sql(f"select k, try_sum(x) s from (select k, x from {values} union all select k, x from {values}) group by k"))
    assert result.notes == ("s stays as it is: Spark might not have room for its sum.",)
    [result] = dbg.marks(spark.sql(f"select k, round(sum(y), 1) s from {values} where k < 3 group by k"))
    assert not result.recomputed
    assert "s stays as it is: Spark might not have room for a sum that it is computed of." in result.notes


REFUSED = {
    "select u.k, count(*) n from u left join t on t.k = u.k group by u.k": "because records of the brushed input are not there",
    "select k from u where k not in (select k from t where k is not null)": "because records of the brushed input are not there",
    "select k from u where not exists (select 1 from t where t.k = u.k)": "because records of the brushed input are not there",
    "select t.k, count(*) n from t full join u on t.k = u.k group by t.k": "because records of the brushed input are not there",
    "select k from t except select k from t where x > 3": "because records of the brushed input are not there",
    "select k, (select count(*) from t b where b.g = t.g) c from t": "because records of the brushed input are not there",
    "select k, count(*) n from t where x > (select avg(x) from t) group by k": "in a subquery",
    "select id, row_number() over (partition by k order by id) r from t": "makes its rows of others beside them",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_what_would_appear_is_refused(sql: str, spark: Any, dbg: Any, tables: list[int]) -> None:
    with pytest.raises(ViewError, match=REFUSED[sql]):
        dbg.marks(spark.sql(sql), over="t")


# ---- inputs -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_results_share_the_input_of_most_rows_or_the_one_that_is_named(spark: Any, dbg: Any, tables: list[int]) -> None:
    joined = spark.sql("select name, count(*) n from t join u on t.k = u.k group by name"), spark.sql("select t.g, count(*) n from t join u on t.k = u.k group by t.g")
    assert all(each.view.association.rows > 40 for each in dbg.marks(*joined))
    named = dbg.marks(*joined, over="U")
    assert all(each.view.association.rows <= 5 for each in named)
    assert [each.name for each in named] == ["name", "g"]
    assert [each.name for each in dbg.marks(joined[0], joined[0], names=["x", "y"])] == ["x", "y"]
    assert [each.name for each in dbg.marks(joined[0], joined[0])] == ["name", "name 2"]
    with pytest.raises(ViewError, match="do not all read an input of this name: the first reads t, u; the second"):
        dbg.marks(*joined, over="zz")
    with pytest.raises(ViewError, match="share no input: the first reads t; the second reads u"):
        dbg.marks(spark.sql("select k from t"), spark.sql("select k from u"))
    with pytest.raises(ViewError, match="2 names for 1 results"):
        dbg.marks(joined[0], names=["a", "b"])
    with pytest.raises(ViewError, match="whole results"):
        dbg.marks(dbg.lineage(joined[0]).where("n > 2"))


def test_groups_of_the_same_rows_are_known(spark: Any, dbg: Any, tables: list[int]) -> None:
    def groups(frame: Any) -> Groups:
        questions = dbg.lineage(frame).run.questions
        steps = questions.steps()
        group, above = group_by(steps.root)
        assert group is not None
        return groups_of(steps, group, above, frozenset(questions.leaves))

    late = spark.table("t").where("id > 10")
    one, other = groups(late.groupBy("k").count()), groups(late.groupBy("g").agg(F.sum("x")).orderBy("g"))
    assert one.takes_rows_of(other)
    assert groups(spark.sql("select k, count(*) from t group by k")).takes_rows_of(groups(spark.sql("select g, sum(x) from t group by g order by g")))
    assert not one.takes_rows_of(groups(spark.table("t").groupBy("k").count()))
    assert not one.takes_rows_of(groups(spark.table("t").where("id > 11").groupBy("k").count()))


def test_groups_of_the_same_rows_are_linked_at_once_and_those_of_functions_too(spark: Any, dbg: Any, tables: list[int]) -> None:
    parity = F.udf(lambda x: None if x is None else x % 2, "int")
    late = spark.table("t").where("id > 10")
    frames = [late.groupBy("k").agg(F.sum("x").alias("s")), late.groupBy(parity("id").alias("p")).agg(F.sum("x").alias("s"), F.count("g").alias("c")), late.groupBy("g").count().where("count > 9")]
    k, p, g = dbg.marks(*frames)
    answer = views_of((k, p, g)).answer(p.name, Selection().brushed(k.name, [k.columns["k"].to_pylist().index("a")]))
    assert bag(shown(p, answer)) == bag(tuple(each) for each in late.where("k = 'a'").groupBy(parity("id")).agg(F.sum("x"), F.count("g")).collect())
    assert g.view.association.sizes[:-1].tolist() == g.columns["count"].to_pylist()


@pytest.mark.slow
def test_files_and_dataframes_are_inputs(spark: Any, dbg: Any, tmp_path: Any) -> None:
    rows = [(i, "ab"[i % 2], i % 5) for i in range(40)]
    spark.createDataFrame(rows, "id int, k string, g int").repartition(3).write.parquet(str(tmp_path / "p"))
    spark.createDataFrame(rows, "id int, k string, g int").repartition(3).write.csv(str(tmp_path / "c"), header=True)
    for frame in (spark.read.parquet(str(tmp_path / "p")), spark.read.csv(str(tmp_path / "c"), header=True), spark.createDataFrame(rows, "id int, k string, g int"), spark.range(40).selectExpr("id", "if(id % 2 = 0, 'a', 'b') k", "id % 5 g")):
        late = frame.where("id >= 10")
        frames = late.groupBy("k").count(), late.groupBy("g").agg(F.count("*").alias("n"), F.sum("id").alias("s"))
        with dbg.capture():
            for each in frames:
                each.collect()
        k, g = dbg.marks(*frames)
        assert all(isinstance(each.view.association, Coded) for each in (k, g))
        b = k.columns["k"].to_pylist().index("b")
        assert bag(shown(g, views_of((k, g)).answer(g.name, Selection().brushed(k.name, [b])))) == bag([
            tuple(each) for each in late.where("k = 'b'").groupBy("g").agg(F.count("*"), F.sum("id")).collect()
        ])


def test_columns_of_any_type_and_name_are_shown(spark: Any, dbg: Any, tables: list[int]) -> None:
    [result] = dbg.marks(spark.sql("select k, k, s, words, interval '3' month m, map('a', x) p, cast('x' as char(3)) c, b from t where id < 3"))
    assert list(result.columns) == ["k", "k#2", "s", "words", "m", "p", "c", "b"]
    assert result.columns["m"].to_pylist() == ["INTERVAL '3' MONTH"] * 3
    assert result.columns["c"].to_pylist() == ["x"] * 3
    [wide] = dbg.marks(spark.sql(f"select id, {', '.join(f'x + {i} c{i}' for i in range(300))} from t"))
    assert len(wide.columns) == 301


@pytest.mark.slow
def test_values_that_python_does_not_have_are_text(spark: Any, dbg: Any) -> None:
    odd = "select id, id % 2 g, cast(unhex(if(id = 1, 'C8FF', '61')) as string) t, date_add(date'9999-12-29', cast(id as int)) d, timestamp_seconds(253402300790 + 5 * id) at from range(5)"
    ids, t, d, g, rows = dbg.marks(*(spark.sql(f"{each} from ({odd})".replace("ROWS", "*") + by) for each, by in (
        ("select id", ""), ("select t, count(*) n", " group by t order by n"), ("select d, count(*) n", " group by d order by d"),
        ("select g, max(t) t, min(d) d, date_add(min(d), 1) e, count(distinct at) at, count(t) n", " group by g order by g"), ("select struct(t, d) s, array(at) a, at", ""),
    )))
    assert t.columns["t"].to_pylist() == ["\\xc8\\xff", "a"]
    assert d.columns["d"].to_pylist() == ["9999-12-29", "9999-12-30", "9999-12-31", "10000-01-01", "10000-01-02"]
    assert g.columns["t"].to_pylist() == ["a", "\\xc8\\xff"]
    assert g.columns["at"].to_pylist() == [3, 2]
    assert g.recomputed == {"n"}
    assert len([note for note in g.notes if "text of other bytes than UTF-8's, or moments after the year 9999" in note]) == len(g.notes) == 4
    assert all("values that Python does not have" in text for text in rows.columns["s"].to_pylist()[1:2])
    answer = views_of((ids, t, g)).answer(g.name, Selection().brushed(t.name, [0]))
    assert answer.values["n"].tolist() == [0, 1]


def test_an_empty_result_has_no_marks(spark: Any, dbg: Any, tables: list[int]) -> None:
    some, none, rows = dbg.marks(*map(spark.sql, ("select k, count(*) n from t group by k", "select k, sum(x) n from t where id < 0 group by k", "select id from t where id < 0")))
    assert len(none) == len(rows) == 0
    assert len(views_of((some, none, rows)).answer(none.name, Selection().brushed(some.name, [0])).counts) == 0


def test_too_many_marks_are_refused(spark: Any, dbg: Any) -> None:
    with pytest.raises(TooLargeError, match="more than 1,000,000 rows"):
        dbg.marks(spark.range(1_000_001))


# ---- RDDs ---------------------------------------------------------------------------------------------------------


def programs(lines: Any, other: Any) -> dict[str, Any]:
    words = lines.flatMap(lambda line: line.split()).map(lambda word: (word, 1))
    return {
        "map": lines.map(str.upper), "reduceByKey": words.reduceByKey(lambda a, b: a + b), "groupByKey": words.groupByKey().mapValues(sorted), "sortBy": words.sortBy(lambda w: w[0]),
        "join": words.join(other), "leftOuterJoin": words.leftOuterJoin(other), "union": words.union(words.filter(lambda w: w[0] > "b")), "distinct": words.distinct(),
        "subtractByKey": words.subtractByKey(other), "cartesian": lines.cartesian(other), "zipWithIndex": lines.zipWithIndex(), "coalesce": words.coalesce(2).map(lambda w: w[0]),
        "repartition": words.repartition(4), "cogroup": words.cogroup(other).mapValues(lambda pair: [len(list(side)) for side in pair]), "filter": lines.filter(lambda line: "a" in line),
        "mapPartitions": lines.mapPartitions(lambda part: [len(list(part))]), "glom": lines.glom(), "twice": words.reduceByKey(lambda a, b: a + b).map(lambda w: (w[1], w[0])).groupByKey().mapValues(sorted),
        "zip": lines.zip(lines.map(len)),
    }


NAMES = [*programs(*[type("", (), {"__getattr__": lambda self, name: lambda *given: self})()] * 2)]


@pytest.mark.many
@pytest.mark.parametrize("name", NAMES)
def test_links_of_records_are_their_lineage(name: str, dbg: Any) -> None:
    lines = dbg.context.parallelize(["a b a", "c", "", "b", "d e f", "a a", "f"] * 2, 3)
    rdd = programs(lines, dbg.context.parallelize([("a", 1), ("b", 2), ("a", 3), ("z", 9)], 2))[name]
    with dbg.capture():
        records = rdd.collect()
    numbers, result = dbg.marks(lines, rdd)
    assert len(result) == len(records)
    assert numbers.columns["record"].to_pylist() == lines.collect()
    assert "only lit" in result.notes[0]
    views, trace = views_of((numbers, result)), dbg.lineage(rdd)
    rids = trace.rids()
    sources = dbg.lineage(lines).rids().tolist()
    for mark in range(len(result)):
        lit = views.answer(numbers.name, Selection().brushed(result.name, [mark])).lit
        back = trace.at([int(rids[mark])]).goBackAll()
        operator = next(o for o in back.operators if o == lines._definition.operator.id)
        assert [sources[each] for each in lit] == rids_of(back.standing.get(operator, {})).tolist()


def test_rdds_that_share_no_source_are_refused(dbg: Any, spark: Any, tables: list[int]) -> None:
    one, other = (dbg.context.parallelize(range(9), 2).map(lambda x: x + 1) for _ in range(2))
    joined = one.union(other)
    with dbg.capture():
        assert one.sum() + other.sum() == joined.sum() == 90
    with pytest.raises(ViewError, match=r"share no input: map#.* reads parallelize"):
        dbg.marks(one, other)
    with pytest.raises(ViewError, match="DataFrames with DataFrames"):
        dbg.marks(one, spark.sql("select k from t"))
    with pytest.raises(ViewError, match="of this name"):
        dbg.marks(one, over="lines")
    with pytest.raises(UnknownOperatorError, match="a trace at one operator"):
        dbg.marks(dbg.lineage(joined).goBackAll())
    with pytest.raises(ViewError, match="nothing"):
        dbg.marks()


def test_records_are_columns_or_text(dbg: Any) -> None:
    def columns(*records: Any) -> dict[str, list[Any]]:
        rdd = dbg.context.parallelize(records, 2).map(lambda record: record)
        with dbg.capture():
            rdd.collect()
        return {name: column.to_pylist() for name, column in dbg.marks(rdd)[0].columns.items()}

    assert columns(("a", 1), ("b", None)) == {"_1": ["a", "b"], "_2": [1, None]}
    assert columns(Row(x=1, y="<script>"), Row(x=2, y="\u05d0")) == {"x": [1, 2], "y": ["<script>", "\u05d0"]}
    assert columns(1, "a", None) == {"record": ["1", "'a'", None]}
    assert columns(1j, None) == {"record": ["1j", None]}
    assert columns(2 ** 70, 1) == {"record": [str(2 ** 70), "1"]}
