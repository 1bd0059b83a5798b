"""Crash culprits of DataFrames: every row that an expression of Spark's throws on, and where it came from (FEATURES U1)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.trace.culprits import Culprits


@pytest.fixture(scope="module")
def flights(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    path = tmp_path_factory.mktemp("data") / "flights.csv"
    path.write_text("id,dep,arr\n1,10,20\n2,NA,5\n3,7,NA\n4,NA,NA\n5,0,9\n")
    frame = spark.read.csv(str(path), header=True)
    frame.createOrReplaceTempView("flights")
    yield frame
    spark.catalog.dropTempView("flights")


@pytest.fixture(params=[True, False], ids=["captured", "not captured"])
def captured(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


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


@pytest.mark.parametrize("sql", QUERIES)
def test_every_culprit_of(sql: str, captured: bool, dbg: Any, spark: Any, flights: Any) -> None:
    assert told(culprits_of(dbg, spark.sql(sql), captured)) == QUERIES[sql]


def test_a_culprit_tells_its_message_and_its_line(dbg: Any, flights: Any) -> None:
    culprit = culprits_of(dbg, flights.select("id", F.col("dep").cast("int").alias("d")))[0]
    assert "The value 'NA' of the type \"STRING\" cannot be cast to \"INT\"" in culprit.message
    assert culprit.user_line is not None
    assert Path(culprit.user_line.file).name == Path(__file__).name
    assert '.cast("int")' in culprit.user_line.code
    assert culprit.sources[0].record == culprit.record
    assert "  from " in culprit.text()


def test_the_exception_tells_of_its_culprits(dbg: Any, spark: Any, flights: Any) -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT") as raised, dbg.capture():
        spark.sql("select cast(dep as int) from flights").collect()
    assert "2 records crashed with NumberFormatException" in raised.value.__notes__[0]


def test_two_thousand_culprits(dbg: Any, spark: Any) -> None:
    found = culprits_of(dbg, spark.range(20_000).selectExpr("1 / (id % 10) x"))
    assert len(found) == 2_000
    assert found.table().rows[0][0] == "2,000"


def test_a_query_that_spark_does_not_run_has_no_run(dbg: Any, spark: Any, flights: Any) -> None:
    before = dbg.runs
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        spark.sql("select nothing from flights").collect()
    assert dbg.runs == before


def test_python_code_is_not_run_again(dbg: Any, flights: Any, tmp_path: Path) -> None:
    @F.udf("int")
    def noted(text):  # type: ignore[no-untyped-def]  # by hints, PySpark would take it for one of pandas
        with (tmp_path / "seen").open("a") as file:
            file.write("x")
        return int(text)

    found = culprits_of(dbg, flights.limit(2).select(noted("dep")))
    seen = (tmp_path / "seen").read_text()
    assert len(found) == 0
    assert "runs Python code" in repr(found)
    assert (tmp_path / "seen").read_text() == seen
