"""Going on from crashes of DataFrames: without the rows that crashed, or with others in their place (FEATURES B3)."""

from __future__ import annotations

import re
import shutil
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import ReplayError, SourceChangedError
from bigdebug.trace.run import Run
from tests.interrupting import cancelled
from tests.spark.code_that_crashes import CRASHING, arrow, crashing_once, plain, total


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "flights.csv"
    path.write_text("id,dep,arr\n1,10,20\n2,NA,5\n3,7,NA\n4,NA,NA\n5,0,9\n")
    return path


@pytest.fixture
def flights(spark: Any, path: Path) -> Iterator[Any]:
    frame = spark.read.csv(str(path), header=True)
    frame.createOrReplaceTempView("flights")
    yield frame
    spark.catalog.dropTempView("flights")


def failed(dbg: Any, frame: Any, action: str = "collect") -> Run:
    with pytest.raises(Exception, match=r"\[|Python worker"), dbg.capture("crash") as capture:
        getattr(frame, action)()
    run: Run = capture.latest
    return run


SQL: dict[str, list[tuple[Any, ...]]] = {
    "select id, cast(dep as int) d from flights": [("1", 10), ("3", 7), ("5", 0)],
    "select id from flights where cast(arr as int) > 6": [("1",), ("5",)],
    "select id % 2 g, sum(cast(dep as int)) s from flights group by 1": [(1, 17)],
    "select a.id from flights a join flights b on cast(a.dep as int) = cast(b.arr as int) + 1": [("1",)],
    "select id, row_number() over (order by cast(dep as int)) n from flights": [("5", 1), ("3", 2), ("1", 3)],
    "select id from flights where id not in (select cast(nullif(dep, '7') as int) from flights where dep <> '0')": [],
    "select id from flights where id not in (select cast(dep as int) from flights where dep <> '0')": [("1",), ("2",), ("3",), ("4",), ("5",)],
    "select id, 100 / x q from (select id, cast(dep as int) x from flights)": [("1", 10.0), ("3", 100 / 7)],
}


@pytest.mark.many
@pytest.mark.parametrize("sql", SQL)
def test_what_is_left_out(sql: str, dbg: Any, spark: Any, flights: Any) -> None:
    text = sql.replace("flights b on cast(a.dep as int) = cast(b.arr as int) + 1", "(select '9' arr) b on cast(a.dep as int) = cast(b.arr as int) + 1")
    resumed = failed(dbg, spark.sql(text)).resume(skip=True)
    assert sorted(map(tuple, resumed.result)) == sorted(SQL[sql])
    assert resumed.run.status == "succeeded"


@pytest.mark.many
@pytest.mark.parametrize("way", ["plain", "pandas", "filter", "mapInPandas", "mapInArrow", "one on the other"])
def test_python_code_goes_on_without_what_it_crashed_on(way: str, dbg: Any, flights: Any) -> None:
    resumed = failed(dbg, CRASHING[way][0](flights)).resume(skip=True)
    assert sorted(row.id for row in resumed.result) == {"filter": ["1", "3"], "one on the other": ["1", "3"]}.get(way, ["1", "3", "5"])


GROUPS: dict[str, list[tuple[Any, ...]]] = {
    "applyInPandas": [("1", "10", "20"), ("3", "7", "NA"), ("5", "0", "9")],
    "applyInArrow": [("1", "10", "20"), ("3", "7", "NA"), ("5", "0", "9")],
    "aggregate": [(1.0, 17.0)],
    "window": [("1", 10.0), ("3", 17.0), ("5", 7.0)],
    "table function": [("1", 0), ("1", 10), ("3", 0), ("3", 7), ("5", 0), ("5", 0)],
}


@pytest.mark.many
@pytest.mark.parametrize("way", GROUPS)
def test_groups_go_on_without_the_rows_that_crashed(way: str, dbg: Any, flights: Any) -> None:
    resumed = failed(dbg, CRASHING[way][0](flights)).resume(skip=True)
    found = [(row.id, row.y) for row in resumed.result] if way == "table function" else [tuple(row) for row in resumed.result]
    assert sorted(found) == GROUPS[way]


