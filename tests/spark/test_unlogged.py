"""What PySpark prints of queries that fail is printed as often as without bigdebug: our own calls, which Spark fails, too, print nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger

from bigdebug.spark.unlogged import unlogged

LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class Heard(logging.Handler):
    """A handler of the user's: the threads that something was printed in."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.threads.append(threading.current_thread().name)


@pytest.fixture
def heard() -> Iterator[list[str]]:
    handler = Heard()
    loggers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.threads
    before = len(handler.threads)
    for logger in loggers:
        logger.warning("heard, as nothing of ours is left here")
        logger.removeHandler(handler)
    assert handler.threads[before:] == [threading.current_thread().name] * len(loggers)


def failing(query: Callable[[], Any]) -> None:
    with pytest.raises(PySparkException):
        query()


def test_a_thread_that_was_kept_from_leaving_is_heard_again(heard: list[str]) -> None:
    """By an interruption that came when it left."""
    left = unlogged()
    left.__enter__()
    logger = PySparkLogger.getLogger(LOGGERS[0])
    logger.warning("muted")
    with unlogged():
        logger.warning("muted")
    logger.warning("still muted")
    assert heard == []
    left.gen = iter(())  # it is let go of, and never left
    logger.warning("heard")
    assert heard == [threading.current_thread().name]


@pytest.mark.parametrize("text", [
    "select missing from range(9)",  # not understood
    "select 1 / k from (select id, 0 as k from range(9)) where k = 0",  # thrown while it is planned
    "select 1 / (id - 7) from range(9)",  # thrown by a task
])
def test_a_query_that_fails_is_printed_once(dbg: Any, heard: list[str], text: str) -> None:
    failing(lambda: dbg.spark.sql(text).collect())
    for strategy in ("auto", "inject", "defer"):
        with dbg.capture("failed", strategy=strategy):
            failing(lambda: dbg.spark.sql(text).collect())
    for run in dbg.runs:
        len(run.culprits)
    dbg.datasets.find("")  # waits until all of them are recorded
    assert heard == [threading.current_thread().name] * 4


def test_the_rows_behind_an_rdd_that_fail_are_printed_once(dbg: Any, heard: list[str]) -> None:
    with dbg.capture("failed") as run:
        failing(dbg.spark.sql("select 1 / (id - 7) from range(9)").rdd.map(lambda row: row[0]).collect)
    len(run.culprits)
    assert len(heard) == 1


def test_trials_that_fail_are_not_printed(dbg: Any, heard: list[str]) -> None:
    frame = dbg.spark.sql("select id % 3 as g, sum(id) as s, 1 / (count(*) - 1) as c from range(20) group by id % 3")
    with dbg.capture("sums"):
        frame.collect()
    assert dbg.localize(frame, lambda row: row.s > 60).fault_sets
    dbg.datasets.find("")
    assert not heard


def test_queries_of_the_users_are_printed_where_their_jobs_are_followed(dbg: Any, heard: list[str], tmp_path: Path) -> None:
    with dbg.following() as jobs:
        failing(dbg.spark.sql("select 1 / (id - 7) from range(9)").collect)
        with dbg.capture("followed") as run:
            failing(dbg.spark.sql("select 1 / (id - 7) from range(9)").collect)
        assert [culprit.record.id for culprit in run.culprits] == [7]
        dbg.spark.range(3).write.parquet(str(tmp_path / "written"))
    assert len(heard) == 2
    assert jobs.tasks
    assert len(dbg.datasets.find(str(tmp_path / "written"))) == 1, "what they do with datasets is recorded"


def test_queries_of_a_test_of_the_users_are_printed(dbg: Any, heard: list[str]) -> None:
    frame = dbg.spark.range(6).selectExpr("id", "id * 10 as n")
    with dbg.capture("numbers"):
        frame.collect()
    calls = []

    def wrong(rows: list[Any]) -> bool:
        calls.append(len(rows))
        with suppress(PySparkException):
            dbg.spark.sql("select missing from range(9)")
        return any(row.id == 4 for row in rows)

    assert dbg.localize(frame, whole=wrong).fault_sets
    dbg.datasets.find("")  # waits until all of them are recorded
    assert len(heard) == len(calls) > 1


def test_what_other_threads_print_is_printed(heard: list[str]) -> None:
    logger = PySparkLogger.getLogger(LOGGERS[0])
    with unlogged():
        logger.error("ours")
        with unlogged():
            pass
        logger.error("ours, still")
        other = threading.Thread(target=logger.error, args=("the user's",), name="the user's")
        other.start()
        other.join()
    assert heard == ["the user's"]
    logger.error("the user's, in this thread")
    assert len(heard) == 2
