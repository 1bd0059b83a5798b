"""Moments of numbers, and the bounds that a check makes of them: of parts as of the whole, of however large or small numbers."""

from __future__ import annotations

import math
import statistics
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents import checks
from bigdebug.agents.moments import Moments, moments


def beyond(numbers: list[float], deviations: float = 3) -> list[float]:
    fitted = checks.sigma(deviations).fitted(lambda value: moments(map(value, numbers)))
    return [each for each in numbers if fitted(each)]


@given(st.lists(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan)), max_size=5), st.sampled_from([1.0, 2.0**950, 2.0**-950]))
def test_moments_of_parts_are_those_of_the_whole(parts: list[list[float]], unit: float) -> None:
    known = reduce(Moments.with_, (moments(value * unit for value in part) for part in parts), Moments())
    whole = [value for part in parts for value in part if value == value]
    assert known.size == len(whole)
    if whole:
        assert math.isclose(known.mean / unit, statistics.fmean(whole), rel_tol=1e-6, abs_tol=1e-6)
        assert math.isclose(known.deviation / unit, statistics.pstdev(whole), rel_tol=1e-6, abs_tol=1e-6)


@pytest.mark.parametrize(("usual", "far"), [(1.0, 1e308), (1.0, 1e200), (1e-200, 3e-200), (-1e-300, 1e-290), (0.0, 1e-310), (-1.7e308, 1.7e308)])
def test_those_that_are_far_are_told_of_however_large_or_small_numbers(usual: float, far: float) -> None:
    assert beyond([usual] * 30 + [far]) == [far]
    halves = moments([usual] * 30 + [far]).with_(moments([usual] * 31))
    assert math.isclose(halves.deviation, moments([usual] * 61 + [far]).deviation)


@pytest.mark.parametrize("same", [0.1, 1e308, -1e-310, 0.0])
def test_equal_numbers_are_none_of_them_far(same: float) -> None:
    assert beyond([same] * 30, 0.5) == []
    assert reduce(Moments.with_, [moments([same] * size) for size in (7, 0, 1, 30)]) == (38, same, 0.0)


def test_where_the_bounds_are_beyond_all_floats_infinity_is_beyond_them() -> None:
    assert beyond([-1e308, 1e308] * 20 + [math.inf]) == [math.inf]
    assert beyond([-1e308, 1e308] * 20) == []
