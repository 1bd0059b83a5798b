"""Of a DataFrame that failed behind a shuffle: what stages had computed is neither looked at nor computed again (P10, DESIGN 4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import Window
from pyspark.sql import functions as F

import bigdebug
from bigdebug.spark.sql.crashes.heard import Heard
from bigdebug.spark.sql.plans.catalyst import Catalyst

ROWS, KEYS, BAD = 2_000, 50, 7


pytestmark = pytest.mark.usefixtures("untold")


@pytest.fixture
def shuffling(sql_settings: Callable[..., None]) -> Callable[..., None]:
    """Sets how joins are made, until the test ends. At first all are shuffled, into eight partitions."""
    sql_settings(autoBroadcastJoinThreshold="-1", shuffle__partitions="8")
    return sql_settings


def crashing(key: int) -> int:
    if key == BAD:
        raise ValueError("no such key")
    return key


def crash(column: str) -> Any:
    return F.udf(crashing, "long", useArrow=False)(column)


class Below:
    """Rows with a key and a number, whose number a function computes that counts its calls."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.calls = spark.sparkContext.accumulator(0)

    def __call__(self, rows: int = ROWS) -> Any:
        calls = self.calls

        def counted(number: int) -> int:
            calls.add(1)
            return number

        keyed = self.spark.range(0, rows, 1, 4).withColumn("k", F.col("id") % KEYS)
        return keyed.select("k", F.udf(counted, "long", useArrow=False)("id").alias("v"))


def joined(below: Below) -> Any:
    return below().join(below(KEYS).withColumnRenamed("v", "w"), "k")


def summed(below: Below) -> Any:
    return below().groupBy("k").agg(F.sum("v").alias("v"))


def distinct(below: Below) -> Any:
    return below().select("k", (F.col("v") * 0).alias("v")).distinct()


def grouped_and_joined(below: Below) -> Any:
    return summed(below).join(below(KEYS).withColumnRenamed("v", "w"), "k")


def self_joined(below: Below) -> Any:
    once = summed(below)
    return once.alias("a").join(once.alias("b"), F.col("a.v") == F.col("b.v")).select("a.k", "a.v", F.col("b.k").alias("other"))


def windowed(below: Below) -> Any:
    return below().withColumn("w", F.sum("v").over(Window.partitionBy("k")))


def first_ones(below: Below) -> Any:
    return below().withColumn("w", F.row_number().over(Window.partitionBy("k").orderBy("v"))).filter("w <= 2")


def repartitioned(below: Below) -> Any:
    return below().repartition(5)


def sorted_by(below: Below) -> Any:
    return summed(below).orderBy("v")


def counted_distinct(below: Below) -> Any:
    return below().groupBy("k").agg(F.countDistinct("v").alias("v"), F.sum("v").alias("w"))


def in_one(below: Below) -> Any:
    return below().coalesce(2).repartition(1)


def grouped_by_python(below: Below) -> Any:
    return below().groupBy("k").applyInPandas(lambda rows: rows.tail(2), "k long, v long")


SHAPES = [
    joined, summed, distinct, grouped_and_joined, self_joined, windowed, first_ones, repartitioned, sorted_by, counted_distinct, in_one, grouped_by_python,
]


def failed(dbg: Any, frame: Any, act: Callable[[Any], Any] = lambda frame: frame.collect()) -> Any:
    before = len(dbg.runs)
    with pytest.raises(Exception, match=r"no such|DIVIDE|OVERFLOW"):
        act(frame)
    (run,) = dbg.runs[before:]
    return run


def executed(run: Any) -> str:
    """The plan that it ran by, and the one that it began with."""
    return str(run.frame._jdf.queryExecution().executedPlan().toString())


def rows_of(frame: Any, columns: list[str]) -> Counter[Any]:
    return Counter(tuple(row[column] for column in columns) for row in frame.collect())


@contextmanager
def uncalled(below: Below) -> Iterator[None]:
    before = below.calls.value
    yield
    assert below.calls.value == before


