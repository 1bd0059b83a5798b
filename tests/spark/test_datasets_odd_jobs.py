"""What is recorded of jobs that few programs have: names in capitals, session variables, what batches of streams do, several commands in one, keywords."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.ml import Estimator, Model
from pyspark.sql import functions as F

from bigdebug.datasets.secrets import Secrets
from bigdebug.spark.datasets.recording import Recording
from tests.spark.recorded import Recorded


@pytest.fixture(scope="module")
def recorded(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    made = Recorded(spark, tmp_path_factory.mktemp("odd"))
    made.recording.open()
    spark.range(20).selectExpr("id % 5 as k", "id * 2 as v", "cast(id as string) as s").coalesce(2).write.parquet(f"{made.folder}/in")
    spark.read.parquet(f"{made.folder}/in").createOrReplaceTempView("o_in")
    yield made
    made.recording.close()
    spark.catalog.dropTempView("o_in")
    for table in ("o_case", "o_named", "o_batch", "o_fitted", "o_several"):
        spark.sql(f"drop table if exists {table}")


def _sql(recorded: Recorded, *texts: str) -> str:
    return recorded.said(lambda spark, folder: [spark.sql(text).collect() for text in texts])


def test_names_that_differ_by_case_alone_are_one(recorded: Recorded) -> None:
    said = _sql(
        recorded, "create table O_Case (a bigint) using parquet", "insert into o_CASE select k from o_in", "truncate table O_CASE", "alter table O_CASE add columns (b int)",
        "alter table o_Case rename to O_Named", "drop table if exists O_NAMED", "create temp view O_View as select k from O_IN", "select k from o_view",
        "create or replace temp view O_VIEW as select v as k from o_in", "cache table o_VIEW", "drop view O_view",
    )
    assert [line for line in said.splitlines() if line != line.lower() and "<" not in line] == []
    assert {"dropped table default.o_named", "dropped view o_view", "truncated table default.o_case 0 rows"} <= set(said.splitlines())
    assert said.count("defined view o_view") == 2


def test_a_session_that_tells_capitals_from_small_letters_is_believed(recorded: Recorded) -> None:
    recorded.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        said = _sql(recorded, "create temp view O_View as select k from o_in", "drop view O_View")
    finally:
        recorded.spark.conf.unset("spark.sql.caseSensitive")
    assert "dropped view O_View" in said


def test_lines_that_are_shown_are_read(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    """As Spark itself reads lines, to see which columns are there."""
    recorded.spark.range(3).selectExpr("cast(id as string)").coalesce(1).write.text(f"{recorded.folder}/lines")
    said = recorded.said(lambda spark, folder: spark.read.text(f"{folder}/lines").show(2))
    assert capsys.readouterr().out
    assert "read files lines" in said
    assert recorded.said(lambda spark, folder: spark.read.csv(f"{folder}/lines", inferSchema=True)) == ""


def test_an_rdd_is_saved_by_keywords(recorded: Recorded) -> None:
    output = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"
    hadoop = "org.apache.hadoop.io"

    def job(spark: Any, folder: str) -> None:
        rdd = spark.sparkContext.parallelize([(1, "a")])
        rdd.saveAsNewAPIHadoopDataset(conf={
            "mapreduce.job.outputformat.class": output, "mapreduce.job.output.key.class": f"{hadoop}.IntWritable",
            "mapreduce.job.output.value.class": f"{hadoop}.Text", "mapreduce.output.fileoutputformat.outputdir": f"{folder}/by_conf",
        })
        rdd.saveAsTextFile(path=f"{folder}/by_path [2020]")

    assert recorded.said(job) == "rdd succeeded\ncreated files by_conf 1 rows\n\nrdd succeeded\ncreated files by_path [2020] 1 rows"


def test_a_stream_is_one_whatever_group_its_batches_set(recorded: Recorded) -> None:
    def each(batch: Any, number: int) -> None:
        batch.sparkSession.sparkContext.setJobGroup("mine", "what I do")
        batch.write.mode("append").parquet(f"{recorded.folder}/grouped")

    def job(spark: Any, folder: str) -> None:
        source = spark.readStream.schema("k long, v long, s string").option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
        query = source.writeStream.option("checkpointLocation", f"{folder}/grouped_check").foreachBatch(each).start()
        query.processAllAvailable()
        query.stop()

    (stream,) = recorded.of(job)
    assert (stream.sort, stream.status) == ("stream", "succeeded")
    assert [(access.dataset.name, access.rows) for access in stream.writes] == [(f"{recorded.folder}/grouped", 20)]
    assert {(edge.column, edge.used) for edge in stream.columns} == {("k", "k"), ("v", "v"), ("s", "s")}


def test_a_function_over_a_group_in_python_is_an_aggregation(recorded: Recorded) -> None:
    @F.pandas_udf("double")
    def mean(values: pd.Series) -> float:
        return float(values.mean())

    (process,) = recorded.of(lambda spark, folder: spark.table("o_in").groupBy("k").agg(mean("v").alias("m")).collect())
    assert {(edge.column, edge.used, edge.how) for edge in process.columns if edge.input.kind == "files"} == {
        ("k", "k", "IDENTITY"), ("m", "v", "AGGREGATION"), ("", "k", "GROUP_BY"),
    }


class Kept(Model):  # type: ignore[type-arg]
    def _transform(self, dataset: Any) -> Any:
        return dataset


class Keeping(Estimator):  # type: ignore[type-arg]
    """An estimator that writes what it learned to a table."""

    def _fit(self, dataset: Any) -> Any:
        dataset.groupBy("k").count().write.mode("overwrite").saveAsTable("o_fitted")
        return Kept()


def test_what_a_fit_writes_besides_is_not_forgotten(recorded: Recorded) -> None:
    (fit,) = recorded.of(lambda spark, folder: Keeping().fit(spark.table("o_in")))
    assert ("default.o_fitted", "overwritten", 5) in {(access.dataset.name, access.mode, access.rows) for access in fit.writes}
    assert ("k", "k", "IDENTITY") in {(edge.column, edge.used, edge.how) for edge in fit.columns if edge.output.name == "default.o_fitted"}


def test_of_several_inserts_none_has_the_rows_of_another(recorded: Recorded) -> None:
    recorded.spark.sql("create table o_several (a bigint) using parquet")
    said = _sql(recorded, f"from o_in insert into o_several select k where v > 30 insert overwrite directory '{recorded.folder}/several' using parquet select v")
    assert said == """
