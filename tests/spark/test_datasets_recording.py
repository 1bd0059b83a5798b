"""What is recorded of each kind of job, on real Spark: which datasets, how, how many rows, and column to column."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.datasource import DataSource, DataSourceReader

from bigdebug.datasets.model import Process
from bigdebug.spark.datasets.hearing import Hearing
from bigdebug.spark.datasets.recording import Recording
from bigdebug.spark.gateway import array_of
from bigdebug.spark.handles import Handles
from tests.spark.recorded import Job, Recorded


@pytest.fixture(scope="module")
def recorded(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    made = Recorded(spark, tmp_path_factory.mktemp("datasets"))
    spark.range(3).selectExpr("id as k", "id as v").write.saveAsTable("d_other")
    spark.sql("create view d_there as select v as k from d_other")
    made.recording.open()
    spark.range(20).selectExpr("id % 5 as k", "id * 2 as v").coalesce(1).write.parquet(f"{made.folder}/in")
    spark.read.parquet(f"{made.folder}/in").createOrReplaceTempView("t_in")
    yield made
    made.recording.close()
    for name in ("t_in", "t_view", "t_cached", "t_new", "t_kept"):
        spark.catalog.dropTempView(name)
    spark.catalog.dropGlobalTempView("t_global")
    for table in ("d_as", "d_made", "d_saved", "d_renamed", "d_parts", "d_other"):
        spark.sql(f"drop table if exists {table}")
    for view in ("d_view", "d_viewed", "d_there"):
        spark.sql(f"drop view if exists {view}")


def _in(spark: Any, folder: str) -> Any:
    return spark.read.parquet(f"{folder}/in")


def _of_rows(spark: Any, folder: str, into: str) -> None:
    spark.createDataFrame(_in(spark, folder).rdd.filter(lambda row: row.k == 3), "k long, v long").write.parquet(f"{folder}/{into}")


def _cogrouped(spark: Any, folder: str) -> Any:
    other = spark.read.json(f"{folder}/json").groupBy("v")
    return _in(spark, folder).groupBy("k").cogroup(other).applyInPandas(lambda left, right: left.head(1)[["k"]].rename(columns={"k": "n"}), "n long")


def _sql(text: str) -> Job:
    return lambda spark, folder: spark.sql(text.replace("FOLDER", folder)).collect()


def _written(form: str, **options: str) -> Job:
    return lambda spark, folder: _in(spark, folder).write.options(**options).mode("overwrite").format(form).save(f"{folder}/{form}")


def _read(form: str, **options: str) -> Job:
    return lambda spark, folder: spark.read.options(**options).schema("k string, v string").format(form).load(f"{folder}/{form}").collect()


def _catalog(spark: Any, folder: str) -> None:
    """A catalog over JDBC, ``d_catalog``."""
    said = {"": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", ".url": f"jdbc:derby:{folder}/catalog;create=true", ".driver": _DERBY["driver"]}
    for name, value in said.items():
        spark.conf.set(f"spark.sql.catalog.d_catalog{name}", value)


_DERBY = {"driver": "org.apache.derby.jdbc.EmbeddedDriver"}


def _second_version(spark: Any, folder: str) -> None:
    known = spark.conf.get("spark.sql.sources.useV1SourceList")
    spark.conf.set("spark.sql.sources.useV1SourceList", "csv")
    try:
        _in(spark, folder).collect()
    finally:
        spark.conf.set("spark.sql.sources.useV1SourceList", known)


def _shuffled(spark: Any, folder: str) -> Any:
    return spark.sparkContext.textFile(f"{folder}/text").map(lambda line: (len(line), 1)).reduceByKey(max)


def _again(rdd: Any) -> None:
    for _ in range(2):
        rdd.collect()


def _lines(folder: str, name: str, text: str) -> str:
    """A file of these lines."""
    path = Path(folder, name)
    path.write_text(text, encoding="utf-8")
    return str(path)


def _hadoop(spark: Any, folder: str, does: str) -> None:
    """Pairs, by the older and the newer of Hadoop's interfaces."""
    sc, types = spark.sparkContext, ("org.apache.hadoop.io.LongWritable", "org.apache.hadoop.io.Text")
    older, newer = (f"org.apache.hadoop.{package}.Text" for package in ("mapred", "mapreduce.lib.%s"))
    if does == "save":
        pairs = sc.parallelize([(1, "a")], 1)
        pairs.saveAsHadoopFile(f"{folder}/old", f"{older}OutputFormat")
        pairs.saveAsNewAPIHadoopFile(f"{folder}/new", f"{newer % 'output'}OutputFormat")
    else:
        sc.hadoopFile(f"{folder}/old", f"{older}InputFormat", *types).count()
        sc.newAPIHadoopFile(f"{folder}/new", f"{newer % 'input'}InputFormat", *types).count()


