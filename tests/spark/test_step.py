"""Simulated breakpoints: a record stepped through the operators of its program (FEATURES B5)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from bigdebug.errors import ReplayError


def test_a_culprit_steps_into_what_it_crashed(dbg: Any) -> None:
    numbers = dbg.context.parallelize(["1", "x"], 1).map(lambda text: 1 + int(text))
    with pytest.raises(Exception, match="invalid literal"), dbg.capture() as run:
        numbers.count()
    [stepped] = dbg.step(run.culprits[0])
    assert stepped.record == "x"
    assert stepped.outputs == ()
    assert isinstance(stepped.raised, ValueError)
    assert "      text = 'x'" in repr(stepped)


def test_a_record_goes_on_from_operator_to_operator(dbg: Any) -> None:
    words = dbg.context.parallelize(["a b", "c"], 1)
    parts = words.flatMap(str.split)
    kept = parts.filter(lambda word: word != "a")
    pairs = kept.map(lambda word: (word, 1))
    counts = pairs.reduceByKey(lambda a, b: a + b)
    with dbg.capture():
        counts.collect()
    [split] = dbg.step(counts.getLineage().back_to(words).at([0]))
    assert split.outputs == ("a", "b")
    [dropped] = split.next()
    assert dropped.outputs == ()
    assert "gave nothing" in repr(dropped)
    [passed] = split.next(1)
    [paired] = passed.next()
    assert paired.outputs == (("b", 1),)
    assert paired.operator.id == pairs._definition.operator.id
    assert paired.next() == []  # behind it, records meet others


def test_functions_are_those_of_the_run(dbg: Any) -> None:
    factor = [2]
    source = dbg.context.parallelize([5], 1)
    scaled = source.map(lambda n: n * factor[0])
    with dbg.capture():
        scaled.collect()
    factor[0] = 100
    [stepped] = dbg.step(scaled.getLineage().goBackAll())
    assert stepped.outputs == (10,)


def test_under_the_debugger(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr("pdb.Pdb.runcall", lambda self, function, record: called.append(record) or function(record))
    source = dbg.context.parallelize([5], 1)
    with dbg.capture():
        doubled = source.map(lambda n: n * 2)
        doubled.collect()
    assert dbg.step(doubled.getLineage().goBackAll(), debug=True)[0].outputs == (10,)
    assert called == [5]


def test_what_cannot_be_stepped_says_why(dbg: Any, spark: Any) -> None:
    whole = dbg.context.parallelize(["x"], 1).mapPartitions(lambda part: [int(text) for text in part])
    with pytest.raises(Exception, match="invalid literal"), dbg.capture() as run:
        whole.count()
    with pytest.raises(ReplayError, match="takes more than a record at a time"):
        dbg.step(run.culprits[0])
    with pytest.raises(TypeError, match="takes a culprit"):
        dbg.step(3)


def test_a_worker_that_ended_does_not_take_this_process_along(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(n: int) -> int:
        if n == 2:
            os._exit(7)
        return n

    numbers = dbg.context.parallelize(range(4), 1)
    ending = numbers.map(ends)
    with pytest.raises(Exception, match="Python worker"), dbg.capture() as run:
        ending.collect()
    with pytest.raises(ReplayError, match=r"A Python worker ended in map.*, on 2, and this process would end"):
        dbg.step(run.culprits[0])
    with pytest.raises(ReplayError, match="debug=True"):
        dbg.step(run.culprits[0].trace)  # on whichever way the record comes there
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 0.0)
    with pytest.raises(Exception, match="Python worker"), dbg.capture():
        ending.count()
    with pytest.raises(ReplayError, match="A Python worker ended"):
        dbg.step(numbers.getLineage())  # nobody had asked for culprits, and the exception did not wait for one
    called = []
    monkeypatch.setattr("pdb.Pdb.runcall", lambda self, function, record: called.append(record))
    dbg.step(run.culprits[0], debug=True)  # who asks for it can quit before that line
    assert called == [2]


def test_what_ends_no_worker_is_stepped_beside_what_does(dbg: Any) -> None:
    def either(n: int) -> float:
        if n == 2:
            os._exit(7)
        return 10 / n

    numbers = dbg.context.parallelize(range(4), 1)
    with pytest.raises(Exception, match=r"Python worker|ZeroDivision"), dbg.capture() as run:
        numbers.map(either).collect()
    of_zero = next(culprit for culprit in run.culprits if culprit.record == 0)
    assert {culprit.exception_type for culprit in run.culprits} == {"ZeroDivisionError", "WorkerEnded"}
    assert isinstance(dbg.step(of_zero)[0].raised, ZeroDivisionError)
    assert dbg.step(numbers.getLineage().where(lambda n: n == 1))[0].outputs == (10.0,)


class Lazy:
    """What it makes of itself when it is asked is in none of its pickles."""

    def __init__(self, n: int) -> None:
        self.n, self.cache = n, {"n": n}

    def __getstate__(self) -> dict[str, int]:
        return {"n": self.n}


def test_what_a_class_leaves_out_of_its_pickles_is_there_for_the_next_function(dbg: Any) -> None:
    asked = dbg.context.parallelize(range(3), 1).map(Lazy).map(lambda lazy: lazy.cache["n"] * 2)
    with dbg.capture():
        assert asked.collect() == [0, 2, 4]
    first = dbg.step(asked.getLineage().goBackAll())[1]
    [after] = first.next()
    assert after.outputs == (2,)
    assert "Lazy says itself what is copied of it. So it is given itself" in after.note


def test_what_was_stepped_stays_what_it_was(dbg: Any) -> None:
    """Functions that change what they are given are given copies, so the next answer is that of the first time."""
    lists = dbg.context.parallelize([[1]], 1)
    kept = lists.map(lambda one: one)
    changed = kept.map(lambda one: (one.append(9), one)[1])
    with dbg.capture():
        assert changed.collect() == [[1, 9]]
    [stepped] = dbg.step(changed.getLineage().goBackAll())
    assert [stepped.next()[0].outputs for _ in range(3)] == [([1, 9],)] * 3
    assert stepped.outputs == ([1],)


def test_a_culprit_keeps_its_record(dbg: Any) -> None:
    popped = dbg.context.parallelize([[5, 0]], 1).map(lambda pair: 10 // pair.pop())
    with pytest.raises(Exception, match="ZeroDivisionError"), dbg.capture() as run:
        popped.collect()
    culprit = run.culprits[0]
    before = list(culprit.record)
    for _ in range(2):
        assert dbg.step(culprit)[0].record == culprit.record == before


def test_one_object_that_is_given_again_and_again(dbg: Any) -> None:
    def growing(n: int) -> Iterator[list[int]]:
        grown: list[int] = []
        for each in range(n):
            grown.append(each)
            yield grown

    numbers = dbg.context.parallelize([3], 1)
    lengths = numbers.flatMap(growing).filter(lambda grown: grown.append(7) or True).map(len)
    with dbg.capture():
        assert lengths.collect() == [2, 4, 6]
    [stepped] = dbg.step(lengths.getLineage().goBackAll())
    assert stepped.outputs == ([0], [0, 1], [0, 1, 2])
    [kept] = stepped.next(1)
    assert (kept.record, kept.outputs) == ([0, 1], ([0, 1, 7],))


def test_what_cannot_be_copied_is_given_itself_and_that_is_said(dbg: Any) -> None:
    numbers = dbg.context.parallelize([3], 1)
    sums = numbers.map(lambda n: (m for m in range(n))).map(sum)
    with dbg.capture():
        assert sums.collect() == [3]
    [stepped] = dbg.step(sums.getLineage().goBackAll())
    assert stepped.note == ""
    [summed] = stepped.next()
    assert summed.outputs == (3,)
    assert "An iterator cannot be looked at" in summed.note
    assert summed.note in repr(summed)
