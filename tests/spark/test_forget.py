"""Forgetting: what runs alone hold goes, and what others need stays."""

from __future__ import annotations

import gc
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from operator import add
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.agents.stage import Report
from bigdebug.errors import NotCapturedError
from tests.spark.soaked import at_rest


def counts(sc: Any) -> Any:
    return sc.parallelize(range(20), 2).map(lambda x: (x % 3, x)).reduceByKey(add, 2)


def test_what_is_forgotten_is_refused_by_name_and_its_files_are_gone(dbg: Any) -> None:
    sums = counts(dbg.context)
    with dbg.capture("first") as first:
        sums.collect()
    trace = sums.getLineage()
    assert trace.goBackAll().count() == 20
    folder = dbg.store / first.id
    assert folder.is_dir()
    dbg.forget(first)
    assert not folder.exists()
    assert first.runs[0] not in dbg.runs
    for ask in (sums.getLineage, trace.collect, lambda: trace.at([0]).goBackAll().count(), lambda: dbg.lineage(first)):
        with pytest.raises(NotCapturedError):
            ask()
    with dbg.capture("second"):
        assert dict(sums.collect()) == {0: 63, 1: 70, 2: 57}
    assert sums.getLineage().where(lambda kv: kv[0] == 0).goBackAll().collect() == list(range(0, 20, 3))
    dbg.forget()
    assert dbg.runs == ()


def test_lineage_that_another_run_needs_stays_until_that_one_goes(dbg: Any) -> None:
    sums = counts(dbg.context)
    with dbg.capture("shuffles") as shuffles_once:
        sums.collect()
    with dbg.capture("reads") as reads:
        sums.map(lambda kv: kv[1]).collect()
    assert reads.earlier == (shuffles_once.id,)
    dbg.forget(shuffles_once)
    assert sums.getLineage().goBackAll().count() == 20
    with dbg.capture("once more"):
        sums.values().collect()
    assert sums.getLineage().where(lambda kv: kv[0] == 2).goBackAll().collect() == list(range(2, 20, 3))
    dbg.forget()
    assert not any(dbg.store.iterdir())


def test_what_a_question_derives_meanwhile_goes_as_well(dbg: Any, tmp_path: Path) -> None:
    held, gone = tmp_path / "held", tmp_path / "gone"

    def slowly(x: int) -> tuple[int, int]:
        while held.exists() and not gone.exists():
            time.sleep(0.01)
        return x % 3, x

    sums = dbg.context.parallelize(range(20), 2).map(slowly).reduceByKey(add, 2)
    with dbg.capture("lazy", strategy="lazy") as run:
        sums.collect()
    tracker = dbg.context.statusTracker()
    held.touch()
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(lambda: sums.getLineage().goBackAll().rids())
        while not tracker.getActiveJobsIds() and not asked.done():
            time.sleep(0.01)
        try:
            dbg.forget(run)
        finally:
            gone.touch()
        with pytest.raises(NotCapturedError):
            asked.result(60)
    assert not (dbg.store / run.id).exists()
    (dbg.store / run.id / "s1").mkdir(parents=True)  # by a task that was late
    dbg.forget()
    assert not (dbg.store / run.id).exists()


def test_spark_may_clean_up_behind_programs_that_are_forgotten(dbg: Any) -> None:
    """Spark removes shuffles and caches when nobody holds their RDDs any more."""
    programs = []
    for n in range(5):
        rdd = counts(dbg.context)
        with dbg.capture(f"program {n}"):
            rdd.collect()
        assert rdd.getLineage().goBackAll().replay().count() == 3
        programs += [weakref.ref(rdd), weakref.ref(rdd._compiled.exchange.rdd), weakref.ref(rdd._compiled.records.rdd)]
    del rdd
    gc.collect()
    assert all(known() is not None for known in programs), "runs answer questions"
    dbg.forget()
    gc.collect()
    assert [known() for known in programs] == [None] * len(programs)


@pytest.mark.slow
def test_nothing_is_known_of_runs_that_are_forgotten_with_their_programs(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Neither what their tasks computed, nor what they had read, nor what they wrote: a session of months has as many runs as it likes."""
    (tmp_path / "words.txt").write_text("a b\n" * 50)

    def program(number: int) -> None:
        pairs = dbg.context.textFile(str(tmp_path / "words.txt"), 2).flatMap(str.split).map(lambda word: (word, 1)).cache()
        words = pairs.reduceByKey(add, 2)
        with dbg.capture("words", strategy=("auto", "lazy", "inject")[number % 3]):
            words.collect()
            words.saveAsTextFile(str(tmp_path / f"words {number}"))
        assert words.getLineage().goBackAll().count() == 50
        frame = spark.read.text(str(tmp_path / "words.txt")).groupBy("value").count()
        with dbg.capture("frame"):
            frame.collect()
            frame.write.parquet(str(tmp_path / f"counts {number}"))
        assert frame.getLineage().goBackAll().count() == 50
        assert len(dbg.pipeline.steps) >= 4
        pairs.unpersist()

    for number in range(3):
        program(number)
    dbg.forget()
    before = at_rest(dbg)
    for number in range(3, 6):
        program(number)
        dbg.forget(dbg.runs)
    after = at_rest(dbg)
    assert after["names"] <= before["names"]
    more = after["ours"] - before["ours"]
    del more["FileStamp"]  # what files hold is remembered of so many
    assert more == {}


def test_what_tasks_told_late_is_not_kept_for_ever(dbg: Any) -> None:
    """Spark runs stages of a run once more, where an executor has ended, whose reports come when nobody waits for them."""
    with dbg.capture() as run:
        counts(dbg.context).collect()
    reports = dbg._recorder.runs.reports
    reports.add([Report(run.id, "s1", 0, 99)])
    dbg.forget()
    reports.add([Report(run.id, "s1", 0, 100, block=b"x" * 1000)])
    dbg.forget()
    assert reports.value == []


def test_a_run_of_another_session_is_not_taken_for_one_of_this(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Runs of several sessions have the same numbers. The last test here: the session of the others is detached from now on."""
    dbg.detach()
    runs, sessions = [], []
    for store in ("one", "other"):
        session = bigdebug.attach(spark, store=tmp_path / store)
        sums = counts(session.context)
        with session.capture() as run:
            sums.collect()
        sessions.append(session)
        runs.append(run.latest)
        session.detach()
    mine, others = runs
    assert mine.id == others.id
    with pytest.raises(NotCapturedError, match="another session"):
        sessions[0].forget(others)
    assert sessions[0].runs == (mine,)
    assert sessions[1].runs == (others,)
    sessions[1].forget(others)
    sessions[1].forget(others)
    assert sessions[1].runs == ()