def _as_json(frame: Any) -> Any:
    with pytest.warns(UserWarning, match="toJSON"):
        return frame.toJSON()


def _counted(kept: Any) -> None:
    kept.count()
    kept.count()
    kept.unpersist()


def _slowly(parts: Iterator[Any]) -> Iterator[Any]:
    time.sleep(3)
    yield from parts


def _kept(spark: Any, frame: Any) -> None:
    frame.createOrReplaceTempView("t_kept")
    spark.catalog.cacheTable("t_kept")
    for _ in range(2):
        spark.sql("select max(k) as m from t_kept").collect()
    spark.catalog.uncacheTable("t_kept")


def _cached(frame: Any) -> None:
    frame.count()
    frame.count()
    frame.unpersist()


class Mine(DataSource):
    """A source of the user's own."""

    @classmethod
    def name(cls) -> str:
        return "mine"

    def schema(self) -> str:
        return "a int"

    def reader(self, schema: Any) -> Any:
        return Two()


class Two(DataSourceReader):
    def read(self, partition: Any) -> Iterator[tuple[int]]:
        yield from ((1,), (2,))


def _mine(spark: Any, folder: str) -> None:
    spark.dataSource.register(Mine)
    spark.read.format("mine").option("password", "s3cr3t-pw").load().write.parquet(f"{folder}/mine")


COPIED = """
write succeeded
read files in 20 rows
overwritten files {form} 20 rows
k < in.k IDENTITY
v < in.v IDENTITY
"""

COLLECTED = """
query succeeded
read files {form} 20 rows
created memory result
k < {form}.k IDENTITY
v < {form}.v IDENTITY
"""

