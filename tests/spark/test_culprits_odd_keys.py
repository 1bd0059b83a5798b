"""Crash culprits of keys that do not compare: in a sort, and where they meet behind a shuffle (FEATURES B1, B2, B3)."""

from __future__ import annotations

from collections.abc import Callable
from operator import add
from typing import Any

import pytest

from tests.spark.test_culprits import culprits_of

ROWS = [((1, 2), "a"), ((1, None), "b"), ((2, None), "c"), ((2, 3), "d"), ((3, 1), "e"), ((1, 5), "f")]
FINE = [row for row in ROWS if row[0][1] is not None]


@pytest.mark.parametrize("ascending", [True, False])
def test_pairs_of_which_some_have_none_in_second_place_are_sorted_without_these(ascending: bool, dbg: Any) -> None:
    pairs = dbg.context.parallelize(ROWS, 1).sortByKey(ascending, numPartitions=1)
    found = culprits_of(dbg, pairs.collect)
    assert [(c.record, c.exception_type, [s.record for s in c.sources]) for c in found] == [(row, "TypeError", [row]) for row in ROWS[1:3]]
    assert found.unknown == []
    wanted = sorted(FINE, reverse=not ascending)
    assert dbg.runs[-1].resume(skip=True).result == wanted
    with dbg.capture(on_crash="skip"):
        assert pairs.collect() == wanted
    assert pairs.getLineage().where(lambda row: row[1] == "d").goBackAll().collect() == [FINE[1]]


class Key:
    """Compares with keys of its own kind alone."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Key)
        if type(other.value) is not type(self.value):
            raise TypeError("keys of two kinds")
        return bool(self.value == other.value)

    def __repr__(self) -> str:
        return f"Key({self.value!r})"


def pairs_of(sc: Any) -> Any:
    """A pair in each partition, so that keys meet behind the shuffle alone."""
    return sc.parallelize([(1, 1), ("x", 5), (1, 2)], 3).map(lambda pair: (Key(pair[0]), pair[1]))


MEETINGS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "reduceByKey": (lambda pairs: pairs.reduceByKey(add, 1), ["(Key(1), 3)"]),
    "groupByKey": (lambda pairs: pairs.groupByKey(1).mapValues(sorted), ["(Key(1), [1, 2])"]),
    "distinct": (lambda pairs: pairs.keys().distinct(1), ["Key(1)"]),
    "join": (lambda pairs: pairs.join(pairs.ctx.parallelize([1], 1).map(lambda n: (Key(n), n)), 1), ["(Key(1), (1, 1))", "(Key(1), (2, 1))"]),
    "cogroup": (lambda pairs: pairs.cogroup(pairs.ctx.parallelize([], 1), 1).mapValues(lambda groups: [*map(sorted, groups)]), ["(Key(1), [[1, 2], []])"]),
    "subtractByKey": (lambda pairs: pairs.subtractByKey(pairs.ctx.parallelize([], 1), 1), ["(Key(1), 1)", "(Key(1), 2)"]),
}


@pytest.mark.parametrize("name", MEETINGS)
def test_keys_that_raise_where_they_meet_others_behind_a_shuffle(name: str, dbg: Any) -> None:
    make, wanted = MEETINGS[name]
    met = make(pairs_of(dbg.context))
    (culprit,) = culprits_of(dbg, met.collect)
    assert (culprit.exception_type, repr(culprit.record)[:10], [s.record for s in culprit.sources]) == ("TypeError", "(Key('x'),", [("x", 5)])
    assert sorted(map(repr, dbg.runs[-1].resume(skip=True).result)) == wanted
    with dbg.capture(on_crash="skip") as run:
        assert sorted(map(repr, met.collect())) == wanted
    assert run.culprits[0].told.trace().goNextAll().count() == 0
    sources = met.getLineage().goBackAll()
    assert sorted({*sources.collect()} - {1}) == [(1, 1), (1, 2)]
    assert sources.goNextAll().count() == len(wanted)
