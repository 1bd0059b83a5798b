"""Culprits of an RDD that a program reads twice, and Spark computes for each: a record of it is told once, and what is decided of it holds for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import PySparkException

from tests.spark.test_culprits import culprits_of

BAD = (4, 5, 9)
"""Numbers in the first and the second of two partitions."""


def check(pair: tuple[int, int]) -> tuple[int, int]:
    if pair[1] in BAD:
        raise ValueError(pair)
    return pair


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "join": lambda pairs: pairs.join(pairs, 2),
    "outer join": lambda pairs: pairs.fullOuterJoin(pairs, 2),
    "join with what is made of it": lambda pairs: pairs.join(pairs.mapValues(lambda number: -number), 2),
    "cogroup": lambda pairs: pairs.groupWith(pairs, pairs).mapValues(lambda groups: tuple(map(sorted, groups))),
    "subtract": lambda pairs: pairs.subtract(pairs.filter(lambda pair: pair[0])),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_each_record_is_told_once(program: Callable[[Any], Any], dbg: Any) -> None:
    given = [(number % 3, number) for number in range(12)]
    pairs = dbg.context.parallelize(given, 2).map(check)
    found = culprits_of(dbg, program(pairs).collect)
    assert sorted(culprit.record[1] for culprit in found) == [*BAD]
    assert sorted((culprit.record, [source.record for source in culprit.sources]) for culprit in found) == sorted((given[number], [given[number]]) for number in BAD)
    run = dbg.runs[-1]
    plain = dbg.context.parallelize([pair for pair in given if pair[1] not in BAD], 2)
    left_out = run.resume(skip=True)
    assert sorted(left_out.result) == sorted(program(plain).collect())
    assert sorted(culprit.record[1] for culprit in left_out.run.culprits) == [*BAD]
    mended = {culprit: (culprit.record[0], 100 + culprit.record[1]) for culprit in run.culprits}
    instead = dbg.context.parallelize([(key, number + 100 * (number in BAD)) for key, number in given], 2)
    assert sorted(run.resume(repair=mended).result) == sorted(program(instead).collect())


def test_records_of_two_inputs_at_the_same_place_are_two(dbg: Any) -> None:
    one, other = (dbg.context.parallelize([(number, number) for number in numbers], 2).map(check) for numbers in ([4, 1], [5, 1]))
    assert sorted(culprit.record for culprit in culprits_of(dbg, one.join(other, 2).collect)) == [(4, 4), (5, 5)]


def test_a_policy_tells_each_once(dbg: Any) -> None:
    pairs = dbg.context.parallelize([(number % 3, number) for number in range(12)], 2).map(check)
    with dbg.capture(on_crash="skip") as capture:
        pairs.join(pairs, 2).collect()
    assert sorted(culprit.record[1] for culprit in capture.latest.culprits) == [*BAD]


def test_what_is_said_of_a_record_of_one_input_is_not_said_of_the_other(dbg: Any) -> None:
    """Keys without a hash, at the same place of both."""
    one, other = (dbg.context.parallelize([([name], name), (2, name)], 1) for name in ("one", "other"))
    first, second = culprits_of(dbg, one.join(other, 2).collect)
    assert [first.record, second.record] == [(["one"], "one"), (["other"], "other")]
    run = dbg.runs[-1]
    assert run.resume(skip=[first, second]).result == [(2, ("one", "other"))]
    for chosen, left in ((first, second), (second, first)):
        with pytest.raises(PySparkException, match="unhashable"):
            run.resume(skip=[chosen])
        assert [culprit.record for culprit in dbg.runs[-1].culprits.failed_of] == [left.record]


def test_what_is_said_of_a_record_before_a_shuffle_is_not_said_of_one_behind(dbg: Any) -> None:
    """The second record of the first partition on one side, the second combiner of the first one on the other."""
    def add(known: str, more: str) -> str:
        if more.startswith(("bad", "worse")):
            raise ValueError(more)
        return known + more

    sums = dbg.context.parallelize([(0, "a"), (0, "bad"), (0, "worse"), (0, "b")], 2).reduceByKey(add, 1)
    first = culprits_of(dbg, sums.collect)[0]
    assert first.record == (0, "bad")
    run = dbg.runs[-1]
    assert run.resume(skip=True).result == [(0, "a")]
    with pytest.raises(PySparkException, match="ValueError: worseb"):
        run.resume(skip=[first])
