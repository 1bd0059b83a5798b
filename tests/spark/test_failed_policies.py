"""Runs that go on from some crashes and fail of others: what they failed of, and what Spark keeps of them (FEATURES B2, B3)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug.spark.rdd.crashes import diagnosis
from bigdebug.trace.run import Run


def failed(dbg: Any, action: Callable[[], Any], **how: Any) -> Run:
    with pytest.raises(Exception, match="Python worker") as raised, dbg.capture(**how) as capture:
        action()
    run: Run = capture.latest
    assert run.status == "failed"
    # What the policy went on from is not what the job failed of.
    failed_of = {culprit.exception_type for culprit in run.culprits.failed_of}
    spared = {culprit.exception_type for culprit in run.culprits.known} - failed_of
    assert not any(kind in note.splitlines()[0] for note in raised.value.__notes__ for kind in spared)
    return run


def told(run: Run) -> list[str]:
    return sorted(f"{culprit.exception_type} {culprit.record[0] if isinstance(culprit.record, tuple) else culprit.record}" for culprit in run.culprits)


@pytest.fixture
def ints(dbg: Any) -> Any:
    return dbg.context.parallelize(["1", "y", "3", "4"], 2).map(int)


def by_key(ints: Any) -> Any:
    return ints.map(lambda n: (n % 2, n)).groupByKey(2)


# ---- what it failed of --------------------------------------------------------------------------------------------


def test_a_later_stage_crashes_behind_what_was_left_out(dbg: Any, ints: Any) -> None:
    run = failed(dbg, by_key(ints).map(lambda kv: 1 // kv[0]).collect, on_crash={ints: "skip"})
    assert told(run) == ["ValueError y", "ZeroDivisionError 0"]
    assert run.culprits.unknown == []
    assert [source.record for culprit in run.culprits for source in culprit.sources] == ["y", "4"]
    assert "1 of them with ZeroDivisionError" in run.culprits.summary()
    assert run.resume(skip=True).result == [1]
    resumed = run.resume(skip=[culprit for culprit in run.culprits if culprit.exception_type == "ZeroDivisionError"])
    assert (resumed.result, told(resumed.run)) == ([1], ["ValueError y", "ZeroDivisionError 0"])
    assert run.resume(repair={run.culprits[1]: (1, [])}).result == [1, 1]


def test_a_worker_ends_behind_what_was_left_out(dbg: Any, ints: Any) -> None:
    run = failed(dbg, by_key(ints).map(lambda kv: kv[0] or os._exit(1)).collect, on_crash="skip")
    assert told(run) == ["ValueError y", "WorkerEnded 0"]
    assert run.resume(skip=True).result == [1]


def test_a_merge_crashes_on_what_came_in_the_place_of_another(dbg: Any, ints: Any) -> None:
    def merge(a: int, b: int) -> int:
        assert b != 7
        return a + b

    sums = ints.map(lambda n: (n % 2, n)).partitionBy(2).reduceByKey(merge)
    run = failed(dbg, sums.collect, on_crash=lambda text: "7")
    assert told(run) == ["AssertionError 1", "ValueError y"]
    assert sorted(run.resume(skip=True).result) == [(0, 4), (1, 4)]


def each(part: Iterator[int]) -> Iterator[float]:
    total = 0.0
    for n in part:
        total += 6 // n
        yield total


@pytest.mark.parametrize("behind", [lambda ints: ints.map(lambda n: 6 // n), lambda ints: ints.mapPartitions(each)])
def test_what_crashes_on_what_came_in_the_place_of_another(behind: Callable[[Any], Any], dbg: Any) -> None:
    ints = dbg.context.parallelize(["1", "y", "2"], 1).map(int)
    run = failed(dbg, behind(ints).collect, on_crash={ints: lambda text: "0"})
    assert told(run) == ["ValueError y", "ZeroDivisionError 0"]
    assert [source.record for source in run.culprits[1].sources][-1] == "y"
    first, *_, last = run.resume(skip=True).result
    assert (first, last) in [(6, 3), (6, 9)]
    assert run.resume(repair={run.culprits[1]: 3}).result in ([6, 2, 3], [6, 8, 11])


def test_what_finished_without_having_told_is_looked_at(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark takes a task for finished that ends when its stage has failed, and nobody hears what it left out."""

    def slowly(text: str) -> Any:
        time.sleep(1 if text == "1" else 0)
        return text if text == "x" else int(text)

    of_spark = diagnosis.failed_stages
    monkeypatch.setattr(diagnosis, "failed_stages", lambda *asked: [replaced(stage) for stage in of_spark(*asked)])

    def replaced(stage: Any) -> Any:
        return stage._replace(finished=stage.finished | {0})

    numbers = dbg.context.parallelize(["1", "y", "x", "4"], 2).map(slowly)
    run = failed(dbg, numbers.map(lambda n: n + 1).collect, on_crash={numbers: "skip"})
    assert told(run) == ["TypeError x", "ValueError y"]


