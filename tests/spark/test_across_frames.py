"""Runs of DataFrames, and commands of SQL, as steps: rows of the files that they wrote lead to what these were made of, and back."""

from __future__ import annotations

import datetime
import decimal
import math
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import NondeterminismError, SourceChangedError, UntraceableError
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.across.pipelines import pipeline

HOSTILE = ["plain", "", None, " spaced ", "a,b", 'say "hi"', "two\nlines", "return\r\n", "back\\slash", "<script>alert(1)</script>", "שלום", "nan"]


def saved(dbg: Any, save: Any) -> Any:
    with dbg.capture() as run:
        save()
    return dbg._steps.step_of(run.latest)


def told(found: Sequence[Located]) -> dict[str, list[int]]:
    return {os.path.basename(one.path): one.positions.tolist() for one in found}


def all_of(step: Any) -> list[Located]:
    """All that a step wrote, for as many rows as there may be."""
    return [Located.of(extent.path, extent.unit, range(100)) for extent in step.writes]


@pytest.fixture
def numbers(spark: Any, tmp_path: Path) -> Any:
    (tmp_path / "numbers.csv").write_text("i,k,t\n" + "".join(f"{i},{i % 3},{HOSTILE[i] if i in (0, 9, 10) else 'x'}\n" for i in range(12)))
    return spark.read.schema("i int, k int, t string").option("header", True).csv(str(tmp_path / "numbers.csv"))


@pytest.mark.many
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_rows_of_files_and_their_folders(dbg: Any, numbers: Any, tmp_path: Path, form: str) -> None:
    frame = numbers.where("i % 2 = 1").withColumn("half", F.col("i") / 2)
    out = str(tmp_path / "out")
    step = saved(dbg, lambda: frame.repartition(2).write.partitionBy("k", "t").option("header", True).format(form).save(out))
    assert [(os.path.basename(e.path), e.unit, e.form) for e in step.reads] == [("numbers.csv", Unit.ROW, "csv")]
    assert dict(step.reads[0].options)["header"] == "true"
    assert {(e.unit, e.form) for e in step.writes} == {(Unit.ROW, form)}
    assert step.began <= step.ended
    read = dbg.spark.read.format(form).option("header", True)
    expected = {}
    for extent in step.writes:
        rows = read.load(extent.path).collect()
        for number, row in enumerate(rows):
            expected[extent.path, number] = int(row["i"])
    assert sorted(expected.values()) == [1, 3, 5, 7, 9, 11]
    for (path, number), source in list(expected.items())[:1]:
        assert told(step.backward([Located.of(path, Unit.ROW, [number])])) == {"numbers.csv": [source]}
    assert told(step.backward(all_of(step))) == {"numbers.csv": [1, 3, 5, 7, 9, 11]}
    ahead = step.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [4, 9])])
    assert [(one.path, one.positions.tolist()) for one in ahead] == [(path, [number]) for (path, number), source in expected.items() if source == 9]
    assert step.incomplete == ()


@pytest.mark.many
@pytest.mark.parametrize("form", ["csv", "json", "orc"])
def test_whatever_is_in_a_text(dbg: Any, spark: Any, tmp_path: Path, form: str) -> None:
    texts = spark.createDataFrame([(i, text) for i, text in enumerate(HOSTILE)], "i int, s string")
    texts.coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.read.parquet(str(tmp_path / "in")).select("s", (F.col("i") * 2).alias("i"))
    step = saved(dbg, lambda: frame.coalesce(1).write.format(form).save(str(tmp_path / "out")))
    [written] = step.writes
    sources = {(path, n): row["i"] for path in {e.path for e in step.reads} for n, row in enumerate(pq.read_table(path).to_pylist())}
    for numbers in ([2, 6], [*range(len(HOSTILE))]):
        [found] = step.backward([Located.of(written.path, Unit.ROW, numbers)])
        assert [sources[found.path, p] for p in found.positions] == numbers
    assert step.forward([Located.of(found.path, Unit.ROW, [1, 7])]) == [Located.of(written.path, Unit.ROW, [1, 7])]
    assert step.incomplete == ()


