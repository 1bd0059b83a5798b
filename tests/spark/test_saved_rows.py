"""A saved run of a DataFrame has as many rows as the live one, and as the program saw them: whatever the query ends in, and whatever was asked before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.cli.main import main
from bigdebug.errors import IncompleteLineageError, UnknownOperatorError
from bigdebug.spark.sql.far import Far


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))


def saved(dbg: Any, run: Any, at: Path, **given: Any) -> Any:
    return bigdebug.open(dbg.save(at, run, **given))


@pytest.mark.parametrize("kind", ["parquet", "range"])
def test_a_source_as_it_is_has_all_its_rows_whatever_was_asked_before(dbg: Any, spark: Any, tmp_path: Path, kind: str) -> None:
    frame = spark.range(20)
    if kind == "parquet":
        frame.write.parquet(str(tmp_path / "p"))
        frame = spark.read.parquet(str(tmp_path / "p"))
    with dbg.capture("leaf") as run:
        frame.collect()
    assert dbg.lineage(run).goBackAll().count() == 20
    dbg.index(run)
    plain = saved(dbg, run, tmp_path / "plain")
    assert plain.lineage("leaf").count() == 20
    trace = saved(dbg, run, tmp_path / "saved", lineage=True).lineage("leaf")
    assert trace.count() == trace.goBackAll().count() == trace.goNextAll().count() == 20
    assert trace.rids().tolist() == dbg.lineage(run).rids().tolist()
    if kind == "parquet":
        assert sorted(row["id"] for row in trace.collect()) == list(range(20))


@pytest.mark.parametrize("kind", ["made", "csv", "range", "rdd", "text"])
def test_the_rows_of_a_source_that_was_collected_are_answered_however_it_was_saved(dbg: Any, spark: Any, tmp_path: Path, kind: str) -> None:
    """Also where its records are not kept, or its file has changed since: they are the result."""
    (tmp_path / "in.csv").write_text("id,x\n1,a\n2,b\n")
    data = {
        "made": lambda: spark.createDataFrame([(1, "a"), (2, "b")], "id int, x string"), "csv": lambda: spark.read.csv(str(tmp_path / "in.csv"), header=True),
        "range": lambda: spark.range(3), "rdd": lambda: dbg.context.parallelize([1, 2, 3], 2), "text": lambda: spark.read.text(str(tmp_path / "in.csv")),
    }[kind]()
    with dbg.capture("source") as run:
        given = data.collect()
    whole = saved(dbg, run, tmp_path / "whole", lineage=True)
    (tmp_path / "in.csv").write_text("id,x\n9,changed\n")
    assert list(map(str, whole.lineage("source").collect())) == list(map(str, given))
    assert list(map(str, whole.lineage("source").numbered([1]).collect())) == [str(given[1])]
    assert main(["show", str(tmp_path / "whole"), "source", "--outputs"]) == 0
    if kind != "rdd":
        assert list(map(str, saved(dbg, run, tmp_path / "plain").lineage("source").collect())) == list(map(str, given))


def test_a_query_that_reads_no_source_says_so_in_a_saved_session(dbg: Any, spark: Any, tmp_path: Path) -> None:
    with dbg.capture("one") as run:
        spark.sql("select 1 as a").collect()
    trace = saved(dbg, run, tmp_path / "saved", lineage=True).lineage("one")
    for each in (trace, dbg.lineage(run)):
        with pytest.raises(UnknownOperatorError, match="This query reads no source"):
            each.goBackAll()


def test_a_source_that_was_written_as_it_is_leads_back_to_its_rows(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(20).coalesce(1).write.parquet(str(tmp_path / "p"))
    frame = spark.read.parquet(str(tmp_path / "p"))
    with dbg.capture("convert") as run:
        frame.write.csv(str(tmp_path / "out"))
    assert dbg.lineage(run).count() == 20
    opened = saved(dbg, run, tmp_path / "saved", lineage=True)
    [step] = opened.steps
    [file] = [extent for extent in step.writes if "part-" in extent.path]
    line = Path(file.path).read_text().splitlines().index("7")
    [source] = opened.pipeline.backward(file.path, lines=[line + 1]).sources
    assert source.located.positions.tolist() == [7]


def test_a_folder_that_was_written_as_it_is_leads_to_the_file_of_each_row_both_ways(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Spark reads its files in one partition, and rids count them apart."""
    lines = {"a": ["a,0", "a,1", "a,2"], "b": ["b,3"], "c": ["c,4", "c,5"]}
    (tmp_path / "in").mkdir()
    for name, those in lines.items():
        (tmp_path / "in" / f"{name}.csv").write_text("".join(f"{line}\n" for line in those))
    with dbg.capture("convert") as run:
        spark.read.csv(str(tmp_path / "in")).write.csv(str(tmp_path / "out"))
    opened = saved(dbg, run, tmp_path / "saved", lineage=True)
    [step] = opened.steps
    rows = opened.lineage("convert")
    seen = []
    for file in (Path(extent.path) for extent in step.writes):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            flow = opened.pipeline.backward(str(file), lines=[number])
            [source] = flow.sources
            assert (Path(source.located.path).name, source.located.positions.tolist()) == (f"{line[0]}.csv", [lines[line[0]].index(line)])
            assert flow.exact
            seen.append(line)
    assert sorted(seen) == [line for those in lines.values() for line in those]
    for name, those in lines.items():
        for number, line in enumerate(those, 1):
            flow = opened.pipeline.forward(str(tmp_path / "in" / f"{name}.csv"), lines=[number])
            assert [flow.records(found) for found in flow.results] == [[line]]
            assert flow.exact
    for row, line in enumerate(map(",".join, rows.collect())):
        held = rows.numbered([row])
        [written], [read] = step.outputs_of(held), step.inputs_of(held)
        assert Path(written.path).read_text().splitlines()[int(written.positions[0])] == line
        assert (Path(read.path).name, read.positions.tolist()) == (f"{line[0]}.csv", [lines[line[0]].index(line)])