@pytest.mark.slow
def test_a_group_goes_on_with_its_other_rows(dbg: Any, flights: Any) -> None:
    run = failed(dbg, flights.groupBy(F.lit(1).alias("one")).agg(total("dep").alias("t")))
    assert [row.t for row in run.resume(skip=True).result] == [17.0]
    assert [row.t for row in run.resume(repair=lambda row: {**row.asDict(), "dep": "100"}).result] == [217.0]


def test_rows_come_in_the_place_of_others(dbg: Any, flights: Any) -> None:
    run = failed(dbg, flights.select("id", plain("dep").alias("d")))
    first, second = run.culprits
    assert sorted(run.resume(repair={first: Row(id="2", dep="20"), second: ("4", "40")}).result) == [
        ("1", 10), ("2", 20), ("3", 7), ("4", 40), ("5", 0),
    ]
    assert sorted(run.resume(repair={first: {"id": "2", "dep": "20"}}, skip=second).result) == [("1", 10), ("2", 20), ("3", 7), ("5", 0)]
    assert sorted(run.resume(repair=lambda row: (row.id, "0")).result) == [("1", 10), ("2", 0), ("3", 7), ("4", 0), ("5", 0)]


@pytest.mark.slow
def test_a_function_repairs_at_each_operator(dbg: Any, flights: Any) -> None:
    above = flights.select("id", arrow("dep").alias("d")).select("id", (100 / F.col("d")).alias("q"))
    resumed = failed(dbg, above).resume(repair=lambda row: (row.id, "0") if len(row) == 2 else (row.id, row[1], 50))
    assert sorted(resumed.result) == [("1", 10.0), ("2", 2.0), ("3", 100 / 7), ("4", 2.0), ("5", 2.0)]


def test_rows_that_nothing_is_said_of_crash_as_before(dbg: Any, flights: Any) -> None:
    run = failed(dbg, flights.select("id", plain("dep")))
    with pytest.raises(Exception, match="invalid literal"):
        run.resume(skip=run.culprits[0])


@pytest.mark.slow
def test_other_actions_are_called_as_they_were(dbg: Any, flights: Any) -> None:
    frame = flights.select("id", plain("dep").alias("d")).filter("d >= 0")
    assert failed(dbg, frame, "count").resume(skip=True).result == 3
    assert failed(dbg, frame, "toArrow").resume(skip=True).result["d"].to_pylist() == [10, 7, 0]


def test_a_resumed_run_is_traced(dbg: Any, flights: Any) -> None:
    resumed = failed(dbg, flights.select("id", F.col("dep").cast("int").alias("d"))).resume(skip=True)
    assert [s.origin.row for s in dbg.lineage(resumed.run).where("d = 7").goBackAll().source_records()] == [2]
    assert [c.record.id for c in resumed.run.culprits] == ["2", "4"]


def test_what_cannot_be_resumed_says_why(dbg: Any, flights: Any, path: Path) -> None:
    run = failed(dbg, flights.select("id", plain("dep").alias("d")))
    with pytest.raises(ReplayError, match="nothing to go on with"):
        run.resume()
    with pytest.raises(ReplayError, match="is not replaced for the rows"):
        run.resume(fix={0: int})
    with pytest.raises(TypeError, match="skip takes culprits"):
        run.resume(skip=5)
    with pytest.raises(TypeError, match="fix takes a dictionary"):
        run.resume(fix=5)
    with pytest.raises(ReplayError, match="no culprit of this run"):
        run.resume(skip=[3])
    with pytest.raises(ReplayError, match="crashed on rows together"):
        failed(dbg, CRASHING["only together"][0](flights)).resume(skip=True)
    with pytest.raises(ReplayError, match="without the key of their group"):
        failed(dbg, CRASHING["applyInPandas"][0](flights)).resume(repair=lambda row: row)
    with pytest.raises(Exception, match=r"write|Python worker"), dbg.capture() as writing:
        flights.select(plain("dep").alias("d")).write.mode("overwrite").parquet(str(path.with_suffix(".out")))
    with pytest.raises(ReplayError, match="writes, and is not called again"):
        writing.resume(skip=True)
    path.write_text("id,dep,arr\n1,10,20\n")
    with pytest.raises(SourceChangedError):
        run.resume(skip=True)


