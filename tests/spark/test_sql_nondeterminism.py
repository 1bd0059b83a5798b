"""What another execution would give otherwise is kept when the query runs, or refused; it is never answered from a second draw."""

from __future__ import annotations

import random
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.errors import PythonException
from pyspark.sql import Observation, Window
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.plans import arrivals
from tests.spark.oracle import check, restored


@pytest.fixture(scope="module")
def numbers(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = str(tmp_path_factory.mktemp("numbers") / "numbers.parquet")
    spark.range(1000).selectExpr("id", "id % 7 k").repartition(2).write.parquet(path)
    return spark.read.parquet(path)


def programs(numbers: Any) -> dict[str, Any]:
    drawn = numbers.withColumn("x", F.rand(3))
    udf = F.udf(lambda x: x + random.randrange(3), "long").asNondeterministic()
    return {
        "rand": drawn.filter("x > 0.9"),
        "rand in an aggregate": drawn.groupBy("k").agg(F.sum("x"), F.count("*")),
        "sample": numbers.sample(0.05, seed=5),
        "clock": numbers.withColumn("t", F.current_timestamp()).filter("id < 5"),
        "udf": numbers.withColumn("y", udf("id")),
    }


def drawing(calls: Any) -> Any:
    """A function of the user's that draws, and counts how often it is called."""
    def drawn(x: Any) -> float:
        calls.add(1)
        return random.random()

    return F.udf(drawn, "double", useArrow=False).asNondeterministic()


BEHIND_A_SHUFFLE = "rand behind a shuffle"


@pytest.mark.many
@pytest.mark.parametrize("name", ["rand", "rand in an aggregate", "sample", "clock", "udf"])
def test_what_is_drawn_is_kept(name: str, dbg: Any, numbers: Any) -> None:
    frame = programs(numbers)[name]
    with dbg.capture():
        rows = frame.collect()
    row = rows[len(rows) // 2]
    trace = dbg.lineage(frame).where(row)
    assert trace.count() == 1
    found = trace.goBackAll()["numbers.parquet"].collect()
    if "id" in row:
        assert [r.id for r in found] == [row.id]
    else:
        assert [r.k for r in found] == [row.k] * row["count(1)"]


@pytest.mark.parametrize("name", ["rand", "rand in an aggregate", "sample"])
def test_seeds_draw_the_same_under_capture(name: str, dbg: Any, numbers: Any) -> None:
    frame = programs(numbers)[name]
    plain = frame.collect()
    with dbg.capture():
        assert frame.collect() == plain


@pytest.mark.parametrize("name", ["rand", "rand in an aggregate", "sample", "clock", "udf"])
def test_what_was_not_kept_is_refused(name: str, dbg: Any, numbers: Any) -> None:
    frame = programs(numbers)[name]
    with dbg.capture(strategy="lazy"):
        row = frame.collect()[0]
    with pytest.raises(NondeterminismError, match="strategy='inject'"):
        dbg.lineage(frame).where(row).goBackAll().count()


def test_behind_a_shuffle_only_inject_keeps(dbg: Any, numbers: Any) -> None:
    frame = numbers.groupBy("k").count().withColumn("q", F.rand())
    with dbg.capture():
        frame.collect()
    with pytest.raises(NondeterminismError, match="rand"):
        dbg.lineage(frame).goBackAll().count()
    with dbg.capture(strategy="inject"):
        row = frame.collect()[3]
    assert dbg.lineage(frame).where(row).goBackAll()["numbers.parquet"].count() == row["count"]


def test_limits_without_order(dbg: Any, numbers: Any) -> None:
    few = numbers.limit(3)
    with dbg.capture():
        row = few.collect()[1]
    assert [r.id for r in dbg.lineage(few).where(row).goBackAll()["numbers.parquet"].collect()] == [row.id]
    inner = numbers.limit(3).groupBy("k").count()
    with dbg.capture():
        inner.collect()
    with pytest.raises(NondeterminismError, match="Limit#2 cuts rows that come in no order"):
        dbg.lineage(inner).goBackAll().count()
    with dbg.capture(strategy="inject"):
        rows = inner.collect()
    assert dbg.lineage(inner).goBackAll()["numbers.parquet"].count() == sum(r["count"] for r in rows) == 3


def test_limits_within_ties(dbg: Any, numbers: Any) -> None:
    with pytest.raises(NondeterminismError, match="between rows that its order does not tell apart"):
        dbg.lineage(numbers.orderBy("k").limit(5)).goBackAll().count()
    assert dbg.lineage(numbers.orderBy("k", "id").limit(5)).goBackAll()["numbers.parquet"].count() == 5
    assert dbg.lineage(numbers.where("id < 4").orderBy("k").limit(5)).goBackAll()["numbers.parquet"].count() == 4


def test_windows_that_count_tied_rows(dbg: Any, numbers: Any) -> None:
    frame = numbers.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy(F.col("id") % 10)))
    with pytest.raises(NondeterminismError, match=r"Window#\d .*counts rows in an order that does not tell all of them apart"):
        dbg.lineage(frame).where("id = 5").goBackAll().count()


