"""Keys: rows have one number if and only if they are of one group of pandas', however their cells lie in memory; what a result has as keys is known again."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigdebug.actors.keys import Keys

MANY = 5_000
VALUES = {
    "texts": ["a", "b", "", "אב", "<script>alert(1)</script>", None, float("nan")], "integers": [1, 2, -3, 2**60], "floats": [0.5, -0.0, 0.0, np.nan, np.inf], "times": [pd.Timestamp(0), pd.Timestamp(1), pd.NaT],
    "objects": [Decimal("1.5"), Decimal(2), None], "mixed": ["a", 1, 1.5, None, ("a", 1)], "bytes": [b"a", b"b"],
}


def column(kind, picked, how):
    """Cells of a kind: each an object of its own, or the same ones again and again, or categories, of which some are in no row."""
    values = VALUES[kind]
    cells = [values[n % len(values)] for n in picked]
    if how == "own":
        cells = [(cell + "x")[:-1] if isinstance(cell, str) else cell for cell in cells]
    if how == "categories":
        return pd.Categorical(cells, categories=[*dict.fromkeys(each for each in values if not pd.isna(each)), "nowhere"] if kind != "mixed" else ["a", 1, 1.5, ("a", 1)])
    return np.fromiter(cells, object, len(cells)) if kind in ("texts", "objects", "mixed", "bytes") else np.array(cells)


def index_of(cells):
    return pd.Index(cells, dtype=cells.dtype)


def groups(frame, names):
    """The rows of each group, by pandas."""
    found = {}
    for row, key in enumerate(frame[names].astype(object).itertuples(index=False)):
        found.setdefault(tuple("null" if not isinstance(each, tuple) and pd.isna(each) else each for each in key), []).append(row)
    return sorted(found.values())


HOWS = st.sampled_from(["own", "same", "categories"])


@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=12), st.lists(st.tuples(st.sampled_from(sorted(VALUES)), HOWS), min_size=1, max_size=2), st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_rows_have_one_number_if_they_are_of_one_group(picked, kinds, many):
    picked = (np.resize(picked, MANY) if many else np.array(picked)).tolist()
    frame = pd.DataFrame({f"k{n}": column(kind, [n + each for each in picked], how) for n, (kind, how) in enumerate(kinds)})
    columns = [index_of(frame[name]) for name in frame]
    keys = Keys()
    numbers = keys.learnt(columns)
    assert sorted(np.flatnonzero(numbers == each).tolist() for each in np.unique(numbers)) == groups(frame, list(frame))
    assert numbers.min() >= 0
    result = frame.drop_duplicates().iloc[::-1]
    assert keys.known([index_of(result[name]) for name in result]).tolist() == numbers[result.index].tolist()
    plain = [index_of(result[name].astype(object)) for name in result]
    assert keys.known(plain).tolist() == numbers[result.index].tolist()


@pytest.mark.parametrize("how", ["own", "same", "categories"])
def test_what_was_not_learnt_is_not_known(how):
    keys = Keys()
    keys.learnt([pd.Index(column("texts", [0, 1] * MANY, how))])
    assert keys.known([pd.Index(["a", "b", "c", None, "nowhere"])]).tolist() == [1, 2, -1, 0, -1]