@pytest.mark.many
@pytest.mark.parametrize(("on_crash", "expected"), [
    ("skip", [("1", 10), ("3", 7), ("5", 0)]), ("decide", [("1", 10), ("3", 7), ("5", 0)]),
    (lambda row: {**row.asDict(), "dep": "77"}, [("1", 10), ("2", 77), ("3", 7), ("4", 77), ("5", 0)]),
], ids=["skip", "decide", "repair"])
@pytest.mark.parametrize("python", [True, False])
def test_an_action_goes_on_as_a_policy_says(on_crash: Any, expected: list[Any], python: bool, dbg: Any, flights: Any, tmp_path: Path) -> None:
    number = plain("dep") if python else F.col("dep").cast("int")
    with dbg.capture("on", on_crash=on_crash, letters=tmp_path / "letters") as capture:
        rows = flights.select("id", "dep").select("id", number.alias("d")).collect()
    assert sorted(map(tuple, rows)) == expected
    failing, run = capture.runs
    assert (failing.status, run.status) == ("failed", "succeeded")
    assert [c.record.id for c in run.culprits] == ["2", "4"]
    assert [(letter.record["id"], letter.operator) for letter in bigdebug.read_letters(tmp_path / "letters")] == [
        (c.record.id, c.operator.id) for c in run.culprits
    ]
    assert sorted(map(tuple, run.resume(repair=lambda row: {**row.asDict(), "dep": "3"}).result)) == [("1", 10), ("2", 3), ("3", 7), ("4", 3), ("5", 0)]


def test_a_policy_says_nothing_of_what_does_not_crash(dbg: Any, flights: Any) -> None:
    with dbg.capture(on_crash="skip") as capture:
        assert flights.count() == 5
    assert [run.status for run in capture.runs] == ["succeeded"]


def test_what_cannot_go_on_fails_as_spark_does_and_says_why(dbg: Any, flights: Any, path: Path) -> None:
    with pytest.raises(Exception, match=r"write|Python worker") as raised, dbg.capture(on_crash="skip"):
        flights.select(plain("dep").alias("d")).write.mode("overwrite").parquet(str(path.with_suffix(".out")))
    assert any("could not go on" in note and "writes, and is not called again" in note for note in raised.value.__notes__)
    with pytest.raises(Exception, match="invalid literal") as raised, dbg.capture(on_crash=lambda row: row.nothing):
        flights.select("id", plain("dep")).collect()
    assert any("could not go on" in note and "nothing" in note for note in raised.value.__notes__)
    with pytest.raises(Exception, match="invalid literal") as raised, dbg.capture(on_crash=lambda row: {"2": row}[row.id + "?"]):
        flights.select("id", plain("dep")).collect()
    assert any("could not go on: The repair of Row(id='2'" in note and "raised KeyError: '2?'" in note for note in raised.value.__notes__)


def test_letters_that_cannot_be_written_are_reported(dbg: Any, flights: Any, tmp_path: Path) -> None:
    for job in (lambda: flights.select("id", plain("dep")).collect(), lambda: dbg.context.parallelize([1, 0], 1).map(lambda n: 1 / n).collect()):
        letters = tmp_path / "letters"
        with dbg.capture(on_crash="skip", letters=letters) as capture:
            shutil.rmtree(letters)
            letters.write_text("")
            assert job()
        assert ["Dead letters could not be written" in why for why in capture.latest.culprits.unknown] == [True]
        letters.unlink()


