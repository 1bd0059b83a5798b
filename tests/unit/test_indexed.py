"""An index answers as a walk over its witnesses would."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.trace.indexed import Indexed

SMALL = st.integers(0, 4)
WITNESSES = st.lists(st.tuples(SMALL, st.none() | SMALL, st.none() | SMALL), min_size=1, max_size=12)


def structs(values: list[Any]) -> pa.Array:
    """Numbers as names of several parts; none where there is none."""
    return pa.array([None if value is None else {"_0": value, "_1": "x"} for value in values], pa.struct({"_0": pa.int64(), "_1": pa.string()}))


@given(WITNESSES, st.sets(SMALL), st.sets(SMALL))
def test_records_that_come_out_of_what_is_held(witnesses: list[tuple[int, int | None, int | None]], left: set[int], right: set[int]) -> None:
    keys, lefts, rights = map(list, zip(*witnesses))
    index = Indexed(structs(keys), {1: pa.array(lefts, pa.int64()), 2: structs(rights)})
    made = index.made_of({1: pa.array(sorted(left), pa.int64()), 2: structs(sorted(right))})
    expected = {key for key, a, b in witnesses if a in left | {None} and b in right | {None}}
    assert sorted(key["_0"] for key in made.to_pylist()) == sorted(expected)
