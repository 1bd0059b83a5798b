"""Hard crashes: a worker that segfaults, exits or is killed names the records in flight (FEATURES U5)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from bigdebug.spark.rdd import diagnosis
from bigdebug.trace.culprits import Culprits


def deadly(n: int) -> int:
    if n == 7:
        os._exit(3)
    if n == 12:
        ctypes.string_at(0)
    if n == 15:
        raise ValueError("soft")
    if n == 25:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def culprits_of(dbg: Any, action: Callable[[], Any], captured: bool = True) -> Culprits:
    before = len(dbg.runs)
    with pytest.raises(Exception, match="Python worker exited unexpectedly"), dbg.capture("crash") if captured else nullcontext():
        action()
    found: Culprits = dbg.runs[before].culprits
    return found


@pytest.mark.parametrize("captured", [True, False])
def test_every_record_that_a_worker_ends_on(captured: bool, dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(30), 3).map(str).map(int).map(deadly).count, captured)
    assert [(c.record, c.exception_type) for c in found] == [
        (7, "WorkerEnded"), (12, "WorkerEnded"), (15, "ValueError"), (25, "WorkerEnded"),
    ]
    assert [c.sources[0].origin.index for c in found] == [7, 12, 15, 25]
    assert found.unknown == []


def test_the_line_that_segfaults(dbg: Any) -> None:
    (culprit,) = culprits_of(dbg, dbg.context.parallelize([1, 12], 1).map(deadly).count)
    assert "Segmentation fault" in culprit.message
    assert culprit.user_line is not None
    assert Path(culprit.user_line.file).name == Path(__file__).name


@pytest.mark.parametrize(("define", "records"), [
    (lambda sc: sc.parallelize(range(10), 2).flatMap(lambda x: (y for y in [x, deadly(x)])), [7]),
    (lambda sc: sc.parallelize(range(14), 2).mapPartitions(lambda part: (deadly(x) for x in part)), [7, 12]),
    (lambda sc: sc.parallelize(range(14), 2).filter(deadly), [7, 12]),
    (lambda sc: sc.parallelize([(i % 2, i) for i in range(10)], 2).reduceByKey(lambda a, b: a + deadly(b)), [(1, 7)]),
    (lambda sc: sc.parallelize([(i, i) for i in range(10)], 2).partitionBy(2, deadly), [(7, 7)]),
    (lambda sc: sc.parallelize([(0, 3), (0, 7)], 2).partitionBy(1).reduceByKey(lambda a, b: a + deadly(b)), [(0, 7)]),
], ids=["flatMap", "mapPartitions", "filter", "reducer", "partitioner", "reducer after a shuffle"])
def test_wherever_a_worker_ends(define: Any, records: list[Any], dbg: Any) -> None:
    assert [c.record for c in culprits_of(dbg, define(dbg.context).count)] == records


def test_more_than_are_looked_for(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "MOST_ENDED", 2)
    found = culprits_of(dbg, dbg.context.parallelize([7] * 6, 1).map(deadly).count)
    assert len(found) == 0
    assert "ended on more than 2 records" in repr(found)


def test_a_record_that_ends_its_worker_is_left_out(dbg: Any) -> None:
    """By name, once it is known: a policy alone cannot catch what kills the process."""
    numbers = dbg.context.parallelize(range(10), 2)
    found = culprits_of(dbg, numbers.map(deadly).count)
    bad = {c.record for c in found}
    assert numbers.filter(lambda n: n not in bad).map(deadly).count() == 9


def test_memory_that_runs_out_is_an_exception(dbg: Any) -> None:
    with pytest.raises(Exception, match="MemoryError"), dbg.capture("crash") as run:
        dbg.context.parallelize([1, 2], 1).map(lambda n: bytearray(sys.maxsize) if n == 2 else n).count()
    assert [(c.record, c.exception_type) for c in run.culprits] == [(2, "MemoryError")]
