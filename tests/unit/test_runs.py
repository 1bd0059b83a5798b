"""Runs are read from roaring's bytes as roaring wrote them, whichever containers it chose."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from pyroaring import BitMap

from bigdebug.agents.runs import numbers_of, runs_among, runs_of

stretch = st.tuples(st.integers(0, 400_000), st.integers(1, 70_000), st.sampled_from([1, 2, 3, 50])).map(lambda each: range(each[0], each[0] + each[1], each[2]))


@given(st.lists(stretch, max_size=5), st.booleans())
@example([], True)
@example([range(65_530, 65_540)], True)
@example([range(0, 65_536 * 5, 2)], False)
@example([range(0, 65_536 * 5, 2), range(70_000, 75_000)], True)
def test_runs_are_those_of_the_set_that_was_written(stretches: list[range], optimized: bool) -> None:
    known = BitMap()
    for each in stretches:
        known |= BitMap(each)
    if optimized:
        known.run_optimize()
    runs = runs_of(known.serialize())
    assert numbers_of(runs).tolist() == list(known)
    assert (runs[:, 1] > runs[:, 0]).all()
    assert (runs[1:, 0] > runs[:-1, 1]).all(), "they are apart"


@given(st.sets(st.integers(0, 50)))
def test_numbers_are_their_runs(numbers: set[int]) -> None:
    ascending = np.array(sorted(numbers), dtype=np.int64)
    assert numbers_of(runs_among(ascending)).tolist() == sorted(numbers)
