"""Culprits among records that a shuffle hands over: told as they came, also where a function takes them to pieces, and where several are one object."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from tests.spark.test_culprits import culprits_of, culprits_of_uncaptured

LINES = [f"{number},{number % 7},{number % 5}" for number in range(3_000)]


def cells(line: str) -> list[str]:
    return line.split(",")


def taking_apart(rows: Iterable[list[str]]) -> Iterator[tuple[int, list[str]]]:
    for row in rows:
        by = int(row.pop())
        row.append("seen")
        yield int(row[0]) // by, row


@pytest.mark.parametrize("action", ["collect", "count"])
@pytest.mark.parametrize("found_by", [culprits_of, culprits_of_uncaptured], ids=["captured", "not captured"])
def test_rows_that_a_function_takes_to_pieces(found_by: Callable[..., Any], action: str, dbg: Any) -> None:
    program = dbg.context.parallelize(LINES, 3).map(cells).repartition(4).mapPartitions(taking_apart)
    found = found_by(dbg, getattr(program, action))
    expected = [line for line in LINES if line.endswith(",0")]
    assert sorted(tuple(culprit.record) for culprit in found) == sorted(tuple(cells(line)) for line in expected)
    assert {culprit.exception_type for culprit in found} == {"ZeroDivisionError"}
    assert not found.unknown
    some = found[::50]
    assert [[source.record for source in culprit.sources] for culprit in some] == [[",".join(culprit.record)] for culprit in some]


def twice(number: int) -> list[Any]:
    """Late ones are the same object two times."""
    row = [number]
    return [row, row] if number >= 800 else [[number], [number]]


def popped(rows: Iterable[list[int]]) -> Iterator[int]:
    return (row.pop() for row in rows)


def popped_if_there(rows: Iterable[list[int]]) -> Iterator[int | None]:
    return (row.pop() if row else None for row in rows)


def test_rows_that_are_the_same_object_and_change(dbg: Any) -> None:
    """The second time there is nothing in them: told as the function found them. That they were read again is not enough to know."""
    rows = dbg.context.parallelize(range(1_000), 2).flatMap(twice).repartition(3)
    empty = rows.mapPartitions(popped_if_there).collect().count(None)  # a shuffle parts some of them
    found = culprits_of(dbg, rows.mapPartitions(popped).collect)
    assert [culprit.record for culprit in found] == [[]] * empty
    assert empty > 50
    assert not found.unknown
    behind = Counter(source.record for culprit in found for source in culprit.sources)
    assert behind.keys() <= {*range(800, 1_000)}
    assert set(behind.values()) == {1}


def test_rows_of_which_a_function_needs_two(dbg: Any) -> None:
    """None of these crashes alone."""
    def differences(rows: Iterable[list[int]]) -> Iterator[float]:
        before: list[int] = []
        for row in rows:
            if before:
                yield 1 / (row[0] - before[0])
            before = row

    program = dbg.context.parallelize([0, 0, 5, 9, 9, 9, 7], 1).map(lambda number: [number]).repartition(1).mapPartitions(differences)
    found = culprits_of(dbg, program.count)
    assert sorted(culprit.record for culprit in found) == [[0], [9], [9]]


class ComesAsLock:
    """Can be sent, and what it is read as cannot."""

    def __reduce__(self) -> tuple[Any, ...]:
        return threading.Lock, ()


def test_records_that_cannot_be_sent_on(dbg: Any) -> None:
    """The stage behind the shuffle calls nothing of the user's: it reads, and sends."""
    program = dbg.context.parallelize(range(6), 2).map(lambda number: ComesAsLock() if number == 4 else number).repartition(2)
    found = culprits_of(dbg, program.collect)
    (culprit,) = found
    assert (culprit.exception_type, [source.record for source in culprit.sources]) == ("_pickle.PicklingError", [4])
