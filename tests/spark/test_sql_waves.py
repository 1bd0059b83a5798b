"""Of a DataFrame of many partitions: the first culprits come soon, each comes once, and what had finished is not looked at again (P10, DESIGN 4.3)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark import TaskContext
from pyspark.errors import PythonException
from pyspark.sql import Window
from pyspark.sql import functions as F

from bigdebug.errors import ReplayError
from bigdebug.spark.sql.crashes.waves import Partitions
from bigdebug.spark.sql.plans.catalyst import Catalyst
from tests.interrupting import cancelled

PARTITIONS = 40


pytestmark = pytest.mark.usefixtures("untold")


@pytest.fixture
def rows(spark: Any) -> Any:
    """A row in each partition, which has its number."""
    return spark.range(0, PARTITIONS, 1, PARTITIONS)


def crashing(*numbers: int, seen: Path | None = None, seconds: float = 0.0, arrow: bool = False) -> Any:
    """A function that crashes on some numbers, and writes down those that it saw."""

    def function(number: int) -> int:
        if seen is not None:
            with seen.open("a") as file:
                file.write(f"{number}\n")
        time.sleep(seconds)
        if number in numbers:
            raise ValueError("no such number")
        return number

    return F.udf(function, "long", useArrow=arrow)("id").alias("n")


def failed(dbg: Any, frame: Any, action: str = "collect") -> Any:
    before = len(dbg.runs)
    with pytest.raises(Exception, match=r"no such|\[|cancel"):
        getattr(frame, action)()
    (run,) = dbg.runs[before:]
    return run


def numbers(culprits: Any) -> list[int]:
    return sorted(culprit.record["id"] for culprit in culprits)


def test_the_first_culprits_come_before_all_rows_were_looked_at(dbg: Any, rows: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    run = failed(dbg, rows.select(crashing(1, 38, seen=seen)))
    seen.write_text("")
    first = next(iter(run.culprits))
    assert first.record["id"] == 1
    assert not run.culprits.complete
    assert len(seen.read_text().split()) < PARTITIONS // 2
    assert numbers(run.culprits) == [1, 38]
    assert run.culprits.unknown == []


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_the_first_culprit_does_not_wait_for_its_partition(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """A worker gives what it has when that is 64 kB: so much it computes, and while that is read, some more."""
    seen, many = tmp_path / "seen", 200_000
    run = failed(dbg, spark.range(0, many, 1, 1).select(crashing(0, many - 1, seen=seen)))
    seen.write_text("")
    first = run.culprits[0]
    assert len(seen.read_text().split()) < many
    assert numbers(run.culprits.known) == [0]
    assert first.sources[0].record["id"] == 0
    assert numbers(run.culprits) == [0, many - 1]
    assert run.culprits[0] is first
    assert run.culprits.unknown == []


def test_a_first_culprit_is_looked_for_by_itself_however_long_its_task_ran(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may fail a task long after it crashed; and where what crashed is not met soon, it is found with all."""
    last = 299_999
    column = F.udf(lambda number: 1 // (number * (last - number) * (last - 1 - number)), "long", useArrow=False)("id")
    monkeypatch.setattr("bigdebug.spark.failing._BEARABLE", 0.0)
    for begin, seconds, known in ((0, 60.0, [0]), (1, 0.0, [last - 1, last])):
        monkeypatch.setattr("bigdebug.spark.failing._PATIENT", seconds)
        with dbg.capture() as capture, pytest.raises(PythonException, match="ZeroDivision"):
            spark.range(begin, last + 1, 1, 1).select(column).collect()
        culprits = capture.runs[0].culprits
        assert culprits[0].record["id"] == known[0]
        assert numbers(culprits.known) == known
        assert numbers(culprits) == sorted({known[0], last - 1, last})
        assert culprits.unknown == []


def number_of(text: str) -> int:
    return int(text)


def same(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        yield batch.assign(n=batch["n"].map(int))


@pytest.mark.many
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("way", [
    lambda bad: bad.filter("cast(concat('1', length(s)) as int) > 0").select(F.udf(number_of, "int", useArrow=False)("s")),
    lambda bad: bad.selectExpr("cast(s as int) n"), lambda bad: bad.selectExpr("cast(s as int) n").groupBy("n").count(),
    lambda bad: bad.selectExpr("cast(s as int) n", "s").filter("cast(concat(s, '0') as int) > -1"),
    lambda bad: bad.filter("cast(s as int) > -1").selectExpr("s n").mapInPandas(same, "n long"),
])
def test_what_comes_by_itself_is_one_of_all(dbg: Any, spark: Any, tmp_path: Path, way: Any) -> None:
    """Of equal rows, each is told once."""
    (tmp_path / "texts").write_text("1\nNA\n2\nNA\n3\n")
    run = failed(dbg, way(spark.read.text(str(tmp_path / "texts")).withColumnRenamed("value", "s")))
    first = run.culprits[0]
    assert len(run.culprits.known) == 1
    assert not run.culprits.complete
    assert [culprit.record["value"] for culprit in run.culprits] == ["NA", "NA"]
    assert run.culprits[0] is first
    assert [culprit.sources[0].origin.line for culprit in run.culprits] == [2, 4]
    assert run.culprits.unknown == []


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda rows, column: rows.select(column),
    "rows of a filter": lambda rows, column: rows.filter("id >= 0").select("id", column).filter("n >= 0"),
    "an aggregate": lambda rows, column: rows.groupBy(F.col("id") % 3).agg(F.max(column)),
    "a sort": lambda rows, column: rows.select(column).orderBy("n"),
}


@pytest.mark.many
@pytest.mark.parametrize("arrow", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_partitions_that_had_finished_are_not_looked_at_again(way: str, arrow: bool, dbg: Any, rows: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    WAYS[way](rows, crashing(arrow=arrow)).collect()  # there are workers: the first partition does not wait for one while others finish
    run = failed(dbg, WAYS[way](rows, crashing(30, 35, seen=seen, arrow=arrow)))
    seen.write_text("")
    assert numbers(run.culprits) == [30, 35]
    assert run.culprits.unknown == []
    assert min(map(int, seen.read_text().split())) > 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:toPandas attempted Arrow optimization")
@pytest.mark.parametrize("action", ["collect", "toPandas"])
def test_so_are_files_and_what_is_thrown_in_the_jvm(action: str, dbg: Any, spark: Any, rows: Any, tmp_path: Path) -> None:
    rows.selectExpr("id", "if(id in (30, 35), 'NA', string(id)) s").write.csv(str(tmp_path / "csv"))
    spark.conf.set("spark.sql.files.maxPartitionBytes", "10")
    spark.conf.set("spark.sql.files.openCostInBytes", "1000")
    try:
        frame = spark.read.schema("id long, s string").csv(str(tmp_path / "csv"))
        assert frame.rdd.getNumPartitions() == PARTITIONS
        run = failed(dbg, frame.selectExpr("cast(s as int)"), action)
        assert numbers(run.culprits) == [30, 35]
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")


@pytest.mark.slow
def test_of_files_that_a_filter_chooses_all_culprits_are_found(dbg: Any, spark: Any, rows: Any, tmp_path: Path) -> None:
    rows.selectExpr("id", "if(id in (3, 30, 35), 'NA', string(id)) s", "id % 4 p").write.partitionBy("p").parquet(str(tmp_path / "parts"))
    frame = spark.read.parquet(str(tmp_path / "parts"))
    assert numbers(failed(dbg, frame.filter("p = 3").selectExpr("cast(s as int)")).culprits) == [3, 35]
    assert numbers(failed(dbg, frame.filter("_metadata.file_size > 0").selectExpr("cast(s as int)")).culprits) == [3, 30, 35]


@pytest.mark.slow
def test_what_finished_of_another_query_says_nothing_of_this_one(dbg: Any, rows: Any) -> None:
    """They fail at the same time, on the same source, with the same exception."""
    slow = {"one": rows.select(crashing(4, 30, seconds=0.02)), "other": rows.select(crashing(20, 38, seconds=0.02))}
    before = len(dbg.runs)
    together = threading.Barrier(len(slow))

    def run(name: str) -> None:
        together.wait()
        with pytest.raises(Exception, match="no such"):
            slow[name].collect()

    threads = [threading.Thread(target=run, args=(name,)) for name in slow]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(numbers(run.culprits) for run in dbg.runs[before:])
    assert found == [[4, 30], [20, 38]]


def test_where_nothing_is_found_in_what_was_left_the_rest_is_looked_at(dbg: Any, rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.sql.crashes.unfinished.Unfinished.of", lambda self, plan, partitions: Partitions([0]))
    assert numbers(failed(dbg, rows.select(crashing(30))).culprits) == [30]


@pytest.mark.slow
def test_joins_unions_and_limits_are_looked_at_as_a_whole(dbg: Any, spark: Any, rows: Any) -> None:
    crashes = crashing(30, 35)
    joined = rows.join(spark.range(PARTITIONS).withColumnRenamed("id", "other"), F.col("id") == F.col("other"))
    assert set(numbers(failed(dbg, joined.select(crashes)).culprits)) == {30, 35}
    assert numbers(failed(dbg, rows.union(rows).select(crashes)).culprits) == [30, 30, 35, 35]
    assert set(numbers(failed(dbg, rows.filter(crashes > 20).limit(15)).culprits)) >= {30}


@pytest.mark.slow
def test_where_it_is_interrupted_no_culprit_is_lost_or_told_twice(dbg: Any, spark: Any, rows: Any) -> None:
    run = failed(dbg, rows.select(crashing(*range(PARTITIONS), seconds=0.1)))
    culprits = iter(run.culprits)
    next(culprits)
    with cancelled(spark.sparkContext.cancelAllJobs, 0.3), pytest.raises(Exception, match="cancel"):
        list(culprits)
    assert 0 < len(run.culprits.known) < PARTITIONS
    assert numbers(run.culprits) == [*range(PARTITIONS)]


def test_where_python_is_interrupted_no_culprit_is_lost_or_told_twice(dbg: Any, rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A KeyboardInterrupt comes wherever Python is: here when a wave has come, and before it is told."""
    run = failed(dbg, rows.select(crashing(*range(PARTITIONS))))
    interrupted = []

    @contextmanager
    def counted(*args: Any) -> Iterator[None]:
        yield
        if len(interrupted) < 2:
            interrupted.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr("bigdebug.spark.sql.crashes.diagnosis.counted", counted)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            list(run.culprits)
    assert numbers(run.culprits) == [*range(PARTITIONS)]


def test_what_is_behind_culprits_is_counted_once(dbg: Any, spark: Any, rows: Any) -> None:
    """Also where the diagnosis was interrupted between them."""
    few = spark.createDataFrame([(1, "x")], "k int, v string")
    run = failed(dbg, rows.selectExpr("id", "1 k").join(few, "k").selectExpr("id", "cast(v as int) n"))
    culprits = iter(run.culprits)
    next(culprits)
    list(culprits)
    assert [count for _, count in run.culprits.common()] == [len(run.culprits)]


def test_sums_that_overflow_of_what_had_finished_are_found(dbg: Any, rows: Any) -> None:
    summed = rows.agg(F.sum(F.expr("if(id = 38, cast('x' as bigint), if(id in (0, 1), 9000000000000000000, id))")))
    found = failed(dbg, summed).culprits
    assert sorted(culprit.exception_type for culprit in found) == ["ArithmeticException", "NumberFormatException"]


@pytest.mark.slow
def test_what_is_computed_behind_a_shuffle_is_looked_at_for_all_rows(dbg: Any, rows: Any) -> None:
    """Spark puts a projection above an aggregate into it: that is computed of its groups, none of which had come to that."""
    keyed = rows.select("id", F.expr("if(id in (1, 2, 39), 'x', string(id))").alias("k")).filter(crashing(35) >= 0)
    for frame in (keyed.groupBy("k").count(), keyed.select("k").distinct()):
        found = failed(dbg, frame.selectExpr("cast(k as int) k", "*")).culprits
        assert sorted("x" if "x" in tuple(culprit.record) else "35" for culprit in found) == ["35", "x", "x", "x"]


def test_what_had_finished_is_not_left_out_of_a_resumed_run(dbg: Any, rows: Any) -> None:
    """Dates in a list are read, but it takes Spark to say so; what is none of Python's own types is not."""

    def dated(number: int) -> Any:
        return [Fraction(1, 2)] if number == 38 else [date(2020, 1, 1)]

    run = failed(dbg, rows.select("id", F.udf(dated, "array<date>", useArrow=False)("id").alias("d")))
    assert numbers(run.culprits) == [38]
    with suppress(ReplayError):  # or it says that it cannot
        assert len(run.resume(skip=True).result) == PARTITIONS - 1


def test_a_function_that_asks_for_its_partition_is_given_that(dbg: Any, rows: Any) -> None:
    def function(number: int) -> int:
        if TaskContext.get().partitionId() in (30, 35):
            raise ValueError("no such number")
        return number

    run = failed(dbg, rows.select(F.udf(function, "long", useArrow=False)("id")))
    assert numbers(run.culprits) == [30, 35]


@pytest.mark.slow
def test_coalesced_partitions_are_looked_at_as_a_whole(dbg: Any, rows: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    run = failed(dbg, rows.coalesce(PARTITIONS).select(crashing(30, 35, seen=seen)))
    seen.write_text("")
    assert numbers(run.culprits) == [30, 35]
    assert set(seen.read_text().split()) >= {"0", "39"}


def test_the_query_of_the_user_stays_as_it_was(dbg: Any, rows: Any) -> None:
    """What was not planned yet reads what is cached later."""
    frame = rows.select(crashing(30)).filter("n >= 0")
    failed(dbg, frame, "count")
    frame.cache()
    assert "InMemoryRelation" in frame._jdf.queryExecution().withCachedData().toString()
    frame.unpersist()


TWICE: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "numbers that are large": (
        lambda rows: rows.agg(F.sum(F.expr("if(id in (1, 38), cast('x' as bigint), if(id = 30, 9000000000000000000, id))"))), [1, 38],
    ),
    "values that do not fit": (
        lambda rows: rows.select(F.udf(lambda n: "x" if n == 30 else 1 // (n not in (1, 38)), "long", useArrow=True)("id")), [1, 30, 38],
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("why", TWICE)
def test_where_rows_are_looked_at_twice_none_is_told_twice(why: str, dbg: Any, rows: Any) -> None:
    make, expected = TWICE[why]
    assert numbers(failed(dbg, make(rows)).culprits) == expected


@pytest.mark.slow
def test_a_worker_that_ends_behind_the_first_culprits(dbg: Any, rows: Any) -> None:
    def function(number: int) -> int:
        if number == 30:
            os._exit(3)
        return 1 // (number not in (1, 38))

    run = failed(dbg, rows.select(F.udf(function, "long", useArrow=False)("id")))
    assert numbers(run.culprits) == [1, 30, 38]


@pytest.mark.parametrize("python", [False, True])
def test_more_culprits_than_are_told_in_many_partitions(python: bool, dbg: Any, spark: Any) -> None:
    crashes = F.udf(lambda n: 1 // (n % 1), "long")("id") if python else F.expr("1 / (id % 1)")
    found = failed(dbg, spark.range(0, 40_000, 1, PARTITIONS).select(crashes)).culprits
    assert len(found) == 10_000
    assert ["More than 10,000 rows crash in Project" in why for why in found.unknown] == [True]


@pytest.fixture
def many_groups(sql_settings: Callable[..., None]) -> None:
    sql_settings(adaptive__coalescePartitions__enabled="false", shuffle__partitions="16")


@pytest.mark.usefixtures("many_groups")
def test_the_first_groups_that_crash_come_before_all_were_looked_at(dbg: Any, rows: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def group(frame: pd.DataFrame) -> pd.DataFrame:
        with seen.open("a") as file:
            file.write(f"{frame['id'][0]}\n")
        if frame["id"][0] % 2:
            raise ValueError("no such group")
        return frame

    run = failed(dbg, rows.groupBy("id").applyInPandas(group, "id long"))
    seen.write_text("")
    assert next(iter(run.culprits)).record["id"] % 2
    assert not run.culprits.complete
    assert len(set(seen.read_text().split())) < PARTITIONS // 2
    assert numbers(run.culprits) == [*range(1, PARTITIONS, 2)]


def test_files_that_may_have_been_cut_otherwise_are_looked_at_as_a_whole(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Two files, which the query reads in two partitions, the second of which fails; with other settings two partitions are other ones."""
    for name, count in (("a", 300_000), ("b", 100_000)):
        lines = [f"{number:06d}" for number in range(count)]
        lines[-1] = f"bad {name}"
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    try:
        frame = spark.read.text(str(tmp_path))
        assert frame.rdd.getNumPartitions() == 2
        run = failed(dbg, frame.selectExpr("cast(value as int)"))
        spark.conf.set("spark.sql.files.openCostInBytes", "100000000")
        assert sorted(culprit.record["value"] for culprit in run.culprits) == ["bad a", "bad b"]
    finally:
        spark.conf.unset("spark.sql.files.openCostInBytes")


@pytest.mark.many
@pytest.mark.parametrize("cached", ["source", "between"])
def test_what_was_read_from_a_cache_is_looked_at_as_a_whole(cached: str, dbg: Any, rows: Any) -> None:
    kept = (rows if cached == "source" else rows.repartition(PARTITIONS, "id")).cache()
    kept.count()
    run = failed(dbg, kept.select(crashing(4, 30, 35)))
    kept.unpersist()
    assert numbers(run.culprits) == [4, 30, 35]
    assert run.culprits.unknown == []


@pytest.mark.slow
@pytest.mark.usefixtures("many_groups")
def test_first_culprits_of_a_window_come_before_all_groups_were_looked_at(dbg: Any, rows: Any, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    @F.pandas_udf("long")
    def total(numbers: pd.Series) -> int:
        with seen.open("a") as file:
            file.write(f"{numbers[0]}\n")
        if numbers[0] in (5, 6, 7):
            raise ValueError("no such number")
        return int(numbers.sum())

    run = failed(dbg, rows.withColumn("n", total("id").over(Window.partitionBy("id"))))
    seen.write_text("")
    assert next(iter(run.culprits)).record["id"] in (5, 6, 7)
    assert len(seen.read_text().split()) < PARTITIONS // 2
    assert numbers(run.culprits) == [5, 6, 7]


@pytest.mark.many
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("at", range(1, 7))
def test_where_a_glance_or_what_comes_behind_it_is_interrupted_all_are_told_once(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    numbers = spark.range(0, 1_000, 1, 16).filter("1 div (id % 100 - 3) < 9").select(F.expr("1 div (id % 100 - 4)").alias("n"))
    run = failed(dbg, numbers)
    held, asked = Catalyst.held, []

    def interrupted(self: Catalyst, frame: Any) -> Any:
        asked.append(frame)
        if len(asked) == at:
            raise KeyboardInterrupt
        return held(self, frame)

    with monkeypatch.context() as patched:
        patched.setattr(Catalyst, "held", interrupted)
        with suppress(KeyboardInterrupt):
            len(run.culprits)
    assert sorted(c.record["id"] for c in run.culprits) == sorted([*range(3, 1_000, 100), *range(4, 1_000, 100)])