write succeeded
read files in 30 rows
read view o_in
appended table default.o_several
overwritten files several
* < in.v FILTER
a < in.k IDENTITY
v < in.v IDENTITY
""".strip()


def test_a_temporary_view_over_files_says_of_which(recorded: Recorded) -> None:
    said = _sql(recorded, f"create temporary view o_using using parquet options (path '{recorded.folder}/in')", "select k from o_using", "drop view o_using")
    assert said == """
command succeeded
read files in
defined view o_using

query succeeded
read files in 20 rows
read view o_using
created memory result
k < in.k IDENTITY

command succeeded
dropped view o_using
""".strip()


def test_a_temporary_view_that_is_altered_is_still_that_view(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        for kind, name in (("temp", "o_again"), ("global temp", "global_temp.o_every"), ("", "o_stays")):
            source = f"parquet.`{folder}/in`"
            for text in (f"create {kind} view {name.removeprefix('global_temp.')} as select k from {source}", f"alter view {name.upper()} as select v as k from {source}", f"drop view {name}"):
                spark.sql(text)

    written = [(access.dataset, access.mode) for process in recorded.of(job) for access in process.writes]
    assert [mode for _, mode in written] == ["defined", "defined", "dropped"] * 3
    assert [dataset.name for dataset in dict(written)] == ["o_again", "global_temp.o_every", "default.o_stays"]
    assert [dataset.namespace.partition(":")[0] for dataset in dict(written)] == ["spark", "spark", "file"]


def test_partitions_that_are_overwritten_leave_the_others(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        spark.sql("create table o_parts (v bigint, d string) using parquet partitioned by (d)")
        spark.sql("insert overwrite o_parts partition (d = '1') select v from o_in")
        spark.sql("insert overwrite o_parts select v, s from o_in")
        for value in ("dynamic", "static"):
            spark.conf.set("spark.sql.sources.partitionOverwriteMode", value)
            spark.sql("insert overwrite o_parts select v, s from o_in")
        spark.table("o_in").write.partitionBy("k").mode("overwrite").parquet(f"{folder}/parts")
        spark.table("o_in").write.option("partitionOverwriteMode", "dynamic").partitionBy("k").mode("overwrite").parquet(f"{folder}/parts")
        spark.sql("truncate table o_parts partition (d = '1')")
        spark.sql("alter table o_parts drop partition (d = '2')")
        spark.sql("drop table o_parts")

    try:
        modes = [(access.mode, access.rows) for process in recorded.of(job) for access in process.writes]
    finally:
        recorded.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert modes == [
        ("created", None), ("written", 20), ("overwritten", 20), ("written", 20), ("overwritten", 20), ("overwritten", 20), ("written", 20),
        ("altered", None), ("altered", None), ("dropped", None),
    ]


def test_a_table_that_a_batch_creates_is_one_dataset(recorded: Recorded) -> None:
    def each(batch: Any, number: int) -> None:
        batch.groupBy("k").count().write.mode("append").saveAsTable("o_batch")

    def job(spark: Any, folder: str) -> None:
        source = spark.readStream.schema("k long, v long, s string").parquet(f"{folder}/in")
        query = source.writeStream.option("checkpointLocation", f"{folder}/batch_check").foreachBatch(each).start()
        query.processAllAvailable()
        query.stop()

    assert recorded.said(job) == """
