"""Outliers: what a test for one finds, and what several do not hide from each other (FEATURES N5)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bigdebug.errors import BigdebugError
from bigdebug.mining.grubbs import critical, outliers, student

# Rosner's data as the NIST handbook has them (1.3.5.17.3).
ROSNER = [
    -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65, 1.69, 1.70, 1.76, 1.77, 1.81,
    1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40, 2.47, 2.54, 2.62, 2.64, 2.90, 2.92,
    2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
]


def found(sample: Any, **how: Any) -> list[int]:
    return [each.index for each in outliers(sample, **how)]


def test_rosners_data_have_three_outliers_though_the_first_two_steps_find_none() -> None:
    told = outliers(ROSNER, most=10)
    assert [each.value for each in told] == [6.01, 5.42, 5.34]
    assert [each.index for each in told] == [53, 52, 51]
    assert [round(each.statistic, 3) for each in told] == [3.119, 2.943, 3.179]
    assert [round(each.critical, 3) for each in told] == [3.159, 3.151, 3.144]
    assert outliers(ROSNER, most=2) == []


def test_critical_values_are_those_of_the_tables() -> None:
    assert [round(critical(count, 0.05), 3) for count in (3, 4, 5, 10, 20, 50, 100)] == [1.154, 1.481, 1.715, 2.290, 2.708, 3.128, 3.384]
    assert round(critical(10, 0.01), 3) == 2.482


def integrated(t: float, freedom: int) -> float:
    """The tail of Student's distribution by Simpson's rule: with t = sqrt(freedom) tan(angle) its density is a power of the cosine."""
    steps = 20_000
    angles = np.linspace(math.atan(t / math.sqrt(freedom)), math.pi / 2, 2 * steps + 1)
    heights = np.cos(angles) ** (freedom - 1)
    weights = np.ones(2 * steps + 1)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    area = float(weights @ heights) * (angles[1] - angles[0]) / 3
    return area * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)


@given(st.integers(1, 3000), st.floats(1e-9, 0.49))
def test_a_quantile_is_where_the_tail_of_the_density_has_that_area(freedom: int, tail: float) -> None:
    assert integrated(student(tail, freedom), freedom) == pytest.approx(tail, rel=1e-5)


@pytest.mark.parametrize("freedom", [1, 2])
@pytest.mark.parametrize("tail", [0.49, 0.3, 0.05, 1e-4, 1e-12, 1e-100])
def test_a_quantile_is_that_of_the_closed_form(freedom: int, tail: float) -> None:
    expected = 1 / math.tan(math.pi * tail) if freedom == 1 else (1 - 2 * tail) / math.sqrt(2 * tail * (1 - tail))
    assert student(tail, freedom) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 50, 1000, 100_000])
def test_a_quantile_of_any_tail_is_found(freedom: int) -> None:
    found = [student(tail, freedom) for tail in (0.4999, 0.2, 1e-5, 1e-50, 1e-150, 1e-250, 1e-300, 1e-320)]
    assert all(one <= other < math.inf for one, other in pairwise(found))
    assert len({*found[:4]}) == 4


@pytest.mark.parametrize("tail", [0.4, 0.025, 1e-8])
def test_the_series_for_many_degrees_goes_on_where_the_iteration_ends(tail: float) -> None:
    before, at, after = (student(tail, freedom) for freedom in (999, 1000, 1001))
    assert before > at > after
    assert before - at == pytest.approx(at - after, rel=0.01)


def one_by_one(sample: list[int], most: int) -> list[int]:
    """Rosner's procedure as it stands in the book."""
    left, taken, significant = list(range(len(sample))), [], 0
    for _ in range(most):
        values = np.array([float(sample[each]) for each in left])
        distances = abs(values - values.mean())
        farthest = np.sort(distances)[-2:]
        assume(farthest[1] - farthest[0] > 1e-9 * farthest[1])
        excess = distances.max() / values.std(ddof=1) - critical(len(left))
        assume(abs(excess) > 1e-9)
        taken.append(left.pop(int(np.argmax(distances))))
        significant = len(taken) if excess > 0 else significant
    return taken[:significant]


