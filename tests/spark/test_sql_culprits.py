"""Crash culprits of DataFrames: every row that an expression of Spark's or a Python function crashes on, and where it came from (FEATURES B1, U1)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.trace.culprits import Culprits
from tests.spark.code_that_crashes import CRASHING, crashing_once


@pytest.fixture(scope="module")
def flights(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("data") / "flights.csv"
    path.write_text("id,dep,arr\n1,10,20\n2,NA,5\n3,7,NA\n4,NA,NA\n5,0,9\n")
    frame = spark.read.csv(str(path), header=True)
    frame.createOrReplaceTempView("flights")
    yield frame
    spark.catalog.dropTempView("flights")


def culprits_of(dbg: Any, frame: Any, captured: bool = True) -> Culprits:
    before = len(dbg.runs)
    with pytest.raises(Exception, match=r"\[|Python worker"), dbg.capture("crash") if captured else nullcontext():
        frame.collect()
    (run,) = dbg.runs[before:]
    assert run.status == "failed"
    found: Culprits = run.culprits
    return found


def told(culprits: Culprits) -> list[tuple[str, str, list[int]]]:
    """The operator, the exception, and the numbers of the lines behind each culprit."""
    return sorted((c.operator.name, c.exception_type, [s.origin.row + 2 for s in c.sources]) for c in culprits)


NUMBER, DIVISION = "NumberFormatException", "ArithmeticException"

QUERIES: dict[str, list[tuple[str, str, list[int]]]] = {
    "select id, cast(dep as int) d from flights": [("Project", NUMBER, [3]), ("Project", NUMBER, [5])],
    "select id from flights where cast(arr as int) > 6": [("Filter", NUMBER, [4]), ("Filter", NUMBER, [5])],
    "select id, cast(dep as int) d, 100 / cast(arr as int) x from flights where cast(arr as int) > 6 and id < 5": [
        ("Filter", NUMBER, [4]), ("Filter", NUMBER, [5]),
    ],
    "select id, 1 / (id - 3) x from (select id, cast(dep as int) never from flights)": [("Project", DIVISION, [4])],
    "select id, sum(cast(dep as int)) s from flights where arr <> 'NA' group by id": [("Aggregate", NUMBER, [3])],
    "select id % 2 g, 10 / sum(if(dep = 'NA', 0, cast(dep as int))) s from flights group by 1": [("Aggregate", DIVISION, [3, 5])],
    "select cast(dep as int) g, count(*) n from flights group by 1": [("Project", NUMBER, [3]), ("Project", NUMBER, [5])],
    "select a.id from flights a join flights b on cast(a.dep as int) = cast(b.id as int)": [("Join", NUMBER, [3]), ("Join", NUMBER, [5])],
    "select id, sum(1 / cast(dep as int)) over (order by id) s from flights": [
        ("Project", DIVISION, [6]), ("Project", NUMBER, [3]), ("Project", NUMBER, [5]),
    ],
    "select id, if(dep = 'NA', raise_error('no ' || id), dep) s from flights": [
        ("Project", "SparkRuntimeException", [3]), ("Project", "SparkRuntimeException", [5]),
    ],
    "select element_at(array(1, 2), cast(id as int)) s from flights where id < 4": [("Project", "ArrayIndexOutOfBoundsException", [4])],
    "select id from flights order by cast(arr as int)": [("Sort", NUMBER, [4]), ("Sort", NUMBER, [5])],
    "select id, explode(array(1 / cast(dep as int))) e from flights where dep <> 'NA'": [("Generate", DIVISION, [6])],
}


@pytest.mark.many
@pytest.mark.parametrize("sql", QUERIES)
def test_every_culprit_of(sql: str, dbg: Any, spark: Any, flights: Any) -> None:
    assert told(culprits_of(dbg, spark.sql(sql))) == QUERIES[sql]


@pytest.mark.many
@pytest.mark.parametrize("sql", [*QUERIES][::4])  # a projection, a group, a window and a generator
def test_every_culprit_without_capture_of(sql: str, dbg: Any, spark: Any, flights: Any) -> None:
    assert told(culprits_of(dbg, spark.sql(sql), captured=False)) == QUERIES[sql]


def test_a_culprit_tells_its_message_and_its_line(dbg: Any, flights: Any) -> None:
    culprit = culprits_of(dbg, flights.select("id", F.col("dep").cast("int").alias("d")))[0]
    assert "The value 'NA' of the type \"STRING\" cannot be cast to \"INT\"" in culprit.message
    assert culprit.user_line is not None
    assert Path(culprit.user_line.file).name == Path(__file__).name
    assert '.cast("int")' in culprit.user_line.code
    assert culprit.sources[0].record == culprit.record
    assert "  from " in culprit.text()


@pytest.mark.usefixtures("patient")
def test_the_exception_tells_of_its_culprits(dbg: Any, spark: Any, flights: Any) -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT") as raised, dbg.capture():
        spark.sql("select cast(dep as int) from flights").collect()
    assert "2 records crashed with NumberFormatException" in raised.value.__notes__[0]


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_the_exception_tells_of_one_culprit_where_the_others_take_long(
    dbg: Any, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rows come in batches of a hundred, and what a worker gives in 64 kB: many rows come at once, and one takes until the exception has been told."""
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 20.0)
    gate = tmp_path / "told"

    def slowly(number: int) -> int:
        while number == 190_000 and not gate.exists():
            time.sleep(0.05)
        return 1 // (number % 200_000)

    with pytest.raises(Exception, match="ZeroDivisionError") as raised, dbg.capture() as run:
        spark.range(0, 200_001, 1, 1).select(F.udf(slowly, "long", useArrow=False)("id")).collect()
    gate.touch()
    (note,) = raised.value.__notes__
    assert "1 record crashed so far with ZeroDivisionError" in note
    assert [culprit.record["id"] for culprit in run.culprits] == [0, 200_000]