def test_a_function_that_draws_in_secret_is_found_by_its_result(dbg: Any, numbers: Any) -> None:
    secret = F.udf(lambda x: random.random(), "double")
    frame = numbers.where("id < 3").withColumn("y", F.round(secret("id") * 1_000_000).cast("long"))
    with dbg.capture():
        row = frame.collect()[0]
    with pytest.raises(NondeterminismError, match=r"gave the row .* once, and the query gives it 0 times now"):
        dbg.lineage(frame).where(row).goBackAll().count()


def test_orders_of_arrival_decide_nothing(dbg: Any, numbers: Any) -> None:
    lists = numbers.groupBy("k").agg(F.collect_list("id").alias("ids"), F.first("id").alias("one"))
    with dbg.capture():
        row = lists.collect()[0]
    assert dbg.lineage(lists).where({"k": row.k}).goBackAll()["numbers.parquet"].count() == len(row.ids)
    with pytest.raises(NondeterminismError, match="decides by one"):
        dbg.lineage(lists.where("one > 3")).goBackAll().count()


def test_strategies_agree(dbg: Any, numbers: Any, tmp_path: Path) -> None:
    found = []
    for strategy in ("lazy", "defer", "inject", "auto"):
        frame = numbers.where("id > 100").groupBy("k").count()
        with dbg.capture(strategy=strategy):
            row = sorted(frame.collect())[2]
        if strategy == "defer":
            assert dbg.wait_for_indexes(60)
        found.append(dbg.lineage(frame).where(row).goBackAll().rids().tolist())
    assert found == [found[0]] * 4


def test_a_query_has_one_time(dbg: Any, spark: Any) -> None:
    frame = spark.range(3).withColumn("a", F.current_timestamp()).where(F.col("a") == F.current_timestamp())
    with dbg.capture() as run:
        rows = frame.collect()
        assert frame.count() == 3
    assert len(rows) == 3
    assert [r.id for r in dbg.lineage(run.runs[0]).where(rows[1]).goBackAll()["range"].collect()] == [1]


CLOCKS = {
    "time": ["current_timestamp() t"], "times": ["now() - interval 1 day t", "current_timestamp() > now() - interval 1 hour u"],
    "date": ["current_date() t", "date_format(now(), 'yyyy') y"], "local": ["localtimestamp() t", "current_timezone() z"],
    "function": ["negated(id) n", "now() t"], "draw": ["now() t", "rand(3) r"], "subquery": ["(select max(now()) from values (1) as v(x)) t"],
    "nothing else": ["current_time() t"],
}


@pytest.mark.many
@pytest.mark.parametrize("clocks", CLOCKS)
@pytest.mark.parametrize("action", ["collect", "toPandas", "toArrow"])
def test_a_frame_has_one_time(clocks: str, action: str, dbg: Any, spark: Any) -> None:
    spark.udf.register("negated", F.udf(lambda x: -x, "long", useArrow=False))
    for plain_first in (True, False):
        frame = spark.range(3).selectExpr("id", *CLOCKS[clocks])
        before = str(frame.collect()) if plain_first else None
        with dbg.capture() as capture:
            getattr(frame, action)()
            rows = frame.collect()
        assert before in (str(rows), None)
        assert frame.collect() == rows
        assert [r.id for r in dbg.lineage(frame).where(rows[1]).goBackAll()["range"].collect()] == [1]
        assert dbg.lineage(capture.runs[0]).where("id = 2").goBackAll()["range"].count() == 1


