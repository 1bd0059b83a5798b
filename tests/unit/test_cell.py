"""Cells: calls in a process of their own end that process and no other."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from bigdebug.agents.guards.cell import Cell, CellError, Confined, ConfinedStream, ConfinedTable
from bigdebug.agents.guards.flight import WorkerEnded


def deadly(n: int) -> Any:
    if n == 3:
        os._exit(0)
    if n == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 5:
        ctypes.string_at(0)
    if n == 6:
        raise ValueError("soft")
    if n == 7:
        return lambda: n
    return n, os.getpid()


def a_function() -> Any:
    return Confined(Cell(lambda: deadly, pickle.dumps))


def test_a_call_gives_what_the_function_gives_in_another_process() -> None:
    call = a_function()
    (one, there), (two, again) = call(1), call(2)
    assert (one, two) == (1, 2)
    assert there == again != os.getpid()


@pytest.mark.parametrize("n", [3, 4, 5])
def test_a_process_that_ends_is_an_exception_and_the_next_call_has_another(n: int) -> None:
    call = a_function()
    before = call(1)[1]
    with pytest.raises(WorkerEnded) as raised:
        call(n)
    assert ("Segmentation fault" in str(raised.value)) == (n == 5)
    assert [line.function for line in raised.value.raised.lines][-2:] == (["deadly", "string_at"] if n == 5 else [])
    assert call(1)[1] not in (before, os.getpid())


def test_what_is_raised_there_is_raised_here() -> None:
    call = a_function()
    kinds = set()
    for _ in range(2):
        with pytest.raises(Exception, match="soft") as raised:
            call(6)
        kinds.add(raised.type)
    assert [kind.__name__ for kind in kinds] == ["ValueError"]
    assert raised.value.raised.line.function == "deadly"


def test_what_cannot_cross_is_no_crash_of_the_function() -> None:
    with pytest.raises(CellError, match="lambda"):
        a_function()(7)


def test_a_function_that_cannot_be_made_raises_at_its_first_call() -> None:
    def make() -> Any:
        raise ImportError("no such thing")

    with pytest.raises(Exception, match="no such thing") as raised:
        Confined(Cell(make, pickle.dumps))(1)
    assert raised.type.__name__ == "ImportError"


def test_a_function_of_batches_is_given_each_in_turn() -> None:
    def doubled(batches: Iterable[list[int]]) -> Iterator[list[int]]:
        for batch in batches:
            yield [deadly(n)[0] * 2 for n in batch]

    call = ConfinedStream(Cell(lambda: doubled, pickle.dumps))
    assert list(call(iter([[1], [2, 8]]))) == [[2], [4, 16]]
    with pytest.raises(WorkerEnded):
        list(call(iter([[1], [3]])))


class Counting:
    def __init__(self) -> None:
        self.seen = 0

    def eval(self, n: int) -> Iterator[tuple[int]]:
        self.seen += 1
        yield (deadly(n)[0],)

    def terminate(self) -> Iterator[tuple[int]]:
        yield (self.seen,)


def test_an_instance_keeps_its_state_also_when_its_process_ends() -> None:
    table = ConfinedTable(Counting, Cell(Counting, pickle.dumps), pickle.dumps)
    assert [table.eval(1), table.eval(2), table.terminate()] == [[(1,)], [(2,)], [(2,)]]
    with pytest.raises(WorkerEnded):
        table.eval(3)
    assert table.terminate() == [(2,)]
    with pytest.raises(WorkerEnded):
        table.eval(3)
    assert [table.eval(1), table.terminate()] == [[(1,)], [(3,)]]
    assert not hasattr(table, "cleanup")


def test_rows_that_are_too_many_to_keep_are_not_forgotten_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.agents.guards.cell.KEPT_BYTES", 100)
    table = ConfinedTable(Counting, Cell(Counting, pickle.dumps), pickle.dumps)
    assert [table.eval(1) for _ in range(10)] == [[(1,)]] * 10
    with pytest.raises(WorkerEnded):
        table.eval(3)
    with pytest.raises(CellError, match="more than 0 MB of rows"):
        table.terminate()


def test_a_closed_cell_leaves_no_process() -> None:
    cell = Cell(lambda: deadly, pickle.dumps)
    _, process = cell.call("__call__", 1)
    cell.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def pooled(n: int) -> list[int]:
    with get_context("fork").Pool(1) as pool:
        return pool.map(abs, [-n])


def test_a_function_may_start_processes() -> None:
    assert Confined(Cell(lambda: pooled, pickle.dumps))(3) == [3]


def test_a_cell_does_not_outlive_who_made_it() -> None:
    program = """
import os, pickle, signal, sys, threading, time
from bigdebug.agents.guards.cell import Cell
cell = Cell(lambda: os.getpid, pickle.dumps)
print(cell.call("__call__"), flush=True)
busy = Cell(lambda: (lambda: print(os.getpid(), flush=True) or time.sleep(600)), pickle.dumps)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
busy.call("__call__")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    for cell in map(int, done.stdout.split()):
        until = time.monotonic() + 10
        while Path(f"/proc/{cell}").exists() and time.monotonic() < until:
            time.sleep(0.1)
        assert not Path(f"/proc/{cell}").exists()
    assert len(done.stdout.split()) == 2
