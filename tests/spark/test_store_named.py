"""A store that a user names: where data are, whose programs read what they read without it, and by sessions that share it."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.errors import StoreError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("data")
    (made / "a.txt").write_text("x 1\ny 2\nx 3\n")
    return made


@pytest.fixture(scope="module")
def beside(spark: Any, data: Path) -> Iterator[Any]:
    """A session whose store is in the folder of the data, with a run in it."""
    bigdebug.attach(spark).detach()
    session = bigdebug.attach(spark, store=data)
    with session.capture():
        counts(session, data).collect()
    assert [*session.store.rglob("*.block")]
    yield session
    session.detach()


def counts(session: Any, data: Path) -> Any:
    return session.context.textFile(str(data), 2).map(lambda line: (line[0], 1)).reduceByKey(add, 2)


def test_what_reads_the_folder_reads_the_data(beside: Any, data: Path) -> None:
    lines = ["x 1", "x 3", "y 2"]
    assert beside.store.parent == data
    assert sorted(beside.context.textFile(str(data)).collect()) == lines
    assert [name.rpartition("/")[2] for name, _ in beside.context.wholeTextFiles(str(data)).collect()] == ["a.txt"]
    for options in ({}, {"recursiveFileLookup": "true"}):
        assert sorted(row.value for row in beside.spark.read.options(**options).text(str(data)).collect()) == lines


def test_tables_with_partitions_are_read_as_ever(spark: Any, beside: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(n, n % 2) for n in range(6)], "n int, part int")
    frame.write.partitionBy("part").parquet(str(tmp_path / "table"))
    beside.detach()
    with_store = bigdebug.attach(spark, store=tmp_path / "table")
    try:
        with with_store.capture():
            with_store.context.parallelize(range(4), 2).map(lambda n: (n % 2, n)).reduceByKey(add, 2).collect()
        assert [*with_store.store.rglob("*.block")]
        assert sorted(map(tuple, spark.read.parquet(str(tmp_path / "table")).collect())) == [(n, n % 2) for n in (0, 1, 2, 3, 4, 5)]
    finally:
        with_store.detach()


def test_a_store_that_goes_with_what_is_written_over_its_folder_is_derived_anew(spark: Any, tmp_path: Path) -> None:
    """mode("overwrite") removes all that is in a folder."""
    (tmp_path / "lines.txt").write_text("x 1\ny 2\nx 3\n")
    session = bigdebug.attach(spark, store=tmp_path / "table")
    try:
        sums = counts(session, tmp_path / "lines.txt")
        with session.capture():
            sums.collect()
        with session.capture() as written:
            spark.range(5).write.mode("overwrite").parquet(str(tmp_path / "table"))
        assert written.latest.status == "succeeded"
        assert not [*session.store.rglob("*.block")]
        assert sorted(sums.getLineage().where(lambda pair: pair[0] == "x").goBackAll().collect()) == ["x 1", "x 3"]
        assert session.store.stat().st_mode & 0o077 == 0
        assert spark.read.parquet(str(tmp_path / "table")).count() == 5
        session.forget()
    finally:
        session.detach()


def test_a_session_that_shares_its_context_keeps_its_lineage_there_or_is_refused(spark: Any, tmp_path: Path) -> None:
    first = bigdebug.attach(spark, store=tmp_path / "one")
    other = spark.newSession()
    try:
        with pytest.raises(StoreError, match=rf"keeps its lineage in {first.store} already"):
            bigdebug.attach(other, store=tmp_path / "other")
        assert not (tmp_path / "other").exists()
        second = bigdebug.attach(other, store=tmp_path / "one")
        assert second.store == first.store
        assert [*(tmp_path / "one").iterdir()] == [first.store]
        second.detach()
        with first.capture() as run:  # it is still attached
            assert first.context.parallelize(range(4), 2).map(str).count() == 4
        assert run.latest.status == "succeeded"
    finally:
        first.detach()


def test_a_session_that_was_made_of_one_which_is_detached_since_keeps_its_lineage_where_it_says(spark: Any, tmp_path: Path) -> None:
    first = bigdebug.attach(spark, store=tmp_path / "one")
    other = spark.newSession()
    first.detach()
    second = bigdebug.attach(other, store=tmp_path / "other")
    try:
        assert second.store.parent == tmp_path / "other"
        with second.capture() as run:
            assert second.context.parallelize(range(4), 2).map(lambda n: n % 2).countByValue() == {0: 2, 1: 2}
        assert run.latest.status == "succeeded"
        assert (len(first.runs), other.sparkContext, spark.sparkContext) == (0, second.context, first.plain_context)
    finally:
        second.detach()
    assert other.sparkContext is first.plain_context