def word_rows(dbg: Any, spark: Any, folder: Path) -> Any:
    (folder / "w.txt").write_text("a a b\nc c d\n")
    return spark.read.text(str(folder / "w.txt")).selectExpr("explode(split(value, ' ')) word")


def twice(frames: Any) -> Any:
    for frame in frames:
        for _ in range(2):
            yield frame


REPEATING: dict[str, tuple[Callable[[Any], Any], int]] = {
    "explode": (lambda spark: spark.range(2).selectExpr("explode(array(id, id, 9)) x"), 6),
    "stack": (lambda spark: spark.range(2).selectExpr("stack(3, 1, 1, 2)"), 6),
    "inline": (lambda spark: spark.range(2).selectExpr("inline(array(struct(1), struct(1)))"), 4),
    "rollup": (lambda spark: spark.sql("SELECT id, grouping_id() g FROM range(2) GROUP BY GROUPING SETS ((id), (id))"), 4),
    "map in pandas": (lambda spark: spark.range(2).repartition(2, "id").mapInPandas(twice, "id long"), 4),
    "constants": (lambda spark: spark.sql("SELECT 1 x UNION ALL SELECT 1"), 2),
    "sample": (lambda spark: spark.range(12).sample(True, 2.0, seed=3), -1),
    "exploded, then limited": (lambda spark: spark.range(2).selectExpr("explode(array(id, id, 9)) x").orderBy("x").limit(4), 4),
    "exploded, then counted": (lambda spark: spark.range(2).selectExpr("explode(array(id, id, 9)) x").groupBy("x").count(), 3),
}


@pytest.mark.many
@pytest.mark.parametrize("name", REPEATING)
def test_equal_rows_of_one_record_are_as_many_as_the_program_got(dbg: Any, spark: Any, tmp_path: Path, name: str) -> None:
    make, count = REPEATING[name]
    frame = make(spark)
    with dbg.capture("many") as run:
        rows = frame.collect()
    assert len(rows) == count or count < 0
    live = dbg.lineage(run)
    dbg.index(run)
    for opened in (saved(dbg, run, tmp_path / "saved", lineage=True), saved(dbg, run, tmp_path / "plain")):
        trace = opened.lineage("many")
        assert trace.count() == live.count() == len(rows)
        assert Counter(map(repr, trace.collect())) == Counter(map(repr, rows))
    if not run.latest.questions.leaves:
        return  # constants lead nowhere
    trace = bigdebug.open(tmp_path / "saved").lineage("many")
    for number, row in enumerate(trace.collect()):
        back, same = trace.at([number]).goBackAll(), live.where(row_of(row))
        assert set(map(str, back.origins())) <= set(map(str, same.goBackAll().origins()))
        assert number in back.goNextAll().rids().tolist()
        assert same.count() == sum(other == row for other in rows)


