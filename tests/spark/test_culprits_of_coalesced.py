"""Culprits among partitions that Spark's JVM put together: each leads to the record that it was made of, in whichever of them that was."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from tests.spark.test_culprits import culprits_of, culprits_of_uncaptured

BAD = (3, 7, 10, 26)
"""Numbers of bad lines, in the first, a middle and the last one of partitions of unequal sizes."""


@pytest.fixture
def numbers(dbg: Any, tmp_path: Path) -> Any:
    """(key, number) by line, numbered from 1; each third line is left out, so that no partition has as many records as lines."""
    path = tmp_path / "numbers.txt"
    path.write_text("".join(f"{number % 4},{number}\n" for number in range(1, 28)))
    lines = dbg.context.textFile(str(path), 5)
    return lines.map(lambda line: tuple(map(int, line.split(",")))).filter(lambda pair: pair[1] % 3 or pair[1] == 3)


def told(culprits: Any) -> list[tuple[int, set[int]]]:
    """The number of each record that crashed, and the lines that it is said to be made of."""
    return sorted((number, {source.origin.line for source in culprit.sources}) for culprit in culprits for number in [numbered(culprit.record)])


def numbered(record: Any) -> int:
    return record if isinstance(record, int) else numbered(record[-1])


def crash(record: Any) -> float:
    return 1 / (numbered(record) not in BAD)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "coalesce": lambda known: known.coalesce(1),
    "two groups": lambda known: known.coalesce(2),
    "coalesced twice": lambda known: known.coalesce(3).coalesce(1),
    "with functions between": lambda known: known.coalesce(3).flatMap(lambda pair: [(0, 0), pair]).coalesce(1),
    "above a union": lambda known: known.union(known.map(lambda pair: (0, 0))).coalesce(2),
    "below a union": lambda known: known.coalesce(1).union(known.map(lambda pair: (0, 0)).coalesce(1)),
    "behind a join": lambda known: known.join(known.filter(lambda pair: pair[1] in BAD)).mapValues(itemgetter(1)).distinct().coalesce(1),
    "behind a repartition": lambda known: known.repartition(4).coalesce(1),
    "behind a sort": lambda known: known.sortBy(itemgetter(1), numPartitions=3).coalesce(1),
    "behind a zip": lambda known: known.coalesce(3).zip(known.coalesce(3)).coalesce(1),
    "behind a product": lambda known: known.filter(lambda pair: pair[1] == 1).cartesian(known).coalesce(1),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_each_leads_to_its_own_line(shape: Callable[[Any], Any], dbg: Any, numbers: Any) -> None:
    found = culprits_of(dbg, shape(numbers).map(crash).collect)
    lines = told(found)
    assert [number for number, _ in lines] == [3, 7, 10, 26]
    assert all(number in of for number, of in lines)
    if shape not in (SHAPES["behind a join"], SHAPES["behind a product"]):
        assert all(of == {number} for number, of in lines)
    else:
        assert all(of <= {1, number} or all(line % 4 == number % 4 for line in of) for number, of in lines)


@pytest.mark.parametrize("found_by", [culprits_of, culprits_of_uncaptured], ids=["captured", "not captured"])
def test_behind_the_groups_of_a_shuffle(found_by: Callable[..., Any], dbg: Any, numbers: Any) -> None:
    grouped = numbers.groupByKey(3).coalesce(1).map(lambda group: 1 / (10 not in list(group[1])))
    [culprit] = found_by(dbg, grouped.collect)
    assert {source.origin.line for source in culprit.sources} == {2, 10, 14, 22, 26}


def test_records_of_a_collection(dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(1, 28), 5).coalesce(2).map(crash).collect)
    assert sorted((culprit.record, culprit.sources[0].origin.index) for culprit in found) == [(number, number - 1) for number in BAD]  # that of the task which failed first comes first


def test_what_is_made_of_the_line_of_a_culprit(dbg: Any, numbers: Any) -> None:
    """Ahead as back: where a record stands behind the pieces before its own is counted."""
    whole = numbers.coalesce(1)
    signed = whole.flatMap(lambda pair: [pair[1], -pair[1]])
    [culprit] = culprits_of(dbg, signed.map(lambda number: 1 / (number + 26)).collect)
    assert culprit.record == -26
    assert culprit.trace.forward_to(whole).collect() == [(2, 26)]


def test_a_saved_run_tells_the_same(dbg: Any, numbers: Any, tmp_path: Path) -> None:
    """Once it was asked: before, it takes a job to know, and a save takes none for culprits."""
    assert told(culprits_of(dbg, numbers.coalesce(1).map(crash).collect)) == [(number, {number}) for number in BAD]
    dbg.save(tmp_path / "saved", lineage=True)
    found = bigdebug.open(tmp_path / "saved").runs[-1].culprits
    assert [[source.origin.line for source in culprit.sources] for culprit in found] == [[number] for number in BAD]