KINDS: dict[str, tuple[Job, str]] = {
    **{f"write {form}": (_written(form), COPIED.format(form=form)) for form in ("parquet", "orc", "json", "csv")},
    "write xml": (_written("xml", rowTag="r"), COPIED.format(form="xml")),
    **{f"read {form}": (_read(form), COLLECTED.format(form=form)) for form in ("json", "csv")},
    "read xml": (_read("xml", rowTag="r"), COLLECTED.format(form="xml")),
    "look for columns": (lambda spark, folder: spark.read.csv(f"{folder}/csv", header=True, inferSchema=True), ""),
    "write text": (lambda spark, folder: _in(spark, folder).selectExpr("concat(k, '-', v)").write.text(f"{folder}/text"), """
write succeeded
read files in 20 rows
created files text 20 rows
concat(k, -, v) < in.k TRANSFORMATION
concat(k, -, v) < in.v TRANSFORMATION
"""),
    "write partitions": (lambda spark, folder: _in(spark, folder).write.partitionBy("k").mode("append").parquet(f"{folder}/parts"), """
write succeeded
read files in 20 rows
appended files parts 20 rows
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "read partitions": (lambda spark, folder: spark.read.parquet(f"{folder}/parts").where("k = 3").select("v").toPandas(), """
query succeeded
read files parts 4 rows
created memory result
* < parts.k FILTER
v < parts.v IDENTITY
"""),
    "read text": (lambda spark, folder: spark.read.text(f"{folder}/text").collect(), """
query succeeded
read files text 20 rows
created memory result
value < text.value IDENTITY
"""),
    "read orc": (lambda spark, folder: spark.read.orc(f"{folder}/orc").collect(), COLLECTED.format(form="orc")),
    "read libsvm": (lambda spark, folder: spark.read.format("libsvm").option("numFeatures", 2).load(_lines(folder, "libsvm", "1 1:0.5\n0 2:1.5\n")).select("label").collect(), """
query succeeded
read files libsvm 2 rows
created memory result
label < libsvm.label IDENTITY
"""),
    "read images": (lambda spark, folder: spark.read.format("image").option("dropInvalid", False).load(_lines(folder, "image", "none")).select("image.width").collect(), """
query succeeded
read files image 1 rows
created memory result
width < image.image TRANSFORMATION
"""),
    "read bytes": (lambda spark, folder: spark.read.format("binaryFile").load(f"{folder}/in/*.parquet").select("length").collect(), """
query succeeded
read files in 1 rows
created memory result
length < in.length IDENTITY
"""),
    "second version of a source": (_second_version, COLLECTED.format(form="in")),
    "jdbc write": (lambda spark, folder: _in(spark, folder).write.jdbc(f"jdbc:derby:{folder}/db;create=true;user=bob;password=s3cr3t-pw", "T", properties=_DERBY), """
write succeeded
read files in 20 rows
created jdbc db.T
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "jdbc read": (lambda spark, folder: spark.read.jdbc(f"jdbc:derby:{folder}/db;user=bob;password=s3cr3t-pw", "T", properties=_DERBY).where("k > 2").collect(), """
query succeeded
read jdbc db.T 8 rows
created memory result
* < db.T.k FILTER
k < db.T.k IDENTITY
v < db.T.v IDENTITY
"""),
    "nowhere": (lambda spark, folder: _in(spark, folder).write.format("noop").mode("overwrite").save(), """
write succeeded
read files in 20 rows
overwritten unknown  20 rows
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "count": (lambda spark, folder: _in(spark, folder).count(), """
query succeeded
read files in 20 rows
created memory result
"""),
    "take": (lambda spark, folder: _in(spark, folder).groupBy("k").count().take(2), """
query succeeded
read files in 20 rows
created memory result
* < in.k GROUP_BY
k < in.k IDENTITY
"""),
    "toLocalIterator": (lambda spark, folder: list(_in(spark, folder).select("k").toLocalIterator()), """
query succeeded
read files in
created memory result
k < in.k IDENTITY
"""),
    "two sources": (_sql("select a.k, sum(b.v) s from parquet.`FOLDER/in` a join json.`FOLDER/json` b on a.k = b.k where b.v > 3 group by a.k"), """
query succeeded
read files in 20 rows
read files json 18 rows
created memory result
* < in.k GROUP_BY
* < in.k JOIN
* < json.k JOIN
* < json.v FILTER
k < in.k IDENTITY
s < json.v AGGREGATION
"""),
    "subquery": (_sql("select k from t_in where v > (select avg(v) from parquet.`FOLDER/parts`)"), """
query succeeded
read files in 20 rows
read files parts 20 rows
read view t_in
created memory result
* < in.v FILTER
* < parts.v FILTER
k < in.k IDENTITY
"""),
    "same source twice": (lambda spark, folder: _in(spark, folder).union(_in(spark, folder).where("k = 1")).write.parquet(f"{folder}/union"), """
write succeeded
read files in 40 rows
created files union 24 rows
* < in.k FILTER
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "range": (lambda spark, folder: spark.range(3).collect(), """
query succeeded
read memory range(0, 3, 1) 3 rows
created memory result
id < range(0, 3, 1).id IDENTITY
"""),
    "rows": (lambda spark, folder: spark.createDataFrame([(1.0, None), (float("nan"), "<script>alert(1)</script>")], "x double, y string").write.parquet(f"{folder}/rows"), """
write succeeded
read memory rows(x, y) 2 rows
created files rows 2 rows
x < rows(x, y).x IDENTITY
y < rows(x, y).y IDENTITY
"""),
    "pandas": (lambda spark, folder: spark.createDataFrame(pd.DataFrame({"x": [1, 2]})).write.parquet(f"{folder}/pandas"), """
write succeeded
read memory rows(x) 2 rows
created files pandas 2 rows
x < rows(x).x IDENTITY
"""),
    "rows of an RDD of files": (  # how many a function makes of how many that are read, Spark does not count
        lambda spark, folder: spark.createDataFrame(spark.sparkContext.textFile(f"{folder}/text").flatMap(lambda line: [(line,)] * 5), "l string").write.parquet(f"{folder}/of_rdd"), """
write succeeded opaque LogicalRDD
read files text
created files of_rdd 100 rows
"""),
    "rows of an RDD of rows": (
        lambda spark, folder: _of_rows(spark, folder, "of_rows"), """
write succeeded opaque LogicalRDD
read files in
created files of_rows 4 rows
"""),
    "function over groups": (lambda spark, folder: _in(spark, folder).groupBy("k").applyInPandas(lambda part: part, "k long, v long").write.parquet(f"{folder}/pd"), """
write succeeded
read files in 20 rows
created files pd 20 rows
* < in.k GROUP_BY
k < in.k TRANSFORMATION
k < in.v TRANSFORMATION
v < in.k TRANSFORMATION
v < in.v TRANSFORMATION
"""),
    "function over two groups": (lambda spark, folder: _cogrouped(spark, folder).write.parquet(f"{folder}/co"), """
write succeeded
read files in 20 rows
read files json 20 rows
created files co 5 rows
* < in.k GROUP_BY
* < json.v GROUP_BY
n < in.k TRANSFORMATION
n < in.v TRANSFORMATION
n < json.k TRANSFORMATION
n < json.v TRANSFORMATION
"""),
    "view": (_sql("create or replace temp view t_view (a) as select k + 1 from t_in where v > 3"), """
command succeeded
read files in
read view t_in
defined view t_view
* < in.v FILTER
a < in.k TRANSFORMATION
"""),
    "view of all sessions": (lambda spark, folder: _in(spark, folder).createGlobalTempView("t_global"), """
command succeeded
read files in
defined view global_temp.t_global
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "query of views": (_sql("select a, g.v from t_view join global_temp.t_global g on a = g.k"), """
query succeeded
read files in 40 rows
read view t_in
read view t_view
read view global_temp.t_global
created memory result
* < in.k JOIN
* < in.v FILTER
a < in.k TRANSFORMATION
v < in.v IDENTITY
"""),
    "create table": (_sql("create table d_made (a bigint, b string) using parquet"), "command succeeded\ncreated table default.d_made"),
    "create table as": (_sql("create table d_as using parquet as select k, sum(v) as s from t_in group by k"), """
write succeeded
read files in 20 rows
read view t_in
created table default.d_as 5 rows
* < in.k GROUP_BY
k < in.k IDENTITY
s < in.v AGGREGATION
"""),
    "insert": (_sql("insert into d_made select k, s from d_as"), """
write succeeded
read table default.d_as 5 rows
appended table default.d_made 5 rows
a < default.d_as.k IDENTITY
b < default.d_as.s TRANSFORMATION
"""),
    "insert overwrite": (_sql("insert overwrite d_made values (1, 'x'), (2, null)"), """
write succeeded
read memory rows(col1, col2)
overwritten table default.d_made 2 rows
a < rows(col1, col2).col1 TRANSFORMATION
b < rows(col1, col2).col2 IDENTITY
"""),
    "saveAsTable": (lambda spark, folder: _in(spark, folder).write.mode("overwrite").saveAsTable("d_saved"), """
write succeeded
read files in 20 rows
overwritten table default.d_saved 20 rows
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "insertInto": (lambda spark, folder: _in(spark, folder).selectExpr("v as k", "k as v").write.insertInto("d_saved"), """
write succeeded
read files in 20 rows
appended table default.d_saved 20 rows
k < in.v IDENTITY
v < in.k IDENTITY
"""),
    "read table": (_sql("select upper(b) from d_made where a = 1"), """
query succeeded
read table default.d_made 1 rows
created memory result
* < default.d_made.a FILTER
upper(b) < default.d_made.b TRANSFORMATION
"""),
    "insert into partition": (
        lambda spark, folder: (spark.sql("create table d_parts (v bigint, k bigint) using parquet partitioned by (k)"), spark.sql("insert into d_parts partition (k = 1) select v from t_in")), """
command succeeded
created table default.d_parts

write succeeded
read files in 20 rows
read view t_in
appended table default.d_parts 20 rows
v < in.v IDENTITY
"""),
    "insert into folder": (_sql("insert overwrite directory 'FOLDER/dir' using parquet select k from d_saved"), """
write succeeded
read table default.d_saved 40 rows
overwritten files dir 40 rows
k < default.d_saved.k IDENTITY
"""),
    "view that stays": (_sql("create view d_view as select a from d_made"), """
command succeeded
read table default.d_made
defined view default.d_view
a < default.d_made.a IDENTITY
"""),
    "query of a view that stays": (_sql("select a from d_view"), """
query succeeded
read table default.d_made 2 rows
read view default.d_view
created memory result
a < default.d_made.a IDENTITY
"""),
    "rename of a view": (_sql("alter view d_view rename to d_viewed"), """
command succeeded
read table default.d_made
read view default.d_view
renamed view default.d_viewed
a < default.d_made.a IDENTITY
"""),
    "rename of a view of the session": (lambda spark, folder: (_in(spark, folder).createOrReplaceTempView("t_old"), spark.sql("alter view t_old rename to t_new")), """
command succeeded
read files in
defined view t_old
k < in.k IDENTITY
v < in.v IDENTITY

command succeeded
read files in
read view t_old
renamed view t_new
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "add column": (_sql("alter table d_made add columns (c int)"), "command succeeded\naltered table default.d_made"),
    "truncate": (_sql("truncate table d_made"), "command succeeded\ntruncated table default.d_made 0 rows"),
    "rename": (_sql("alter table d_as rename to d_renamed"), """
command succeeded
read table default.d_as
renamed table default.d_renamed
k < default.d_as.k IDENTITY
s < default.d_as.s IDENTITY
"""),
    "drop": (_sql("drop table d_renamed"), "command succeeded\ndropped table default.d_renamed"),
    "drop view": (_sql("drop view d_viewed"), "command succeeded\ndropped view default.d_viewed"),
    "cache table": (_sql("cache table t_cached as select k from t_in"), """
write succeeded
read files in
read view t_in
created cache cache of t_cached
defined view t_cached
k < in.k IDENTITY
k < in.k IDENTITY
"""),
    "query of a cache": (_sql("select max(k) m from t_cached"), """
query succeeded
read files in
read cache cache of t_cached 20 rows
read view t_in
read view t_cached
created memory result
m < in.k AGGREGATION
"""),
    "cache of a view": (lambda spark, folder: _kept(spark, _in(spark, folder)), """
command succeeded
read files in
defined view t_kept
k < in.k IDENTITY
v < in.v IDENTITY

query succeeded
read files in
read view t_kept
created memory result
created cache cache of t_kept 20 rows
m < in.k AGGREGATION

query succeeded
read files in
read cache cache of t_kept 20 rows
read view t_kept
created memory result
m < in.k AGGREGATION
"""),
    "sort": (lambda spark, folder: _in(spark, folder).orderBy("v").write.parquet(f"{folder}/sorted"), """
write succeeded
read files in
created files sorted 20 rows
* < in.v SORT
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "sort of groups": (lambda spark, folder: _in(spark, folder).groupBy("k").count().orderBy("k").write.parquet(f"{folder}/sorted_groups"), """
write succeeded
read files in 20 rows
created files sorted_groups 5 rows
* < in.k GROUP_BY
* < in.k SORT
k < in.k IDENTITY
"""),
    "cache": (lambda spark, folder: _cached(_in(spark, folder).selectExpr("k + v as c").cache()), """
query succeeded
read files in
created memory result
created cache cache 20 rows

query succeeded
read files in
read cache cache 20 rows
created memory result
"""),
    "checkpoint": (lambda spark, folder: _in(spark, folder).selectExpr("k as c").localCheckpoint().write.parquet(f"{folder}/checked"), """
query succeeded
read files in 20 rows
created memory checkpoint 1
c < in.k IDENTITY

write succeeded
read memory checkpoint 1 20 rows
created files checked 20 rows
c < checkpoint 1.c IDENTITY
"""),
    "source of the user's": (_mine, """
write succeeded
read unknown  2 rows
created files mine 2 rows
a < .a IDENTITY
"""),
    "failed query": (_sql("select raise_error(cast(k as string)) as e from t_in"), """
query failed
read files in 0 rows
read view t_in
created memory result
e < in.k TRANSFORMATION
"""),
    "failed write": (lambda spark, folder: _in(spark, folder).write.parquet(f"{folder}/in"), """
write failed
read files in 0 rows
created files in 0 rows
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "query that is not understood": (_sql("select nothing from t_in"), "query failed"),
    "delete": (_sql("delete from d_saved where k = 1"), "command failed\nwritten table default.d_saved"),
    "unknown command": (lambda spark, folder: (_catalog(spark, folder), spark.sql("drop database d_catalog.nowhere")), "command failed opaque DropNamespace"),
    "drop database": (lambda spark, folder: (spark.sql("create database d_base"), spark.sql("drop database d_base")), "command succeeded\ndropped files d_base.db"),
    "field of a struct": (lambda spark, folder: _in(spark, folder).selectExpr("struct(k, v) s").selectExpr("s.v").collect(), """
query succeeded
read files in 20 rows
created memory result
v < in.v IDENTITY
"""),
    "unpivot": (lambda spark, folder: _in(spark, folder).unpivot(["k"], ["v"], "name", "value").collect(), """
query succeeded opaque Expand
read files in 20 rows
created memory result
k < in.k IDENTITY
name < in.k TRANSFORMATION
name < in.v TRANSFORMATION
value < in.k TRANSFORMATION
value < in.v TRANSFORMATION
"""),
    "pipes": (_sql("from t_in |> where k > 3 |> select v"), """
query succeeded
read files in 20 rows
read view t_in
created memory result
* < in.k FILTER
v < in.v IDENTITY
"""),
    "DataFrame given to SQL": (lambda spark, folder: spark.sql("select v from {frame}", frame=_in(spark, folder)).collect(), """
query succeeded
read files in 20 rows
created memory result
v < in.v IDENTITY
"""),
    "merge that the table cannot do": (_sql("merge into d_saved t using (select k as w from t_in) s on t.k = s.w when matched then delete"), """
command failed
read files in
written table default.d_saved
"""),
    "drop of what is not there": (_sql("drop table if exists d_nothing"), "command succeeded"),
    "drop of what is there": (lambda spark, folder: (spark.sql("create table d_there_is (a int) using parquet"), spark.sql("drop table if exists d_there_is")), """
command succeeded
created table default.d_there_is

command succeeded
dropped table default.d_there_is
"""),
    **{f"{what}, if it is not there": (job, "command succeeded") for what, job in {
        "write": lambda spark, folder: _in(spark, folder).write.mode("ignore").parquet(f"{folder}/union"),
        "saveAsTable": lambda spark, folder: _in(spark, folder).write.mode("ignore").saveAsTable("d_saved"),
        "create table as": _sql("create table if not exists d_saved using parquet as select v as k from t_in"),
        "create table": _sql("create table if not exists d_saved (other int) using parquet"),
        "insert into partition": _sql("insert overwrite d_parts partition (k = 1) if not exists select k from t_in"),
        "jdbc write": lambda spark, folder: _in(spark, folder).write.mode("ignore").jdbc(f"jdbc:derby:{folder}/db;user=bob;password=s3cr3t-pw", "T", properties=_DERBY),
        "view": _sql("create view if not exists d_there as select v as k from d_saved"),
    }.items()},
    "write that is the first, if it is not there": (lambda spark, folder: _in(spark, folder).where("k > 9").write.mode("ignore").parquet(f"{folder}/first"), """
write succeeded
read files in 0 rows
created files first 0 rows
* < in.k FILTER
k < in.k IDENTITY
v < in.v IDENTITY
"""),
    "query of a database": (
        lambda spark, folder: spark.read.format("jdbc").options(url=f"jdbc:derby:{folder}/db;user=bob;password=s3cr3t-pw", query='select "k" from T', **_DERBY).load().collect(), """
query succeeded
read jdbc db.(select "k" from T) 20 rows
created memory result
k < db.(select "k" from T).k IDENTITY
"""),
    "commands that touch no data": (lambda spark, folder: [spark.sql(text).collect() for text in ("show tables", "describe d_saved", "set a.b = 1", "analyze table d_saved compute statistics")], ""),
    "read RDD": (lambda spark, folder: spark.sparkContext.textFile(f"{folder}/text").map(len).count(), "rdd succeeded\nread files text 20 rows"),
    "read files as wholes": (lambda spark, folder: spark.sparkContext.wholeTextFiles(f"{folder}/text").count(), "rdd succeeded\nread files text 1 rows"),
    "read records of bytes": (lambda spark, folder: spark.sparkContext.binaryRecords(_lines(folder, "records", "abcdef"), 3).count(), "rdd succeeded\nread files records 2 rows"),
    "read files as bytes": (lambda spark, folder: spark.sparkContext.binaryFiles(f"{folder}/text").count(), "rdd succeeded\nread files text 1 rows"),
    "save RDD by Hadoop": (lambda spark, folder: _hadoop(spark, folder, "save"), "rdd succeeded\ncreated files old 1 rows\n\nrdd succeeded\ncreated files new 1 rows"),
    "read RDD by Hadoop": (lambda spark, folder: _hadoop(spark, folder, "read"), "rdd succeeded\nread files old 1 rows\n\nrdd succeeded\nread files new 1 rows"),
    "read files as wholes, by another name": (
        lambda spark, folder: spark.sparkContext.wholeTextFiles(f"{folder}/text").setName("mine").count(), "rdd succeeded opaque WholeTextFileRDD"),
    "save RDD": (lambda spark, folder: spark.sparkContext.textFile(f"{folder}/text").saveAsTextFile(f"{folder}/rdd"), "rdd succeeded\nread files text 20 rows\ncreated files rdd 20 rows"),
    "save RDD as pickles": (lambda spark, folder: spark.sparkContext.parallelize(range(99)).saveAsPickleFile(f"{folder}/pickles"), "rdd succeeded\ncreated files pickles"),
    "read pickles": (lambda spark, folder: spark.sparkContext.pickleFile(f"{folder}/pickles").collect(), "rdd succeeded\nread files pickles"),
    "RDD that is kept": (lambda spark, folder: _counted(spark.sparkContext.textFile(f"{folder}/text").map(len).cache()), "rdd succeeded\nread files text\n\nrdd succeeded\nread files text"),
    "RDD of a shuffle that is used again": (lambda spark, folder: _again(_shuffled(spark, folder)), "rdd succeeded\nread files text 20 rows\n\nrdd succeeded\nread files text"),
    "save rows as JSON": (lambda spark, folder: _as_json(_in(spark, folder)).saveAsTextFile(f"{folder}/rows_as_json"), """
query succeeded
read files in
created memory result

rdd succeeded
read files in
created files rows_as_json 20 rows
"""),
    "failed RDD": (lambda spark, folder: spark.sparkContext.textFile(f"{folder}/text").map(lambda line: 1 / 0).count(), "rdd failed\nread files text"),
    "RDD of the program": (lambda spark, folder: spark.sparkContext.parallelize(range(9)).sum(), ""),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_job_is_recorded(kind: str, recorded: Recorded) -> None:
    job, expected = KINDS[kind]
    assert recorded.said(job) == expected.strip()


def test_what_is_not_known_is_opaque_by_its_name(recorded: Recorded) -> None:
    if recorded.spark.version < "4.1":
        pytest.skip("this Spark has no recursive queries")
    job = _sql("with recursive r(n) as (select k from t_in where k = 1 union all select n + 1 from r where n < 3) select n from r")
    (process,) = recorded.of(job)
    assert process.opaque == ("UnionLoop",)
    assert ("n", "k", "TRANSFORMATION") in {(edge.column, edge.used, edge.how) for edge in process.columns}


def test_wide_and_deep_plans_are_read(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        frame = _in(spark, folder).selectExpr(*(f"k + {i} as `c{i} <script>\u202e`" for i in range(300)))
        for _ in range(20):
            frame = frame.select("*")
        frame.write.parquet(f"{folder}/wide")

    (process,) = recorded.of(job)
    assert len(process.columns) == len(process.writes[0].schema) == 300
    assert {edge.used for edge in process.columns} == {"k"}


def test_of_a_function_that_makes_300_columns_of_300_each_is_told_once(recorded: Recorded) -> None:
    names = [f"c{i}" for i in range(300)]
    schema = ", ".join(f"{name} long" for name in names)

    def job(spark: Any, folder: str) -> None:
        _in(spark, folder).selectExpr(*(f"k + {i} as {name}" for i, name in enumerate(names))).coalesce(1).write.parquet(f"{folder}/wide300")
        spark.read.parquet(f"{folder}/wide300").mapInPandas(lambda parts: parts, schema).write.parquet(f"{folder}/made300")

    process = recorded.of(job)[-1]
    assert {(edge.column, edge.used, edge.how) for edge in process.columns} == {("", name, "TRANSFORMATION") for name in names}


def test_a_place_is_called_the_same_by_tables_and_by_paths(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        place = f"{folder}/my data & 50%"
        spark.sql(f"create table d_place using parquet location '{place}' as select k from t_in")
        spark.read.parquet(place).collect()
        spark.sql(f"insert overwrite directory '{place} 2' using parquet select k from d_place")
        spark.sql("drop table d_place")

    made, _, copied, *_ = recorded.of(job)
    place = f"file:{recorded.folder}/my data & 50%"
    assert made.writes[0].dataset.location == place
    assert (copied.reads[0].dataset.location, str(copied.writes[0].dataset)) == (place, f"{place} 2")


def test_of_plans_that_are_too_large_it_is_recorded_what_they_read_and_write(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.datasets.plans.MOST", 20)

    def job(spark: Any, folder: str) -> None:
        _in(spark, folder).selectExpr(*(f"k + {i} as c{i}" for i in range(300))).write.parquet(f"{folder}/large")

    (process,) = recorded.of(job)
    assert len(process.writes[0].schema) == 300
    assert re.fullmatch(r"a plan of \d{3} expressions", process.opaque[0])
    assert recorded.text(process).split("\n")[1:] == ["read files in 20 rows", "created files large 20 rows"]


def test_of_plans_that_are_too_large_rows_behind_an_rdd_are_not_counted_either(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.datasets.plans.MOST", 0)
    (process,) = recorded.of(lambda spark, folder: _of_rows(spark, folder, "of_rows_too_large"))
    assert [(access.dataset.name, access.rows) for access in process.reads] == [(f"{recorded.folder}/in", None)]


def test_columns_may_be_null_where_the_table_says_so(recorded: Recorded) -> None:
    """As they all may in files, whatever the query or the table's definition said of them."""
    def job(spark: Any, folder: str) -> None:
        spark.sql("create table d_null (a string, b int not null) using parquet")
        spark.sql("insert into d_null select 'z', 1")
        spark.sql("drop table d_null")
        spark.sql("select 'z' as a, 1 as b").write.parquet(f"{folder}/null")

    _, inserted, _, written = recorded.of(job)
    assert [(field.name, field.nullable) for field in inserted.writes[0].schema] == [("a", True), ("b", True)]
    assert [(field.name, field.nullable) for field in written.writes[0].schema] == [("a", True), ("b", True)]


def test_views_of_two_sessions_are_two(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        other = spark.newSession()
        for number, session in enumerate((spark, other)):
            session.range(3 + number).createOrReplaceTempView("t_both")
        for session in (spark, other):
            session.sql("select id from t_both").collect()
        spark.sql("drop view t_both")

    one, two, first, second, dropped = recorded.of(job)
    views = [process.writes[0].dataset for process in (one, two)]
    assert [each.namespace.partition("/")[2] for each in views] == ["", "2"]
    assert [[each.dataset for each in process.reads if each.dataset.kind == "view"] for process in (first, second)] == [[each] for each in views]
    assert (dropped.writes[0].dataset, dropped.writes[0].mode) == (views[0], "dropped")


def test_several_inserts_of_one_query_write_each(recorded: Recorded) -> None:
    def insert(spark: Any, folder: str) -> None:
        for table in ("d_several", "d_other"):
            spark.sql(f"drop table if exists {table}")
            spark.sql(f"create table {table} (a bigint) using parquet")
        spark.sql("from t_in insert into d_several select k where v > 2 insert overwrite d_other select v")
        for table in ("d_several", "d_other"):
            spark.sql(f"drop table {table}")

    (process,) = [process for process in recorded.of(insert) if process.text.startswith("from")]
    tables = ["default.d_several", "default.d_other"]
    assert [(access.dataset.name, access.mode) for access in process.writes] == list(zip(tables, ["appended", "overwritten"]))
    (read,) = [access for access in process.reads if access.dataset.kind == "files"]
    assert read.dataset.name.endswith("/in")
    made = {(edge.output.name, edge.column, edge.used, edge.how) for edge in process.columns if edge.input == read.dataset}
    assert made == {(tables[0], "a", "k", "IDENTITY"), (tables[0], "", "v", "FILTER"), (tables[1], "a", "v", "IDENTITY")}
    assert not process.opaque


def test_secrets_of_sources_are_in_nothing_that_is_recorded(recorded: Recorded) -> None:
    processes = [process for kind in ("jdbc read", "source of the user's") for process in recorded.of(KINDS[kind][0])]
    assert processes
    assert "s3cr3t-pw" not in repr(processes)


def test_secrets_of_settings_are_taken_out_where_they_stand_as_plain_text(recorded: Recorded) -> None:
    told = []
    hadoop = recorded.spark.sparkContext._jsc.hadoopConfiguration()
    for name, tell in (("set", lambda name, value: recorded.spark.sql(f"set {name}={value}")), ("conf", recorded.spark.conf.set), ("hadoop", hadoop.set)):
        def job(spark: Any, folder: str, name: str = name, tell: Any = tell) -> None:
            tell(f"my.{name}.password", f"s3cr3t-{name}-value")
            spark.sql(f"select 's3cr3t-{name}-value' as x, k, 'plain' from t_in").collect()
            spark.conf.unset(f"my.{name}.password")

        told += recorded.of(job)
    hadoop.unset("my.hadoop.password")
    assert "s3cr3t" not in repr(told)
    assert [process.text for process in told] == ["select '***' as x, k, 'plain' from t_in"] * 3


def test_a_write_that_takes_long_is_told_of_while_it_runs(spark: Any, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Process] = []
    monkeypatch.setattr("bigdebug.spark.datasets.queries.LONG", 0.2)
    monkeypatch.setattr("bigdebug.spark.datasets.recording._TURN", 0.1)
    monkeypatch.setattr(recorded.recording, "_record", told.append)
    spark.read.parquet(f"{recorded.folder}/in").mapInPandas(_slowly, "k long, v long").write.parquet(f"{recorded.folder}/slow")
    assert recorded.recording.settled(30)
    running, ended = told
    assert (running.status, running.ended, running.writes[0].rows, ended.status, ended.writes[0].rows) == ("running", None, None, "succeeded", 20)
    assert (running.id, running.job, running.sort, running.columns) == (ended.id, ended.job, ended.sort, ended.columns)
    assert [access.dataset for access in (*running.reads, *running.writes)] == [access.dataset for access in (*ended.reads, *ended.writes)]


def test_who_keeps_processes_may_raise_and_no_job_fails(spark: Any, recorded: Recorded, caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def record(process: Any) -> None:
        told.append(process.id)
        raise ValueError("no room")

    recording = Recording(spark.sparkContext, record)
    recording.open()
    try:
        assert _in(spark, recorded.folder).count() == _in(spark, recorded.folder).count() == 20
        assert recording.settled(30)
    finally:
        recording.close()
    assert len(told) == 2
    assert "no room" in caplog.text


def test_a_listener_that_throws_fails_no_job(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours, whose queue takes each event, and throws."""
    offering = Handles.offering

    def throwing(handles: Any, queue: Any, kinds: Any) -> Any:
        lookup, anything = spark.sparkContext._jvm.java.lang.invoke.MethodHandles, handles.named("java.lang.Object")
        thrown = spark.sparkContext._jvm.java.lang.IllegalStateException("no")
        throws = lookup.throwException(anything, handles.named("java.lang.IllegalStateException")).bindTo(thrown)
        throws = lookup.dropArguments(throws, 0, spark.sparkContext._jvm.java.util.Arrays.asList(array_of(spark.sparkContext, spark.sparkContext._jvm.java.lang.Object, [anything])))
        taken = offering(handles, queue, kinds).asType(handles.kind(spark.sparkContext._jvm.java.lang.Void.TYPE, anything))
        return lookup.foldArguments(throws, taken)

    monkeypatch.setattr(Handles, "offering", throwing)
    hearing = Hearing(spark.sparkContext)
    hearing.open()
    try:
        assert spark.range(5).count() == spark.sparkContext.parallelize(range(5)).count() == 5
        assert hearing.come(10)
        heard = {told.name for told in hearing.next(10)}
    finally:
        hearing.close()
    assert {"SparkListenerSQLExecutionEnd", "SparkListenerJobStart", "SparkListenerJobEnd"} <= heard
