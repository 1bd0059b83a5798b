"""Crash culprits of DataFrames where it is no single row's expression that throws: pairs, groups, frames, constants, readers, RDDs (FEATURES B1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F
from pyspark.sql.session import _monkey_patch_RDD
from pyspark.sql.types import ArrayType, DecimalType, DoubleType, IntegerType, LongType, StructType
from pyspark.util import PythonEvalType

import bigdebug
from bigdebug.errors import IncompleteLineageError, ReplayError
from tests.left import jobs_run
from tests.spark.test_sql_culprits import culprits_of

NUMBER, OVERFLOW, DIVISION, RAISED = "NumberFormatException", "ArithmeticException", "ArithmeticException", "SparkRuntimeException"

BIG = 2**63 - 1


@pytest.fixture(scope="module", autouse=True)
def flights(spark: Any, dbg: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("data") / "flights.csv"
    path.write_text("id,dep,arr\n1,10,20\n2,NA,5\n3,7,NA\n4,NA,NA\n5,0,9\n")
    frame = spark.read.csv(str(path), header=True)
    frame.createOrReplaceTempView("flights")
    spark.createDataFrame([("a", BIG, 1), ("a", 1, 2), ("b", 1, 3), ("a", 0, 4), ("c", BIG, 5), ("c", 1, 6)], "k string, v long, i int").createOrReplaceTempView("sums")
    return frame


def told(culprits: Any) -> list[tuple[str, str, list[int]]]:
    """The operator, the exception, and the number of the row of each source of each culprit."""
    assert culprits.unknown == []
    return sorted((c.operator.name, c.exception_type, [_number(s) for s in c.sources]) for c in culprits)


def _number(source: Any) -> int:
    known = source.record.asDict()
    return int(known["id"]) if "id" in known else int(known["i"])


QUERIES: dict[str, list[tuple[str, str, list[int]]]] = {
    # pairs
    "select a.id, b.id from flights a left join flights b on a.id = b.id and cast(concat(a.dep, b.id) as int) > 10": [
        ("Join", NUMBER, [2]), ("Join", NUMBER, [4]),
    ],
    "select a.id, b.id from flights a join flights b on a.id < b.id and 1 / (int(a.id) + int(b.id) - 6) > 0": [
        ("Join", DIVISION, [1, 5]), ("Join", DIVISION, [2, 4]),
    ],
    "select id from flights where exists (select 1 from flights f where f.id = flights.id and cast(concat(f.dep, flights.id) as int) > 1)": [
        ("Join", NUMBER, [2]), ("Join", NUMBER, [4]),
    ],
    "select id from flights where cast(dep as int) not in (select cast(id as int) from flights)": [("Join", NUMBER, [2]), ("Join", NUMBER, [4])],
    # a condition on one side is computed of pairs with equal keys only: row 4 has none
    "select a.id from flights a left join (select * from flights where id < 4) b on a.id = b.id and cast(a.dep as int) > 1": [("Join", NUMBER, [2])],
    # constants
    "select id, 1 / 0 x from flights where id > 3": [("Project", DIVISION, [4]), ("Project", DIVISION, [5])],
    "select id, raise_error('x') x from flights where id > 4": [("Project", RAISED, [5])],
    "select id from flights where id > 4 and raise_error('x') is null": [("Filter", RAISED, [5])],
    "select id, case when dep = 'NA' then 1 / 0 else 1 end x from flights": [("Project", DIVISION, [2]), ("Project", DIVISION, [4])],
    "select id, sum(cast('NA' as int)) s from flights where id > 4 group by id": [("Aggregate", NUMBER, [5])],
    "select 1 / 0": [("Project", DIVISION, [])],
    # subqueries
    "select i, (select max(cast(dep as int)) from flights where id < 3) m from sums": [("Aggregate", NUMBER, [2])],
    "select id, id / (select min(length(dep)) - 1 from flights) m from flights where id < 2": [("Project", DIVISION, [1])],
    # groups
    "select k, sum(v) s from sums group by k": [("Aggregate", OVERFLOW, [1, 2, 4]), ("Aggregate", OVERFLOW, [5, 6])],
    "select sum(v) + 1 s from sums where k <> 'c'": [("Aggregate", OVERFLOW, [1, 2, 3, 4])],
    "select k, sum(v) filter (where i > 1) s, sum(v) t from sums group by k": [("Aggregate", OVERFLOW, [1, 2, 4]), ("Aggregate", OVERFLOW, [5, 6])],
    "select k, sum(distinct v) s, count(distinct i) c from sums where k <> 'c' group by k": [("Aggregate", OVERFLOW, [1, 2, 4])],
    "select k, sum(if(v > 1, cast(repeat('9', 38) as decimal(38, 0)), v)) s from sums group by k": [
        ("Aggregate", OVERFLOW, [1, 2, 4]), ("Aggregate", OVERFLOW, [5, 6]),
    ],
    "select k, avg(if(v > 1, cast(repeat('9', 38) as decimal(38, 0)), v)) s from sums where i > 3 group by k": [("Aggregate", OVERFLOW, [5, 6])],
    "select i % 2 k, sum(make_dt_interval(cast(v / 100000000000 as int))) s from sums group by 1": [("Aggregate", OVERFLOW, [1, 3, 5])],
    "select id % 2 g, element_at(collect_list(dep), 3) e from flights group by 1": [("Aggregate", "ArrayIndexOutOfBoundsException", [2, 4])],
    "select id, count(*) filter (where cast(dep as int) > 1) c from flights group by id": [("Aggregate", NUMBER, [2]), ("Aggregate", NUMBER, [4])],
    # frames
    "select i, sum(v) over (partition by k order by i) s from sums where k <> 'c'": [("Window", OVERFLOW, [1, 2]), ("Window", OVERFLOW, [1, 2, 4])],
    "select id, 1 / (count(*) over (partition by dep) - 2) c from flights": [("Project", DIVISION, [2, 4])] * 2,
}


@pytest.mark.many
@pytest.mark.parametrize("sql", QUERIES)
def test_every_culprit_of(sql: str, dbg: Any, spark: Any) -> None:
    assert told(culprits_of(dbg, spark.sql(sql))) == QUERIES[sql]


def test_a_culprit_of_a_join_is_a_row_that_met_another(dbg: Any, spark: Any) -> None:
    sql = "select a.id, b.id from flights a join flights b on a.id < b.id and 1 / (int(a.id) + int(b.id) - 6) > 0"
    one, other = culprits_of(dbg, spark.sql(sql))
    assert [(c.record.id, c.met) for c in (one, other)] == [("1", "Row(id='5')"), ("2", "Row(id='4')")]


def _numbered(kind: str) -> Callable[[Any], Any]:
    """A column of numbers made of text, which fails on what is none."""
    def of_pandas(texts: pd.Series) -> pd.Series:
        return texts.astype(int)

    return {
        "python": F.udf(int, "long", useArrow=False), "arrow": F.udf(int, "long", useArrow=True), "pandas": F.pandas_udf(of_pandas, "long"),  # type: ignore[call-overload]
        "spark": lambda column: column.cast("long"),
    }[kind]


@pytest.mark.many
@pytest.mark.parametrize("kind", ["python", "arrow", "pandas", "spark"])
@pytest.mark.parametrize("largest", [7, 2**31, BIG])
def test_a_sum_over_numbers_that_are_made_below(dbg: Any, spark: Any, kind: str, largest: int) -> None:
    """Whether they are so small that no sum overflows is looked at in the pass that finds what crashes; else the sum is."""
    rows = [(1, "a", "5"), (2, "a", str(largest)), (3, "b", "x"), (4, "b", "6"), (5, "b", "y")]
    frame = spark.createDataFrame(rows, "id int, k string, v string").coalesce(1)  # culprits and the others come in one batch
    numbers = frame.withColumn("n", _numbered(kind)(F.col("v"))).withColumn("m", F.col("n")).repartition(2, "k")
    culprits = culprits_of(dbg, numbers.groupBy("k").agg(F.sum("m")))
    found = sorted((c.operator.name, sorted(s.record["id"] for s in c.sources)) for c in culprits)
    wrong = sorted([("Project", [3]), ("Project", [5])])
    assert found == ([("Aggregate", [1, 2]), *wrong] if largest == BIG else wrong)
    assert culprits.unknown == []


@pytest.mark.many
@pytest.mark.parametrize("kind", ["python", "spark"])
@pytest.mark.parametrize("large", ["first", "second"])
def test_a_sum_over_numbers_of_several_inputs(dbg: Any, spark: Any, kind: str, large: str) -> None:
    """Those of a union have the name that they have in its first input, whether they are small in that or not."""
    rows = [(n, "5" if (n < 4) == (large == "second") else str(2**61)) for n in range(8)]
    numbers = spark.createDataFrame(rows, "id int, v string").withColumn("n", _numbered(kind)(F.col("v")))
    both = numbers.filter("id < 4").union(numbers.filter("id >= 4"))
    (culprit,) = culprits_of(dbg, both.agg(F.sum("n")))
    assert culprit.operator.name == "Aggregate"


def test_a_sum_over_numbers_that_a_subquery_adds_too(dbg: Any, spark: Any) -> None:
    spark.range(8).select("id", F.expr("if(id > 4, id, id div 10) * 1000000000000000000").alias("n")).createOrReplaceTempView("numbers")
    few = "(select sum(n) from numbers where id < 5)"
    (culprit,) = culprits_of(dbg, spark.sql(f"select sum(n) s from numbers where id >= 5 and id > {few}"))
    assert (culprit.operator.name, culprit.exception_type) == ("Aggregate", OVERFLOW)


def test_a_sum_over_columns_that_spark_did_not_name_apart(dbg: Any, spark: Any) -> None:
    """A checkpoint has the columns of the frame that it was taken of, with other rows than that has elsewhere in the query."""
    small = spark.range(0, 4, 1, 1).select(F.expr("id + 1").alias("y"))
    large = spark.range(0, 4, 1, 1).select(F.expr("id + 4611686018427387904").alias("y"))
    kept = small.union(large).localCheckpoint()
    (culprit,) = culprits_of(dbg, spark.range(0, 4, 1, 1).select((F.col("id") * 2).alias("y")).union(kept).union(small).agg(F.sum("y")))
    assert culprit.exception_type == OVERFLOW


def test_sums_over_two_unions_of_the_same_columns(dbg: Any, spark: Any) -> None:
    large = spark.range(0, 4, 1, 1).select(F.expr("id + 4611686018427387904").alias("y"))
    small = spark.range(0, 4, 1, 1).select(F.expr("id + 1").alias("y"))
    one = large.union(small).agg(F.sum("y").alias("s"))
    two = small.localCheckpoint().union(large.localCheckpoint()).agg(F.sum("y").alias("t"))
    assert {culprit.exception_type for culprit in culprits_of(dbg, one.crossJoin(two))} == {OVERFLOW}


@pytest.mark.usefixtures("untold", "unhurried")
def test_a_sum_of_what_it_casts_itself_costs_no_job(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("1\nx\n7\n")
    culprits = culprits_of(dbg, spark.read.text(str(tmp_path / "numbers.txt")).agg(F.sum(F.col("value").cast("long"))))
    before = jobs_run(spark)
    assert [culprit.record.value for culprit in culprits] == ["x"]
    assert jobs_run(spark) - before == 1


ONLY_SOME = {
    # What does not come to be computed throws nothing, whatever is in it.
    "select sum(cast(a as int)) filter (where a rlike '^[0-9]+$') s, sum(cast(b as int)) t from pairs where b not in ('x', 'y')": [("4", "bad")],
    "select sum(cast(b as int)) filter (where cast(a as int) > 2) s from pairs where a rlike '^[0-9]+$' or b = 'x'": [("4", "bad"), ("n/a", "x")],
    "select count(if(a = '4', a, null), cast(b as int)) n from pairs": [("4", "bad")],
    "select cast(a as int) = cast(b as int) same from pairs where a is null or a = '4'": [("4", "bad")],
    "select a, b from pairs where a is null or a = '4' order by cast(a as int) = cast(b as int)": [("4", "bad")],
    "select cast(a as int) = cast(b as int) same, count(*) n from pairs where a is null or a = '4' group by 1": [("4", "bad")],
}


@pytest.mark.many
@pytest.mark.parametrize("sql", ONLY_SOME)
def test_rows_on_which_something_is_not_computed(dbg: Any, spark: Any, sql: str) -> None:
    rows = [("1", "2"), ("n/a", "3"), (None, "y"), ("4", "bad"), ("n/a", "x")]
    spark.createDataFrame(rows, "a string, b string").createOrReplaceTempView("pairs")
    culprits = culprits_of(dbg, spark.sql(sql))
    assert sorted((culprit.record.a, culprit.record.b) for culprit in culprits) == ONLY_SOME[sql]
    assert culprits.unknown == []


@pytest.mark.parametrize("aggregate", ["first(cast(v as int))", "max_by(cast(v as int), i)", "corr(i, cast(v as int))"])
def test_of_what_an_aggregate_may_not_compute_that_is_said(dbg: Any, spark: Any, aggregate: str) -> None:
    spark.createDataFrame([(1, "x"), (2, "2"), (3, "y")], "i int, v string").coalesce(1).createOrReplaceTempView("texts")
    culprits = culprits_of(dbg, spark.sql(f"select {aggregate} from texts"))
    assert culprits[0].record.v == "x"
    (why,) = culprits.unknown
    assert why.startswith(f"{aggregate.partition('(')[0]}() computes what it is given only as long as it has to")


@pytest.mark.many
@pytest.mark.usefixtures("untold", "unhurried")
@pytest.mark.parametrize("kind", ["python", "spark"])
@pytest.mark.parametrize("largest", [7, 2**40])
def test_a_sum_of_small_numbers_costs_no_job(dbg: Any, spark: Any, tmp_path: Path, kind: str, largest: int) -> None:
    (tmp_path / "numbers.txt").write_text(f"1\nx\n{largest}\n")
    frame = spark.read.text(str(tmp_path / "numbers.txt")).withColumnRenamed("value", "v")
    culprits = culprits_of(dbg, frame.select(_numbered(kind)(F.col("v")).alias("n")).agg(F.sum("n")))
    before = jobs_run(spark)
    assert len(list(culprits)) == 1
    assert (jobs_run(spark) - before == 1) == (largest == 7)


def test_a_sum_that_overflows_tells_what_spark_throws(dbg: Any, spark: Any) -> None:
    with pytest.raises(Exception, match="ARITHMETIC_OVERFLOW") as raised, dbg.capture() as run:
        spark.sql("select k, sum(v) s from sums where k <> 'c' group by k").collect()
    (culprit,) = run.culprits
    assert culprit.message in str(raised.value)
    assert culprit.record.k == "a"


CSV = ["id,n", "1,10", "2,NA", "3,7", "x,1", "4", "1,z,z", "", "5,NA"]
JSON = ['{"id": 1, "n": 1}', '{"id": "x", "n": 2}', '{"id": 3, "n": "y"}', '{"id": 1, "n": "y"}', '{"id": 4', '[{"id": 4, "n": 5}, {"id": 5}]', "", '{"n": "y"}']


def strictly(spark: Any, form: str, path: Path) -> Any:
    return spark.read.option("mode", "FAILFAST").option("header", "true").schema("id int, n int").format(form).load(str(path))


@pytest.mark.many
@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize("asked", ["id", "id, n", "id, n where id > 2", "id where n is not null", "n"])
def test_lines_that_a_strict_reader_does_not_take(form: str, asked: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Each line that crashes when it is read alone, and no other; but of filters that the reader is handed, and that come first, it is said."""
    def query(path: Path) -> Any:
        columns, _, condition = asked.partition(" where ")
        frame = strictly(spark, form, path)
        return (frame.filter(condition) if condition else frame).selectExpr(*columns.split(", "))

    head, lines = (CSV[:1], CSV[1:]) if form == "csv" else ([], JSON)
    crashing = set()
    for number, line in enumerate(lines):
        alone = tmp_path / f"alone{number}"
        alone.write_text("\n".join([*head, line]))
        if fails(query(alone)):
            crashing.add(line)
    (tmp_path / "all").mkdir()
    for name in "ab":
        (tmp_path / "all" / name).write_text("\n".join([*head, *lines]) + "\n")
    if not crashing:
        assert not fails(query(tmp_path / "all"))
        return
    with pytest.raises(Exception, match=r"MALFORMED_RECORD|collectToPython"), dbg.capture() as run:
        query(tmp_path / "all").collect()
    found = list(run.culprits)
    places = [(Path(c.sources[0].origin.path).name, c.sources[0].origin.line) for c in found]
    assert all([*head, *lines][line - 1] == c.record.value == c.sources[0].record.value for c, (_, line) in zip(found, places, strict=True))
    assert len(set(places)) == len(places) == 2 * len({c.record.value for c in found})
    told_of = {c.record.value for c in found}
    hangs = any("hangs on filters" in why for why in run.culprits.unknown)
    assert told_of <= crashing if hangs else told_of == crashing
    assert {c.operator.name for c in found} == {"Relation"}
    assert "MALFORMED_RECORD" in found[0].message
    (tmp_path / "fine").mkdir()
    for name in "ab":
        (tmp_path / "fine" / name).write_text("\n".join([*head, *(line for line in lines if line not in crashing)]) + "\n")
    resumed = run.resume(skip=True)
    assert Counter(resumed.result) == Counter(query(tmp_path / "fine").collect())
    sources = dbg.lineage(resumed.run).goBackAll().source_records()
    assert resumed.result == [] or sources
    for source in sources:
        assert source.record.value not in crashing
        assert [*head, *lines][source.origin.line - 1] == source.record.value