stream succeeded
read files in 20 rows
appended table default.o_batch 5 rows
* < in.k GROUP_BY
k < in.k IDENTITY
""".strip()


def test_what_pyspark_looks_at_to_know_the_kind_of_records_is_not_told(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        spark.sparkContext.parallelize([(1, 2)]).saveAsSequenceFile(f"{folder}/pairs")
        spark.sparkContext.sequenceFile(f"{folder}/pairs").collect()

    assert recorded.said(job) == "rdd succeeded\ncreated files pairs 1 rows\n\nrdd succeeded\nread files pairs 1 rows"


def test_an_rdd_of_a_pattern_reads_what_matches(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        for name in ("day_1", "day_2", "month_1"):
            spark.sparkContext.parallelize([name], 1).saveAsTextFile(f"{folder}/patterns/{name}")
        spark.sparkContext.textFile(f"{folder}/patterns/day_*/part-*").count()

    assert recorded.said(job).split("\n\n")[-1] == "rdd succeeded\nread files patterns/day_1\nread files patterns/day_2"


def test_what_a_job_writes_below_its_own_pattern_is_none_of_what_it_reads(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        sc = spark.sparkContext
        for name in ("a", "b"):
            sc.parallelize([name], 1).saveAsTextFile(f"{folder}/around/{name}")
        Path(f"{folder}/around/_later").mkdir()
        sc.textFile(f"{folder}/around/*").saveAsTextFile(f"{folder}/around/out")

    assert recorded.said(job).split("\n\n")[-1] == "rdd succeeded\nread files around/a\nread files around/b\ncreated files around/out 2 rows"


def test_of_a_pattern_that_may_match_other_files_by_now_the_folder_is_read(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        Path(f"{folder}/grows").mkdir()
        Path(f"{folder}/grows/a.txt").write_text("a")
        lines = spark.sparkContext.textFile(f"{folder}/grows/*.txt")

        def late(line: str) -> str:
            time.sleep(0.05)
            Path(f"{folder}/grows/b.txt").write_text("b")
            return line

        lines.map(late).count()
        spark.createDataFrame(lines.map(lambda line: (late(line),)), "s string").write.csv(f"{folder}/grown")

    said = recorded.said(job).split("\n\n")
    assert said[0] == "rdd succeeded\nread files grows 1 rows"
    assert "read files grows\n" in said[-1]
    assert "grows/" not in said[-1]


def test_alternatives_in_a_path_are_one_path(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        Path(f"{folder}/either").mkdir()
        for name in ("a", "b"):
            Path(f"{folder}/either/{name}.txt").write_text(name)
        time.sleep(0.05)
        spark.sparkContext.textFile(f"{folder}/either/{{a,b}}.txt").count()

    assert recorded.said(job) == "rdd succeeded\nread files either/a.txt\nread files either/b.txt"


def test_secrets_that_a_builder_or_a_text_of_sql_is_given_are_in_no_message(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        type(spark).builder.config("spark.my.password", "plantA17zz").getOrCreate()
        for text, given in (
            ("select raise_error('plantA17zz')", {}), ("select raise_error(:token)", {"args": {"token": "plantB17zz"}}), ("select raise_error({pwd})", {"pwd": "plantC17zz"}),
        ):
            with pytest.raises(PySparkException):
                spark.sql(text, **given).collect()

    try:
        failed = recorded.of(job)
    finally:
        recorded.spark.conf.unset("spark.my.password")
    assert [process.status for process in failed] == ["failed"] * 3
    assert "plant" not in repr(failed)
    assert all("***" in process.error for process in failed)


def test_what_a_variable_of_the_session_is_made_of_goes_on_where_it_is_used(recorded: Recorded) -> None:
    said = _sql(
        recorded, "declare variable o_most bigint default 3", "set variable o_most = (select max(v) from o_in)", "select k from o_in where v = o_most",
        "set variable o_most = 5", "select s from o_in where v = o_most",
    )
    assert said.split("\n\n") == ["""