def test_a_repair_that_gives_what_crashes_again_is_reported(dbg: Any, flights: Any) -> None:
    run = failed(dbg, flights.select("id", plain("dep")))
    with pytest.raises(ReplayError, match="crashes as that did"):
        run.resume(repair=lambda row: row)


@pytest.mark.slow
def test_more_culprits_than_are_told_are_left_out_and_not_repaired(dbg: Any, spark: Any) -> None:
    run = failed(dbg, spark.range(10_010).select(F.expr("1 / (id div 10005)").alias("x")))
    resumed = run.resume(skip=True)
    assert len(resumed.result) == 5
    assert ["More than 10,000 rows crash" in why for why in resumed.run.culprits.unknown] == [True]
    with pytest.raises(ReplayError, match="More than 10,000 rows"):
        run.resume(repair=lambda row: (20_000,))


@pytest.mark.slow
def test_an_action_that_was_cancelled_does_not_go_on(dbg: Any, spark: Any) -> None:
    sc = spark.sparkContext
    sc.addJobTag("to be cancelled")
    slow = spark.range(0, 4, 1, 2).select(F.udf(lambda n: time.sleep(20) or n, "long")("id"))
    before = time.monotonic()
    try:
        with cancelled(partial(sc.cancelJobsWithTag, "to be cancelled"), 1.5), pytest.raises(Exception, match="cancelled"), dbg.capture(on_crash="skip"):
            slow.collect()
    finally:
        sc.removeJobTag("to be cancelled")
    assert time.monotonic() - before < 15


def test_a_detached_session_resumes_nothing(dbg: Any, spark: Any, flights: Any) -> None:
    run = failed(dbg, flights.selectExpr("cast(dep as int)"))
    dbg.detach()
    try:
        assert len(run.culprits) == 2
        with pytest.raises(ReplayError, match="detached"):
            run.resume(skip=True)
    finally:
        bigdebug.attach(spark)
    assert len(run.resume(skip=True).result) == 3