@given(st.lists(st.integers(-20, 20) | st.integers(-1000, 1000), min_size=3, max_size=40, unique=True), st.data())
def test_without_ties_it_is_rosners_procedure(sample: list[int], data: st.DataObject) -> None:
    most = data.draw(st.integers(1, (len(sample) - 1) // 2))
    assert found(sample, most=most) == one_by_one(sample, most)


SAMPLES = st.lists(st.integers(-3, 3) | st.sampled_from([40, -50, 300]), max_size=60)


@given(SAMPLES, st.integers(1, 50), st.integers(-1000, 1000))
def test_scale_and_origin_do_not_matter(sample: list[int], scale: int, shift: int) -> None:
    moved = outliers([scale * each + shift for each in sample])
    assert [each.index for each in moved] == found(sample)
    assert [each.statistic for each in moved] == pytest.approx([each.statistic for each in outliers(sample)])


@given(SAMPLES, st.randoms(use_true_random=False))
def test_the_order_of_the_sample_does_not_matter(sample: list[int], chance: Any) -> None:
    order = list(range(len(sample)))
    chance.shuffle(order)
    assert sorted(order[each] for each in found([sample[each] for each in order])) == sorted(found(sample))


@given(SAMPLES, st.none() | st.integers(0, 100))
def test_outliers_are_fewer_than_half_and_no_more_than_asked_for_and_equal_values_share_their_fate(sample: list[int], most: int | None) -> None:
    told = found(sample, most=most)
    assert len(told) <= min((len(sample) - 1) / 2 if sample else 0, len(sample) if most is None else most)
    assert not {sample[each] for each in told} & {value for each, value in enumerate(sample) if each not in told}


@given(SAMPLES, st.lists(st.sampled_from([math.nan, math.inf, -math.inf]), min_size=1, max_size=5))
def test_values_that_are_not_finite_are_left_out(sample: list[int], others: list[float]) -> None:
    assert found([*others, *sample]) == [each + len(others) for each in found(sample)]


@pytest.mark.parametrize("sample", [[], [1], [1, 100], [5] * 9, [math.nan] * 5, [1.0, math.inf, math.nan], [0.1 + 0.2, 0.3, 0.3, 0.3]])
def test_there_is_nothing_in_too_few_or_equal_values(sample: list[float]) -> None:
    assert outliers(sample) == []


def test_the_only_value_that_is_another_is_an_outlier() -> None:
    assert found([1] * 99 + [7]) == [99]
    assert found([5.0] * 50 + [4.999] + [5.0] * 50) == [50]


def test_equal_outliers_do_not_mask_each_other() -> None:
    assert found([1, 1, 2, 1, 2, 1, 1, 2, 50, 50]) == [8, 9]


@pytest.mark.parametrize("zeros", [2, 3, 4])
def test_of_two_values_the_rarer_is_no_outlier_if_it_is_not_rare(zeros: int) -> None:
    assert outliers([1] * 6 + [0] * zeros, most=zeros) == []
    assert outliers([1] * 40 + [0] * 4 * zeros, most=4 * zeros) == []


def test_a_rare_value_may_occur_often_in_a_large_sample() -> None:
    sample = np.ones(100_000)
    sample[::1000] = 0
    assert found(sample) == list(range(0, 100_000, 1000))


def test_both_ends_have_outliers() -> None:
    sample = [0, 1, -1] * 20
    assert found([*sample, 10, -30]) == [61, 60]
    assert found([*sample, -10, 30]) == [61, 60]


def test_numbers_of_any_size() -> None:
    assert found([1e308, -1e308, 0.0] * 10 + [1.7e308, -1.7e308]) == []
    assert found([1e15 + each % 3 for each in range(60)] + [1e15 + 50]) == [60]
    assert found([1e-300 * (each % 3) for each in range(60)] + [1e-298]) == [60]
    assert found([*range(50), 1e300]) == [50]


@pytest.mark.parametrize(("sample", "alpha"), [([1, 2, 3], 0.0), ([1, 2, 3], 1.0), ([[1, 2], [3, 4]], 0.05)])
def test_what_is_no_test_is_refused(sample: Any, alpha: float) -> None:
    with pytest.raises(BigdebugError):
        outliers(sample, alpha)
