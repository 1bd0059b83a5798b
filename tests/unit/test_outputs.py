"""Outputs as marks: rows are the records that some output took, each once and the same in all results, and values stand where their links do."""

from __future__ import annotations

from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug.errors import TooLargeError
from bigdebug.model import POSITION_BITS
from bigdebug.trace.crossfilter.aggregates import Avg, Count, Sum
from bigdebug.trace.crossfilter.associations import Coded
from bigdebug.trace.crossfilter.computed import arrow_of, shown_of
from bigdebug.trace.crossfilter.links import Linked
from bigdebug.trace.crossfilter.outputs import Followed, Numbers, Outputs, Together, linked
from bigdebug.trace.crossfilter.rounded import Rounded
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.values import Values
from bigdebug.trace.crossfilter.views import View, Views

near = st.builds(lambda file, row: (file << POSITION_BITS) + row, st.integers(0, 3), st.integers(0, 20))
far = st.builds(lambda file, row: (file << POSITION_BITS) + row, st.integers(0, 1 << 20), st.integers(0, 1 << 39))
none = st.just(-1)


def rids(values: list[int]) -> Any:
    return np.array(values, dtype=np.int64)


@given(st.lists(st.lists(near | none) | st.lists(near | far | none), min_size=1, max_size=3))
def test_each_record_has_one_row_and_rows_are_in_the_order_of_records(takes: list[list[int]]) -> None:
    numbers = Numbers.of([rids(take) for take in takes])
    rows = {rid: row for take in takes for rid, row in zip(take, numbers.rows(rids(take)).tolist())}
    assert rows.pop(-1, -1) == -1
    assert [rows[rid] for rid in sorted(rows)] == sorted(set(rows.values()))
    assert all(0 <= row < numbers.count for row in rows.values())
    assert numbers.count <= 4 * sum(map(len, takes)) + 1024
    assert numbers.rids(np.array([*rows.values()], dtype=np.uint32)).tolist() == [*rows]


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(TooLargeError, match="sample"):
        Numbers((1 << 32) + 1, None)


@given(st.lists(st.tuples(st.integers(-1, 2), st.lists(near | none, min_size=1, max_size=2)), max_size=12), st.booleans())
def test_what_is_brushed_selects_the_links_that_took_it(links: list[tuple[int, list[int]]], several: bool) -> None:
    """Against the definition: a link counts if none of its records is left out."""
    width = 2 if several else 1
    takes = [rids([(taken * 2)[place] for _, taken in links]) for place in range(width)]
    values = pa.array([10 ** number for number in range(len(links))], pa.int64())
    known = sorted({rid for take in takes for rid in take.tolist() if rid >= 0})
    each = Outputs({}, len(known), np.arange(len(known)), [rids(known)])
    marks = {"n": Count(), "sum": Followed(Sum, values)}
    made = Outputs({}, 3, np.array([mark for mark, _ in links], dtype=np.int8), takes, marks)
    records, result = linked([each, made], ["records", "result"])
    views = Views([records.view, result.view])
    for left in (known, known[::2], known[1::2], []):
        answer = views.answer("result", Selection().brushed("records", [known.index(rid) for rid in left]))
        there = [(mark, number) for number, (mark, taken) in enumerate(links) if all(rid < 0 or rid in left for rid in (taken * 2)[:width])]
        assert answer.counts.tolist() == [sum(mark == each for mark, _ in there) for each in range(3)]
        assert answer.values["sum"].filled(0).tolist() == [sum(10 ** number for mark, number in there if mark == each) for each in range(3)]


def test_codes_stand_by_row_where_each_row_has_one_link() -> None:
    def association(*taken: int) -> Any:
        return linked([Outputs({}, 9, np.zeros(len(taken), np.int8), [rids([*taken])])], ["one"])[0].view.association

    assert isinstance(association(2, 0, 5), Coded)
    assert isinstance(association(), Coded)
    assert isinstance(association(2, 0, 2), Linked)
    assert isinstance(association(2, -1), Linked)


@given(st.lists(st.integers(-10**6, 10**6), min_size=1, max_size=9), st.integers(0, 6))
def test_means_of_decimals_are_rounded_half_up(cents: list[int], digits: int) -> None:
    values = Values.of(pa.array([Decimal(each).scaleb(-2) for each in cents], pa.decimal128(12, 2)))
    view = View("all", Coded(np.zeros(len(cents), dtype=np.int64), 1), {"mean": Rounded(Avg(values), digits)})
    [mean] = Views([view]).answer("all", Selection()).values["mean"].tolist()
    assert mean == (Decimal(sum(cents)) / len(cents) / 100).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def test_what_is_computed_of_aggregates_is_that_of_the_rows_that_are_left() -> None:
    """Each part has its own columns of totals, of which some have several; the last place of each, for rows of no mark, is not handed on."""
    whole, part = pa.array([1 << 62, 1 << 62, 5, None], pa.int64()), pa.array([0.5, None, 2.0, 8.0])
    asked: list[list[Any]] = []

    def share(shown: Any) -> Any:
        asked.append([each.tolist() for each in shown])
        return shown[0] / shown[2]

    together = Together([Followed(Sum, part), Followed(Avg, whole), Followed(Count, part), Count()], share)
    made = Outputs({}, 2, np.array([0, 0, 1, -1]), [rids([0, 1, 2, 3])], {"share": together})
    each = Outputs({}, 4, np.arange(4), [rids([0, 1, 2, 3])])
    rows, result = linked([each, made], ["rows", "result"])
    views = Views([rows.view, result.view])
    assert views.answer("result", Selection()).values["share"].tolist() == [0.5, 2.0]
    assert asked == [[[0.5, 2.0], [float(1 << 62), 5.0], [1, 1], [2, 1]]]
    answer = views.answer("result", Selection().brushed("rows", [1, 2]))
    assert answer.counts.tolist() == [1, 1]
    assert answer.values["share"].tolist() == [None, 2.0]  # NULL by no value
    assert asked[-1] == [[None, 2.0], [float(1 << 62), 5.0], [0, 1], [1, 1]]


@pytest.mark.parametrize("values", [
    pa.array([1, None, 3], pa.int32()), pa.array([float("nan"), None, -0.0]), pa.array(["a", None, "\u05d0<"]), pa.array([Decimal("1.50"), None], pa.decimal128(20, 2)),
    pa.array([True, None]), pa.array([b"\x00", None]), pa.array([date(2020, 1, 1), None]), pa.array([None, None], pa.string()), pa.array([], pa.date32()),
])
def test_arrays_are_shown_and_come_back(values: pa.Array) -> None:
    back = arrow_of(shown_of(values), values.type)
    assert back.type == values.type
    assert str(back.to_pylist()) == str(values.to_pylist())
