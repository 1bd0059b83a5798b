"""Spectra: the formula of suspiciousness against cases computed by hand (FEATURES N5)."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import BigdebugError
from bigdebug.mining.spectrum import ochiai, suspicious


@pytest.mark.parametrize(("counts", "score"), [
    ((4, 0, 4, 6), 1.0), ((4, 6, 4, 6), 4 / math.sqrt(40)), ((2, 3, 4, 6), 2 / math.sqrt(20)), ((3, 1, 4, 8), 3 / 4), ((1, 0, 4, 6), 0.5), ((0, 5, 4, 6), 0.0), ((0, 0, 0, 0), 0.0), ((2, 0, 2, 0), 1.0),
])
def test_the_ochiai(counts: tuple[int, int, int, int], score: float) -> None:
    assert ochiai(*counts) == pytest.approx(score)


TOTALS = st.tuples(st.integers(0, 20), st.integers(0, 20))


@given(TOTALS, st.data())
def test_more_failing_outputs_make_more_suspicious_and_more_passing_ones_less(totals: tuple[int, int], data: st.DataObject) -> None:
    failing, passing = totals
    fails, passes = data.draw(st.integers(0, failing)), data.draw(st.integers(0, passing))
    score = ochiai(fails, passes, *totals)
    assert score >= 0
    if fails < failing:
        assert ochiai(fails + 1, passes, *totals) >= score
    if passes < passing:
        assert ochiai(fails, passes + 1, *totals) <= score


@given(TOTALS, st.data())
def test_all_elements_are_ranked_and_ties_keep_the_order_of_the_program(totals: tuple[int, int], data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.tuples(*(st.integers(0, total) for total in totals)), max_size=8))
    ranked = suspicious(dict(enumerate(counts)), *totals)
    assert sorted(each.element for each in ranked) == list(range(len(counts)))
    assert all((each.failing, each.passing) == counts[each.element] for each in ranked)
    assert all(a.score > b.score or (a.score == b.score and a.element < b.element) for a, b in pairwise(ranked))


def test_the_operator_of_failing_outputs_alone_comes_first() -> None:
    ranked = suspicious({"read": (3, 7), "parse": (3, 7), "left": (3, 1), "right": (0, 6)}, 3, 7)
    assert [each.element for each in ranked] == ["left", "read", "parse", "right"]


@pytest.mark.parametrize("counts", [(4, 0), (0, 8), (-1, 0), (0, -1)])
def test_an_element_of_more_outputs_than_there_are_is_refused(counts: tuple[int, int]) -> None:
    with pytest.raises(BigdebugError, match="3 failing and 7 passing"):
        suspicious({"map": counts}, 3, 7)