def test_two_thousand_culprits(dbg: Any, spark: Any) -> None:
    found = culprits_of(dbg, spark.range(20_000).selectExpr("1 / (id % 10) x"))
    assert len(found) == 2_000
    assert found.table().rows[0][0] == "2,000"


@pytest.mark.many
@pytest.mark.parametrize("python", [False, True])
def test_more_culprits_than_are_told_are_said_to_be_more(python: bool, dbg: Any, spark: Any) -> None:
    crashing = F.udf(lambda n: 1 // (n % 1), "long")("id") if python else F.expr("1 / (id % 1)")
    found = culprits_of(dbg, spark.range(10_001).select(crashing))
    assert len(found) == 10_000
    assert ["More than 10,000 rows crash in Project" in why for why in found.unknown] == [True]


def test_expressions_that_throw_many_kinds_of_exceptions_are_told_each(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([("1", 0), ("x", 1), ("2", 2), ("\n== y", 2)], "s string, n int").createOrReplaceTempView("kinds")
    found = culprits_of(dbg, spark.sql("select 1 / n, cast(s as int) i, if(n = 2, raise_error('no\\n== 2 of: ' || s), array(1)[n]) r from kinds"))
    assert sorted((c.record[0], c.record[1], c.exception_type, c.traceback.count("select 1 / n")) for c in found) == [
        ("\n== y", 2, "NumberFormatException", 1), ("1", 0, "ArithmeticException", 1), ("2", 2, "SparkRuntimeException", 0), ("x", 1, "NumberFormatException", 1),
    ]
    assert next(c.message for c in found if c.record == ("2", 2)) == "[USER_RAISED_EXCEPTION] no\n== 2 of: 2 SQLSTATE: P0001"
    spark.catalog.dropTempView("kinds")


def test_a_query_that_spark_does_not_run_has_no_run(dbg: Any, spark: Any, flights: Any) -> None:
    before = dbg.runs
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        spark.sql("select nothing from flights").collect()
    assert dbg.runs == before


@pytest.mark.many
@pytest.mark.parametrize("way", CRASHING)
def test_every_culprit_of_python_code(way: str, dbg: Any, flights: Any) -> None:
    frame, expected = CRASHING[way]
    found = culprits_of(dbg, frame(flights))
    assert told(found) == expected
    assert found.unknown == []


def test_a_culprit_of_python_code_tells_the_line_of_its_function_and_its_variables(dbg: Any, flights: Any) -> None:
    culprit = culprits_of(dbg, CRASHING["arrow"][0](flights), captured=False)[0]
    assert culprit.message == "invalid literal for int() with base 10: 'NA'"
    assert culprit.user_line is not None
    assert Path(culprit.user_line.file).name == "code_that_crashes.py"
    assert culprit.user_line.code == "return int(text)"
    assert culprit.locals == {"text": "'NA'"}
    assert culprit.record.asDict() == {"id": "2", "dep": "NA"}


def test_rows_that_crash_only_together_are_told_as_such(dbg: Any, flights: Any) -> None:
    culprit = culprits_of(dbg, CRASHING["only together"][0](flights))[0]
    assert culprit.record.id == "4"
    assert culprit.met is not None
    assert "id='2'" in culprit.met


def test_the_accumulators_of_the_user_count_once(dbg: Any, spark: Any, flights: Any) -> None:
    seen = spark.sparkContext.accumulator(0)

    @F.udf("int")
    def counted(text):  # type: ignore[no-untyped-def]
        seen.add(1)
        return int(text) if text != "7" else 1 // 0

    frame = flights.coalesce(1).filter("id = 3").select(counted("dep"))
    assert len(culprits_of(dbg, frame)) == 1
    assert seen.value == 0  # Spark drops what tasks counted that fail


def test_functions_with_broadcasts_are_run_again(dbg: Any, spark: Any, flights: Any) -> None:
    table = spark.sparkContext.broadcast({"10": 1, "0": 2})
    assert told(culprits_of(dbg, flights.filter("id in (1, 3, 5)").select(F.udf(lambda x: table.value[x], "int")("dep")))) == [("Project", "KeyError", [4])]


def test_twin_rows_are_a_culprit_each(dbg: Any, spark: Any) -> None:
    twins = spark.createDataFrame([("a", "NA"), ("a", "NA"), ("b", "1")], "k string, dep string")
    assert len(culprits_of(dbg, twins.groupBy("k").applyInPandas(lambda g: g.astype({"dep": int}), "k string, dep int"))) == 2


def test_where_nothing_crashes_again_it_says_so(dbg: Any, flights: Any, tmp_path: Path) -> None:
    once = F.udf(crashing_once(tmp_path / "been here"), "int")
    found = culprits_of(dbg, flights.coalesce(1).select(once("dep")))
    assert len(found) == 0
    assert "No row crashed by itself" in repr(found)


def wide(spark: Any, columns: int) -> Any:
    """Rows of many computed columns, and a function beside them that two of them crash."""
    number = F.udf(int, "int", useArrow=False)
    texts = F.when(F.col("id").isin(7, 19), "NA").otherwise(F.col("id").cast("string"))
    rows = spark.range(30).select("id", texts.alias("v"), *[(F.col("id") * n).alias(f"c{n}") for n in range(columns)])
    return rows.select("*", number("v").alias("n"))


def test_an_exception_does_not_wait_for_a_plan_that_is_read_for_long(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each column takes some hundred calls of the JVM, and no job that could be cancelled."""
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 0.1)
    frame, before = wide(spark, 40), len(dbg.runs)
    with pytest.raises(Exception, match="Python worker") as raised:
        frame.collect()
    (run,) = dbg.runs[before:]
    assert run.culprits.known == []
    assert any("finds" in note or "to find the records" in note for note in raised.value.__notes__)
    assert sorted(culprit.record.id for culprit in run.culprits) == [7, 19]
    assert run.culprits.unknown == []


@pytest.mark.slow  # half a minute
def test_culprits_are_found_among_rows_of_a_thousand_columns(dbg: Any, spark: Any) -> None:
    """Spark writes the code of conditions anew at each of their levels: a thousand in a row were a gigabyte."""
    culprits = culprits_of(dbg, wide(spark, 1_000), captured=False)
    assert sorted(culprit.record.id for culprit in culprits) == [7, 19]
    assert culprits.unknown == []