@pytest.mark.slow
def test_lines_of_text_of_which_a_row_has_several(dbg: Any, spark: Any, tmp_path: Path) -> None:
    values = ["one", "two\nlines", None, "", "ends\r", "a\r\nb\n"]
    spark.createDataFrame([(i, value) for i, value in enumerate(values)], "i int, s string").coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.read.parquet(str(tmp_path / "in")).orderBy("i").select("s")
    step = saved(dbg, lambda: frame.write.text(str(tmp_path / "out")))
    [written] = step.writes
    assert (written.unit, written.form) == (Unit.LINE, "text")
    lines = ["one", "two", "lines", "", "", "ends", "a", "b", ""]
    assert Path(written.path).read_bytes().decode().replace("\r\n", "\n").split("\n")[:-1] == lines
    name = os.path.basename(step.reads[0].path)
    owners = [[0], [1], [1], [2, 3, 5], [2, 3, 5], [4], [5], [5], [2, 3, 5]]
    for asked in ([2], [0, 5, 7]):
        assert told(step.backward([Located.of(written.path, Unit.LINE, asked)])) == {name: sorted({owner for number in asked for owner in owners[number]})}
    [found] = step.backward([Located.of(written.path, Unit.LINE, [3])])
    assert told([found]) == {name: [2, 3, 5]}
    assert "equal to others" in found.why
    assert step.incomplete == ()


@pytest.mark.slow
def test_values_of_all_types(dbg: Any, spark: Any, tmp_path: Path) -> None:
    when = datetime.datetime(2026, 3, 29, 1, 30, 0, 123456)
    rows = [
        (float(i) if i else -0.0, b"\x00\xff" * i, [("a", i)], {"k": [i], "a": None}, decimal.Decimal(i) / 7, when + datetime.timedelta(hours=i), when.date(), i % 2 == 0, None)
        for i in range(4)
    ] + [(math.nan, None, None, None, None, None, None, None, None), (0.0, b"", [("a", 0)], {"k": [0], "a": None}, decimal.Decimal(0), when, when.date(), True, None)]
    kinds = "d double, b binary, n array<struct<x string, y int>>, m map<string,array<int>>, c decimal(20,10), t timestamp, a date, f boolean, v string"
    spark.createDataFrame(rows, kinds).coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.read.parquet(str(tmp_path / "in"))
    for form in ("parquet", "orc"):
        step = saved(dbg, lambda form=form: frame.write.format(form).save(str(tmp_path / form)))
        [written], [source] = step.writes, step.reads
        assert step.backward([Located.of(written.path, Unit.ROW, [0, 4])]) == [Located.of(source.path, Unit.ROW, [0, 4])]
        assert step.forward([Located.of(source.path, Unit.ROW, [0, 3, 4])]) == [Located.of(written.path, Unit.ROW, [0, 3, 4])]
        assert step.incomplete == ()


@pytest.mark.parametrize("form", ["parquet", "csv", "text"])
def test_a_folder_whose_name_is_a_pattern_to_spark(dbg: Any, numbers: Any, tmp_path: Path, form: str) -> None:
    for folder in ("out[1]", "a{b,c}?*", "g\\x"):
        frame = numbers.repartition(2, "i").select(F.col("i").cast("string")) if form == "text" else numbers.repartition(2, "i")
        step = saved(dbg, lambda frame=frame, folder=folder: frame.write.format(form).save(str(tmp_path / folder)))
        assert len(step.writes) == 2
        found = step.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [3])])
        assert len(found) == 1
        assert told(step.backward(found)) == {"numbers.csv": [3]}
        assert told(step.backward(all_of(step))) == {"numbers.csv": list(range(12))}


def test_rows_that_are_equal_are_all_told_and_said_so(dbg: Any, numbers: Any, tmp_path: Path) -> None:
    step = saved(dbg, lambda: numbers.select("k").write.parquet(str(tmp_path / "out")))
    [written] = step.writes
    [found] = step.backward([Located.of(written.path, Unit.ROW, [1])])
    assert told([found]) == {"numbers.csv": [1, 4, 7, 10]}
    assert "equal to others" in found.why
    [found] = step.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [4])])
    assert found.positions.tolist() == [1, 4, 7, 10]
    assert "equal to others" in found.why


