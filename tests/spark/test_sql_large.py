"""Traces of more rows than the driver takes: they stay in Spark, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.errors import TooLargeError

ROWS = 400_000


@pytest.fixture
def tight(spark: Any) -> Iterator[None]:
    """A driver that takes 256 kB; Spark looks at each job's beginning."""
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "256k")
    yield
    conf.remove("spark.driver.maxResultSize")


@pytest.fixture(scope="module")
def path(spark: Any, tmp_path_factory: Any) -> Any:
    path: Path = tmp_path_factory.mktemp("large") / "numbers"
    spark.range(ROWS).selectExpr("id", "id % 4 k", "id % 1000 j").repartition(3, "id").write.parquet(str(path))
    return path


@pytest.mark.slow
def test_a_large_trace_stays_in_spark(dbg: Any, spark: Any, path: Path, tight: None) -> None:
    numbers = spark.read.parquet(str(path))
    others = spark.range(4).selectExpr("id k", "id * 10 w")
    frame = numbers.join(others, "k").groupBy("k").agg(F.count("*").alias("n"), F.sum("w").alias("w"))
    back = dbg.lineage(frame).where("k = 1").goBackAll()
    large = back["numbers"]
    assert large.distributed
    assert large.count() == ROWS // 4
    assert large.toDF().agg(F.sum("id")).first()[0] == sum(range(1, ROWS, 4))
    assert "stay in Spark" in large.table(3).text()
    assert [r.id for r in back["range"].collect()] == [1]
    assert large.goNextAll().collect() == [frame.where("k = 1").first()]
    for question in (large.rids, large.origins):
        with pytest.raises(TooLargeError, match=r"100,000 rids to the driver.*toDF"):
            question()
    few = large.where("id < 20")
    assert not few.distributed
    assert sorted(r.id for r in few.collect()) == [1, 5, 9, 13, 17]


@pytest.mark.slow
def test_steps_go_on_in_spark(dbg: Any, spark: Any, path: Path, tight: None) -> None:
    numbers = spark.read.parquet(str(path))
    pairs = numbers.groupBy("id", "k").agg(F.max("j").alias("j"))
    frame = pairs.groupBy("k").agg(F.count("*").alias("n"))
    trace = dbg.lineage(frame).where("k = 3")
    assert trace.goBack().distributed
    assert trace.goBack().count() == trace.goBackAll().count() == ROWS // 4
    assert trace.goBackAll().goNext().where("j = 7").count() == ROWS // 1000
    assert dbg.lineage(numbers).goBackAll().count() == ROWS


def test_what_only_the_driver_does_is_refused(dbg: Any, spark: Any, path: Path, tight: None) -> None:
    spark.read.parquet(str(path)).createOrReplaceTempView("numbers")
    frame = spark.sql("select k, sum(s) s from (select k, sum(j) over (partition by k order by id) s from numbers) group by k")
    with pytest.raises(TooLargeError, match="maxResultSize"):
        dbg.lineage(frame).where("k = 1").goBackAll().count()
    with pytest.raises(TooLargeError, match="larger than the driver takes"):
        dbg.index(spark.sql("select id, max(j) from numbers group by id"))