# ---- what Spark keeps of it ---------------------------------------------------------------------------------------


def test_a_cache_that_was_filled_before_the_job_failed_is_not_read_by_others(dbg: Any) -> None:
    numbers = dbg.context.parallelize(["1", "y"], 1).map(int).cache()
    failed(dbg, numbers.map(lambda n: n / 0).collect, on_crash={numbers: "skip"})
    with pytest.raises(Exception, match="invalid literal"), dbg.capture():
        numbers.collect()
    numbers.unpersist()


def test_what_a_question_computes_is_not_read_by_others_and_nobody_gets_a_second_letter(dbg: Any, ints: Any, tmp_path: Path) -> None:
    sums = ints.map(lambda n: (n % 2, n)).reduceByKey(lambda a, b: a + b, 2).mapValues(lambda n: n)
    with dbg.capture(on_crash="skip", strategy="lazy", letters=tmp_path):
        assert sorted(sums.collect()) == [(0, 4), (1, 4)]
    assert sums.getLineage().where(lambda kv: kv[0] == 1).goBackAll().collect() == ["1", "3"]
    assert len(bigdebug.read_letters(tmp_path)) == 1
    with pytest.raises(Exception, match="invalid literal"), dbg.capture():
        sums.collect()


def test_what_a_diagnosis_computes_is_not_read_by_others(dbg: Any, ints: Any) -> None:
    grouped = by_key(ints)
    assert len(failed(dbg, grouped.map(lambda kv: 1 // kv[0]).collect, on_crash={ints: "skip"}).culprits) == 2
    with pytest.raises(Exception, match="invalid literal"), dbg.capture():
        grouped.collect()


# ---- whose jobs it governs ----------------------------------------------------------------------------------------


def test_a_job_of_a_thread_that_ran_before_loses_nothing(dbg: Any) -> None:
    go: threading.Event = threading.Event()
    done: dict[str, Any] = {}

    def job(name: str) -> None:
        go.wait(60)
        try:
            done[name] = dbg.context.parallelize(["1", "x"], 1).map(int).collect()
        except Exception as problem:
            done[name] = type(problem).__name__

    before = threading.Thread(target=job, args=("before",))
    before.start()
    with dbg.capture(on_crash="skip") as capture:
        within = threading.Thread(target=job, args=("within",))
        within.start()
        go.set()
        before.join()
        within.join()
    assert done == {"before": "PythonException", "within": [1]}
    assert sorted(run.status for run in capture.runs) == ["failed", "succeeded"]


# ---- what it adds to accumulators ---------------------------------------------------------------------------------


def test_what_is_tried_adds_to_no_accumulator(dbg: Any) -> None:
    """Each record once, and those once more that are given again behind a crash."""
    calls = dbg.context.accumulator(0)

    def inverse(text: str) -> int:
        calls.add(1)
        return 10 // int(text)

    with dbg.capture(on_crash="skip"):
        assert dbg.context.parallelize(["1", "2", "0"], 1).mapPartitions(lambda part: [inverse(text) for text in part]).collect() == [10, 5]
    assert calls.value == 5
