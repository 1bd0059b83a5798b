"""Crash culprits that are iterators: what they had yet to give is gone with them, and that is said (FEATURES B1, B3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

import pytest

from tests.spark.test_culprits import culprits_of


def check(x: int) -> int:
    if x in (3, 8, 12):
        raise ValueError(x)
    return x


def nested(records: Iterable[int]) -> list[Iterator[int]]:
    return [(check(x) for x in records)]


def groups(records: Iterable[int]) -> Iterator[tuple[int, Iterator[int]]]:
    return groupby(records, key=lambda x: x // 16)


WAYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "an iterator": (lambda numbers: numbers.mapPartitions(nested).flatMap(lambda each: each), "1 record that crashed is an iterator, or has some in it"),
    "a pair with one": (lambda numbers: numbers.mapPartitions(groups).mapValues(lambda each: sum(map(check, each))), "1 record that crashed is an iterator, or has some in it"),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_an_iterator_that_crashed_had_yet_to_give_is_said_to_be_gone(way: str, dbg: Any) -> None:
    make, wanted = WAYS[way]
    made = make(dbg.context.parallelize(range(16), 1))
    found = culprits_of(dbg, made.collect)
    assert len(found) == 1
    (note,) = found.unknown
    assert note.startswith(f"{wanted}: what that had yet to give was not looked at, and is left out with it.")
    assert note in repr(found)
    resumed = dbg.runs[-1].resume(skip=True)
    assert resumed.result == []
    assert resumed.run.culprits.unknown == [note]
    with dbg.capture(on_crash="skip") as run:
        assert made.collect() == []
    assert run.culprits.unknown == [note]


def test_of_lists_each_record_is_known_by_itself(dbg: Any) -> None:
    made = dbg.context.parallelize(range(16), 1).mapPartitions(lambda records: [list(records)]).flatMap(lambda each: each).map(check)
    found = culprits_of(dbg, made.collect)
    assert ([c.record for c in found], found.unknown) == ([3, 8, 12], [])