@pytest.mark.parametrize(("ids", "times"), [(2, 40_000), (40_000, 2), (40_000, 1)])
def test_names_of_more_rows_than_the_driver_takes_are_counted_in_spark(dbg: Any, spark: Any, ids: int, times: int) -> None:
    frame = spark.range(ids).selectExpr(f"explode(array_repeat(id, {times})) x")
    with dbg.capture("many") as run:
        assert frame.count() == ids * times
    steps, level = run.latest.questions.steps(), run.latest.subject
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "64k")
    try:
        names, counted = steps.counted(level)
        assert (isinstance(names, Far), len(names)) == (ids > 2, ids)
    finally:
        conf.remove("spark.driver.maxResultSize")
    near, here = steps.counted(level)
    assert (None if here is None else here.tolist()) == (None if times == 1 else [times] * ids)
    if ids > 2:
        assert counted is None
        assert steps.catalyst.table(names.plan, {"name": names.name}).num_rows == ids
    else:
        assert sorted(map(str, names.to_pylist())) == sorted(map(str, near.to_pylist()))
        assert counted.tolist() == here.tolist()


def row_of(row: Any) -> Any:
    return lambda other: tuple(other) == tuple(row)


def test_an_output_is_traced_to_the_line_of_it(dbg: Any, spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = word_rows(dbg, spark, tmp_path)
    with dbg.capture("words") as run:
        assert [row.word for row in frame.collect()] == ["a", "a", "b", "c", "c", "d"]
    dbg.save(tmp_path / "saved", run, lineage=True)
    assert main(["trace", str(tmp_path / "saved"), "words", "--output", "2"]) == 0
    assert "a a b" in capsys.readouterr().out


def test_equal_rows_that_were_written_lead_to_their_lines_both_ways(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = word_rows(dbg, spark, tmp_path)
    with dbg.capture("wrote") as run:
        frame.coalesce(1).write.text(str(tmp_path / "out"))
    opened = saved(dbg, run, tmp_path / "saved", lineage=True)
    assert opened.lineage("wrote").count() == 6
    [file] = [extent.path for extent in opened.steps[0].writes if "part-" in extent.path]
    assert Path(file).read_text().split() == ["a", "a", "b", "c", "c", "d"]
    for line in range(1, 7):
        [source] = opened.pipeline.backward(file, lines=[line]).sources
        assert source.located.positions.tolist() == [line > 3]
    [result] = opened.pipeline.forward(str(tmp_path / "w.txt"), lines=[2]).results
    assert result.located.positions.tolist() == [3, 4, 5]


def test_the_line_of_a_saved_query_tells_what_is_known_of_it(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = spark.range(3).where("id > 1")
    with dbg.capture("one") as one:
        frame.collect()
    with dbg.capture("wrote") as wrote:
        frame.write.parquet(str(tmp_path / "p"))
    asked = dbg.lineage(spark.range(3).selectExpr("id asked"))
    assert asked.count() == 3
    for given in ({}, {"lineage": True}):
        opened = saved(dbg, [one.latest, wrote.latest, asked.run], tmp_path / f"saved{len(given)}", **given)
        for run in opened.runs:
            told = run.summary()
            assert not [strange for strange in ("-1", "-0", "records in") if strange in told]
            assert told in repr(run)
            assert ("was not saved" in told) == (not given)
        assert opened.runs[-1].summary().startswith("asked: asked about, of no captured action, ")
        assert opened.run("one").summary().startswith("one: collect succeeded, 1 out, ")
        assert opened.run("wrote").summary().startswith(f"wrote: {wrote.latest.action} succeeded, ")


def test_an_index_that_leaves_out_records_is_not_taken_for_the_lineage_and_says_so(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = spark.range(20).selectExpr("id", "id % 4 k").groupBy("k").sum("id").selectExpr("k % 2 m").groupBy("m").count()
    with dbg.capture("groups of groups") as run:
        frame.collect()
    dbg.index(run)
    opened = saved(dbg, run, tmp_path / "plain")
    with pytest.raises(IncompleteLineageError, match=r"dbg.index built leaves out records .*; dbg.save\(DIR, lineage=True\) keeps all"):
        opened.lineage("groups of groups").goBackAll()
    assert saved(dbg, run, tmp_path / "saved", lineage=True).lineage("groups of groups").goBackAll().count() == 20