COALESCED = {
    "one partition": {}, "some": {"adaptive__advisoryPartitionSizeInBytes": "4000", "adaptive__coalescePartitions__minPartitionSize": "100"},
    "all": {"adaptive__coalescePartitions__enabled": "false"},
}
"""How many of the partitions of a shuffle are read by a task of their own."""


@pytest.mark.many
@pytest.mark.parametrize("read", COALESCED)
@pytest.mark.parametrize("made", SHAPES, ids=lambda made: made.__name__)
def test_what_stages_had_computed_is_not_computed_again(dbg: Any, spark: Any, shuffling: Any, made: Callable[[Below], Any], read: str) -> None:
    shuffling(**COALESCED[read])
    below = Below(spark)
    run = failed(dbg, made(below).withColumn("x", crash("k")))
    with uncalled(below):
        culprits = list(run.culprits)
    assert run.culprits.unknown == []
    columns = [*culprits[0].record.__fields__]
    assert "k" in columns
    assert Counter(tuple(culprit.record) for culprit in culprits) == rows_of(made(below).filter(F.col("k") == BAD), columns)


ACTIONS: dict[str, Callable[[Any, Path], Any]] = {
    "count": lambda frame, path: frame.distinct().count(),
    "toPandas": lambda frame, path: frame.toPandas(),
    "a file": lambda frame, path: frame.write.parquet(str(path)),
    "a table": lambda frame, path: frame.write.option("path", str(path)).saveAsTable("written"),
    "nothing": lambda frame, path: frame.write.format("noop").mode("overwrite").save(),
    "show": lambda frame, path: frame.show(10_000),
}


