"""Several captured runs are one graph: what one wrote and another read is one table, row for row; what cannot be joined exactly is refused by name."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F

from bigdebug.errors import NotCapturedError, ProvenanceError, UnknownOperatorError, UntraceableError

ROWS = [(n, f"k{n % 3}", float(n * 7 % 10)) for n in range(12)]


@pytest.fixture(scope="module")
def workflow(dbg, spark, tmp_path_factory):
    """Raw rows; those that were kept, in several files; means of these; and what reads both."""
    home = tmp_path_factory.mktemp("workflow")
    raw, clean, means = (str(home / name) for name in ("raw.parquet", "clean.parquet", "means.csv"))
    spark.createDataFrame(ROWS, "id int, k string, v double").coalesce(1).write.parquet(raw)
    with dbg.capture("clean") as first:
        spark.read.parquet(raw).where("v > 2").repartition(3, "id").write.parquet(clean)
    with dbg.capture("means") as second:
        spark.read.parquet(clean).groupBy("k").agg(F.avg("v").alias("mean")).write.csv(means, header=True)
    high = spark.read.parquet(clean).join(spark.read.csv(means, header=True, schema="k string, mean double"), "k").where("v > mean")
    with dbg.capture("high") as third:
        high.collect()
    return first, second, third, high


@pytest.mark.slow
def test_what_one_run_wrote_and_others_read_is_one_table(dbg, workflow):
    first, second, third, high = workflow
    graph = dbg.provenance([third, first, second], tables={"high": high})
    assert set(graph.workflow.edges) == {("raw.parquet", "clean.parquet"), ("clean.parquet", "means.csv"), ("clean.parquet", "high"), ("means.csv", "high")}
    kept = [row for row in ROWS if row[2] > 2]
    assert graph.statistics().set_index("table")["items"].to_dict() == {"raw.parquet": len(ROWS), "clean.parquet": len(kept), "means.csv": 3, "high": len(graph.items(dbg.lineage(third)))}
    whole = dbg.lineage(third)
    for row in whole.toDF().collect():
        one = whole.where(F.col("id") == row.id)
        behind = graph.traces(graph.ancestors(one))
        assert {found.k for found in behind["clean.parquet"].toDF().collect()} == {row.k}
        assert sorted(found.id for found in behind["raw.parquet"].toDF().collect()) == sorted(one_kept[0] for one_kept in kept if one_kept[1] == row.k)
        assert behind["raw.parquet"].run is first.latest
        read = graph.traces(graph.ancestors(one), run=third)
        assert "raw.parquet" not in read
        assert sorted(map(tuple, read["clean.parquet"].toDF().collect())) == sorted(map(tuple, behind["clean.parquet"].toDF().collect()))
        assert sorted(graph.items(read["clean.parquet"])) == sorted(graph.items(behind["clean.parquet"]))
    source = dbg.lineage(first).goBackAll().where("id = 4")
    ahead = graph.traces(graph.descendants(source))
    assert [row.k for row in ahead["means.csv"].toDF().collect()] == ["k1"]
    assert {row.k for row in ahead["high"].toDF().collect()} == {"k1"}
    assert not graph.report.findings


@pytest.mark.slow
def test_values_go_through_files_as_well(dbg, workflow):
    first, second, third, high = workflow
    graph = dbg.provenance([first, second, third], tables={"high": high}, values=True)
    one = dbg.lineage(third).where("id = 7")
    [mean] = [item for item in graph.items(one) if item.endswith("].mean")]
    behind = graph.ancestors(mean)
    assert set(behind.by_table()["table"]) == {"raw.parquet", "clean.parquet", "means.csv"}
    assert {item.rpartition(".")[2] for item in behind} == {"v", "mean"}
    assert sorted(row.id for row in graph.traces(behind)["raw.parquet"].toDF().collect()) == [1, 4, 7]


def test_what_is_not_joined_exactly_is_refused(dbg, spark, workflow, tmp_path):
    first, second, third, _ = workflow
    with dbg.capture("other") as other:
        spark.range(3).collect()
    with pytest.raises(UntraceableError, match=r"no file in common.*other"):
        dbg.provenance([first, second, other])
    with pytest.raises(UntraceableError, match="no file in common"):
        dbg.provenance([first, other])
    with dbg.capture("rdd") as program:
        dbg.context.parallelize([1, 2]).map(str).collect()
    with pytest.raises(UntraceableError, match=r"captured actions of DataFrames.*dbg.pipeline"):
        dbg.provenance([first, program])
    with pytest.raises(UnknownOperatorError, match="None of the runs"):
        dbg.provenance([first, second], tables={"other": spark.range(5)})
    with pytest.raises(NotCapturedError, match="of other runs"):
        dbg.provenance([first, second]).traces([], run=third)
    for few in ([], [first, 3]):
        with pytest.raises(ProvenanceError, match="this is none"):
            dbg.provenance(few)
    alike = str(tmp_path / "alike.parquet")
    with dbg.capture("alike") as wrote:
        spark.createDataFrame([(1,), (1,)], "n int").where("n > 0").write.parquet(alike)
    with dbg.capture("count") as counted:
        spark.read.parquet(alike).agg(F.count("*")).collect()
    with pytest.raises(UntraceableError, match=r"some are equal.*monotonically_increasing_id"):
        dbg.provenance([wrote, counted])


def test_a_copy_is_no_step(dbg, spark, tmp_path):
    raw, copied = str(tmp_path / "raw.parquet"), str(tmp_path / "copied.parquet")
    spark.range(5).write.parquet(raw)
    with dbg.capture("copy") as copy:
        spark.read.parquet(raw).write.parquet(copied)
    with dbg.capture("sum") as total:
        spark.read.parquet(copied).agg(F.sum("id")).collect()
    with pytest.raises(UntraceableError, match="wrote what it read as it was"):
        dbg.provenance([copy, total])


def test_a_table_that_grows_by_itself_is_refused_as_a_circle(dbg, spark, tmp_path):
    path = str(tmp_path / "grown.parquet")
    with dbg.capture("begin") as begin:
        spark.range(5).where("id > 1").write.parquet(path)
    with dbg.capture("grow") as grow:
        spark.read.parquet(path).selectExpr("id + 10 id").write.mode("append").parquet(path)
    with dbg.capture("sum") as total:
        spark.read.parquet(path).agg(F.sum("id")).collect()
    with pytest.raises(ProvenanceError, match=r"makes a table from itself.*grown\.parquet"):
        dbg.provenance([begin, grow, total])


def test_files_that_were_written_again_are_no_link(dbg, spark, tmp_path):
    path = str(tmp_path / "kept.parquet")
    with dbg.capture("one") as one:
        spark.range(5).where("id > 1").write.parquet(path)
    spark.range(9).write.mode("overwrite").parquet(path)
    with dbg.capture("two") as two:
        spark.read.parquet(path).agg(F.sum("id")).collect()
    with pytest.raises(UntraceableError, match="no file in common"):
        dbg.provenance([one, two])


@pytest.mark.slow
def test_parts_of_what_was_written_in_folders_and_added_to_are_its_rows(dbg, spark, tmp_path):
    raw, path = str(tmp_path / "raw.parquet"), str(tmp_path / "days.csv")
    spark.createDataFrame([(n, n % 4, f"say \"{n}\"\nand more") for n in range(10)], "id int, day int, text string").write.parquet(raw)
    runs = []
    for half in ("day < 2", "day >= 2"):
        with dbg.capture("write") as run:
            spark.read.parquet(raw).where(half).write.mode("append").partitionBy("day").csv(path, header=True, escape='"')
        runs.append(run)
    read = spark.read.csv(path, header=True, escape='"', multiLine=True, schema="id int, text string, day int")
    pairs = read.where("day in (1, 2)").join(read.selectExpr("id other"), F.expr("id = other + 1"))
    with dbg.capture("read") as reader:
        rows = pairs.collect()
    graph = dbg.provenance([*runs, reader])
    whole = dbg.lineage(reader)
    for row in rows:
        behind = graph.traces(graph.ancestors(whole.where(F.col("id") == row.id)))
        assert sorted(found.id for found in behind["raw.parquet"].toDF().collect()) == sorted([row.id, row.other])
    assert graph.statistics().set_index("table")["items"]["days.csv"] == 10


def test_a_source_that_several_runs_read_is_one_table(dbg, spark, tmp_path):
    path = str(tmp_path / "raw.parquet")
    spark.range(6).coalesce(1).write.parquet(path)
    with dbg.capture("even") as even:
        spark.read.parquet(path).where("id % 2 = 0").collect()
    with dbg.capture("low") as low:
        spark.read.parquet(path).where("id < 3").collect()
    graph = dbg.provenance([even, low])
    item = graph.items(dbg.lineage(even).where("id = 2").goBackAll())
    assert item == graph.items(dbg.lineage(low).where("id = 2").goBackAll())
    assert set(graph.descendants(item).tables) == {"even/Filter#2", "low/Filter#2"}
