"""Replay and ex-replay of queries: as if the user had written the query over other tables, and nothing of the user's is touched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.errors import PredicateError, ReplayError

QUERIES = """
select k, sum(v) s, count(*) n from t group by k
select sum(v) s, count(*) n from t
select t.k, u.name, sum(t.v) s from t join u on t.k = u.k group by t.k, u.name
select t.k, u.name, t.v from t left join u on t.k = u.k
select t.k, u.name, t.v from t full join u on t.k = u.k
select k, v from t where k not in (select k from u where k is not null)
select k, v from t where v > (select avg(v) from t)
select k, (select max(v) from t i where i.k = o.k) m from u o
select k, v, sum(v) over (partition by k order by v, id) s from t
select k, v from t order by v desc, id limit 3
select distinct k from t union all select k from u
select k from t intersect select k from u
select k, v from t except all select k, v from t where v > 4
select a.id, b.id other from t a join t b on a.k = b.k and a.id < b.id
select id from t except all select cast(count(*) as int) from t
select id from t left anti join (select cast(count(v) as int) n from t where v > (select min(v) from t)) c on t.id = c.n
with x as (select k, sum(v) s from t group by k) select x.k, y.s from x join x y on x.k = y.k
select k, e from t lateral view explode(array(v, id)) as e
select k, avg(s) a from (select k, id % 2 half, sum(v) s from t group by k, id % 2) group by k
""".strip().splitlines()


@pytest.fixture(scope="module")
def tables(spark: Any) -> Iterator[dict[str, Any]]:
    rows = [(i, [None, "a", "b", "c"][i % 4], None if i == 7 else i % 6) for i in range(14)]
    known = {
        "t": spark.createDataFrame(rows, "id int, k string, v int"),
        "u": spark.createDataFrame([("a", "one"), ("b", "two"), ("b", "three"), (None, "none"), ("z", "last")], "k string, name string"),
    }
    for name, frame in known.items():
        frame.createOrReplaceTempView(name)
    yield known
    for name in known:
        spark.catalog.dropTempView(name)


def over(spark: Any, sql: str, tables: dict[str, Any], **others: Any) -> Counter[Row]:
    """What a query gives with other tables in the place of some."""
    try:
        for name, frame in others.items():
            frame.createOrReplaceTempView(name)
        return Counter(spark.sql(sql).collect())
    finally:
        for name in others:
            tables[name].createOrReplaceTempView(name)


@pytest.mark.many
@pytest.mark.parametrize("sql", QUERIES)
def test_without_rows_is_the_query_over_a_table_without_them(sql: str, dbg: Any, spark: Any, tables: dict[str, Any]) -> None:
    frame = spark.sql(sql)
    source = dbg.lineage(frame).goBackAll()
    name = next(name for name in source.inputs if name.startswith("t"))
    chosen = source[name].where("id in (3, 5, 6)" if "t" in source.inputs else "id = 3")
    ids = [row.id for row in chosen.collect()]
    expected = over(spark, sql, tables, t=tables["t"].where(~F.col("id").isin(ids)))
    replay = chosen.replay(exclude=True)
    assert Counter(replay.collect()) == expected
    assert replay.df.dtypes == frame.dtypes
    compared = replay.compare()
    before = Counter(frame.collect())
    assert (Counter(compared.added), Counter(compared.removed)) == (expected - before, before - expected)


@pytest.mark.many
@pytest.mark.parametrize("sql", QUERIES)
def test_on_rows_is_the_query_over_their_lineage(sql: str, dbg: Any, spark: Any, tables: dict[str, Any]) -> None:
    frame = spark.sql(sql)
    row = frame.collect()[0]
    trace = dbg.lineage(frame).where(row)
    lineage = trace.goBackAll()
    others = {name: lineage[name].toDF() if name in lineage.inputs else frame.limit(0) for name, frame in tables.items()}
    found = Counter(trace.replay().collect())
    assert row in found
    assert found == over(spark, sql, tables, **others)


def test_rows_are_edited_and_the_others_stay(dbg: Any, spark: Any, tables: dict[str, Any]) -> None:
    frame = spark.sql(QUERIES[0])
    source = dbg.lineage(frame).goBackAll()["t"].where("id = 5")
    mended = source.replay(exclude=True, edit=lambda row: {**row.asDict(), "v": 100})
    expected = over(spark, QUERIES[0], tables, t=tables["t"].withColumn("v", F.when(F.col("id") == 5, 100).otherwise(F.col("v"))))
    assert Counter(mended.collect()) == expected
    assert [(row.k, row.s, row.n) for row in source.replay(edit=lambda row: (row.id, "new", 7)).collect()] == [("new", 7, 1)]
    with pytest.raises(ReplayError, match="no row of the columns id, k, v"):
        source.replay(edit=lambda row: (1, 2)).collect()
    with pytest.raises(TypeError, match="edit is a function"):
        source.replay(edit=3)


def test_an_edit_that_raises_or_does_not_fit_is_named_with_its_row(dbg: Any, spark: Any) -> None:
    sums = spark.createDataFrame([(1, 1.0), (2, 2.0)], "k int, v double").groupBy("k").agg(F.sum("v").alias("s"))
    source = dbg.lineage(sums).where("k = 1").goBackAll()
    with pytest.raises(PredicateError, match=r"edit= at .*test_sql_replay.py:\d+ raised ZeroDivisionError: .*, on the record Row\(k=1, v=1.0\)"):
        source.replay(edit=lambda row: 1 // 0).collect()
    with pytest.raises(ReplayError, match=r"Row\(k='x', v=1.0\) does not fit its columns: .*They are struct<k:int,v:double>"):
        source.replay(edit=lambda row: Row(k="x", v=1.0)).collect()
    assert source.replay(edit=lambda row: (1, 3)).collect() == [Row(k=1, s=3.0)], "a whole number is a double, as in SQL"


def test_rows_inside_of_a_query_are_left_out(dbg: Any, spark: Any, tables: dict[str, Any]) -> None:
    """The groups of an inner aggregate, and not the records that they were made of."""
    sums = spark.sql("select k, id % 2 half, sum(v) s from t group by k, id % 2")
    averages = sums.groupBy("k").agg(F.avg("s").alias("a"))
    inner = dbg.lineage(averages).where("k = 'b'").back_to(sums)
    replay = inner.replay(exclude=True, at=sums)
    assert Counter(replay.collect()) == Counter(row for row in averages.collect() if row.k != "b")
    on = inner.replay(at=sums)
    assert Counter(on.collect()) == Counter(row for row in averages.collect() if row.k == "b")


def test_a_replay_is_a_dataframe_that_can_be_traced_and_nothing_else_changes(dbg: Any, spark: Any, tables: dict[str, Any]) -> None:
    def state() -> Any:
        return spark.catalog.listTables(), dict(spark.conf.getAll.items()), spark._jsparkSession.sharedState().cacheManager().isEmpty()

    before = state()
    frame = spark.sql(QUERIES[0])
    replay = dbg.lineage(frame).goBackAll()["t"].where("id = 5").replay(exclude=True)
    assert replay.count() == len(replay.collect()) == len(replay.toPandas())
    assert replay.take(1) == replay.df.take(1)
    with dbg.capture("again"):
        rows = replay.df.collect()
    back = dbg.lineage(replay.df).where(rows[0]).goBackAll()
    assert back.count() == rows[0].n
    compared = dbg.compare(frame, replay)
    assert [(change.kind, change.inputs.gones, change.inputs.news) for change in compared.changes] == [("changed", 1, 0)]
    assert compared.changes[0].inputs.gone[0].record.id == 5
    assert state() == before
    assert "without records at" in repr(replay)


def test_rows_that_were_drawn_are_not_drawn_anew(dbg: Any, spark: Any, tables: dict[str, Any]) -> None:
    frame = spark.table("t").sample(0.5, seed=3).groupBy("k").count()
    with dbg.capture("drawn", strategy="inject"):
        rows = frame.collect()
    trace = dbg.lineage(frame)
    source = trace.goBackAll()["t"]
    assert Counter(trace.where(rows[0]).replay().collect()) >= Counter([rows[0]])
    with pytest.raises(ReplayError, match="Sample#2 drew its rows in the run"):
        source.replay(exclude=True).collect()
    drawn = trace.where(rows[0]).back_to(2).replay(exclude=True, at=2)
    assert Counter(drawn.collect()) == Counter(rows[1:])


@pytest.mark.slow
def test_a_replay_over_rows_in_partitions_is_compared_with_their_names_in_the_run(dbg: Any, spark: Any) -> None:
    """They are numbered as they are read, which another query than the replay's own could not tell from drawing."""
    rows = spark.createDataFrame(spark.sparkContext.parallelize([(i, i % 3) for i in range(12)], 4), "id int, k int")
    counts = rows.groupBy("k").count()
    compared = dbg.compare(counts, dbg.lineage(counts).goBackAll().where("id = 7").replay(exclude=True))
    [change] = compared.changes
    assert (change.before[0]["count"], change.after[0]["count"], change.inputs.gones, change.inputs.news) == (4, 3, 1, 0)
    assert (change.inputs.gone[0].record.id, change.inputs.gone[0].origin.index) == (7, 7)