def fails(frame: Any) -> bool:
    try:
        frame.collect()
    except Exception:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_is_computed_of_the_lines_that_a_strict_reader_takes_is_looked_at(form: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "ns"
    path.write_text("\n".join(["id,n", "1,2", "2,x", "3,0", "4,5", "5"] if form == "csv" else ['{"id":1,"n":2}', '{"id":', '[{"id":3,"n":0},{"id":4,"n":5}]']) + "\n")
    frame = strictly(spark, form, path).selectExpr("id", "10 div n d").filter("id > 0")
    found = culprits_of(dbg, frame)
    assert [c.operator.name for c in found] == ["Relation"] * (2 if form == "csv" else 0) + ["Project"]
    assert any("hangs on filters" in why for why in found.unknown) == (form == "json")
    assert found[-1].record.id == 3
    assert [source.origin.line for source in found[-1].sources] == [4 if form == "csv" else 3]
    resumed = dbg.runs[-1].resume(skip=True)
    assert sorted(resumed.result) == [(1, 5), (4, 2)]
    assert [c.operator.name for c in resumed.run.culprits] == [c.operator.name for c in found]
    if form == "csv":
        with pytest.raises(ReplayError, match="lines of a file"):
            dbg.runs[-2].resume(repair=lambda record: record)


def test_a_count_reads_the_columns_that_it_needs(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "ns.csv"
    path.write_text("id,n\n1,2\n2,x\ny,3\n4,5\n")
    frame = strictly(spark, "csv", path).filter("id is null or id > 0")
    with pytest.raises(Exception, match="MALFORMED_RECORD"), dbg.capture() as run:
        frame.count()
    assert [c.record.value for c in run.culprits] == ["y,3"]
    assert run.resume(skip=True).result == 3


STRICT: dict[str, tuple[list[str], dict[str, str], str, str, list[int]]] = {
    "headers among the records": (["id,n", "1,2", "id,n", "x,3"], {"header": "true"}, "csv", "id int, n int", [3, 4]),
    "no header": (["1,2", "y,3"], {}, "csv", "id int, n int", [2]),
    "a comment, quotes and blanks": (["# all", "id;n", "", "1;'a;b'", "# x;y", "x;c", "   ", "3;''"], {"header": "true", "comment": "#", "quote": "'", "sep": ";"}, "csv", "id int, n string", [6]),
    "only a header": (["id,n"], {"header": "true"}, "csv", "id int, n int", []),
    "dates": (["id,n", "1,02.03.2020", "2,2020-03-02"], {"header": "true", "dateFormat": "dd.MM.yyyy"}, "csv", "id int, n date", [3]),
    "names in another case": (['{"ID": 1, "n": 2}', '{"id": 3, "n": "x"}'], {}, "json", "Id int, n int", [2]),
    "structs": (['{"id": {"a": 1, "b": "x"}, "n": 2}', '{"id": {"a": "y"}, "n": 2}', '{"id": null, "n": 3}'], {}, "json", "id struct<a: int, b: string>, n int", [2]),
    "a null in an array": (['[{"id": 1, "n": 2}, null]', '[{"id": 3, "n": 4}]', "[]"], {}, "json", "id int, n int", [1]),
}


@pytest.mark.many
@pytest.mark.parametrize("case", STRICT)
def test_strict_readers_of_all_kinds_go_on(case: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Where names of files are odd, in several files, with other queries of the same files above and beside."""
    lines, options, form, schema, bad = STRICT[case]
    for folder, gone in (("all", []), ("fine", bad)):
        (tmp_path / folder).mkdir()
        for name in ("a b[1]%20.txt", "b[2]"):
            (tmp_path / folder / name).write_text("\r\n".join([line for number, line in enumerate(lines, 1) if number not in gone]) + "\r\n")

    def query(folder: str) -> Any:
        frame = spark.read.options(mode="FAILFAST", **options).schema(schema).format(form).load(str(tmp_path / folder))
        again = frame.select("n", "id").filter("n is not null")
        return frame.union(frame.select("id", "n")).join(again.groupBy("n").agg(F.count("id").alias("ids")), "n")

    if not bad:
        query("all").collect()
        return
    with pytest.raises(Exception, match=r"MALFORMED_RECORD|FAILED_READ|collectToPython"), dbg.capture() as run:
        query("all").collect()
    assert {c.record.value for c in run.culprits} == {lines[number - 1] for number in bad}
    assert {c.sources[0].origin.line for c in run.culprits} == set(bad)
    assert Counter(run.resume(skip=True).result) == Counter(query("fine").collect())


@pytest.mark.slow
def test_what_cannot_be_told_apart_in_strict_readers_is_said(dbg: Any, spark: Any, tmp_path: Path) -> None:
    def refused(frame: Any) -> str:
        with pytest.raises(Exception, match=r"MALFORMED_RECORD|FAILED_READ"), dbg.capture() as run:
            frame.collect()
        list(run.culprits)
        with pytest.raises(ReplayError) as error:
            run.resume(skip=True)
        assert run.culprits.unknown
        return str(error.value)

    (tmp_path / "part=7").mkdir()
    (tmp_path / "part=7" / "a.csv").write_text("id,n\n1,2\nx,3\n")
    (tmp_path / "b.csv").write_text("id,n\na,2\nid,n\nx,3,4\n")
    (tmp_path / "c.csv").write_text("1,2\nx,3\n")
    (tmp_path / "d.json").write_text('{"id": 1}\n{"id":\n')
    reader = spark.read.option("mode", "FAILFAST").schema("id int, n int")
    assert "part is not in the lines" in refused(strictly(spark, "csv", tmp_path).filter("part = 7"))
    assert "header of a file" in refused(spark.read.csv(str(tmp_path / "b.csv"), schema="id string, n string", header=True, mode="FAILFAST"))
    assert "read twice" in refused(reader.csv([str(tmp_path / "c.csv")] * 2))
    assert "singleVariantColumn" in refused(spark.read.option("mode", "FAILFAST").option("singleVariantColumn", "v").json(str(tmp_path / "d.json")))


def test_a_strict_reader_of_records_of_several_lines_is_refused(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,x\n")
    found = culprits_of(dbg, spark.read.csv(str(tmp_path / "a.csv"), schema="id int, n int", mode="FAILFAST", multiLine=True))
    assert len(found) == 0
    assert "multiLine" in found.unknown[0]
    assert "PERMISSIVE" in found.unknown[0]


def divided(number: int) -> tuple[int, float]:
    return number, 1 / number


def to_frame(spark: Any, rdd: Any) -> Any:
    """RDDs know the session that was made last, in whichever test that was."""
    _monkey_patch_RDD(spark)
    return rdd.map(divided).toDF("a int, b double")


FROM_RDDS: dict[str, tuple[Callable[[Any, Any], Any], list[tuple[str, str]]]] = {
    "a function": (lambda spark, rdd: spark.createDataFrame(rdd.map(divided), "a int, b double"), [("map", "ZeroDivisionError")]),
    "toDF": (to_frame, [("map", "ZeroDivisionError")]),
    "what does not fit": (lambda spark, rdd: spark.createDataFrame(rdd.map(lambda x: (x or "none",)), "a int"), [("map", "PySparkTypeError")]),
    "behind a shuffle": (
        lambda spark, rdd: spark.createDataFrame(rdd.map(lambda x: (x % 5, x)).groupByKey().map(lambda kv: divided(kv[0])), "a int, b double"),
        [("map", "ZeroDivisionError")],
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("way", FROM_RDDS)
@pytest.mark.parametrize("captured", [True, False])
def test_records_of_an_rdd_that_a_frame_was_made_of(way: str, captured: bool, dbg: Any, spark: Any) -> None:
    made, expected = FROM_RDDS[way]
    frame = made(spark, spark.sparkContext.parallelize([1, 2, 0, 4], 2)).filter("a > 0")
    found = culprits_of(dbg, frame, captured)
    assert [(c.operator.name.rpartition(".")[2], c.exception_type.rpartition(".")[2]) for c in found] == expected
    assert [s.record for c in found for s in c.sources] == [0]
    assert "createDataFrame was not looked at" in found.unknown[0]


def test_a_frame_of_an_rdd_crashes_above_it(dbg: Any, spark: Any) -> None:
    found = culprits_of(dbg, spark.createDataFrame(spark.sparkContext.parallelize([1, 2, 0, 4], 2).map(lambda x: (x,)), "a int").selectExpr("1 / a"))
    assert [c.record.a for c in found] == [0]
    assert found.unknown == []


@F.pandas_udf(DoubleType())  # type: ignore[call-overload]
def total(numbers: pd.Series) -> float:
    return float(pd.to_numeric(numbers, errors="coerce").fillna(0).sum())


def test_what_is_computed_of_the_values_of_python_aggregates(dbg: Any, flights: Any) -> None:
    found = culprits_of(dbg, flights.groupBy((F.col("id") % 2).alias("odd")).agg((1 / (total("dep") - 17)).alias("x"), total("arr").alias("y")))
    assert told(found) == [("Aggregate", DIVISION, [1, 3, 5])]


SCHEMA = "id string, dep string, arr string"
PAIR = StructType().add("a", IntegerType()).add("b", IntegerType())


def frames_of_group(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield frame.assign(dep=frame["dep"].astype(int).astype(str))


def frames_of_key_and_group(key: Any, frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    yield from frames_of_group(frames)


def batches_of_group(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        assert "NA" not in batch.column("dep").to_pylist()
        yield batch


def sum_of_series(parts: Iterator[pd.Series]) -> float:
    return float(sum(part.astype(int).sum() for part in parts))


def sum_of_arrays(parts: Iterator[pa.Array]) -> float:
    return float(sum(pc.sum(pc.cast(part, pa.int64())).as_py() for part in parts))  # type: ignore[attr-defined]


def by_parity(flights: Any) -> Any:
    return flights.groupBy((F.col("id") % 2).alias("odd"))


PANDAS, ARROW = "FlatMapGroupsInPandas", "FlatMapGroupsInArrow"

IN_BATCHES: dict[str, tuple[Callable[[Any], Any], list[tuple[str, str, list[int]]]]] = {
    "SQL_GROUPED_MAP_PANDAS_ITER_UDF": (
        lambda df: by_parity(df).applyInPandas(frames_of_group, SCHEMA).selectExpr("1 / cast(dep as int)"), [(PANDAS, "ValueError", [2]), (PANDAS, "ValueError", [4]), ("Project", DIVISION, [1, 3, 5])],
    ),
    "SQL_GROUPED_MAP_PANDAS_ITER_UDF with a key": (
        lambda df: df.groupBy("id").applyInPandas(frames_of_key_and_group, SCHEMA).selectExpr("1 / cast(dep as int)"),
        [(PANDAS, "ValueError", [2]), (PANDAS, "ValueError", [4]), ("Project", DIVISION, [5])],
    ),
    "SQL_GROUPED_MAP_ARROW_ITER_UDF": (
        lambda df: df.groupBy("id").applyInArrow(batches_of_group, SCHEMA).selectExpr("1 / cast(dep as int)"),
        [(ARROW, "AssertionError", [2]), (ARROW, "AssertionError", [4]), ("Project", DIVISION, [5])],
    ),
    "SQL_GROUPED_AGG_PANDAS_ITER_UDF": (
        lambda df: df.groupBy("id").agg((1 / F.pandas_udf(sum_of_series, DoubleType())("dep")).alias("x")),  # type: ignore[call-overload]
        [("Aggregate", DIVISION, [5]), ("Aggregate", "ValueError", [2]), ("Aggregate", "ValueError", [4])],
    ),
    "SQL_GROUPED_AGG_ARROW_ITER_UDF": (
        lambda df: df.groupBy("id").agg(F.arrow_udf(sum_of_arrays, DoubleType())("dep")),
        [("Aggregate", "pyarrow.lib.ArrowInvalid", [2]), ("Aggregate", "pyarrow.lib.ArrowInvalid", [4])],
    ),
}


@pytest.mark.many
@pytest.mark.parametrize("way", IN_BATCHES)
def test_functions_of_groups_in_batches(way: str, dbg: Any, flights: Any) -> None:
    if not hasattr(PythonEvalType, way.split(maxsplit=1)[0]):
        pytest.skip("this PySpark has no such functions")
    frame, expected = IN_BATCHES[way]
    assert told(culprits_of(dbg, frame(flights))) == expected


@pytest.mark.many
@pytest.mark.parametrize(("given", "kind", "exception"), [
    (lambda text: np.float64(1) if text == "NA" else 1.0, DoubleType(), "PickleException"),
    (lambda text: [np.int64(1)] if text == "NA" else [1], ArrayType(IntegerType()), "PickleException"),
    (lambda text: (1,) if text == "NA" else (1, 2), PAIR, "IllegalArgumentException"),
])
def test_what_a_function_gives_that_spark_cannot_read(given: Any, kind: Any, exception: str, dbg: Any, flights: Any) -> None:
    with pytest.raises(Exception, match=r"ClassDict|fields are required"), dbg.capture() as run:
        flights.select("id", F.udf(given, kind, useArrow=False)("dep")).collect()
    assert told(run.culprits) == [("Project", exception, [2]), ("Project", exception, [4])]
    assert len(run.resume(skip=True).result) == 3


def test_what_culprits_have_in_common(dbg: Any, spark: Any) -> None:
    """A row of one side of a join that crashes with each of the other; it is found in one job, when somebody asks."""
    found = culprits_of(dbg, spark.sql("select a.id, b.i from flights a join sums b on cast(a.dep as int) > b.i where a.id <> 5"))
    assert [c.operator.name for c in found] == ["Join"] * 12
    before = jobs_run(spark)
    assert "behind" not in repr(found)
    assert jobs_run(spark) == before
    assert [(s.record.id, count) for s, count in found.common(2)] == [("2", 6), ("4", 6)]
    assert jobs_run(spark) - before < 12  # as many as culprits
    assert "behind 6 of them" in repr(found)


def test_culprits_with_nothing_in_common(dbg: Any, spark: Any) -> None:
    found = culprits_of(dbg, spark.sql("select cast(dep as int) from flights"))
    assert len(found) == 2
    assert found.common() == []


def test_what_count_does_not_compute_does_not_crash(dbg: Any, spark: Any) -> None:
    frame = spark.range(10).filter("10 / (id % 5) > 1").selectExpr("id", "1 / (id % 3) x")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"), dbg.capture() as run:
        frame.count()
    assert sorted((c.record.id, c.operator.name) for c in run.culprits) == [(0, "Filter"), (5, "Filter")]
    assert run.resume(skip=True).result == 8
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"), dbg.capture() as run:
        frame.collect()
    assert sorted((c.record.id, c.operator.name) for c in run.culprits) == [
        (0, "Filter"), (3, "Project"), (5, "Filter"), (6, "Project"), (9, "Project"),
    ]


@pytest.mark.parametrize("action", [lambda frame: frame.take(3), lambda frame: frame.limit(3).collect()])
def test_rows_that_a_limit_may_not_have_come_to_are_said_to_be_such(action: Any, dbg: Any, spark: Any) -> None:
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"), dbg.capture() as run:
        action(spark.range(0, 10, 1, 1).selectExpr("1 / (id % 5) x"))
    assert [c.record.id for c in run.culprits] == [0, 5]
    assert run.culprits.unknown == ["A limit stops when it has enough: some of these rows the action may not have come to."]


def test_an_rdd_that_spark_read_for_something_else_is_not_what_a_frame_was_made_of(dbg: Any, spark: Any) -> None:
    other = dbg.context.parallelize([1, 2], 1).map(lambda n: 1 // (n - 5))
    assert other.countApprox(60_000) == 2
    frame = spark.createDataFrame([(0,), (1,)], "n int").selectExpr("1 / n x")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"), dbg.capture() as run:
        frame.collect()
    assert [(c.record.n, c.operator.name) for c in run.culprits] == [(0, "Project")]


@pytest.mark.parametrize("arrow", [False, True])
def test_arguments_that_are_given_by_name(arrow: bool, dbg: Any, spark: Any) -> None:
    share = F.udf(lambda of, parts, plus: of // parts + plus, "long", useArrow=arrow)
    frame = spark.range(4).select(share(F.col("id"), plus=F.lit(1), parts=F.col("id") - 2).alias("s"))
    (culprit,) = culprits_of(dbg, frame)
    assert (culprit.record.id, culprit.exception_type) == (2, "ZeroDivisionError")
    assert culprit.locals == {"of": "2", "parts": "0", "plus": "1"}


def raising_all(*given: Any) -> str:
    raise ValueError(repr(given))


VALUES = "(null, null, null, null, null, null, null, null), (1Y, 2S, 3, 4L, float(0.1), double('NaN'), true, 'é'), (-128Y, 0S, 0, -9223372036854775808L, float('inf'), -0.0D, false, '')"


@pytest.mark.many
@pytest.mark.parametrize("legacy", [False, True])
def test_functions_over_arrow_are_given_what_spark_gives_them(legacy: bool, dbg: Any, spark: Any) -> None:
    name = "spark.sql.legacy.execution.pythonUDF.pandas.conversion.enabled"
    if legacy:
        spark.conf.set(name, True)
    try:
        frame = spark.sql(f"select * from values {VALUES} as t(a, b, c, d, e, f, g, h)")
        given = [row[0] for row in frame.select(F.udf(lambda *given: repr(given), useArrow=True)(*frame.columns)).collect()]
        culprits = culprits_of(dbg, frame.select(F.udf(raising_all, useArrow=True)(*frame.columns)))
        assert sorted(culprit.message for culprit in culprits) == sorted(given)
        none = culprits_of(dbg, frame.select(F.udf(raising_all, useArrow=True)()))
        assert [culprit.message for culprit in none] == ["()"] * 3
    finally:
        spark.conf.unset(name)


def test_a_cast_that_spark_takes_for_one_that_always_can_be_done(dbg: Any, spark: Any) -> None:
    frame = spark.range(0, 20_001, 10_000, 1).selectExpr("id", "date_add(date'2020-01-01', int(id * 10000)) d").select("id", F.col("d").cast("timestamp").alias("t"))
    with pytest.raises(Exception, match="overflow"), dbg.capture() as run:
        frame.write.format("noop").mode("overwrite").save()
    assert [(c.record.id, c.exception_type) for c in run.culprits] == [(20_000, "ArithmeticException")]


def raising_or_unfit(text: str) -> Any:
    return 1 // 0 if text == "x" else text if text == "q" else 1


@F.pandas_udf(IntegerType())  # type: ignore[call-overload]
def thousandfold(numbers: pd.Series) -> pd.Series:
    if (numbers == 0).any():
        raise ValueError("zero")
    return numbers.astype("int64") * 1000


@F.pandas_udf(DecimalType(10, 2))  # type: ignore[call-overload]
def inverse_of(numbers: pd.Series) -> pd.Series:
    return numbers.map(lambda number: 1 / number)


@F.pandas_udf(LongType())  # type: ignore[call-overload]
def changing(texts: pd.Series) -> pd.Series:
    out = []
    for i in range(len(texts)):
        text = texts.iloc[i]
        texts.iloc[i] = "1"
        out.append(int(text))
    return pd.Series(out)


BESIDE: dict[str, tuple[str, list[Any], Callable[[], Any], list[int]]] = {
    "of a row": ("string", ["1", "x", "q"], lambda: F.udf(raising_or_unfit, "int", useArrow=True)("v"), [1, 2]),
    "of a column": ("int", [1, 0, 3_000_000, 5], lambda: thousandfold("v"), [1, 2]),
    "decimals": ("decimal(10,0)", [Decimal(1), Decimal(3), Decimal(0), Decimal(2)], lambda: inverse_of("v"), [1, 2]),
    "changes what it is given": ("string", ["1", "x", "2", "y", "3"], lambda: changing("v"), [1, 3]),
    "times": ("string", ["1", "x", "2"], lambda: F.udf(lambda text: datetime(2020, 1, int(text)), "timestamp", useArrow=True)("v"), [1]),
    "of Spark": ("string", ["2020-01-01", "x"], lambda: F.to_date("v"), [1]),
}


@pytest.mark.many
@pytest.mark.parametrize("case", BESIDE)
def test_what_does_not_fit_beside_what_crashes(case: str, dbg: Any, spark: Any) -> None:
    kind, values, column, crashing = BESIDE[case]
    frame = spark.createDataFrame(list(enumerate(values)), f"i int, v {kind}").coalesce(1).select("i", column())
    found = culprits_of(dbg, frame)
    assert sorted(c.record.i for c in found) == crashing
    assert found.unknown == []
    assert [row.i for row in dbg.runs[-1].resume(skip=True).result] == [i for i in range(len(values)) if i not in crashing]


@pytest.mark.slow
def test_sources_above_what_a_strict_reader_does_not_read(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """A trace reads all columns: those that the query left alone are not there to fail."""
    (tmp_path / "a.csv").write_text("1,1\nq,z\nx,2\n")
    frame = spark.read.csv(str(tmp_path / "a.csv"), schema="a int, b string", mode="FAILFAST").select(F.udf(int, "int", useArrow=True)("b"))
    (culprit,) = culprits_of(dbg, frame)
    assert [(source.origin.line, source.record.value) for source in culprit.sources] == [(2, "q,z")]
    assert dbg.runs[-1].resume(skip=True).result == [(1,), (2,)]
    saved = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-2]))
    ((_, line),) = [(source.record, source.origin.line) for culprit in saved.runs[0].culprits for source in culprit.sources]
    assert line == 2


def test_sources_that_nobody_asked_for_are_not_saved(dbg: Any, spark: Any, tmp_path: Path) -> None:
    assert len(culprits_of(dbg, spark.range(3).selectExpr("10 div (id - 1)"))) == 1
    (culprit,) = bigdebug.open(dbg.save(tmp_path / "saved", dbg.runs[-1])).runs[0].culprits
    with pytest.raises(IncompleteLineageError, match="save the run after that"):
        culprit.sources  # noqa: B018
    assert "save the run after that" in culprit.text()


def test_control_characters_are_no_json(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a":1}\n\x00\n \t\n{"a":"q"}\n\x01\x02\n{"a":3}\n')
    found = culprits_of(dbg, spark.read.json(str(tmp_path / "a.json"), schema="a int", mode="FAILFAST"))
    assert [c.sources[0].origin.line for c in found] == [2, 4, 5]
    assert dbg.runs[-1].resume(skip=True).result == [(1,), (3,)]


def test_a_constant_in_the_place_of_a_column_blames_no_other_rows(dbg: Any, spark: Any) -> None:
    """Spark computes the condition while it plans, with the value that another condition asks for."""
    frame = spark.createDataFrame([(0,), (1,), (2,)], "id int").filter("1 / (coalesce(id, 1) % 3) > 0").filter("id = 0")
    assert [c.record.id for c in culprits_of(dbg, frame)] == [0]
    assert dbg.runs[-1].resume(skip=True).result == []


@pytest.mark.many
@pytest.mark.parametrize("captured", [False, True])
def test_what_crashes_while_a_cache_is_filled(captured: bool, dbg: Any, flights: Any) -> None:
    cached = flights.select("id", F.udf(int, "int", useArrow=False)("dep").alias("n")).cache()
    try:
        assert told(culprits_of(dbg, cached.filter("n > 0"), captured)) == [("Project", "ValueError", [2]), ("Project", "ValueError", [4])]
        assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == ["1", "3"]
    finally:
        cached.unpersist()
    assert told(culprits_of(dbg, cached.filter("n > 0"), captured)) == [("Project", "ValueError", [2]), ("Project", "ValueError", [4])]


def test_what_crashes_above_a_cache_that_is_full(dbg: Any, flights: Any) -> None:
    cached = flights.select("id", "dep").filter("id > 1").cache()
    cached.count()
    try:
        assert sorted(c.record["id"] for c in culprits_of(dbg, cached.selectExpr("id", "cast(dep as int)"))) == ["2", "4"]
    finally:
        cached.unpersist()


@pytest.mark.many
@pytest.mark.parametrize("kind", ["python", "arrow", "pandas", "spark"])
def test_of_equal_rows_each_has_a_source_of_its_own(dbg: Any, spark: Any, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("1\nx\n2\nx\ny\n3\nx\n")
    lines = spark.read.text(str(path)).filter("value <> '3'").select(F.concat("value", F.lit("")).alias("value")).repartition(3)
    culprits = culprits_of(dbg, lines.select(_numbered(kind)(F.col("value"))))
    found = [(culprit.record.value, [source.origin.line for source in culprit.sources]) for culprit in culprits]
    assert sorted(found) == [("x", [2]), ("x", [4]), ("x", [7]), ("y", [5])]


@pytest.mark.slow
def test_bad_rows_on_both_sides_of_a_cogroup(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(i, 0 if i in (3, 14) else 7) for i in range(20)], "id int, n int")

    def both(left: Any, right: Any) -> Any:
        for frame in (left, right):
            [10 // n for n in frame["n"]]
        return left

    left, right = (rows.where(some).groupBy(F.col("id") % 1) for some in ("id < 10", "id >= 10"))
    found = culprits_of(dbg, left.cogroup(right).applyInPandas(both, rows.schema))
    assert sorted(culprit.record.id for culprit in found) == [3, 14]
    assert [source.record.id for culprit in found for source in culprit.sources] == [3, 14]
    assert len(dbg.runs[-1].resume(skip=True).result) == 9


@pytest.mark.parametrize("arrow", [False, True])
def test_a_bad_row_of_a_cogroup_that_pairs_rows(arrow: bool, dbg: Any, spark: Any) -> None:
    """Each row of the other side crashes with it, and is innocent: left out are only the pairs of the bad one."""
    left = spark.createDataFrame([(1, 10, "5"), (1, 11, "x"), (1, 12, "7"), (2, 13, "8")], "k int, v int, s string").groupBy("k")
    right = spark.createDataFrame([(1, 100), (1, 200), (2, 300)], "k int, w int").groupBy("k")

    def merged(one: Any, other: Any) -> Any:
        both = (one.to_pandas() if arrow else one).merge(other.to_pandas() if arrow else other, on="k")
        given = both.assign(z=both["s"].astype("int64") + both["w"])[["v", "z"]].astype("int64")
        return pa.Table.from_pandas(given, preserve_index=False) if arrow else given

    both = left.cogroup(right)
    frame = both.applyInArrow(merged, "v long, z long") if arrow else both.applyInPandas(merged, "v long, z long")
    (culprit,) = culprits_of(dbg, frame)
    assert culprit.record == (1, 11, "x")
    expected = [(10, 105), (10, 205), (12, 107), (12, 207), (13, 308)]
    assert sorted(dbg.runs[-1].resume(skip=True).result) == expected
    with dbg.capture(on_crash="skip"):
        assert sorted(frame.collect()) == expected


@pytest.mark.parametrize("bad", [(0, 8, 12), (1, 2, 3, 4, 5, 19)])
def test_groups_of_a_function_that_needs_two_rows(bad: tuple[int, ...], dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(i, 0 if i in bad else 7) for i in range(20)], "id int, n int")

    def pairwise(frame: Any) -> Any:
        frame.iloc[1]
        [10 // n for n in frame["n"]]
        return frame

    found = culprits_of(dbg, rows.groupBy(F.col("id") % 1).applyInPandas(pairwise, rows.schema))
    assert sorted(culprit.record.id for culprit in found) == list(bad)
    assert len(dbg.runs[-1].resume(skip=True).result) == 20 - len(bad)


@pytest.mark.many
@pytest.mark.parametrize("ranks", ["row_number() over (partition by i % 2 order by i desc) <= 2", "rank() over (partition by i % 2 order by i desc) < 3"])
def test_the_first_of_each_group_lead_to_their_sources(ranks: str, dbg: Any, spark: Any) -> None:
    """Spark limits the rows in groups below the window, which the query does not say."""
    rows = spark.createDataFrame([(i, "NA" if i == 5 else str(i)) for i in range(8)], "i int, v string")
    function, _, most = ranks.rpartition(")")
    frame = rows.selectExpr("i", "v", f"{function}) r").where(f"r {most}").selectExpr("i", "int(v) n")
    (culprit,) = culprits_of(dbg, frame)
    assert [source.record.i for source in culprit.sources] == [5, 7]  # the rank of the one hangs on the other


@pytest.mark.slow
def test_rows_of_a_full_cache_lead_to_what_it_was_filled_from(dbg: Any, spark: Any, flights: Any) -> None:
    cached = flights.where("id < 5").cache()
    try:
        cached.count()
        for frame in (cached.selectExpr("int(dep)"), cached.select(F.udf(int, "int", useArrow=False)("dep")), cached.alias("a").join(cached.alias("b"), "id").selectExpr("int(a.dep)")):
            found = culprits_of(dbg, frame)
            assert sorted((source.record.id, source.origin.row) for culprit in found for source in culprit.sources) == [("2", 1), ("4", 3)]
    finally:
        cached.unpersist()


@pytest.mark.parametrize(("filters", "known"), [(("id not in (2, 3)", "id = 1"), [4]), (("v <> 'NA'", "v <> 'NA'"), []), (("id <> 2", "true"), [2, 3, 4])])
def test_what_aggregates_share_may_be_computed_before_their_filters(filters: tuple[str, str], known: list[int], dbg: Any, spark: Any) -> None:
    """Which rows that are is Spark's to know: it is said."""
    rows = spark.createDataFrame([(1, "1"), (2, "NA"), (3, "NA"), *([(4, "x")] if known else [])], "id int, v string").coalesce(1)
    first, second = filters
    found = culprits_of(dbg, rows.selectExpr(f"sum(int(v)) filter (where {first}) a", f"max(int(v)) filter (where {second}) b"))
    assert sorted(culprit.record.id for culprit in found) == known
    assert "share what may throw" in found.unknown[-1]
