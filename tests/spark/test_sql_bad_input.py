"""Questions that cannot be answered say so by name, with what to do."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import (
    BigdebugError,
    NotCapturedError,
    PredicateError,
    UnknownColumnError,
    UnknownOperatorError,
    UnknownRecordError,
    UntraceableError,
)


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    spark.range(20).selectExpr("id", "id % 4 k").createOrReplaceTempView("numbers")
    return spark.sql("select k, sum(id) s from numbers group by k")


def test_an_input_that_is_not_there(dbg: Any, frame: Any) -> None:
    with pytest.raises(UnknownOperatorError, match=r"got 'numbrs'.*It knows numbers"):
        dbg.lineage(frame).goBackAll()["numbrs"]
    assert dbg.lineage(frame).goBackAll()["NUMBERS"].count() == 20


@pytest.mark.parametrize("condition", ["ss > 3", {"ss": 3}])
def test_a_column_that_is_not_there(condition: Any, dbg: Any, frame: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownColumnError, match="k, s") as problem:
        dbg.lineage(frame).where(condition).count()
    assert "__bigdebug" not in str(problem.value)
    assert "UNRESOLVED" not in capfd.readouterr().err


def test_a_condition_that_raises(dbg: Any, frame: Any) -> None:
    with pytest.raises(PredicateError, match="ZeroDivisionError"):
        dbg.lineage(frame).where(lambda r: 1 / (r.s - r.s)).count()
    with pytest.raises(TypeError, match="where"):
        dbg.lineage(frame).where(3).count()


def test_a_name_that_several_columns_have(dbg: Any, spark: Any) -> None:
    frame = spark.sql("select id, id + 1 id, id * 2 d from range(4)")
    trace = dbg.lineage(frame)
    with pytest.raises(UnknownColumnError, match="Several columns have this name"):
        trace.where({"id": 1}).count()
    assert trace.where({"d": 2}).count() == trace.where(frame.collect()[1]).count() == 1


def test_a_frame_of_another_session(dbg: Any, spark: Any) -> None:
    other = spark.newSession()
    with pytest.raises(NotCapturedError, match="another session"):
        dbg.lineage(other.range(3))


def test_questions_at_the_wrong_place(dbg: Any, spark: Any, frame: Any) -> None:
    trace = dbg.lineage(frame)
    with pytest.raises(UnknownOperatorError, match="goBackAll"):
        trace.rids()
    with pytest.raises(UnknownOperatorError, match="not made of this DataFrame"):
        trace.back_to(spark.range(3))
    with pytest.raises(UnknownOperatorError, match="No way leads ahead"):
        trace.forward_to(trace.goBackAll().operators[0])
    with pytest.raises(ValueError, match="at least one step"):
        trace.goBack(0)


def test_a_forgotten_run(dbg: Any, spark: Any) -> None:
    frame = spark.range(5).selectExpr("id * 2 d")
    with dbg.capture() as run:
        frame.collect()
    dbg.forget(run)
    with pytest.raises(NotCapturedError, match="forgotten"):
        dbg.lineage(run.runs[0])


def test_questions_of_a_capture_are_no_runs(dbg: Any, frame: Any) -> None:
    with dbg.capture() as capture:
        frame.collect()
        dbg.lineage(frame).where("k = 1").goBackAll().toPandas()
        dbg.lineage(frame).goBackAll().show()
    assert [run.action for run in capture.runs] == ["collect"]


def test_actions_and_their_failures_are_the_users_own(dbg: Any, spark: Any, frame: Any, tmp_path: Any) -> None:
    with dbg.capture("all") as capture:
        assert frame.count() == 4
        assert frame.first() is not None
        frame.write.parquet(os.fspath(tmp_path / "out"))
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
            spark.sql("select 1 / (id - id) from range(3)").collect()
    assert [(run.action, run.status) for run in capture.runs] == [
        ("count", "succeeded"), ("first", "succeeded"), ("write.parquet", "succeeded"), ("collect", "failed"),
    ]


@pytest.mark.parametrize(("sql", "place"), [
    ("select id\nfrom places\nlimit 3", "(line 3: limit 3)"),
    ("select *\nfrom (select id, rand() r from places)\nwhere r > 0.5", "(line 2: select id, rand() r from places)"),
])
def test_a_refusal_tells_the_place_in_the_query(sql: str, place: str, dbg: Any, spark: Any) -> None:
    spark.range(10).createOrReplaceTempView("places")
    with pytest.raises(BigdebugError) as problem:
        dbg.lineage(spark.sql(sql)).goBackAll().count()
    assert place in str(problem.value)


def test_a_refusal_tells_the_line_of_python(dbg: Any, spark: Any) -> None:
    frame = spark.range(10).where(F.col("id") + F.rand() > 3)
    with pytest.raises(BigdebugError, match=r"Filter#2 \(at .*test_sql_bad_input.py:"):
        dbg.lineage(frame).goBackAll().count()


def test_a_known_input_that_is_not_reached_yet(dbg: Any, spark: Any) -> None:
    with pytest.raises(UnknownOperatorError, match=r"go back to the sources first"):
        dbg.lineage(spark.range(3).groupBy().count())["range"]


def test_what_does_not_parse_is_said_in_a_sentence(dbg: Any, spark: Any, capfd: Any) -> None:
    frame = spark.range(20).selectExpr("id % 4 k").groupBy("k").count()
    with dbg.capture():
        frame.collect()
    for condition, error, told in (("k >", PredicateError, "PARSE_SYNTAX_ERROR"), ("kk > 1", UnknownColumnError, "no such column")):
        with pytest.raises(error, match=told) as problem:
            dbg.lineage(frame).where(condition).count()
        assert problem.value.__suppress_context__  # PySpark's own account shows the query that we made of the user's
    assert "QueryContextLogger" not in "".join(capfd.readouterr())


def test_a_trace_at_several_inputs_shows_how_many_rows(dbg: Any, spark: Any) -> None:
    frame = spark.range(5).join(spark.createDataFrame([(1, "a")], "id long, s string"), "id")
    text = frame.getLineage().goBackAll()._repr_mimebundle_()["text/plain"]
    assert text.splitlines()[2:] == ["range            1", "createDataFrame  1", "2 records at 2 places; trace['range'] shows those of one"]


def test_names_with_dots(dbg: Any, spark: Any) -> None:
    frame = spark.range(6).selectExpr("id", "id % 2 `a.b`", "id * 2 `c``d`")
    trace = dbg.lineage(frame)
    assert trace.cells("a.b")["range"].columns == ["id"]
    grouped = trace.grouped("a.b", sums="c`d")
    assert [tuple(row) for row in grouped.to_numpy()] == [(0, 3, 12), (1, 3, 18)]


def test_values_that_spark_does_not_compare(dbg: Any, spark: Any) -> None:
    frame = spark.sql("select id, map('k', id, 'j', 0) m, array(map('k', id)) ms, parse_json('1') v, cast(null as map<int, int>) none from range(3)")
    row = frame.collect()[1]
    with pytest.raises(UnknownColumnError, match="Spark compares no values like those of ms"):
        dbg.lineage(frame).where(row).count()
    for condition, found in (({"m": {"j": 0, "k": 2}}, 1), ({"m": None}, 0), ({"none": None, "v": None}, 0), ({"none": None}, 3)):
        assert dbg.lineage(frame).where(condition).count() == found
    with pytest.raises(UntraceableError, match=r"map_entries"):
        dbg.lineage(spark.sql("select map('k', id % 2) m, count(*) n from range(4) group by 1")).where("n = 2").goBackAll().count()


@pytest.mark.parametrize(("column", "value"), [
    ("day", 20240101), ("day", True), ("day", b"x"), ("day", timedelta(1)), ("day", "x"), ("tags", "x"), ("tags", 1), ("tags", {"a": 1}),
    ("id", b"xx"), ("id", date(2024, 1, 1)), ("id", [1]), ("id", {"a": 1}), ("id", object), ("ts", True), ("ts", "x"), ("s", ("a",)), ("flag", "x"),
    ("text", 1), ("text", 10**40), ("text", date(2024, 1, 1)), ("text", b"x"), ("wall", datetime(2024, 1, 1, tzinfo=timezone.utc)),
])
def test_a_value_of_another_type(column: str, value: Any, dbg: Any, spark: Any) -> None:
    frame = spark.sql("select 1 id, date'2024-01-01' day, array('x') tags, timestamp'2024-01-01 00:00:00' ts, struct(1 a, 2 b) s, true flag, "
                      "'x' text, timestamp_ntz'2024-01-01 00:00:00' wall")
    with pytest.raises(UnknownColumnError, match=f"^{column} is of type .* is no such value. Give a value of that type.$"):
        dbg.lineage(frame).where({column: value}).count()


def test_a_row_that_a_trace_does_not_name(dbg: Any, spark: Any) -> None:
    spark.createDataFrame([(1, None), (2, 1)], "id int, parent int").createOrReplaceTempView("people")
    people = dbg.lineage(spark.sql("select c.id, p.id pid from people c join people p on c.parent = p.id")).goBackAll()["people"]
    assert people.where(Row(id=1, parent=None)).count() == people.where(Row(id=2, parent=1)).count() == 1
    with pytest.raises(UnknownRecordError, match=r"^This trace names no row Row\(id=3, parent=1\)"):
        people.where(Row(id=3, parent=1)).count()


@pytest.mark.many
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("condition", ["SQL", "Column", "UDF"])
def test_a_condition_that_spark_cannot_compute_on_a_record(condition: Any, captured: bool, dbg: Any, spark: Any, capfd: Any) -> None:
    frame = spark.createDataFrame([("1",), ("x",)], "s string")
    given = {"SQL": "cast(s as int) > 5", "Column": F.col("s").cast("int") > 5, "UDF": F.udf(lambda s: int(s) > 5, "boolean")("s")}
    if captured:
        with dbg.capture():
            frame.collect()
    for trace in (dbg.lineage(frame), dbg.lineage(frame).goBackAll()):
        with pytest.raises(PredicateError, match=r"cannot be computed on all of these rows: .*try_cast, or choose with a function of a Row\."):
            trace.where(given[condition]).count()
    assert "QueryContextLogger" not in "".join(capfd.readouterr())


def test_a_message_runs_no_query_and_no_code_of_the_users(dbg: Any, spark: Any) -> None:
    class Mine:
        def __repr__(self) -> str:
            raise KeyError("mine")

    spark.conf.set("spark.sql.repl.eagerEval.enabled", "true")
    try:
        with pytest.raises(UnknownOperatorError, match=r"got DataFrame\[x: bigint\]"):
            dbg.lineage(spark.range(3)).forward_to(spark.range(4).selectExpr("id * 2 x"))
    finally:
        spark.conf.unset("spark.sql.repl.eagerEval.enabled")
    with pytest.raises(NotCapturedError, match=r"got <Mine whose repr raised KeyError>"):
        dbg.lineage(Mine())


def test_names_that_differ_in_case(dbg: Any, spark: Any) -> None:
    trace = dbg.lineage(spark.createDataFrame([(1, 2)], "id int, ID int"))
    for ask in (lambda: trace.where({"id": 1}).count(), lambda: trace.grouped("ID")):
        with pytest.raises(UnknownColumnError, match="Several columns have this name"):
            ask()


def test_a_capture_without_actions(dbg: Any, spark: Any) -> None:
    with dbg.capture("load") as load:
        spark.sql("create or replace temp view loaded as select 1 x")
    with pytest.raises(NotCapturedError, match=r"No action has run under capture 'load' yet.*INSERT"):
        dbg.lineage(load)


@pytest.mark.parametrize("what", ["x", 3, [3]])
def test_what_is_no_run_is_not_forgotten(what: Any, dbg: Any) -> None:
    with pytest.raises(TypeError, match=r"this takes a run, what dbg.capture\(\) gave, or several runs, not"):
        dbg.forget(what)


@pytest.mark.parametrize("store", ["s3:/bucket/lineage", "file://elsewhere/tmp/lineage", "a\0b"])
def test_a_store_is_a_directory_of_this_machine_or_a_uri(store: str, spark: Any) -> None:
    with pytest.raises(ValueError, match="a directory of this machine"):
        bigdebug.attach(spark, store=store)


def test_rids_are_partitioned_by_columns(dbg: Any, spark: Any) -> None:
    with pytest.raises(TypeError, match="columns are given by their names, not 3"):
        dbg.declare(spark.range(3), relations="range", partition_by=["id", 3])


QUESTIONS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda trace: trace.show("x"), TypeError, "the number of rows to show is a whole one, not 'x'"),
    (lambda trace: trace.show(-1), ValueError, "the number of rows to show is a whole one from 0 on, not -1"),
    (lambda trace: trace.show(1, "x"), TypeError, "the number of characters that a cell is cut to is a whole one, not 'x'"),
    (lambda trace: trace.take(-1), ValueError, "the number of rows to take is a whole one from 0 on, not -1"),
    (lambda trace: trace.cells(3), TypeError, "relations and columns are given by their names, not 3"),
    (lambda trace: trace.cells("totl"), UnknownColumnError, r"got 'totl'\). The columns are k, text, total"),
    (lambda trace: trace.grouped(), UnknownColumnError, "The columns are k, text, total"),
    (lambda trace: trace.grouped("k", sums=3), TypeError, "relations and columns are given by their names, not 3"),
    (lambda trace: trace.grouped("k", sums="text"), UnknownColumnError, "text is of type string, and sums are of numbers"),
    (lambda trace: trace.where({3: 1}).count(), TypeError, "relations and columns are given by their names, not 3"),
]


@pytest.mark.parametrize(("ask", "error", "told"), QUESTIONS)
def test_what_is_no_question(ask: Callable[[Any], Any], error: type[Exception], told: str, dbg: Any, spark: Any) -> None:
    trace = dbg.lineage(spark.range(9).selectExpr("id % 3 k", "string(id % 3) text", "id total"))
    with pytest.raises(error, match=told):
        ask(trace)


def test_names_of_columns_are_what_the_session_takes_them_for(dbg: Any, spark: Any) -> None:
    frame = spark.range(6).selectExpr("id % 2 k", "id Total")
    trace = dbg.lineage(frame)
    assert trace.where({"K": 1, "TOTAL": 3}).count() == 1
    assert trace.grouped("K", sums="total").columns.tolist() == ["k", "count", "sum(Total)"]
    assert set(trace.cells("TOTAL")) == {"range"}
    assert len(dbg.violations(frame, "K -> total")) == 2
    declared = dbg.declare(frame.groupBy("k").count(), relations="RANGE", partition_by="ID", group_by="Id", sums=["iD"])
    assert (declared.partition_by, declared.group_by, declared.sums) == (("id",), ("id",), ("id",))
    assert str(declared) == "declared: both to RANGE for each id, by id with sums of id"
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for ask in (lambda: trace.where({"K": 1}).count(), lambda: dbg.violations(frame, "K -> Total")):
            with pytest.raises(UnknownColumnError, match="no such column here"):
                ask()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_columns_that_differ_in_case_alone(dbg: Any, spark: Any) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        trace = dbg.lineage(spark.createDataFrame([(1, 2)], "a int, A int").selectExpr("a + A s", "A"))
        trace.where("s = 3").count()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert [tuple(row) for row in trace.cells("s")["createDataFrame"].collect()] == [(1, 2)]


def test_messages_are_short(dbg: Any, spark: Any) -> None:
    wide = spark.range(1).selectExpr(*(f"id c{i}" for i in range(200)))
    with pytest.raises(UnknownColumnError, match="c19 and 180 more") as problem:
        dbg.lineage(wide).where("x > 1").count()
    assert len(str(problem.value)) < 200
    with pytest.raises(UnknownColumnError, match=r"The nearest are c199, c\d+, c\d+\."):
        dbg.lineage(wide).where("c1999 > 1").count()
    with pytest.raises(NotCapturedError, match=r"got a DataFrame\)"):
        dbg.lineage(pd.DataFrame({"a": range(100)}))
    found = dbg.violations(spark.createDataFrame([("a" * 5000, 1), ("a" * 5000, 2)], "a string, b int"), "a -> b")
    assert len(repr(found[0])) < 2100


def test_a_query_that_reads_nothing_has_no_relation(dbg: Any, spark: Any) -> None:
    with pytest.raises(UnknownOperatorError, match=r"got 'LocalRelation'\)\. It reads none\."):
        dbg.declare(spark.sql("select 1 x"), relations="LocalRelation")


def test_a_run_of_another_session(dbg: Any, spark: Any) -> None:
    other = bigdebug.attach(spark.newSession())
    try:
        with other.capture() as run:
            other.spark.range(3).collect()
        with pytest.raises(NotCapturedError, match="is of another session"):
            dbg.lineage(run)
    finally:
        other.detach()


def test_think_time_is_waited_for_in_seconds(dbg: Any) -> None:
    with pytest.raises(TypeError, match="timeout is a number of seconds"):
        dbg.wait_for_indexes("x")


def test_the_graph_of_a_run_is_shown(dbg: Any, spark: Any) -> None:
    graph = dbg.lineage(spark.range(3).selectExpr("id + 1 i")).run.graph
    assert re.fullmatch(r"<graph of 2 operators: Range#\d+ range.*; Project#\d+.* of #\d+>", repr(graph))
