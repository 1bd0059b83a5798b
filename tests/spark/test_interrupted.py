"""Interrupts x operations: the notebook's stop button, in the middle of each (issue 10).

Jupyter gives its kernel a SIGINT while Python's own handler is in place, so that nothing of PySpark's cancels a job.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from operator import add
from pathlib import Path
from typing import Any

import pytest
from py4j.clientserver import JavaClient
from py4j.protocol import MEMORY_COMMAND_NAME
from pyspark.sql.functions import udf

from bigdebug.spark.deferred import Deferred
from bigdebug.spark.jobs import tagged
from tests.interrupting import interrupted
from tests.left import active, nothing_left
from tests.operations import FIRSTS, FRAMES, LINES, RDDS, Operation

MOMENTS = 3
SOONER = ("rdd traced back, derived", "frame diagnosed")
CELLS = [
    pytest.param(operation, id=f"{kind} {operation}", marks=() if f"{kind} {operation}" in SOONER else pytest.mark.slow)
    for kind, operations in (("rdd", RDDS), ("frame", FRAMES)) for operation in operations
]


@pytest.fixture(autouse=True)
def as_in_a_notebook() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt(after: float) -> threading.Timer:
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    return timer


@pytest.mark.many
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # sockets that PySpark was reading from
@pytest.mark.parametrize("operation", CELLS)
def test_interrupted(dbg: Any, tmp_path: Path, untold: None, operation: Operation) -> None:
    """Who asked gets the KeyboardInterrupt (of a localization what is known by then), and what was asked, when it is asked again; nothing runs on."""
    made = operation.prepare(dbg, tmp_path)
    began = time.monotonic()
    assert operation.act(made) == operation.expected
    lasts = time.monotonic() - began
    dice = random.Random(operation.name)
    del made
    with nothing_left(dbg):
        came = [in_the_middle(operation, dbg, tmp_path, lasts * (part + dice.random()) / MOMENTS) for part in range(MOMENTS)]
    assert any(came)


def in_the_middle(operation: Operation, dbg: Any, folder: Path, after: float) -> bool:
    """Whether it was interrupted before it had ended. What is held here, Spark lets go of with it."""
    made = operation.prepare(dbg, folder)
    came = True
    try:
        timer = interrupt(after)  # of which the first moments are within: it may come before anything was asked
        found = operation.act(made)
        timer.join()
        time.sleep(0.01)
    except KeyboardInterrupt:
        pass
    else:
        assert found in (operation.expected, operation.interrupted)
        came = found == operation.interrupted
    if operation is FRAMES[0]:  # a DataFrame keeps what its stages failed of, be it that they were cancelled: PySpark's own does, without us, too
        made = operation.prepare(dbg, folder)
    assert operation.act(made) == operation.expected
    return came


@pytest.mark.parametrize("operation", CELLS)
def test_whatever_an_operation_asks_of_spark_an_interruption_is_raised_behind(dbg: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: Operation) -> None:
    made, asked, call = operation.prepare(dbg, tmp_path), Counter[bool](), JavaClient.send_command

    def send(client: Any, command: str, *args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is threading.main_thread() and not command.startswith(MEMORY_COMMAND_NAME):  # garbage may be collected anywhere
            asked[isinstance(signal.getsignal(signal.SIGINT), Deferred)] += 1
        return call(client, command, *args, **kwargs)

    monkeypatch.setattr(JavaClient, "send_command", send)
    assert operation.act(made) == operation.expected
    assert asked[False] == 0
    assert asked[True] or operation.name == "diagnosed"  # some culprits are known by the time that the action has failed


def test_a_question_that_is_interrupted_closes_no_connection_to_spark(sc: Any) -> None:
    """Py4J would close all, and again when the call has ended in Spark's process: then whatever is asked at that moment fails."""
    client = sc._gateway._gateway_client
    here = client.get_thread_connection()

    def asked() -> None:
        interrupt(0.3)
        with tagged(sc):
            sc.parallelize(range(2), 2).foreach(lambda _: time.sleep(20))

    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            asked()
        assert time.monotonic() - began < 10
        assert client.get_thread_connection() is here
        assert here.is_connected


@pytest.mark.slow
def test_a_captured_job_that_is_interrupted_may_be_called_again_at_once(dbg: Any, tmp_path: Path) -> None:
    """What it has computed, Spark takes for the next one as well: its lineage is whole."""

    def slowly(line: str) -> str:
        time.sleep(0.01)
        return line

    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    counts = dbg.context.textFile(str(path), 4).map(slowly).map(lambda line: (line.split()[0], 1)).reduceByKey(add, 2)
    with nothing_left(dbg):
        interrupt(0.5)
        with dbg.capture("interrupted") as run, pytest.raises(KeyboardInterrupt):
            counts.collect()
        assert active(dbg) == []
        assert run.status == "failed"
        assert run.culprits.complete
        with dbg.capture("again") as run:
            assert dict(counts.collect()) == FIRSTS
        assert run.incomplete == ()
        assert sorted(origin.line for origin in counts.getLineage().where(lambda pair: pair[0] == "7").goBackAll().origins()) == [
            number for number, line in enumerate(LINES, 1) if line.startswith("7 ")
        ]


def parsed(n: int) -> int:
    if n in (3, 6, 7):
        raise ValueError(n)
    return n


@pytest.mark.slow  # a diagnosis for each line
@pytest.mark.parametrize("kind", ["rdd", "frame"])
def test_no_culprit_is_lost_at_whichever_line_who_asks_is_interrupted(dbg: Any, kind: str) -> None:
    numbers = dbg.context.parallelize(range(8), 4).map(parsed) if kind == "rdd" else dbg.spark.range(0, 8, 1, 4).select(udf(parsed, "long", useArrow=False)("id"))
    for after in count():
        with dbg.capture("crashes") as runs, pytest.raises(Exception, match="ValueError"):
            numbers.collect()
        culprits = runs.latest.culprits
        with interrupted(after, "/trace/culprits.py") as came:
            len(culprits)
        assert sorted(culprit.record if kind == "rdd" else culprit.record.id for culprit in culprits) == [3, 6, 7], came.where
        assert culprits.unknown == []
        dbg.forget()
        if came.where is None:
            return


@pytest.mark.slow
@pytest.mark.parametrize("part", range(3))
def test_a_job_that_is_captured_again_is_whole_at_whichever_line_its_run_was_not_made(dbg: Any, part: int) -> None:
    """Spark computes no shuffle again, whose tasks told of themselves before the interruption."""
    for after in count(part, 3):
        sums = dbg.context.parallelize(range(9), 2).map(lambda n: (n % 3, n)).reduceByKey(add, 2)
        with interrupted(after, "/rdd/runs.py") as came, dbg.capture("interrupted"):
            sums.collect()
        with dbg.capture("again") as run:
            assert sorted(sums.collect()) == [(0, 9), (1, 12), (2, 15)]
        assert run.incomplete == (), came.where
        for _ in range(2):
            assert sums.getLineage().where(lambda pair: pair[0] == 1).goBackAll().collect() == [1, 4, 7]
            with dbg.capture("other action"):
                sums.count()
        dbg.forget()
        assert not any(dbg.store.iterdir()), came.where
        if came.where is None:
            return