def test_a_time_in_rows_that_spark_computes_at_once(dbg: Any, spark: Any) -> None:
    frame = spark.sql("select id, now() t, localtimestamp() u from values (1), (2) as v(id)")
    before = frame.collect()
    with dbg.capture():
        assert frame.collect() == before
    assert dbg.lineage(frame).where("id = 2").goBackAll().collect()[0][0] == 2


def test_a_query_of_its_own_has_its_own_time(dbg: Any, spark: Any) -> None:
    frame = spark.range(1).select(F.current_timestamp().alias("t"))
    [[first]] = frame.collect()
    with dbg.capture():
        [[later]] = frame.take(1)
    assert later > first


@pytest.mark.parametrize("strategy", ["auto", "inject"])
def test_what_is_cached_is_not_drawn_again(strategy: str, dbg: Any, spark: Any) -> None:
    for drawn in (F.current_timestamp(), F.rand(), F.udf(random.random, "double", useArrow=False).asNondeterministic()()):
        frame = spark.range(3).withColumn("t", drawn).cache()
        before = frame.collect()
        with dbg.capture(strategy=strategy):
            assert frame.collect() == before
        with pytest.raises(NondeterminismError):
            dbg.lineage(frame).where(before[0]).goBackAll().count()
        frame.unpersist()


@pytest.mark.parametrize("strategy", ["auto", "inject"])
def test_observations_are_told(strategy: str, dbg: Any, spark: Any) -> None:
    seen = Observation()
    frame = spark.range(9).withColumn("r", F.rand()).observe(seen, F.count("*").alias("n"))
    with dbg.capture(strategy=strategy):
        assert len(frame.collect()) == 9
    assert seen.get == {"n": 9}


def test_a_with_that_draws_is_drawn_once(dbg: Any, spark: Any) -> None:
    frame = spark.sql("with c as (select id, uuid() u from range(5)) select a.id from c a join c b on a.u = b.u")
    for strategy in ("auto", "inject"):
        with dbg.capture(strategy=strategy):
            assert len(frame.collect()) == 5


def test_a_look_at_few_rows_computes_few(dbg: Any, spark: Any) -> None:
    calls = spark.sparkContext.accumulator(0)
    frame = spark.range(0, 100_000, 1, 50).withColumn("r", drawing(calls)("id"))
    with dbg.capture():
        assert len(frame.take(2)) == 2
    assert calls.value < 50_000


def test_a_limit_computes_few(dbg: Any, spark: Any) -> None:
    calls = spark.sparkContext.accumulator(0)
    frame = spark.range(0, 20_000, 1, 20).withColumn("r", drawing(calls)("id"))
    for few in (frame.limit(2), frame.where("r > 0").select("id").limit(2).groupBy().count()):
        before = calls.value
        with dbg.capture():
            assert few.collect()
        assert calls.value - before < 10_000
    with pytest.raises(NondeterminismError, match="strategy='inject'"):
        dbg.lineage(frame.limit(2)).goBackAll().count()


def test_a_limit_behind_an_order_keeps_what_is_computed_anyway(dbg: Any, spark: Any) -> None:
    frame = spark.range(0, 100, 1, 4).withColumn("r", F.rand()).orderBy("r", "id").limit(2)
    with dbg.capture():
        rows = frame.collect()
    assert [r.id for r in dbg.lineage(frame).where(rows[1]).goBackAll()["range"].collect()] == [rows[1].id]


