"""Selected rids: a question by record and value finds what a scan of all witnesses finds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.trace.selected import Selected

WITNESSES = st.lists(
    st.tuples(st.integers(0, 4), st.none() | st.sampled_from(["a", "b", "c"]), st.integers(0, 12)), min_size=1, max_size=40,
)


def keys_of(numbers: list[Any]) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array(numbers, pa.int64())], ["_0"])


@given(WITNESSES, st.none() | st.lists(st.integers(0, 6), max_size=4), st.sampled_from([..., None, "a", "b", "z"]))
def test_a_question_finds_what_a_scan_finds(witnesses: Any, asked: Any, value: Any) -> None:
    kinds = {rid: kind for _, kind, rid in witnesses}  # a record has one value
    records, rids = [w[0] for w in witnesses], [w[2] for w in witnesses]
    selected = Selected(keys_of(records), pa.array(rids, pa.int64()), pa.array([kinds[rid] for rid in rids], pa.string()))
    names = None if asked is None else keys_of(asked)
    found = selected.back(names, None if value is ... else pa.array([value], pa.string()))
    expected = {
        rid for record, rid in zip(records, rids) if (asked is None or record in asked) and (value is ... or kinds[rid] == value)
    }
    assert found.to_pylist() == sorted(expected)
    assert len(selected) == len(set(zip(records, rids)))


def test_without_values_it_is_by_record_alone() -> None:
    selected = Selected(keys_of([1, 1, 2, 1]), pa.array([5, 3, 5, 3]), None)
    assert selected.back(keys_of([1])).to_pylist() == [3, 5]
    assert selected.back(None).to_pylist() == [3, 5]
    assert selected.back(keys_of([7])).to_pylist() == []
    assert selected.nbytes > 0
