"""Spark jobs in a row, joined by what one wrote and the next one read: a line of the last leads to lines of the first, and back."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import UnknownStepError
from bigdebug.trace.across.located import Located, Unit

ORDERS = [(i, "abc"[i % 3], i * 10 if i != 7 else -1) for i in range(12)]


@pytest.fixture
def orders(tmp_path: Path) -> str:
    path = tmp_path / "orders.csv"
    path.write_text("id,who,amount\n" + "".join(f"{i},{who},{amount}\n" for i, who, amount in ORDERS))
    return str(path)


def read(dbg: Any, path: str) -> Any:
    return dbg.spark.read.schema("id int, who string, amount int").option("header", True).csv(path)


def lines(path: Path) -> list[tuple[str, int, str]]:
    """Path, number from 1, and text of each line below a folder."""
    files = sorted(file for file in path.rglob("part-*"))
    return [(str(file), number, line) for file in files for number, line in enumerate(file.read_text().splitlines(), 1)]


def reached(flow: Any, name: str) -> list[tuple[str, list[int]]]:
    return [(one.located.unit.value, one.located.positions.tolist()) for one in flow if os.path.basename(one.extent.path) == name]


@pytest.mark.slow
def test_text_to_parquet_to_an_rdd(dbg: Any, orders: str, tmp_path: Path) -> None:
    with dbg.capture("clean"):
        dbg.context.textFile(orders, 3).filter(lambda line: line[0].isdigit()).saveAsTextFile(str(tmp_path / "clean"))
    clean = dbg.spark.read.schema("id int, who string, amount int").csv(str(tmp_path / "clean"))
    with dbg.capture("sums"):
        clean.groupBy("who").agg(F.sum("amount").alias("total"), F.count("*").alias("n")).write.parquet(str(tmp_path / "sums"))
    sums = dbg.spark.read.parquet(str(tmp_path / "sums"))
    with dbg.capture("report"):
        sums.rdd.map(lambda row: f"{row.who}: {row.total}").sortBy(str).saveAsTextFile(str(tmp_path / "report"))
    pipeline = dbg.pipeline
    assert [step.name for step in pipeline.steps][-3:] == ["clean", "sums", "report"]
    for path, number, line in lines(tmp_path / "report"):
        flow = pipeline.backward(path, lines=[number])
        assert [step.name for step in flow.steps] == ["clean", "sums", "report"]
        [source] = flow.sources
        assert source.extent.path == orders
        assert flow.records(source) == [f"{i},{who},{amount}" for i, who, amount in ORDERS if who == line[0]]
        assert flow.exact, flow.notes
    ahead = pipeline.forward(orders, lines=[9])  # id 7, b
    [(path, number, _)] = [known for known in lines(tmp_path / "report") if known[2].startswith("b")]
    assert [(one.extent.path, one.located.positions.tolist()) for one in ahead.results] == [(path, [number - 1])]
    assert not pipeline.forward(orders, lines=[1]).results, "the header went nowhere"


@pytest.mark.slow
def test_csv_to_sql_to_json_to_sql(dbg: Any, orders: str, tmp_path: Path) -> None:
    spark = dbg.spark
    read(dbg, orders).createOrReplaceTempView("orders")
    try:
        with dbg.capture("good"):
            spark.sql("CREATE TABLE across_good USING parquet AS SELECT * FROM orders WHERE id % 2 = 1")
        with dbg.capture("per_who"):
            spark.table("across_good").groupBy("who").agg(F.min("amount").alias("least")).write.json(str(tmp_path / "least"))
        spark.read.schema("least int, who string").json(str(tmp_path / "least")).createOrReplaceTempView("least")
        with dbg.capture("wrong"):
            spark.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/wrong' USING csv SELECT who, least FROM least WHERE least < 0")
        [(path, number, line)] = lines(tmp_path / "wrong")
        assert line == "b,-1"
        flow = dbg.pipeline.backward(path, lines=[number])
        assert [step.name for step in flow.steps] == ["good", "per_who", "wrong"]
        [source] = flow.sources
        assert flow.records(source) == ["1,b,10", "7,b,-1"]
        assert [one.extent.path for one in dbg.pipeline.forward(orders, lines=[9]).results] == [path]
        assert dbg.pipeline.forward(orders, lines=[3]).results[0].extent.path == path
        assert not [one for one in dbg.pipeline.forward(orders, lines=[4]).results if one.extent.path == path]
    finally:
        spark.sql("DROP TABLE IF EXISTS across_good")


def test_a_file_that_was_changed_between_ends_the_flow_and_is_named(dbg: Any, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\n")
    with dbg.capture("first"):
        dbg.context.textFile(str(tmp_path / "in.txt"), 1).saveAsTextFile(str(tmp_path / "middle"))
    (tmp_path / "middle" / "part-00000").write_text("a\nb\nc\n")
    (tmp_path / "middle" / ".part-00000.crc").unlink()
    with dbg.capture("second"):
        dbg.context.textFile(str(tmp_path / "middle"), 1).map(str.upper).saveAsTextFile(str(tmp_path / "last"))
    flow = dbg.pipeline.backward(str(tmp_path / "last" / "part-00000"), lines=[2])
    assert [step.name for step in flow.steps] == ["second"]
    assert not flow.exact
    assert any("was changed between 'first' and 'second'" in note for note in flow.notes)
    assert reached(flow, "in.txt") == []


def test_a_flow_starts_at_a_trace_and_ends_at_results(dbg: Any, orders: str, tmp_path: Path) -> None:
    with dbg.capture("write"):
        read(dbg, orders).where("amount > 20").write.orc(str(tmp_path / "large"))
    frame = dbg.spark.read.orc(str(tmp_path / "large")).groupBy("who").count()
    with dbg.capture("look"):
        frame.collect()
    flow = dbg.pipeline.backward(dbg.lineage(frame).where("who = 'c'"))
    assert [step.name for step in flow.steps] == ["write", "look"]
    assert flow.records(orders) == ["5,c,50", "8,c,80", "11,c,110"]
    rdd = dbg.context.textFile(orders, 2).filter(lambda line: ",a," in line)
    with dbg.capture("lines"):
        rdd.collect()
    assert reached(dbg.pipeline.backward(rdd.getLineage().where(lambda line: line.startswith("9"))), "orders.csv") == [("line", [10])]


def test_what_is_forgotten_is_no_step(dbg: Any, orders: str, tmp_path: Path) -> None:
    with dbg.capture("gone") as run:
        dbg.context.textFile(orders, 1).saveAsTextFile(str(tmp_path / "out"))
    assert dbg.pipeline.step("gone").run is run.latest
    assert len(bigdebug.pipeline(dbg).steps) == len(dbg.pipeline.steps)
    dbg.forget(run)
    with pytest.raises(UnknownStepError):
        dbg.pipeline.step("gone")


KEEP = {
    "all": "SELECT a, b, c FROM {t}", "some": "SELECT * FROM {t} WHERE a > 1 OR b IS NULL", "groups": "SELECT b, count(*) a, max(c) c FROM {t} GROUP BY b",
    "pairs": "SELECT x.a, y.b, x.c FROM {t} x JOIN {t} y ON x.a = y.a", "once": "SELECT DISTINCT a, b, c FROM {t}",
    "ranks": "SELECT a, b, cast(sum(a) OVER (PARTITION BY b) AS int) c FROM {t}",
}


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "x", "y z", "<b>"]), st.integers(-2, 2)), min_size=1, max_size=6, unique_by=lambda row: row),
    query=st.sampled_from(sorted(KEEP)), form=st.sampled_from(["csv", "json", "parquet", "orc"]),
)
@settings(max_examples=2)
def test_each_row_comes_out_of_its_rows_alone_and_forward_is_the_inverse(
    dbg: Any, tmp_path_factory: Any, rows: list[tuple[int, str, int]], query: str, form: str,
) -> None:
    """Laws 2 and 3 for files of DataFrames."""
    home, spark = tmp_path_factory.mktemp("law"), dbg.spark

    def of(path: Path) -> Any:
        spark.read.schema("a int, b string, c int").csv(str(path)).createOrReplaceTempView("law")
        return spark.sql(KEEP[query].format(t="law"))

    def put(name: str, chosen: list[int]) -> Path:
        (home / name).write_text("".join(f"{a},{b},{c}\n" for a, b, c in (rows[i] for i in chosen)))
        return home / name

    with dbg.capture() as run:
        of(put("in.csv", list(range(len(rows))))).coalesce(1).write.format(form).save(str(home / "out"))
    step = dbg._steps.step_of(run.latest)
    [written] = step.writes
    schema = run.latest.frame.schema
    made = spark.read.schema(schema).format(form).load(written.path).collect()
    for number, row in list(enumerate(made))[:1]:
        [found] = step.backward([Located.of(written.path, Unit.ROW, [number])])
        again = of(put(f"some{number}.csv", found.positions.tolist())).collect()
        assert row in again
        first = found.positions.tolist()[0]
        [ahead] = step.forward([Located.of(found.path, Unit.ROW, [first])])
        assert number in ahead.positions
        for other in ahead.positions.tolist()[:2]:
            assert first in step.backward([Located.of(written.path, Unit.ROW, [other])])[0].positions


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("way", ["rename", "copy"])
def test_a_folder_that_is_published_by_a_rename_is_followed_row_by_row(dbg: Any, orders: str, tmp_path: Path, form: str, way: str) -> None:
    with dbg.capture(f"write {form} {way}"):
        read(dbg, orders).where("id > 1").coalesce(1).write.format(form).save(str(tmp_path / "new"))
    if way == "rename":
        os.rename(tmp_path / "new", tmp_path / "final")
    else:
        assert dbg.pipeline.step(f"write {form} {way}").writes  # which waits until they were looked at
        shutil.copytree(tmp_path / "new", tmp_path / "final", copy_function=shutil.copy)
        shutil.rmtree(tmp_path / "new")
    with dbg.capture(f"report {form} {way}"):
        dbg.spark.read.schema("id int, who string, amount int").format(form).load(str(tmp_path / "final")).where("id > 2").coalesce(1).write.csv(str(tmp_path / "report"))
    [path] = [str(each) for each in (tmp_path / "report").glob("part-*")]
    for ahead in (False, True):
        flow = dbg.pipeline.forward(orders, lines=[5]) if ahead else dbg.pipeline.backward(path, lines=[1])
        assert reached(flow, "orders.csv") == [("row", [3])]
        assert reached(flow, os.path.basename(path)) == [("row", [0])]
        assert not flow.exact
        assert all("is taken for a copy of" in note for note in flow.notes), flow.notes
