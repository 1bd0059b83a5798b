"""Functions over an iterator that give what reads on in it themselves, such as the groups of ``groupby``: an output is made of what was read through it, too."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.spark.test_culprits import culprits_of, culprits_of_uncaptured


def grouped(records: Any) -> Any:
    return groupby(records, key=lambda n: n // 4)


def summed(group: Any) -> Any:
    key, numbers = group
    return key, sum(numbers)


def careful(group: Any) -> Any:
    key, numbers = group
    total = 0
    for number in numbers:
        if number in (6, 9):
            raise ValueError(f"bad {number}")
        total += number
    return key, total


@pytest.mark.parametrize("strategy", ["inject", "lazy"])
def test_a_group_leads_to_its_members_and_each_to_its_group(dbg: Any, strategy: str) -> None:
    numbers = dbg.context.parallelize(range(12), 1)
    with dbg.capture(strategy=strategy):
        sums = numbers.mapPartitions(grouped).map(summed)
        assert sums.collect() == [(0, 6), (1, 22), (2, 38)]
    for key in range(3):
        behind = sums.getLineage().where(lambda pair, key=key: pair[0] == key).goBackAll()
        assert sorted(behind.collect()) == list(range(min(12, 4 * key + 5)))  # all that was read before it: the first of the next group ends it
        for member in range(4 * key, 4 * key + 4):
            ahead = numbers.getLineage().where(lambda n, member=member: n == member).goNextAll()
            assert (key, sums.collect()[key][1]) in ahead.collect()


def test_chunks_that_a_flat_map_takes_apart(dbg: Any) -> None:
    numbers = dbg.context.parallelize(range(10), 2)
    with dbg.capture():
        chunks = numbers.mapPartitions(lambda records: (islice(records, size) for size in (1, 3))).flatMap(list)
        assert chunks.collect() == [0, 1, 2, 3, 5, 6, 7, 8]
    for n in chunks.collect():
        assert n in chunks.getLineage().where(lambda each, n=n: each == n).goBackAll().collect()


@pytest.mark.parametrize("find", [culprits_of, culprits_of_uncaptured])
def test_a_group_that_crashes_has_the_bad_member_among_its_sources(dbg: Any, find: Any) -> None:
    culprits = find(dbg, lambda: dbg.context.parallelize(range(12), 1).mapPartitions(grouped).map(careful).collect())
    found = {int(c.message.split()[-1]): [s.record for s in c.sources] for c in culprits}
    assert found == {6: list(range(7)), 9: list(range(10))}


def test_chunks_that_are_read_when_all_are_there_may_each_have_read_all(dbg: Any) -> None:
    def program() -> Any:
        chunks = dbg.context.parallelize(range(8), 1).mapPartitions(lambda records: [islice(records, 4), islice(records, 4)])
        return chunks.mapPartitions(lambda views: [(0, list(view)) for view in list(views)]).map(lambda chunk: careful((0, chunk[1])))

    with dbg.capture(on_crash="skip") as run:
        assert program().collect() == [(0, 6)]
    [governed] = run.culprits
    [found] = culprits_of(dbg, lambda: program().collect())
    assert [s.record for s in governed.sources] == [s.record for s in found.sources] == list(range(8))


def test_what_a_filter_and_a_function_gave_before_one_that_caught_what_they_raise(dbg: Any) -> None:
    def fails(n: int) -> bool:
        if n == 6:
            raise ValueError
        return n % 3 == 0

    def failing(records: Any) -> Any:
        return (n for n in records if fails(n))

    def caught(records: Any) -> Any:
        with suppress(ValueError):
            yield from records

    def retried(records: Any) -> Any:
        ended = False
        while not ended:
            with suppress(ValueError):
                yield from records
                ended = True

    numbers = dbg.context.parallelize(range(10), 1)
    for made in (numbers.filter(fails), numbers.mapPartitions(failing)):
        with dbg.capture():
            out = made.mapPartitions(caught)
            assert out.collect() == [0, 3]
        behind = out.getLineage().where(lambda n: n == 3).goBackAll().collect()
        assert 6 not in behind
        assert 3 in behind
        assert numbers.getLineage().where(lambda n: n == 7).goNextAll().collect() == []
    with dbg.capture():
        again = numbers.filter(fails).mapPartitions(retried)
        assert again.collect() == [0, 3, 9]
    assert again.getLineage().where(lambda n: n == 3).goBackAll().collect() == [0, 3]


def test_the_line_of_a_wrong_sum_is_found(dbg: Any, tmp_path: Path) -> None:
    lines = [f"k{n // 4} {n}" for n in range(12)]
    lines[6] = "k1 -1000"
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in lines))
    with dbg.capture():
        pairs = dbg.context.textFile(str(tmp_path / "lines.txt"), 1).map(str.split).mapPartitions(lambda rows: groupby(rows, key=itemgetter(0)))
        sums = pairs.map(lambda group: (group[0], sum(int(n) for _, n in group[1])))
        sums.collect()
    diagnosis = dbg.localize(sums, lambda pair: pair[1] < 0)
    [fault] = diagnosis.fault_sets
    assert [record.origin.line for record in fault.records] == [7]