def test_that_a_row_is_equal_to_others_is_said_of_it_alone(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Whatever was asked before, live and saved: else an exact flow is called inexact, by a sentence that is untrue of it."""
    source = str(tmp_path / "d.csv")
    Path(source).write_text("a,1\na,1\nb,2\nc,3\n")
    step = saved(dbg, lambda: spark.read.schema("k string, v int").csv(source).coalesce(1).write.csv(str(tmp_path / "o")))
    written = step.writes[0].path
    opened = bigdebug.open(dbg.save(tmp_path / "saved", [step.run], lineage=True))
    for found in (pipeline(step), pipeline(opened)):
        for row, alike in ((3, False), (0, True), (3, False), (2, False)):
            for flow in (found.backward(written, rows=[row]), found.forward(source, lines=[row + 1])):
                assert flow.exact is not alike
                assert [f"{step.name}' is incomplete: a row that it wrote is equal to others" in note for note in flow.notes] == [True] * alike


@pytest.mark.slow
def test_groups_of_which_the_last_digits_vary(dbg: Any, numbers: Any, tmp_path: Path) -> None:
    tenths = numbers.groupBy("k").agg(F.sum(F.col("i") * 0.1).alias("s"), F.collect_list("i").alias("all"))
    step = saved(dbg, lambda: tenths.coalesce(1).write.json(str(tmp_path / "out")))
    [written] = step.writes
    found = [told(step.backward([Located.of(written.path, Unit.ROW, [number])]))["numbers.csv"] for number in range(3)]
    assert sorted(found) == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    assert step.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [5])]) == [Located.of(written.path, Unit.ROW, [found.index([2, 5, 8, 11])])]
    assert step.incomplete == ()


def test_appending_overwriting_and_many_files(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    first = saved(dbg, lambda: numbers.where("i < 6").write.option("maxRecordsPerFile", 2).parquet(out))
    second = saved(dbg, lambda: numbers.where("i >= 6").write.mode("append").parquet(out))
    assert (len(first.writes), len(second.writes)) == (3, 1)
    assert not {e.path for e in first.writes} & {e.path for e in second.writes}
    assert told(second.backward(all_of(second))) == {"numbers.csv": [6, 7, 8, 9, 10, 11]}
    assert [one.positions.tolist() for one in first.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [3])])] == [[1]]
    third = saved(dbg, lambda: numbers.where("i = 11").write.mode("overwrite").parquet(out))
    with pytest.raises(SourceChangedError, match="has been changed since"):
        first.backward(all_of(first))
    assert told(third.backward(all_of(third))) == {"numbers.csv": [11]}


def test_tables_of_sql(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    numbers.createOrReplaceTempView("numbers")
    table = "across_table"
    try:
        made = saved(dbg, lambda: spark.sql(f"CREATE TABLE {table} USING parquet PARTITIONED BY (k) AS SELECT i, k, t FROM numbers WHERE i < 4"))
        assert made.run.action == "sql"
        assert told(made.backward(all_of(made))) == {"numbers.csv": [0, 1, 2, 3]}
        more = saved(dbg, lambda: spark.sql(f"INSERT INTO {table} PARTITION (k = 7) SELECT CAST(i AS BIGINT) i, t FROM numbers WHERE i > 9"))
        assert told(more.backward(all_of(more))) == {"numbers.csv": [10, 11]}
        assert len(more.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [11])])) == 1
        put = saved(dbg, lambda: numbers.where("i = 5").select(F.col("i").cast("long"), "t", F.lit(9)).write.insertInto(table))
        assert told(put.backward(all_of(put))) == {"numbers.csv": [5]}
        copied = saved(dbg, lambda: spark.table(table).select("t", "i", "k").write.saveAsTable(f"{table}_2"))
        assert {e.path for e in copied.reads} == {e.path for step in (made, more, put) for e in step.writes}
        written = [Located.of(e.path, e.unit, [n]) for e in copied.writes for n, row in enumerate(pq.read_table(e.path).to_pylist()) if row["i"] == 11]
        [found] = copied.backward(written)
        assert told(more.backward([found])) == {"numbers.csv": [11]}
        with dbg.capture() as run:
            assert spark.sql("SELECT 1").collect()[0][0] == 1
            spark.sql(f"DESCRIBE {table}").count()
        assert [one.action for one in run.runs] == ["collect", "count"]
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {table}")
        spark.sql(f"DROP TABLE IF EXISTS {table}_2")


def test_a_write_that_cannot_be_told_is_refused_by_name(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    drawn = saved(dbg, lambda: numbers.withColumn("r", F.rand()).write.parquet(str(tmp_path / "drawn")))
    with pytest.raises(NondeterminismError):
        drawn.backward(all_of(drawn))
    pretty = saved(dbg, lambda: numbers.write.option("pretty", True).json(str(tmp_path / "pretty")))
    with pytest.raises(UntraceableError, match="over several lines"):
        pretty.backward(all_of(pretty))
    ordered = saved(dbg, lambda: numbers.groupBy().agg(F.collect_list("i").alias("all")).write.parquet(str(tmp_path / "ordered")))
    with pytest.raises(NondeterminismError, match="No value of the result"):
        ordered.backward(all_of(ordered))
    nothing = saved(dbg, lambda: numbers.where("i > 99").write.csv(str(tmp_path / "nothing")))
    assert nothing.backward(all_of(nothing)) == ()
    assert nothing.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [3])]) == []


def test_a_query_of_which_no_source_can_be_told_has_read_its_files(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    """Else a flow would pass by what it wrote, and be called exact."""
    numbers.createOrReplaceTempView("numbers_read")
    out, other = str(tmp_path / "out"), str(tmp_path / "other")
    recursive = "with recursive r(n, i) as (select 1, i from numbers_read union all select n + 1, i from r where n < 2) select * from r"
    refused = saved(dbg, lambda: spark.sql(recursive).write.json(out))
    plain = saved(dbg, lambda: spark.table("numbers_read").write.option("header", True).csv(other))
    assert [(os.path.basename(e.path), e.unit) for e in refused.reads] == [("numbers.csv", Unit.WHOLE)] == [(os.path.basename(e.path), e.unit) for e in refused.own_reads]
    flow = pipeline(plain, refused).forward(str(tmp_path / "numbers.csv"), lines=[3])
    assert {step.id for step in flow.steps} == {plain.id, refused.id}
    assert {one.extent.path for one in flow.results} >= {extent.path for extent in refused.writes}
    assert not flow.exact
    assert any("recursive" in note for note in flow.notes)
    behind = pipeline(refused).backward(refused.writes[0].path, lines=[1])
    assert [os.path.basename(one.extent.path) for one in behind.sources] == ["numbers.csv"]
    assert not behind.exact


@pytest.mark.parametrize("strategy", ["lazy", "inject"])
def test_files_that_a_data_source_of_version_2_read_are_read_as_a_whole(dbg: Any, spark: Any, numbers: Any, tmp_path: Path, strategy: str) -> None:
    source = str(tmp_path / "numbers.csv")
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        with dbg.capture(strategy=strategy) as run:
            spark.read.option("header", True).csv(source).where("k = '1'").coalesce(1).write.csv(str(tmp_path / "out"))
    finally:
        spark.conf.unset("spark.sql.sources.useV1SourceList")
    step = dbg._steps.step_of(run.latest)
    back, ahead = pipeline(step).backward(step.writes[0].path, rows=[0]), pipeline(step).forward(source, lines=[3])
    assert [(one.extent.path, one.located.unit) for one in back.sources] == [(source, Unit.WHOLE)]
    assert [one.extent.path for one in ahead.results] == [step.writes[0].path]
    assert not back.exact
    assert not ahead.exact


def test_who_wrote_into_a_folder_is_not_passed_by_where_nobody_knows_which_files_are_whose(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    """Else a flow back says that the pipeline begins at what it wrote, and is called exact."""
    out, other = str(tmp_path / "out"), str(tmp_path / "other")
    numbers.select("i").where("i < 2").coalesce(1).write.parquet(other)
    [theirs] = [os.path.join(other, name) for name in os.listdir(other) if name.startswith("part-")]

    def meanwhile(i: int) -> int:
        """Another write into the same folder goes on at the same time."""
        os.makedirs(out, exist_ok=True)
        shutil.copyfile(theirs, os.path.join(out, os.path.basename(theirs)))
        return i

    step = saved(dbg, lambda: numbers.select(F.udf(meanwhile, "int", useArrow=False)("i").alias("i")).coalesce(1).write.mode("append").parquet(out))
    assert any("Several writes into one folder" in why for why in step.incomplete)
    reading = saved(dbg, lambda: spark.read.parquet(out).where("i = 1").coalesce(1).write.csv(str(tmp_path / "last")))
    assert len(reading.reads) == 2
    opened = bigdebug.open(dbg.save(tmp_path / "saved", [step.run, reading.run], lineage=True))
    for found in (pipeline(step, reading), pipeline(opened)):
        flow = found.backward(reading.writes[0].path, rows=[0])
        assert [one.id for one in flow.steps] == [step.id, reading.id]
        assert [(os.path.basename(one.extent.path), one.located.unit) for one in flow.sources] == [("numbers.csv", Unit.WHOLE)]
        assert not flow.exact
        assert any("Several writes into one folder" in note for note in flow.notes)
        ahead = found.forward(str(tmp_path / "numbers.csv"), lines=[3])
        assert ([one.id for one in ahead.steps], ahead.exact) == ([step.id, reading.id], False)
        assert {one.id for one in found.backward(out).steps} == {step.id}


def test_a_table_that_changes_what_is_written_has_its_files(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    try:
        spark.sql("CREATE TABLE across_padded (t CHAR(9), i INT) USING parquet")
        step = saved(dbg, lambda: numbers.where("i > 9").select(F.lit("x").alias("t"), "i").write.insertInto("across_padded"))
        flow = pipeline(step).backward(step.writes[0].path, rows=[0])
        assert [os.path.basename(one.extent.path) for one in flow.sources] == ["numbers.csv"]
        assert any("CHAR or VARCHAR" in note for note in flow.notes)
        assert not flow.exact
    finally:
        spark.sql("DROP TABLE IF EXISTS across_padded")


def test_rows_of_a_csv_whose_folder_an_option_names(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    """Of a writer's, and of a table's: Spark reads no files by a path beside such an option."""
    out, chosen = str(tmp_path / "out"), numbers.where("i > 3")
    chosen.createOrReplaceTempView("numbers")
    saves = {
        "writer": lambda: chosen.write.format("csv").option("path", out).save(),
        "table": lambda: spark.sql("INSERT INTO across_csv SELECT i, k FROM numbers"),
        "folder": lambda: spark.sql(f"INSERT OVERWRITE DIRECTORY USING csv OPTIONS (path '{tmp_path / 'folder'}') SELECT i, k FROM numbers"),
    }
    try:
        spark.sql(f"CREATE TABLE across_csv (i INT, k INT) USING csv LOCATION '{tmp_path / 'table'}'")
        for name, save in saves.items():
            step = saved(dbg, save)
            [extent] = step.writes
            assert (name, told(step.backward([Located.of(extent.path, extent.unit, [1])]))) == (name, {"numbers.csv": [5]})
            assert (name, told(step.forward([Located.of(str(tmp_path / "numbers.csv"), Unit.ROW, [2, 5])]))) == (name, {os.path.basename(extent.path): [1]})
    finally:
        spark.sql("DROP TABLE IF EXISTS across_csv")


def test_traces_and_actions_that_write_nothing(dbg: Any, numbers: Any, tmp_path: Path) -> None:
    frame = numbers.where("k = 2")
    collected = saved(dbg, frame.collect)
    assert collected.writes == ()
    trace = dbg.lineage(collected.run).where("i = 8")
    assert told(collected.inputs_of(trace)) == {"numbers.csv": [8]}
    assert collected.outputs_of(trace) == []
    written = saved(dbg, lambda: frame.write.json(str(tmp_path / "out")))
    assert written.inputs_of(trace) is None
    assert [one.positions.tolist() for one in written.outputs_of(dbg.lineage(written.run).where("i = 8"))] == [[2]]


@pytest.mark.slow
def test_many_columns_and_a_long_text(dbg: Any, spark: Any, tmp_path: Path) -> None:
    wide = spark.range(2).select(F.repeat(F.lit("x"), 10_000_000).alias("long"), *((F.col("id") * i).alias(f"c{i}") for i in range(100)))
    wide.coalesce(1).write.parquet(str(tmp_path / "in"))
    step = saved(dbg, lambda: spark.read.parquet(str(tmp_path / "in")).write.csv(str(tmp_path / "out")))
    [written] = step.writes
    [found] = step.backward([Located.of(written.path, Unit.ROW, [1])])
    assert found.positions.tolist() == [1]


def test_folders_named_by_what_is_no_name(dbg: Any, spark: Any, tmp_path: Path) -> None:
    values = [None, "", "a/b=c%d é", "x:y", "2026"]
    spark.createDataFrame([(i, value, float(i)) for i, value in enumerate(values)], "i int, s string, d double").coalesce(1).write.parquet(str(tmp_path / "in"))
    step = saved(dbg, lambda: spark.read.parquet(str(tmp_path / "in")).write.partitionBy("s", "d").orc(str(tmp_path / "out")))
    [source] = step.reads
    assert len(step.writes) == 5
    assert step.backward(all_of(step)) == [Located.of(source.path, Unit.ROW, range(5))]
    ahead = step.forward([Located.of(source.path, Unit.ROW, [1, 2])])
    assert sorted(os.path.relpath(one.path, tmp_path / "out").split("/")[1] for one in ahead) == ["d=1.0", "d=2.0"]


def test_a_csv_of_one_column_in_which_null_is_no_row(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.createDataFrame([(None,), ("",), ("x",)], "s string").coalesce(1).write.parquet(str(tmp_path / "in"))
    frame = spark.read.parquet(str(tmp_path / "in"))
    step = saved(dbg, lambda: frame.write.option("sep", "|").option("quote", "'").option("compression", "gzip").csv(str(tmp_path / "out")))
    [written], [source] = step.writes, step.reads
    assert step.backward([Located.of(written.path, Unit.ROW, [0, 1])]) == [Located.of(source.path, Unit.ROW, [1, 2])]
    assert step.forward([Located.of(source.path, Unit.ROW, [0])]) == []


def test_a_csv_of_numbers_is_counted_as_it_is_read(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    step = saved(dbg, lambda: numbers.select("k", "i", F.lit(None).cast("double").alias("n")).where("i > 3").coalesce(1).write.option("header", True).csv(str(tmp_path / "out")))
    [written] = step.writes
    reading = saved(dbg, lambda: spark.read.option("header", True).csv(written.path).collect())
    assert dict(written.options) == dict(reading.reads[0].options)
    assert told(step.backward([Located.of(written.path, Unit.ROW, [0, 7])])) == {"numbers.csv": [4, 11]}


def test_another_file_system(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.across.link./data", f"file://{tmp_path}")
    try:
        first = saved(dbg, lambda: numbers.where("i > 8").write.parquet("viewfs://across/data/far"))
        [written] = first.writes
        assert written.path.startswith("viewfs://across/data/far/part-00000")
        assert written.stamp is not None
        assert not written.stamp.digest
        assert told(first.backward(all_of(first))) == {"numbers.csv": [9, 10, 11]}
        second = saved(dbg, lambda: dbg.spark.read.parquet("viewfs://across/data/far").where("i = 10").rdd.map(str).saveAsTextFile("viewfs://across/data/lines"))
        assert second.reads[0].path == written.path
        assert [(one.path, one.positions.tolist()) for one in second.backward(all_of(second))] == [(written.path, [1])]
    finally:
        conf.unset("fs.viewfs.mounttable.across.link./data")


def test_rows_of_which_nobody_knows_where_they_came_from(dbg: Any, spark: Any, numbers: Any, tmp_path: Path) -> None:
    before = numbers.where("i > 5")
    held = before.localCheckpoint()
    known = saved(dbg, lambda: held.where("k = 0").write.json(str(tmp_path / "known")))
    assert told(known.backward(all_of(known))) == {"numbers.csv": [6, 9]}
    unknown = saved(dbg, lambda: numbers.limit(3).localCheckpoint().write.json(str(tmp_path / "unknown")))
    assert unknown.reads == ()
    assert "a checkpoint has its rows, and nothing is known behind them" in unknown.incomplete[0]
    parsed = saved(dbg, lambda: spark.read.csv(dbg.context.textFile(str(tmp_path / "numbers.csv"))).write.json(str(tmp_path / "parsed")))
    assert parsed.reads == ()
    assert "made of an RDD by a call that is not followed" in parsed.incomplete[0]
    assert "createDataFrame" not in unknown.incomplete[0] + parsed.incomplete[0]


def test_an_action_that_fails_and_one_that_writes_nowhere(dbg: Any, numbers: Any, tmp_path: Path) -> None:
    with dbg.capture() as run, pytest.raises(Exception, match="no"):
        numbers.withColumn("z", F.raise_error(F.lit("no"))).write.parquet(str(tmp_path / "out"))
    failed = dbg._steps.step_of(run.latest)
    assert (failed.run.status, failed.writes) == ("failed", ())
    assert failed.ended is not None
    assert saved(dbg, lambda: numbers.write.format("noop").mode("overwrite").save()).writes == ()


def test_a_file_that_is_read_in_two_ways_is_taken_as_a_whole(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """The row of the one is the line before of the other: no positions are told as if both counted alike."""
    (tmp_path / "a.csv").write_text("i\n" + "".join(f"{i}\n" for i in range(6)))
    rows, lines = spark.read.option("header", True).csv(str(tmp_path / "a.csv")), spark.read.text(str(tmp_path / "a.csv"))
    joined = rows.join(lines, rows["i"] == lines["value"]).where("i = '2'")
    step = saved(dbg, lambda: joined.coalesce(1).write.parquet(str(tmp_path / "out")))
    assert {(extent.unit, extent.form) for extent in step.reads} == {(Unit.ROW, "csv"), (Unit.LINE, "text")}
    found = pipeline(step)
    for flow in (found.backward(step), found.forward("a.csv", lines=[4])):
        assert not flow.exact
        assert any("a.csv in several ways" in note for note in flow.notes)
    assert found.backward(step)["a.csv"].located.unit is Unit.WHOLE
    assert len(found.forward("a.csv", lines=[4]).results) == 1


@pytest.mark.parametrize("how", ["intersect", "subtract", "inner", "left_semi", "left_anti", "union", "where"])
def test_of_a_row_that_got_lost_on_the_way_nothing_was_made(dbg: Any, spark: Any, tmp_path: Path, how: str) -> None:
    rows = {"l": ["b,b", "a,2", "x,7", "c,9"], "r": ["b,1", "a,2", "x,1", "c,9"]}
    for name, lines in rows.items():
        (tmp_path / f"{name}.csv").write_text("k,v\n" + "".join(f"{line}\n" for line in lines))
    left, right = (spark.read.csv(str(tmp_path / f"{name}.csv"), header=True) for name in rows)
    both = {
        "intersect": lambda: left.intersect(right), "subtract": lambda: left.subtract(right), "union": lambda: left.where("v = '9'").union(right.where("v = '2'")),
        "where": lambda: left.where("v = '9' and k in (select k from r)"),
    }
    right.createOrReplaceTempView("r")
    frame = both[how]() if how in both else left.join(right, ["k", "v"], how)
    step = saved(dbg, lambda: frame.select("k").coalesce(1).write.csv(str(tmp_path / "out")))
    [written] = step.writes
    keys = Path(written.path).read_text().split()
    through = {(name, n) for key in range(len(keys)) for one in step.backward([Located.of(written.path, Unit.ROW, [key])]) for n in one.positions.tolist() for name in rows if f"/{name}.csv" in one.path}
    for name, lines in rows.items():
        for number, line in enumerate(lines):
            ahead = step.forward([Located.of(str(tmp_path / f"{name}.csv"), Unit.ROW, [number])])
            assert [p for one in ahead for p in one.positions.tolist()] == ([keys.index(line[0])] if (name, number) in through else []), (name, line)
