"""Linked views: whatever was brushed and shown before, an answer is what the group-by makes of the selected rows alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from bigdebug.errors import ViewError
from bigdebug.trace.crossfilter.aggregates import Aggregate, Avg, Count, Distinct, Max, Min, Reduced, Sum
from bigdebug.trace.crossfilter.associations import CHUNK, Association, Coded, Hashed
from bigdebug.trace.crossfilter.cubes import Cubes
from bigdebug.trace.crossfilter.links import Linked
from bigdebug.trace.crossfilter.selection import Selection
from bigdebug.trace.crossfilter.values import Values
from bigdebug.trace.crossfilter.views import Answer, View, Views

MARKS = 4


@dataclass(frozen=True)
class Spec:
    """A view, and the same as plain data: the mark and the rows of each link, and its values."""

    kind: str
    links: list[tuple[int, tuple[int, ...]]]
    values: dict[str, list[Any]]

    def view(self, name: str, rows: int) -> View:
        return View(name, self.association(rows), {f"{what} {kind}": made for kind, values in self.values.items() for what, made in aggregates(Values.of(typed(kind, values)))})

    def association(self, rows: int) -> Association:
        codes = np.array([mark for mark, _ in self.links], dtype=np.int64)
        if self.kind == "coded":
            return Coded(codes, MARKS)
        if self.kind == "hashed":
            names = [*"abcd"]
            return Coded(Hashed(pa.array([names[code] if code >= 0 else None for code in codes.tolist()], pa.string()), pa.array(names)), MARKS)
        return Linked(rows, MARKS, codes, [np.array([taken[place] for _, taken in self.links], dtype=np.int64) for place in range(2)])


def typed(kind: str, values: list[Any]) -> pa.Array:
    types = {"whole": pa.int64(), "float": pa.float64(), "wild": pa.float64(), "strange": pa.float64(), "text": pa.string(), "money": pa.decimal128(38, 2), "day": pa.date32()}
    return pa.array(values, types[kind])


def aggregates(values: Values) -> Iterator[tuple[str, Aggregate]]:
    yield from (("count", Count(values)), ("min", Min(values)), ("max", Max(values)), ("distinct", Distinct(values)))
    if values.numeric or pa.types.is_decimal(values.type):
        yield from (("sum", Sum(values)), ("avg", Avg(values)))
    if values.type == pa.int64():
        yield "or", Reduced(np.bitwise_or, values)


# ---- what it must be ----------------------------------------------------------------------------------------------


def reference(specs: dict[str, Spec], rows: int, selection: Selection, shown: str) -> tuple[list[int], dict[str, list[Any]]]:
    selected = set(range(rows))
    for name, marks in selection.clauses.items():
        if name != shown:
            selected &= {row for mark, taken in specs[name].links for row in taken if mark >= 0 and mark in marks and row >= 0}
    spec = specs[shown]
    there = [[number for number, (mark, taken) in enumerate(spec.links) if mark == each and all(row in selected or row < 0 for row in taken)] for each in range(MARKS)]
    # In order of rows, then of links: what floats that no limbs hold are added up in.
    for links in there:
        links.sort(key=lambda link: (first_row(spec.links[link][1]), link))
    values = {
        f"{what} {kind}": [expected(what, kind, [column[link] for link in links if column[link] is not None]) for links in there]
        for kind, column in spec.values.items() for what, _ in aggregates(Values.of(typed(kind, [])))
    }
    return [len(links) for links in there], values


def first_row(taken: tuple[int, ...]) -> float:
    """Links are found by the first of their rows that is one; those that take none come last."""
    return next((row for row in taken if row >= 0), math.inf)


def expected(what: str, kind: str, values: list[Any]) -> Any:
    if what == "count":
        return len(values)
    if what == "distinct":
        return len({"NaN" if value != value else value for value in values})
    if not values:
        return None
    if what in ("min", "max"):
        return min(values, key=upward) if what == "min" else max(values, key=upward)
    if what == "or":
        return int(np.bitwise_or.reduce(values))
    if kind == "wild":
        total = 0.0
        for value in values:
            total += value
        return total if what == "sum" else total / len(values)
    if kind in ("float", "strange"):
        return mean_of_floats(values, 1 if what == "sum" else len(values))
    total = sum(map(Fraction, values))
    return total if what == "sum" else float(total / len(values))


def upward(value: Any) -> Any:
    return (math.isnan(value), value) if isinstance(value, float) else value


def mean_of_floats(values: list[float], divider: int) -> float:
    if any(not math.isfinite(value) for value in values):
        return sum(value for value in values if not math.isfinite(value))
    exact = sum(map(Fraction, values)) / divider
    return exact.numerator / exact.denominator


def check(answer: Answer, specs: dict[str, Spec], rows: int, selection: Selection, shown: str) -> None:
    counts, values = reference(specs, rows, selection, shown)
    assert answer.counts.tolist() == counts
    assert list(answer.lit) == [mark for mark, count in enumerate(counts) if count]
    assert answer.clauses == selection.of_others(shown)
    for name, want in values.items():
        found = answer.values[name].tolist()
        if name == "avg money":
            found = [None if each is None else float(each) for each in found]
        assert len(found) == len(want)
        for one, other in zip(found, want):
            assert one == other or (one != one and other != other), (name, found, want)


# ---- any views, any brushes ---------------------------------------------------------------------------------------

VALUES: dict[str, Callable[[Random], Any]] = {
    "whole": lambda chance: chance.choice([chance.randint(-5, 5), chance.randint(-(2**63), 2**63 - 1)]),
    "float": lambda chance: chance.choice([0.1, -0.1, 0.25, 3.0, 1e15, -1e15, -0.0, 0.0, chance.gauss(0, 1)]),
    "strange": lambda chance: chance.choice([1.5, -2.25, math.nan, math.inf, -math.inf]),
    "money": lambda chance: Decimal(chance.choice([chance.randint(-5, 5), chance.randint(-(10**37), 10**37)])).scaleb(-2, Context(prec=38)),
    "text": lambda chance: chance.choice(["", "a", "b", "B", "ß", "\U0001f600"]),
    "day": lambda chance: date(2013, 1, 1) + timedelta(chance.randint(-9, 9)),
    "wild": lambda chance: chance.choice([1e300, -1e300, 1e-300, 1.0, 0.1]),
}


def spec(kind: str, columns: Sequence[str], rows: int, chance: Random) -> Spec:
    """Contents are drawn, not chosen by Hypothesis, which would have most of them alike."""

    def mark() -> int:
        return chance.randint(-1, MARKS - 1)

    def row(none: float) -> int:
        return -1 if not rows or chance.random() < none else chance.randrange(rows)

    links: list[tuple[int, tuple[int, ...]]]
    if kind in ("coded", "hashed"):
        links = [(mark(), (number,)) for number in range(rows)]
    elif kind == "several":
        links = [(mark(), (row(0), -1)) for _ in range(2 * rows)]
    else:
        links = [(mark(), (row(0.2), row(0.4))) for _ in range(2 * rows + 2)]
    values: dict[str, list[Any]] = {}
    for column in columns:
        nulls = chance.choice([0.0, 0.3])
        values[column] = [None if chance.random() < nulls else VALUES[column](chance) for _ in links]
        if column == "wild":  # what no limbs hold
            values[column] = [1e300, 1e-300, *values[column]][: len(links)] if len(links) > 1 else [1.0] * len(links)
    return Spec(kind, links, values)


def selections(views: Sequence[str], chance: Random) -> Iterator[Selection]:
    """Brushes that come, grow, shrink, move and go."""
    selection = Selection()
    yield selection
    for _ in range(10):
        view = chance.choice(views)
        marks = set(selection.clauses.get(view, ()))
        change = set(chance.sample(range(MARKS), chance.randint(0, MARKS)))
        marks = chance.choice([marks | change, marks - change, marks ^ change, change])
        selection = selection.cleared(view) if chance.random() < 0.15 else selection.brushed(view, marks)
        yield selection


KINDS = st.tuples(st.sampled_from(["coded", "hashed", "several", "joint"]), st.lists(st.sampled_from([*VALUES]), max_size=2, unique=True))


@settings(max_examples=150, deadline=None)
@given(st.lists(KINDS, min_size=1, max_size=4), st.sampled_from([12, 5, 1, 0]), st.integers(-1, 10), st.booleans(), st.integers(0, 2**32))
def test_an_answer_is_what_the_selected_rows_alone_make_whichever_way_it_is_found(kinds: Any, rows: int, prepared: int, cubes: bool, seed: int) -> None:
    chance = Random(seed)
    specs = {name: spec(kind, columns, rows, chance) for name, (kind, columns) in zip("wxyz", kinds)}
    views = Views([each.view(name, rows) for name, each in specs.items()], Cubes(fewest=1, worth=0) if cubes else None, lambda priced: chance.choice(priced)[1])
    for number, selection in enumerate(selections([*specs], chance)):
        if number == prepared:
            views.prepare()
        for name, answer in views.answers(selection).items():
            check(answer, specs, rows, selection, name)
    for name, answer in views.answers(Selection()).items():
        check(answer, specs, rows, Selection(), name)


@pytest.mark.parametrize("prepared", [False, True])
def test_many_rows_in_chunks_agree_with_pandas(prepared: bool) -> None:
    draws, rows = np.random.default_rng(6), 2 * CHUNK + 7
    frame = pd.DataFrame({
        "place": draws.geometric(0.02, rows).clip(max=299) - 1, "day": np.sort(draws.integers(0, 400, rows)), "late": draws.choice(3, rows, p=[0.7, 0.2, 0.1]),
        "cents": draws.integers(-500, 90_000, rows),
    })
    frame["price"] = frame.cents / 100
    sizes = {"place": 300, "day": 400, "late": 3}
    shown = {"cents": Sum(Values.of(frame.cents.to_numpy())), "price": Avg(Values.of(frame.price.to_numpy())), "most": Max(Values.of(frame.price.to_numpy()))}
    views = Views([View(name, Coded(frame[name].to_numpy(), marks), shown) for name, marks in sizes.items()])
    if prepared:
        views.prepare()
    days = range(100, 300)
    selections = [
        Selection().brushed("late", [0]), Selection().brushed("late", [0]).brushed("day", days), Selection().brushed("late", [0, 2]).brushed("day", days),
        Selection().brushed("day", [7, 8]), Selection().brushed("day", [7, 8, 9]).brushed("place", range(5, 300)), Selection().brushed("place", [0]),
        Selection().brushed("place", range(300)), Selection(),
    ]
    for selection in selections:
        for name, marks in sizes.items():
            kept = frame
            for clause, brushed in selection.of_others(name).items():
                kept = kept[kept[clause].isin(brushed)]
            groups = kept.groupby(name)
            answer = views.answer(name, selection)
            assert answer.counts.tolist() == groups.size().reindex(range(marks), fill_value=0).tolist()
            cents = groups.cents.sum().reindex(range(marks))
            assert answer.values["cents"].filled(0).tolist() == cents.fillna(0).tolist()
            assert np.array_equal(answer.values["most"].filled(np.nan), groups.price.max().reindex(range(marks)), equal_nan=True)
            np.testing.assert_allclose(answer.values["price"].filled(np.nan), groups.price.mean().reindex(range(marks)), rtol=1e-12)


def onward(priced: Any) -> Any:
    """From what was shown last, if that is a way."""
    return next((step for _, step in priced if step.start is not None), priced[0][1])


def test_floats_too_far_apart_to_be_taken_away_again_are_added_anew() -> None:
    numbers = [1e300, 1.0, 1e-300, 2.0]
    views = Views([View("row", Coded(np.arange(4), 4)), View("all", Coded(np.zeros(4, np.int64), 1), {"sum": Sum(Values.of(numbers))})], choose=onward)
    for marks, total in (([0, 1], 1e300), ([1], 1.0), ([1, 2], 1.0), ([2], 1e-300), ([0, 1, 2, 3], 1e300), ([1, 3], 3.0)):
        assert views.answer("all", Selection().brushed("row", marks)).values["sum"].tolist() == [total]


def test_a_row_of_several_marks_is_counted_once_however_they_are_brushed() -> None:
    links = [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 2), (2, 3)]
    words = Linked(4, 3, np.array([mark for mark, _ in links]), [np.array([row for _, row in links])])

    for shown in (Coded(np.zeros(4, np.int64), 1), Linked(4, 1, np.zeros(4, np.int64), [np.arange(4)])):
        views = Views([View("words", words), View("all", shown)], choose=onward)
        for marks, rows in (([0], 2), ([0, 1], 3), ([0, 1, 2], 4), ([1, 2], 3), ([2], 2), ([], 0), ([0, 2], 4)):
            assert views.answer("all", Selection().brushed("words", marks)).counts.tolist() == [rows]


def test_answers_are_the_same_before_while_and_after_another_thread_prepares() -> None:
    draws, rows = np.random.default_rng(8), 2 * CHUNK
    views = Views([View(name, Coded(draws.geometric(0.3, rows).clip(max=marks) - 1, marks)) for name, marks in (("a", 5), ("b", 9), ("c", 3))], Cubes(fewest=9, worth=0))
    selections = [Selection().brushed("a", [mark]).brushed("b", {mark, mark + 1, 8}) for mark in range(5)]
    before = [{name: answer.counts.tolist() for name, answer in views.answers(each).items()} for each in selections]
    with ThreadPoolExecutor(1) as thread:
        prepared = thread.submit(views.prepare)
        while True:
            done = prepared.done()
            assert [{name: answer.counts.tolist() for name, answer in views.answers(each).items()} for each in selections] == before
            if done:
                break
    prepared.result()


# ---- what it costs ------------------------------------------------------------------------------------------------


class Counted(Coded):
    """Codes that count the rows that they are asked about."""

    asked = 0

    def rows_of(self, *marks: Any) -> Any:
        found = super().rows_of(*marks)
        self.asked += len(found)
        return found


def counted(codes: Sequence[int]) -> Counted:
    return Counted(np.array(codes), MARKS)


def test_a_brush_costs_the_rows_that_it_grows_and_shrinks_by() -> None:
    brushed = counted([0] * 40 + [1] * 5 + [2] * 30 + [3] * 25)
    views = Views([View("a", brushed), View("b", counted([row % 3 for row in range(100)]))])
    selection = Selection().brushed("a", [0])
    views.answer("b", selection)
    assert brushed.asked == 40
    views.answer("b", selection.brushed("a", [0, 1]))
    assert brushed.asked == 45
    views.answer("b", selection.brushed("a", [0]))
    assert brushed.asked == 50
    views.answer("b", selection.brushed("a", [0]))
    assert brushed.asked == 50


def test_a_brush_over_most_rows_costs_the_others() -> None:
    brushed = counted([0] * 90 + [1] * 10)
    views = Views([View("a", brushed), View("b", counted([row % 3 for row in range(100)]))])
    views.answer("b", Selection())
    assert sum(views.answer("b", Selection().brushed("a", [0])).counts) == 90
    assert brushed.asked == 10


def test_large_marks_that_are_prepared_cost_no_rows() -> None:
    brushed = counted([0] * 50 + [1] * 40 + [2] * 10)
    views = Views([View("a", brushed), View("b", counted([row % 3 for row in range(100)]))], Cubes(fewest=20, worth=1))
    views.prepare()
    before = brushed.asked
    assert sum(views.answer("b", Selection().brushed("a", [0])).counts) == 50
    assert sum(views.answer("b", Selection().brushed("a", [0, 1])).counts) == 90
    assert brushed.asked == before
    assert sum(views.answer("b", Selection().brushed("a", [0, 1, 2])).counts) == 100
    assert brushed.asked <= before + 10
    assert views.nbytes > 0


def test_of_several_brushes_the_one_with_the_fewest_rows_leads() -> None:
    large, small = counted([0] * 90 + [1] * 10), counted([row % 25 and 1 for row in range(100)])
    views = Views([View("large", large), View("small", small), View("shown", counted([0] * 100))])
    assert sum(views.answer("shown", Selection().brushed("large", [0]).brushed("small", [0])).counts) == 4
    assert (large.asked, small.asked) == (0, 4)


# ---- what is none -------------------------------------------------------------------------------------------------


def one(codes: Sequence[int] = (0, 1, -1), **aggregates: Any) -> View:
    return View("a", Coded(np.array(codes), 2), aggregates)


def test_views_and_marks_that_are_not_there_are_refused() -> None:
    views = Views([one()])
    with pytest.raises(ViewError, match=r"A view that is not linked with the others \(got 'b'\)\. There are a\."):
        views.answer("b", Selection())
    with pytest.raises(ViewError, match="not linked"):
        views.answer("a", Selection().brushed("gone", [0]))
    with pytest.raises(ViewError, match=r"A mark that is none of the 2 of 'a' \(got 2\)"):
        views.answer("a", Selection().brushed("a", [2]))


@pytest.mark.parametrize("marks", [[-1], [1 << 32], ["a"], [None]])
def test_what_is_no_number_of_a_mark_is_not_brushed(marks: Any) -> None:
    with pytest.raises(ViewError, match="Marks of 'a' that are no numbers from 0"):
        Selection().brushed("a", marks)


def test_views_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ViewError, match="several inputs"):
        Views([one(), View("b", Coded(np.array([0]), 1))])
    with pytest.raises(ViewError, match="of one name"):
        Views([one(), one()])
    with pytest.raises(ViewError, match=r"none of 2 \(got 2\)"):
        one([0, 2])
    with pytest.raises(ViewError, match=r"none of 2 \(got -2\)"):
        one([0, -2])
    with pytest.raises(ViewError, match="Links to a row that is none of 3"):
        Linked(3, 2, np.array([0]), [np.array([3])])
    with pytest.raises(ViewError, match="Links to a mark that is none of 2"):
        Linked(3, 2, np.array([2]), [np.array([0])])


@pytest.mark.parametrize(
    ("aggregate", "because"),
    [
        (Sum(Values.of([1])), "1 values for 3 links"),
        (Sum(Values.of(["a", "b", "c"])), "A sum of values of type string"),
        (Avg(Values.of([True, False, None])), "A sum of values of type bool"),
        (Max(Values.of([{"a": 1}] * 3)), "have no order"),
        (Reduced(np.add, Values.of([1, 2, 3])), "Show a Sum"),
        (Reduced(np.minimum, Values.of([1, 2, 3])), "without an identity"),
        (Reduced(np.bitwise_or, Values.of(["a", "b", "c"])), "without an identity"),
    ],
)
def test_values_that_an_aggregate_has_no_meaning_for_are_refused(aggregate: Any, because: str) -> None:
    with pytest.raises(ViewError, match=because):
        Views([one(total=aggregate)])


def test_a_product_of_floats_is_taken_in_the_order_of_the_rows() -> None:
    numbers = [1e200, 1e200, 1e-300, 7.0]
    views = Views([View("a", Coded(np.array([0, 0, 0, 0]), 1), {"product": Reduced(np.multiply, Values.of(numbers))}), View("b", Coded(np.array([0, 1, 1, 2]), 3))])
    assert views.answer("a", Selection()).values["product"].tolist() == [math.inf]
    assert views.answer("a", Selection().brushed("b", [0, 1])).values["product"].tolist() == [math.inf]
    assert views.answer("a", Selection().brushed("b", [2])).values["product"].tolist() == [7.0]


def test_keys_that_are_zero_or_no_number_are_one_mark_each() -> None:
    keys = pa.array([0.0, -0.0, math.nan, None, 5.0])
    views = Views([View("a", Coded(Hashed(keys, pa.array([0.0, math.nan, None])), 3)), View("b", Coded(np.arange(5), 5))])
    assert views.answer("a", Selection()).counts.tolist() == [2, 1, 1]
    assert views.answer("b", Selection().brushed("a", [0, 2])).lit == BitMap([0, 1, 3])