@pytest.mark.many
@pytest.mark.parametrize("strategy", ["auto", "inject"])
def test_a_cancelled_job_is_not_run_again(strategy: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    def slow(x: int) -> float:
        (tmp_path / "running").touch()
        time.sleep(0.02)
        return float(x)

    frame = spark.range(0, 2000, 1, 4).withColumn("r", F.udf(slow, "double", useArrow=False).asNondeterministic()("id"))
    found: list[Any] = []

    def run() -> None:
        spark.sparkContext.setJobGroup("mine", "to be cancelled", True)
        try:
            found.append(frame.collect())
        except Exception as error:
            found.append(error)

    thread = InheritableThread(target=run)
    with dbg.capture(strategy=strategy) as capture:
        thread.start()
        while not (tmp_path / "running").exists():
            time.sleep(0.05)
        spark.sparkContext.cancelJobGroup("mine")
        thread.join(60)
    assert "SPARK_JOB_CANCELLED" in str(found[0])
    assert [run.status for run in capture.runs] == ["failed"]


def test_a_function_that_raises_does_so_once_and_again_for_its_culprit(dbg: Any, spark: Any, tmp_path: Path) -> None:
    def bad(x: int) -> float:
        with (tmp_path / "calls").open("a") as calls:
            calls.write(".")
        if x == 9:
            raise ValueError("no nine")
        return 1.0

    frame = spark.range(0, 10, 1, 1).withColumn("r", F.udf(bad, "double", useArrow=False).asNondeterministic()("id"))
    said = []
    for captured in (False, True):
        with dbg.capture() if captured else nullcontext(), pytest.raises(PythonException) as error:
            frame.collect()
        said.append((type(error.value), str(error.value), (tmp_path / "calls").read_text()))
        (tmp_path / "calls").unlink()
    assert said[0] == said[1]
    assert "no nine" in said[0][1]
    assert len(said[0][2]) == 20
    with dbg.capture():
        assert len(frame.select("id").collect()) == 10  # nobody needs what the function gives


def test_a_function_that_raises_where_the_query_does_not_call_it(dbg: Any, spark: Any) -> None:
    raising = F.udf(lambda x: 1 // 0, "long", useArrow=False)
    drawn = spark.range(3).select("id", F.rand().alias("r"), raising("id").alias("never")).where("r >= 0").select("id")
    with dbg.capture():
        assert len(drawn.collect()) == 3


@pytest.mark.parametrize("sql", [
    "select * from (select k, first_value(id) o from t group by k) where o > 3",
    "select * from (select -1L k, 0L o union all select k, first(id) from t group by k) where o > 3",
    "select * from t where id > (select first(id) from t)",
    "select k, count(*) from (select k, percentile_approx(id, 0.5) p from t group by k) group by p, k",
])
def test_orders_of_arrival_decide_nothing_anywhere(sql: str, dbg: Any, spark: Any, numbers: Any) -> None:
    numbers.createOrReplaceTempView("t")
    with pytest.raises(NondeterminismError, match="depends on the order in which rows arrived"):
        dbg.lineage(spark.sql(sql)).goBackAll().count()


def test_a_question_decides_by_no_order_of_arrival(dbg: Any, numbers: Any) -> None:
    lists = numbers.groupBy("k").agg(F.first("id").alias("one"))
    with dbg.capture():
        lists.count()
    for condition in ("one = 3", {"one": 3}, F.col("one") == 3, lambda row: row.one == 3):
        with pytest.raises(NondeterminismError, match=r"where\(\) on Aggregate#2 .*decides by one.*a whole Row of the result"):
            dbg.lineage(lists).where(condition).count()
    assert dbg.lineage(lists).where("k = 3").goBackAll()["numbers.parquet"].count() == 143


@pytest.mark.slow
def test_the_first_of_a_window(dbg: Any, numbers: Any) -> None:
    by = Window.partitionBy("k")
    frame = numbers.withColumn("f", F.first("id").over(by.orderBy("id"))).where("f = 3")
    assert dbg.lineage(frame).where("id = 10").goBackAll()["numbers.parquet"].count() == 2
    tied = numbers.withColumn("f", F.first("id").over(by.orderBy(F.col("id") % 2)))
    with pytest.raises(NondeterminismError, match="counts rows in an order"):
        dbg.lineage(tied).where("id = 10").goBackAll().count()


def test_rdds_that_draw_in_secret_are_found_by_their_result(dbg: Any, spark: Any) -> None:
    rdd = spark.sparkContext.parallelize(range(1000), 2).map(lambda i: (i % 5, random.random()))
    frame = spark.createDataFrame(rdd, "k int, x double").where("x > 0.5").groupBy("k").agg(F.sum("x"))
    with dbg.capture():
        row = frame.collect()[0]
    with pytest.raises(NondeterminismError, match="gave the row"):
        dbg.lineage(frame).where(row).goBackAll().collect()


def test_the_row_of_each_key_that_was_kept(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(i, i % 3, i % 2) for i in range(12)], "id int, k int, z int").repartition(3)
    frame = rows.dropDuplicates(["k"]).groupBy("z").agg(F.count("*").alias("n"), F.collect_list("id").alias("ids"))
    with dbg.capture(strategy="inject"):
        result = frame.collect()
    for row in result:
        back = dbg.lineage(frame).where(row).goBackAll()["createDataFrame"]
        assert {r.k for r in back.collect()} == {i % 3 for i in row.ids}
        assert back.count() == 4 * row.n
    with pytest.raises(NondeterminismError, match=r"decides by z.*inject"):
        dbg.lineage(rows.dropDuplicates(["k"]).where("z > 0")).goBackAll().count()


@pytest.mark.slow
def test_the_rows_that_a_count_in_no_order_chose(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(i, i % 3) for i in range(12)], "id int, k int").repartition(3)
    in_no_order = Window.partitionBy("k").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    frame = rows.withColumn("n", F.count("*").over(in_no_order)).where("n = 1").select("id", "k")
    with pytest.raises(NondeterminismError, match=r"decides by n.*inject"):
        dbg.lineage(frame).goBackAll().count()
    with dbg.capture(strategy="inject"):
        result = frame.collect()
    assert sorted(row.k for row in result) == [0, 1, 2]
    for row in result:
        trace = dbg.lineage(frame).where(row)
        assert trace.collect() == [row]
        assert sorted(r.id for r in trace.goBackAll()["createDataFrame"].collect()) == list(range(row.k, 12, 3))