@pytest.mark.many
@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization")
@pytest.mark.parametrize("action", ACTIONS)
def test_whatever_the_action(dbg: Any, spark: Any, shuffling: Any, action: str, tmp_path: Path) -> None:
    below = Below(spark)
    run = failed(dbg, joined(below).withColumn("x", crash("k")), lambda frame: ACTIONS[action](frame, tmp_path / "written"))
    with uncalled(below):
        assert sorted(culprit.record.k for culprit in run.culprits) == [BAD] * (ROWS // KEYS)


@pytest.mark.slow
def test_queries_that_failed_before_crowd_nothing_out(dbg: Any, spark: Any, shuffling: Any) -> None:
    for _ in range(20):
        with pytest.raises(AnalysisException):
            spark.sql("SELECT no_such_column")
    below = Below(spark)
    run = failed(dbg, joined(below).withColumn("x", crash("k")))
    with uncalled(below):
        assert len(list(run.culprits)) == ROWS // KEYS


def test_each_exception_has_the_plans_that_failed_with_it(dbg: Any, spark: Any, shuffling: Any) -> None:
    def problem(made: Callable[[Below], Any]) -> Exception:
        with pytest.raises(PythonException, match="no such") as raised:
            made(Below(spark)).withColumn("x", crash("k")).collect()
        return raised.value

    heard = Heard(Catalyst(spark))
    heard.open()
    try:
        first, second = problem(joined), problem(summed)
        assert ["Join" in plan.toString() for plan in heard.plans(second)] == [False]
        assert ["Join" in plan.toString() for plan in heard.plans(first)] == [True]
        assert heard.plans(first) == heard.plans(ValueError("another one")) == []
    finally:
        heard.close()
    assert heard.plans(problem(summed)) == []


@pytest.mark.many
@pytest.mark.parametrize("made", [joined, summed, grouped_and_joined, self_joined, sorted_by], ids=lambda made: made.__name__)
def test_culprits_have_their_sources_and_the_query_goes_on_without_them(dbg: Any, spark: Any, shuffling: Any, made: Callable[[Below], Any]) -> None:
    below = Below(spark)
    frame = made(below).withColumn("x", crash("k"))
    run = failed(dbg, frame)
    assert {record.record.id % KEYS for culprit in [*run.culprits][:4] for record in culprit.sources} == {BAD}
    resumed = run.resume(skip=True)
    wanted = made(below).filter(F.col("k") != BAD).withColumn("x", F.col("k"))
    assert Counter(map(tuple, resumed.result)) == Counter(map(tuple, wanted.collect()))


@pytest.mark.slow
def test_a_join_that_read_a_large_partition_in_parts(dbg: Any, spark: Any, shuffling: Any) -> None:
    shuffling(
        adaptive__skewJoin__skewedPartitionThresholdInBytes="1000", adaptive__skewJoin__skewedPartitionFactor="1.0", adaptive__advisoryPartitionSizeInBytes="1000",
        adaptive__coalescePartitions__minPartitionSize="100",
    )
    below = Below(spark)
    many = below(20_000).withColumn("k", F.when(F.col("v") < 19_000, BAD).otherwise(F.col("k")))
    frame = many.join(below(KEYS).withColumnRenamed("v", "w"), "k")
    run = failed(dbg, frame.withColumn("x", crash("k")))
    assert "skew=true" in executed(run)
    with uncalled(below):
        found = Counter(tuple(culprit.record) for culprit in run.culprits)
    assert sum(found.values()) == 10_000
    assert max(found.values()) == 1
    assert "More than 10,000" in run.culprits.unknown[0]


def test_a_join_that_became_a_broadcast_while_it_ran(dbg: Any, spark: Any, shuffling: Any) -> None:
    shuffling(adaptive__autoBroadcastJoinThreshold="10MB")
    below = Below(spark)
    run = failed(dbg, joined(below).withColumn("x", crash("k")))
    plan = executed(run)
    assert "BroadcastHashJoin" in plan[: plan.index("Initial Plan")]
    assert "AQEShuffleRead local" in plan
    with uncalled(below):
        culprits = list(run.culprits)
    assert Counter(culprit.record.k for culprit in culprits) == {BAD: ROWS // KEYS}


def divided(below: Below) -> Any:
    """Whose end throws for a group."""
    return below().groupBy("k").agg((F.sum("v") / F.sum(F.col("k") - BAD - 1)).alias("v"))


ENDS: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda ends, other: ends,
    "a function": lambda ends, other: ends.withColumn("x", crash("k")),
    "a union": lambda ends, other: ends.union(other),
    "a join": lambda ends, other: ends.join(other.withColumnRenamed("v", "w"), "k"),
}


@pytest.mark.many
@pytest.mark.parametrize("read", COALESCED)
@pytest.mark.parametrize("above", ENDS)
def test_what_throws_at_the_end_of_an_aggregate_is_found_beside_others(dbg: Any, spark: Any, shuffling: Any, above: str, read: str) -> None:
    shuffling(**COALESCED[read])
    other = spark.range(0, KEYS, 1, 2).select(F.col("id").alias("k"), crash("id").cast("double").alias("v"))
    run = failed(dbg, ENDS[above](divided(Below(spark)), other))
    found = {(culprit.operator.name, culprit.record[0]) for culprit in run.culprits}
    assert found == {("Aggregate", BAD + 1)} | (set() if above == "nothing" else {("Project", BAD)})
    assert run.culprits.unknown == []


@pytest.mark.slow
def test_a_table_that_is_joined_with_its_own_groups(dbg: Any, spark: Any, shuffling: Any) -> None:
    table = Below(spark)()
    frame = table.join(table.groupBy("k").agg(F.sum("v").alias("w")), "k").withColumn("x", crash("k"))
    run = failed(dbg, frame)
    culprits = list(run.culprits)
    assert len(culprits) == ROWS // KEYS
    for culprit in culprits[:2]:  # the row of the table is one of the group, too
        assert sorted(source.record.id for source in culprit.sources) == [number for number in range(ROWS) if number % KEYS == BAD]
    resumed = run.resume(skip=True)
    wanted = table.join(table.groupBy("k").agg(F.sum("v").alias("w")), "k").filter(F.col("k") != BAD).withColumn("x", F.col("k"))
    assert Counter(map(tuple, resumed.result)) == Counter(map(tuple, wanted.collect()))


def test_what_a_subquery_read_is_no_source(dbg: Any, spark: Any, shuffling: Any) -> None:
    shuffling(optimizer__excludedRules="org.apache.spark.sql.catalyst.optimizer.MergeScalarSubqueries")
    spark.range(60).selectExpr("id % 25 k", "id w").createOrReplaceTempView("asked")
    spark.range(200).selectExpr("id % 20 k", "id v").createOrReplaceTempView("rows")
    frame = spark.sql("SELECT rows.k, v FROM rows JOIN asked ON rows.k = asked.k WHERE v < (SELECT max(w) * 3 FROM asked)").withColumn("x", crash("k"))
    run = failed(dbg, frame)
    first = min(run.culprits, key=lambda culprit: culprit.record.v)
    assert sorted(source.record.id for source in first.sources) == [7, 7, 32, 57]


def test_records_of_an_rdd_below_a_filter_that_was_shuffled(dbg: Any, spark: Any, shuffling: Any) -> None:
    """The filter has the columns of the RDD's rows."""
    rows = spark.createDataFrame(spark.sparkContext.parallelize([(k, k % 3) for k in range(20)], 2), "k long, v long")
    run = failed(dbg, rows.filter("v < 2").repartition(3).withColumn("x", crash("k")))
    (culprit,) = run.culprits
    assert [source.record for source in culprit.sources] == [(BAD, BAD % 3)]
    assert sorted(row.k for row in run.resume(skip=True).result) == [k for k in range(20) if k % 3 < 2 and k != BAD]


def test_of_what_does_not_repeat_itself_a_finished_branch_says_nothing_of_another(dbg: Any, spark: Any, shuffling: Any) -> None:
    shuffling(exchange__reuse="false")
    calls = spark.sparkContext.accumulator(0)

    def drawing(number: int) -> int:
        calls.add(1)
        return number

    drawn = spark.range(20).select("id", F.udf(drawing, "long", useArrow=False).asNondeterministic()("id").alias("k")).repartition(2)
    run = failed(dbg, drawn.union(drawn).withColumn("x", crash("k")))
    before = calls.value
    assert [culprit.record.k for culprit in run.culprits] == [BAD, BAD]
    assert calls.value > before


def test_what_is_beside_a_finished_stage_is_looked_at(dbg: Any, spark: Any, shuffling: Any) -> None:
    below = Below(spark)
    other = spark.range(0, KEYS, 1, 2).select(F.col("id").alias("k"), F.expr("1 div (id - 3)").alias("v"))
    run = failed(dbg, summed(below).union(other).withColumn("x", crash("k")))
    assert {(culprit.operator.name, culprit.record[0]) for culprit in run.culprits} == {("Project", 3), ("Project", BAD)}


def test_partitions_that_had_finished_behind_a_shuffle(dbg: Any, spark: Any, shuffling: Any) -> None:
    seen = spark.sparkContext.accumulator(0)

    def last(number: int) -> int:
        seen.add(1)
        if number == 39:
            raise ValueError("no such number")
        return number

    frame = spark.range(40).repartitionByRange(40, "id").select(F.udf(last, "long", useArrow=False)("id").alias("n"))
    run = failed(dbg, frame)
    before = seen.value
    assert [culprit.record.id for culprit in run.culprits] == [39]
    assert seen.value - before <= 3


def test_without_adaptive_execution_all_is_computed_again(dbg: Any, spark: Any, shuffling: Any) -> None:
    shuffling(adaptive__enabled="false")
    below = Below(spark)
    run = failed(dbg, summed(below).withColumn("x", crash("k")))
    before = below.calls.value
    assert [culprit.record.k for culprit in run.culprits] == [BAD]
    assert below.calls.value > before


def test_what_is_detached_hears_of_nothing(dbg: Any, spark: Any) -> None:
    def listeners() -> int:
        return len(spark._jsparkSession.listenerManager().listListeners())

    attached = listeners()
    for _ in range(2):
        dbg.detach()
        assert listeners() == attached - 1
        assert bigdebug.attach(spark) is dbg
        assert listeners() == attached
