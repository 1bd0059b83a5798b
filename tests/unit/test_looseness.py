"""Looseness: rows whose values are near those of rows with the same key are the same rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.spark.across.looseness import unlike

VALUES = st.one_of(st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 2.0, float("nan"), float("inf")]), st.floats(allow_nan=True))
ROWS = st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=12)


def near(one: float, other: float, least: float) -> bool:
    if np.isnan(one) or np.isnan(other):
        return bool(np.isnan(one) and np.isnan(other))
    return one == other or bool(np.isfinite(one) and np.isfinite(other) and abs(one - other) <= max(1e-6 * max(abs(one), abs(other)), least))


@given(ROWS, ROWS)
def test_as_looking_at_each_pair_tells(mine: list[tuple[int, float]], now: list[tuple[int, float]]) -> None:
    finite = [abs(value) for _, value in mine + now if np.isfinite(value)]
    least = 1e-12 * max(finite, default=0.0)
    expected = sum(not any(key == other and near(value, given, least) for other, given in now) for key, value in mine)
    columns = [(np.array([key for key, _ in rows], np.uint64), np.array([value for _, value in rows], np.float64)) for rows in (mine, now)]
    assert unlike(*columns[0], *columns[1]) == expected