def test_all_rows_are_compared_with_those_of_the_run(dbg: Any, spark: Any) -> None:
    frame = spark.range(50).withColumn("r", F.udf(lambda x: random.random(), "double")("id")).where("r > 0.5")
    with dbg.capture():
        frame.collect()
    with pytest.raises(NondeterminismError, match=r"The run gave \d+ rows, and the query gives \d+ now"):
        dbg.lineage(frame).goBackAll().count()


def test_names_and_texts_are_no_functions(dbg: Any, spark: Any) -> None:
    named = spark.range(6).selectExpr("id % 2 k", "id `first(id)`", "'mode(x)' t").groupBy("k").agg(
        F.max("`first(id)`").alias("collect_list(x)"), F.max(F.concat(F.lit("any('x)"), F.col("t"))).alias("m"),
    ).where("`collect_list(x)` > 4 and m is not null")
    assert dbg.lineage(named).goBackAll().count() == 3


ORDERLESS = [
    "select k, any(x > 25) a from t group by k having any(x > 25)",
    "select k from t group by k having size(collect_set(x)) > 1",
    "select k, array_contains(l, 30) c from (select k, collect_list(x) l from t group by k) where array_contains(l, 20)",
    "select s, count(*) n from (select k, sort_array(collect_set(x)) s from t group by k) group by s",
    "select k, e from (select k, collect_set(x) l from t group by k) lateral view explode(l) as e where e > 15",
    "select k, max(e) m from (select k, collect_list(struct(x, k)) l from t group by k) lateral view inline(l) as e, f group by k",
    "select l, count(*) n from (select k, listagg(x, ',') within group (order by x desc) l from t group by k) group by l",
    "select m, count(*) n from (select k, mode() within group (order by x) m from t group by k) group by m",
    "select n, count(*) c from (select count(*) over (partition by k rows between unbounded preceding and unbounded following) n from t) group by n",
    "select k, count(*) n from (select k, any_value(x) a from t group by k) group by rollup(k)",
]


@pytest.mark.many
@pytest.mark.parametrize("sql", ORDERLESS)
def test_where_order_makes_no_difference_none_is_asked_for(sql: str, dbg: Any, spark: Any) -> None:
    views = {"t": spark.createDataFrame([(1, 10), (2, 20), (2, 30), (None, 40)], "k int, x int")}
    restored(views)
    check(dbg, sql, views, spark.sql(sql).collect())


@pytest.mark.parametrize("sql", [
    "select k from (select k, collect_list(x) l from t group by k) where l[0] = 20",
    "select k, p, e from (select k, collect_list(x) l from t group by k) lateral view posexplode(l) as p, e where p = 0",
    "select k from (select k, any_value(x) a from t group by k) where a = 20",
    "select a, count(*) n from (select k, any_value(x) a from t group by k) group by rollup(a)",
    "select l, count(*) n from (select k, listagg(x, ',') within group (order by k) l from t group by k) group by l",
    "select m, count(*) n from (select k, mode(x) m from t group by k) group by m",
    "select k, x from (select *, count(*) over (partition by k rows between unbounded preceding and current row) n from t) where n = 1",
    "select s, count(*) n from (select sum(x) over (rows between 1 preceding and 1 following) s from t) group by s",
    "select k from (select k, size(array_distinct(collect_list(l))) n from (select k, collect_list(x) l from t group by k) group by k) where n = 1",
])
def test_where_order_decides_it_is_refused(sql: str, dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, 10), (2, 20), (2, 30), (None, 40)], "k int, x int").createOrReplaceTempView("t")
    with pytest.raises(NondeterminismError, match="order in which rows arrived"):
        dbg.lineage(spark.sql(sql)).goBackAll().count()