command succeeded
read files in 20 rows
read view o_in
defined memory variable o_most
o_most < in.v AGGREGATION
""".strip(), """
query succeeded
read files in 10 rows
read memory variable o_most
read view o_in
created memory result
* < in.v FILTER
* < variable o_most.o_most FILTER
k < in.k IDENTITY
""".strip(), """
query succeeded
read files in 10 rows
read view o_in
created memory result
* < in.v FILTER
s < in.s IDENTITY
""".strip()]


def test_what_a_batch_saves_as_an_rdd_is_made_of_what_the_stream_reads(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        source = spark.readStream.schema("k long, v long, s string").parquet(f"{folder}/in")
        stream = source.writeStream.option("checkpointLocation", f"{folder}/rdd_check")
        query = stream.foreachBatch(lambda batch, number: batch.rdd.map(str).saveAsTextFile(f"{folder}/saved_{number}")).start()
        query.processAllAvailable()
        query.stop()

    (stream,) = recorded.of(job)
    assert [access.dataset.name.rpartition("/")[2] for access in (*stream.reads, *stream.writes)] == ["in", "saved_0"]
    assert (stream.status, stream.opaque) == ("succeeded", ("saveAsTextFile",))


def test_what_a_batch_could_not_save_is_not_written(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        Path(f"{folder}/taken").mkdir()

        def each(batch: Any, number: int) -> None:
            with pytest.raises(Py4JJavaError):
                batch.rdd.map(str).saveAsTextFile(f"{folder}/taken")

        source = spark.readStream.schema("k long, v long, s string").parquet(f"{folder}/in")
        query = source.writeStream.option("checkpointLocation", f"{folder}/taken_check").foreachBatch(each).start()
        query.processAllAvailable()
        query.stop()

    (stream,) = recorded.of(job)
    assert (stream.status, stream.writes) == ("succeeded", ())


def test_a_join_to_the_nearest_rows_is_decided_by_what_ranks_them(recorded: Recorded) -> None:
    one, other = recorded.spark.table("o_in"), recorded.spark.read.parquet(f"{recorded.folder}/in").withColumnRenamed("k", "w")
    if not hasattr(one, "nearestByJoin"):
        pytest.skip("this Spark has no such join")
    (process,) = recorded.of(lambda spark, folder: one.nearestByJoin(other, F.abs(one.k - other.w), 1, mode="exact", direction="distance").select(one.s, other.v).collect())
    assert {(edge.column, edge.used, edge.how) for edge in process.columns if edge.input.kind == "files"} == {("s", "s", "IDENTITY"), ("v", "v", "IDENTITY"), ("", "k", "JOIN")}
    assert not process.opaque


def test_what_ranks_and_selects_is_no_value(recorded: Recorded) -> None:
    ranks = "rank() over (partition by k order by v) r, dense_rank() over (order by v) d, percent_rank() over (order by v) p, ntile(2) over (order by v) n"
    summed, listed = (f"(select k, v, s from o_in) pivot ({what}(v) for s in ('1' as one))" for what in ("sum", "collect_list"))
    made = [
        {(edge.column, edge.used, edge.how) for edge in process.columns if edge.input.kind == "files"}
        for process in recorded.of(lambda spark, folder: [spark.sql(text).collect() for text in (f"select {ranks} from o_in", f"select * from {summed}", f"select * from {listed}")])
    ]
    assert made[0] == {("r", "k", "WINDOW"), *((name, "v", "WINDOW") for name in "rdpn")}
    for pivoted in made[1:]:
        assert {each for each in pivoted if each[0] == "one"} == {("one", "v", "AGGREGATION"), ("one", "s", "CONDITIONAL")}


def test_a_database_that_is_called_in_capitals_is_dropped(recorded: Recorded) -> None:
    said = _sql(recorded, "create database if not exists o_gone", "drop database if exists O_Gone cascade", "drop database if exists O_Gone cascade")
    assert said == "command succeeded opaque tables of o_gone in other folders\ndropped files o_gone.db\n\ncommand succeeded"


def test_a_recording_that_could_not_begin_begins_the_next_time(spark: Any) -> None:
    class Broken(Secrets):
        def learn(self, options: Mapping[str, str], passing: bool = False) -> None:
            if "broken" not in told:
                told.append("broken")
                raise KeyboardInterrupt
            super().learn(options, passing)

    told: list[Any] = []
    methods = type(spark).sql, type(spark).builder.getOrCreate.__func__, type(spark.conf).set
    recording = Recording(spark.sparkContext, told.append, Broken())
    with pytest.raises(KeyboardInterrupt):
        recording.open()
    assert (type(spark).sql, type(spark).builder.getOrCreate.__func__, type(spark.conf).set) == methods
    recording.open()
    spark.range(3).selectExpr("id as o_begun").collect()
    assert recording.settled(30)
    recording.close()
    assert len(told) == 2
    assert (type(spark).sql, type(spark).builder.getOrCreate.__func__, type(spark.conf).set) == methods


def test_rows_of_a_stream_are_not_known_where_one_batch_does_not_know_them(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        def each(batch: Any, number: int) -> None:
            (batch if number else batch.orderBy("v")).write.mode("append").parquet(f"{folder}/sampled")

        source = spark.readStream.schema("k long, v long, s string").option("maxFilesPerTrigger", 1).parquet(f"{folder}/in")
        query = source.writeStream.option("checkpointLocation", f"{folder}/sampled_check").foreachBatch(each).start()
        query.processAllAvailable()
        query.stop()

    (stream,) = recorded.of(job)
    assert "read files in\n" in recorded.text(stream)
    assert "appended files sampled 20 rows" in recorded.text(stream)


def test_rows_are_not_known_where_one_of_two_scans_does_not_know_them(recorded: Recorded) -> None:
    """Rows are sampled before they are sorted, which reads them once more."""
    said = recorded.said(lambda spark, folder: spark.table("o_in").orderBy("v").select("k").union(spark.table("o_in").select("v")).collect())
    assert "read files in\n" in said
