"""Crash culprits of keys that do not compare: in a sort (FEATURES B1, B2, B3)."""

from __future__ import annotations

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