@pytest.mark.slow
def test_one_row_is_repaired_below_a_sum_that_could_overflow(dbg: Any, spark: Any) -> None:
    inverse = F.udf(lambda n: 1000 // (n % 370 - 5), "long", useArrow=False)
    with pytest.raises(Exception, match="ZeroDivisionError"):
        spark.range(0, 800, 1, 8).select(inverse("id").alias("v")).agg(F.sum("v")).collect()
    run = dbg.runs[-1]
    assert sorted(culprit.record["id"] for culprit in run.culprits) == [5, 375, 745]
    first = run.culprits[0]
    (row,) = run.resume(repair={first: spark.range(1).collect()[0]}, skip=True).result
    assert row[0] == sum(1000 // (n % 370 - 5) for n in range(800) if n % 370 != 5) + 1000 // -5


ORDERED = {
    "first": (lambda rows: rows.select("id", plain("v").alias("n")), "first", "first() takes rows by their order"),
    "limit": (lambda rows: rows.select("id", plain("v").alias("n")).limit(3), "collect", "Limit takes rows by their order"),
    "sorted before": (lambda rows: rows.sort("id").select("id", plain("v").alias("n")), "collect", "the rows are sorted before"),
    "numbers": (lambda rows: rows.select(F.monotonically_increasing_id().alias("id"), F.col("v").cast("int").alias("n")), "collect", "hangs on where rows stand"),
    "file": (lambda rows: rows.select(F.input_file_name().alias("id"), F.col("v").cast("int").alias("n")), "collect", "hangs on where rows stand"),
}


@pytest.mark.many
@pytest.mark.parametrize("way", ORDERED)
def test_no_row_comes_behind_the_others_where_a_query_goes_by_their_places(way: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    """The row in the place of another comes behind all others, which a clean run would not do; to leave it out moves none."""
    (tmp_path / "f.csv").write_text("".join(f"{n},{'x' if n == 2 else n}\n" for n in range(5)))
    query, action, why = ORDERED[way]
    run = failed(dbg, query(spark.read.schema("id int, v string").csv(str(tmp_path / "f.csv")).where("id >= 2")), action)
    with pytest.raises(ReplayError, match=rf"comes behind the other rows, and .*{re.escape(why)}"):
        run.resume(repair=lambda row: {**row.asDict(), "v": "7"})
    assert run.resume(skip=True).result


def test_a_row_comes_behind_the_others_where_they_are_sorted_later(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(n, "x" if n == 2 else str(n)) for n in range(5)], "id int, v string").coalesce(1)
    sorted_later = rows.select("id", plain("v").alias("n")).sort("id")
    for query, action, expected in ((sorted_later, "collect", [0, 1, 7, 3, 4]), (sorted_later.limit(3), "collect", [0, 1, 7]), (sorted_later, "first", None)):
        resumed = failed(dbg, query, action).resume(repair=lambda row: {**row.asDict(), "v": "7"})
        assert resumed.result.n == 0 if expected is None else [row.n for row in resumed.result] == expected


@pytest.mark.slow
def test_names_of_a_repaired_row_count(dbg: Any, spark: Any) -> None:
    texts = spark.createDataFrame([("1", "4"), ("2", "NA")], "id string, v string").coalesce(1)
    run = failed(dbg, texts.select("id", plain("v").alias("n")))
    for given in (lambda row: Row(v="10", id=row.id), lambda row: {"v": "10", "id": row.id}, lambda row: (row.id, "10"), lambda row: [row.id, "10"]):
        assert [tuple(row) for row in run.resume(repair=given).result] == [("1", 4), ("2", 10)]
    named = namedtuple("named", "v id")  # noqa: PYI024
    assert [tuple(row) for row in run.resume(repair=lambda row: named("10", row.id)).result] == [("1", 4), ("2", 10)]
    for given, message in ((lambda row: {"v": "10"}, "has not the columns id, v"), (lambda row: Row(v="1", x="2"), "has not the columns"), (lambda row: None, "None is no row")):
        with pytest.raises(ReplayError, match=message):
            run.resume(repair=given)
    with pytest.raises(TypeError, match="repair takes a function"):
        run.resume(repair="10")
    with pytest.raises(TypeError, match="skip takes culprits"):
        run.resume(skip=lambda culprit: True)


def test_an_aggregate_that_changes_its_columns_is_given_them_as_they_were(dbg: Any, spark: Any) -> None:
    @F.pandas_udf("double")
    def less(s: pd.Series) -> float:
        s -= 1
        if (s == -1).any():
            raise ValueError("zero")
        return float(s.sum())

    rows = spark.createDataFrame([("a", 0), ("a", 1), ("b", 1), ("b", 7)], "k string, n long")
    run = failed(dbg, rows.groupBy("k").agg(less("n").alias("s")))
    assert [culprit.record.n for culprit in run.culprits] == [0]
    assert sorted(map(tuple, run.resume(skip=True).result)) == [("a", 0.0), ("b", 6.0)]


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("captured", [True, False])
def test_rows_that_are_taken_one_by_one(captured: bool, dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(1, "1"), (2, "NA"), (3, "3")], "id int, v string").coalesce(1).selectExpr("int(v) n")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT") as raised, dbg.capture() if captured else nullcontext():
        list(rows.toLocalIterator())
    assert "1 record crashed" in raised.value.__notes__[0]
    run = dbg.runs[-1]
    assert (run.action, run.status) == ("toLocalIterator", "failed")
    assert [culprit.record.v for culprit in run.culprits] == ["NA"]
    assert [row.n for row in run.resume(skip=True).result] == [1, 3]


def test_a_run_of_rows_that_are_taken_ends_with_them(dbg: Any, spark: Any) -> None:
    with dbg.capture():
        rows = spark.range(3).toLocalIterator()
        before = len(dbg.runs)
        first = next(rows)
        assert len(dbg.runs) == before
        assert [first, *rows] == [Row(id=n) for n in range(3)]
        assert (len(dbg.runs), dbg.runs[-1].status) == (before + 1, "succeeded")
        rows = spark.range(3).toLocalIterator()
        next(rows)
        rows.close()
        assert dbg.runs[-1].status == "partial"


def test_what_repair_makes_crash_again_is_skipped_if_that_is_asked(dbg: Any, spark: Any) -> None:
    texts = spark.createDataFrame([("1", "4"), ("2", "NA"), ("3", "x")], "id string, v string").coalesce(1)
    run = failed(dbg, texts.select("id", plain("v").alias("n")))

    def repair(row: Any) -> Any:
        return (row.id, "10" if row.v == "NA" else "x")

    with pytest.raises(ReplayError, match="crashes as that did"):
        run.resume(repair=repair)
    resumed = run.resume(repair=repair, skip=True)
    assert sorted(map(tuple, resumed.result)) == [("1", 4), ("2", 10)]
    assert [culprit.record.v for culprit in resumed.run.culprits][-1] == "x"


def test_a_row_that_is_given_and_crashes_again_is_told_apart_from_those_that_crashed_first(dbg: Any, flights: Any) -> None:
    run = failed(dbg, flights.select("id", plain("dep").alias("d")))
    first, second = run.culprits
    resumed = run.resume(repair={first: Row(id="2", dep="x")}, skip=True)
    assert sorted(map(tuple, resumed.result)) == [("1", 10), ("3", 7), ("5", 0)]
    assert [(culprit.record.id, culprit.record.dep) for culprit in resumed.run.culprits if culprit.again] == [("2", "x")]
    assert "1 record put in the place of one crashed again" in repr(resumed)
    with pytest.raises(ReplayError, match=r"crashes, too: Row\(id='2', dep='x'\): ValueError"):
        run.resume(repair={first: Row(id="2", dep="x")}, skip=second)


def test_names_of_rows_in_a_repaired_row_count(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([("NA", (1, 2))], "v string, s struct<a: int, b: int>").coalesce(1)
    run = failed(dbg, rows.select(plain("v").alias("n"), "s"))
    (row,) = run.resume(repair=lambda row: Row(v="1", s=Row(b=20, a=10))).result
    assert (row.n, row.s.a, row.s.b) == (1, 10, 20)


def test_why_a_query_is_not_resumed_is_said_once(dbg: Any, flights: Any, tmp_path: Path) -> None:
    once = F.udf(crashing_once(tmp_path / "been here"), "int", useArrow=False)
    run = failed(dbg, flights.coalesce(1).select(once("dep")))
    with pytest.raises(ReplayError) as refused:
        run.resume(skip=True)
    said = str(refused.value)
    assert said.count("No row crashed by itself") == 1
    assert ".." not in said


@pytest.mark.parametrize("sql", [
    "select md5(string(id)) m, 1 / (id - 7) x from range(0, 20000, 1, 1) limit 15000",
    "select md5(string(id)) m, count(*) over (partition by id order by if(id = 7, 2147483647, 1) range between current row and 1 following) x from range(0, 20000, 1, 1)",
], ids=["a limit", "frames"])
def test_what_is_doubtful_of_culprits_is_not_why_the_query_fails_without_them(sql: str, dbg: Any, spark: Any) -> None:
    run = failed(dbg, spark.sql(sql))
    assert [said for said in run.culprits.unknown if "the action may not have come" in said] == run.culprits.unknown != []
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "64k")  # it fails of how much the rows are
    try:
        with pytest.raises(ReplayError, match=r"Spark says above why\. Which rows do that is not known: in all that was looked at, none is left that crashes\.") as refused:
            run.resume(skip=True)
    finally:
        conf.remove("spark.driver.maxResultSize")
    assert "may not have come" not in str(refused.value)