def test_draws_over_buckets_are_those_without_capture(dbg: Any, spark: Any) -> None:
    spark.range(200).selectExpr("id", "id % 7 k").write.bucketBy(4, "k").mode("overwrite").saveAsTable("in_buckets")
    try:
        table = spark.table("in_buckets")
        for frame in (table.sample(0.2, seed=3), table.withColumn("r", F.rand(7)), table.withColumn("r", F.rand(7)).groupBy("k").agg(F.sum("r"))):
            expected = sorted(map(repr, frame.collect()))
            with dbg.capture():
                assert sorted(map(repr, frame.select("*").collect())) == expected
    finally:
        spark.sql("drop table in_buckets")


def test_functions_in_subqueries_add_once(dbg: Any, spark: Any) -> None:
    calls = spark.sparkContext.accumulator(0)
    counting = F.udf(lambda x: calls.add(1) or x, "long")
    spark.udf.register("counting", counting)
    spark.range(4).createOrReplaceTempView("counted")
    frame = spark.sql("select id, (select max(counting(id)) from counted) m from counted where id > (select min(counting(id)) from counted)")
    with dbg.capture():
        frame.collect()
    before = calls.value
    assert dbg.lineage(frame).where("id = 3").goBackAll().count() == 4
    assert calls.value == before > 0


def test_a_plan_too_long_for_spark_to_write_may_draw(dbg: Any, spark: Any) -> None:
    frame = spark.range(100).where("id + 1 + 2 + 3 + 4 + 5 + 6 + 7 > 0").sample(0.5)
    spark.conf.set("spark.sql.maxPlanStringLength", 50)
    try:
        with dbg.capture():
            rows = frame.collect()
        trace = dbg.lineage(frame)
        assert trace.goBackAll().collect() == rows
    finally:
        spark.conf.unset("spark.sql.maxPlanStringLength")


SETTLED = ["any", "approx_count_distinct", "avg", "bit_and", "bit_or", "bit_xor", "bitmap_and_agg", "bitmap_construct_agg", "bitmap_or_agg", "bool_and", "bool_or", "corr", "count", "count_if", "count_min_sketch", "covar_pop", "covar_samp", "every", "grouping", "grouping_id", "kurtosis", "max", "mean", "measure", "median", "min", "percentile", "percentile_cont", "percentile_disc", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "some", "std", "stddev", "stddev_pop", "stddev_samp", "sum", "try_avg", "try_sum", "var_pop", "var_samp", "variance"]
"""Aggregates that give the same in whatever order rows arrive; but for the last digits, of floating point."""


def test_each_aggregate_of_spark_is_known(spark: Any) -> None:
    """A new one is taken for settled only if somebody looked at it."""
    jvm = spark._jvm
    known = jvm.scala.jdk.javaapi.CollectionConverters.asJava(jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.expressions())
    aggregates = {name for name in known.keySet() if known[name]._1().getGroup() == "agg_funcs"}
    assert len(aggregates) > 70
    patterns = (arrivals._ARRIVAL, arrivals._FIRST)
    assert {name for name in aggregates if not any(pattern.match(f"{name}(") for pattern in patterns)} <= set(SETTLED)
    assert not [name for name in SETTLED if any(pattern.match(f"{name}(") for pattern in patterns)]


@pytest.mark.many
@pytest.mark.parametrize(("cut", "needed"), [
    ("limit 2147483647", 1), ("limit 2147483644 offset 3", 4), ("limit 999 offset 1", 2), ("limit 5 offset 2147483000", 0),
])
def test_limits_that_are_as_large_as_they_can_be(cut: str, needed: int, dbg: Any, spark: Any, numbers: Any) -> None:
    numbers.createOrReplaceTempView("numbers")
    frame = spark.sql(f"select id from numbers order by id {cut}")
    assert dbg.lineage(frame).where("id = 500").goBackAll().count() == needed
