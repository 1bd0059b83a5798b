"""Guarded functions of rows and of columns: which rows crash, what is told of them, and whether the numbers that the others give are small."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.cloudpickle import dumps

from bigdebug.agents.guards.code import LARGE, SMALL, Code, Told, anything, unpacked
from bigdebug.agents.guards.columns import GuardedColumns
from bigdebug.agents.guards.rows import GuardedCall
from bigdebug.spark.sql.plans.sent import array, series


def of_pandas(texts: Any) -> Any:
    return texts.astype(int)


def of_arrow(texts: Any) -> Any:
    return pc.cast(texts, pa.int64())


def code(function: Callable[..., Any]) -> Code:
    return Code((dumps((function, None)),))


def listed(known: Mapping[int, bytes], rows: int) -> list[bytes | None]:
    return [known.get(row) for row in range(rows)]


def guards(repeats: bool, sized: bool) -> list[tuple[GuardedColumns, Callable[[list[str]], Any]]]:
    return [
        (GuardedColumns(code(of_pandas), series(), anything, sized, repeats), lambda texts: pd.Series(texts, dtype="object")),
        (GuardedColumns(code(of_arrow), array(), anything, sized, repeats), lambda texts: pa.array(texts, pa.string())),
    ]


@pytest.mark.parametrize("repeats", [False, True])
@given(batches=st.lists(st.lists(st.sampled_from(["1", "2", "3", "x", "y", "12 3"]), min_size=1, max_size=40), max_size=4))
def test_every_row_that_crashes_alone(repeats: bool, batches: list[list[str]]) -> None:
    for guard, column in guards(repeats, False):
        given = [text for batch in batches for text in batch]
        marks = [mark for batch in batches for mark in pa.array(guard(column(batch))).to_pylist()]
        assert [mark is not None for mark in marks] == [not text.isdigit() for text in given]
        told = unpacked(mark for mark in marks if mark is not None)
        whole = [mark for mark in marks if mark is not None and len(mark) > 17]
        assert len(whole) == len({*whole})
        said = [(text, told[mark]) for text, mark in zip(given, marks) if mark is not None]
        assert all(what.together == 1 and text in what.raised.message for text, what in said)


def counted() -> tuple[GuardedColumns, list[int]]:
    """A guard of a function that makes numbers of texts, and how many rows each of its calls was given."""
    calls: list[int] = []

    def numbers(texts: Any) -> Any:
        calls.append(len(texts))
        return texts.astype(int)

    guard = GuardedColumns(code(of_pandas), listed, anything, False, True)
    vars(guard.code)["function"] = numbers
    return guard, calls


def test_few_calls_where_culprits_are_the_same() -> None:
    guard, calls = counted()
    batch = pd.Series(["1"] * 500 + ["x"] * 500)
    assert sum(mark is not None for mark in guard(batch)) == 500
    assert len(calls) < 30
    calls.clear()
    assert sum(mark is not None for mark in guard(batch)) == 500  # the values are known from the batch before
    assert calls == [1_000, 500]


def test_few_calls_where_culprits_are_the_same_behind_batches_where_all_differ() -> None:
    """It does not look for what it knows where that was in vain, but goes on to now and then."""
    guard, calls = counted()
    for n in range(50):
        assert [mark is not None for mark in guard(pd.Series(["1", f"x{n}", "2", f"y{n}"]))] == [False, True, False, True]
    calls.clear()
    for crashing in (["x"] * 300, ["x", "y"] * 150):
        assert [mark is not None for mark in guard(pd.Series(["1"] * 300 + crashing))] == [False] * 300 + [True] * 300
    assert len(calls) < 40


def test_two_calls_for_a_batch_with_a_culprit_as_in_the_batch_before() -> None:
    guard, calls = counted()
    batch = pd.Series(["1"] * 999 + ["x"])
    assert sum(mark is not None for mark in guard(batch)) == 1
    calls.clear()
    assert sum(mark is not None for mark in guard(batch)) == 1
    assert calls == [1_000, 999]


@pytest.mark.parametrize("columns", [
    [pd.Series([0.0, -0.0, 1.0])], [pd.Series([[1], [1], [2]])], [pd.DataFrame({"a": [1, 1, 2], "b": ["x", "x", "y"]})], [pd.Series([1, 1, 2]), pd.Series(["x", "x", "y"])],
], ids=["floats", "lists", "structs", "two"])
def test_columns_of_all_kinds(columns: list[Any]) -> None:
    """Zeros are equal, and not the same; lists cannot be looked up."""
    def fails(*given: Any) -> Any:
        import math

        import pandas as pd

        rows = list(zip(*([*each.itertuples(index=False)] if hasattr(each, "itertuples") else list(each) for each in given)))
        for (first, *_) in rows:
            if first in ([1], (1, "x"), 1) or (isinstance(first, float) and math.copysign(1, first) < 0):
                raise ValueError(str(first))
        return pd.Series([1] * len(rows))

    guard = GuardedColumns(code(fails), listed, anything, False, True)
    zeros = len(columns) == 1 and getattr(columns[0], "dtype", None) == "float64"
    assert [mark is not None for mark in guard(*columns)] == ([False, True, True] if zeros else [True, True, False])


def inverse(numbers: Any) -> Any:
    return numbers ** -1


def unlike(texts: Any) -> Any:
    if (texts == "x").all():
        raise ValueError("all alike")
    return texts


def odd(numbers: Any) -> Any:
    if (numbers.dropna() == 7).any():
        raise ValueError("odd")
    return numbers


@pytest.mark.parametrize(("function", "batches", "crashing"), [
    (inverse, [[2, 2], [2, 3], [2, None]], [[True, True], [True, True], [False, False]]),
    (unlike, [["x", "x"], ["x"], ["x", "y"], ["x", "y"]], [[True, True], [True], [False, False], [False, False]]),
], ids=["of integers", "of all"])
def test_a_batch_on_which_a_function_does_not_crash_has_no_culprits(function: Any, batches: list[Any], crashing: list[Any]) -> None:
    """Though the same values crashed in batches before: pandas makes floats of integers where some are null, and functions compare rows."""
    guard = GuardedColumns(code(function), listed, anything, False, True)
    assert [[mark is not None for mark in guard(pd.Series(batch))] for batch in batches] == crashing


def test_few_calls_where_some_values_are_not_there() -> None:
    calls: list[int] = []

    def counting(numbers: Any) -> Any:
        calls.append(len(numbers))
        return odd(numbers)

    guard = GuardedColumns(code(odd), listed, anything, False, True)
    vars(guard.code)["function"] = counting
    batch = pd.Series([1, None, 7] * 500, dtype="Int64")
    assert [mark is not None for mark in guard(batch)] == [False, False, True] * 500
    assert len(calls) < 40


def test_code_that_cannot_be_unpickled_crashes_on_each_row() -> None:
    call = pickle.loads(dumps(GuardedCall(Code((b"cnothing_of_that_name\nf\n.",)), anything, True, True)))
    first, second = Told.unpacked(call(1)), Told.unpacked(call(named=2))
    assert first == second
    assert first.raised.exception == "ModuleNotFoundError"
    assert not any("bigdebug" in line.file for line in first.raised.lines)


NUMBERS = st.one_of(st.none(), st.integers(-SMALL - 2, SMALL + 2), st.sampled_from([-SMALL, SMALL, 1 - SMALL, SMALL - 1, 2**62, True, 1.5, "1"]))


def is_small(number: Any) -> bool:
    return number is None or (type(number) is int and abs(number) < SMALL)


@given(st.lists(NUMBERS), st.booleans())
def test_a_number_that_is_not_small_is_told_once(numbers: list[Any], alone: bool) -> None:
    call = pickle.loads(dumps(GuardedCall(code(lambda number: number), anything, True, alone=alone)))
    marks = [call(number) for number in numbers]
    assert set(marks) <= {None, LARGE}
    assert marks.count(LARGE) == int(not all(map(is_small, numbers)))
    if LARGE in marks:
        assert not is_small(numbers[marks.index(LARGE)])


@given(st.lists(st.one_of(st.none(), st.integers(-SMALL - 2, SMALL + 2), st.sampled_from([-SMALL, SMALL, 2**62])), max_size=5))
@pytest.mark.parametrize("kind", ["pandas", "Int64", "arrow"])
def test_a_column_that_is_not_small_is_told(kind: str, numbers: list[int | None]) -> None:
    columns = {"pandas": lambda: pd.Series(numbers, dtype=None if numbers else "int64"), "Int64": lambda: pd.Series(numbers, dtype="Int64"), "arrow": lambda: pa.array(numbers, pa.int64())}
    column = columns[kind]()
    marks = GuardedColumns(code(lambda numbers: numbers), listed, anything, True)(column)
    assert len(marks) == len(numbers)
    assert set(marks) <= {None, LARGE}
    if not all(map(is_small, numbers)):
        assert marks[0] == LARGE
    else:
        assert LARGE not in marks


@given(st.lists(st.sampled_from(["1", "x", str(2**40)]), min_size=1, max_size=12))
def test_a_number_beside_culprits_is_looked_at(texts: list[str]) -> None:
    """Of the rows of a batch with culprits, too: a sum adds the others."""
    for guard, column in guards(False, True):
        marks = pa.array(guard(column(texts))).to_pylist()
        assert [bool(mark) for mark in marks] == [text == "x" for text in texts]
        assert (LARGE in marks) == (str(2**40) in texts)


@pytest.mark.parametrize("alone", [False, True])
def test_a_guarded_call_is_a_plain_function_in_a_worker(alone: bool) -> None:
    call = pickle.loads(dumps(GuardedCall(code(int), alone=alone)))
    assert call("1") is None
    assert Told.unpacked(call("x")).raised.exception == "ValueError"


def test_few_calls_where_exceptions_name_different_culprits() -> None:
    guard, calls = counted()
    batch = pd.Series([f"x{n}" if n % 100 == 99 else "1" for n in range(1_000)] + ["x99"], dtype="object")
    assert [n for n, mark in enumerate(guard(batch)) if mark is not None] == [*range(99, 1_000, 100), 1_000]
    assert len(calls) < 30


def test_a_column_that_cannot_be_compared_with_a_text() -> None:
    def both(numbers: Any, texts: Any) -> Any:
        return texts.astype(int)

    guard = GuardedColumns(code(both), listed, anything, False, True)
    marks = guard(pd.Series([1, None, 3], dtype="Int64"), pd.Series(["1", "2", "x"], dtype="object"))
    assert [mark is not None for mark in marks] == [False, False, True]


def test_a_large_number_beside_rows_that_crash_together() -> None:
    def few(numbers: Any) -> Any:
        if len(numbers) >= 10:
            raise ValueError("too many")
        return numbers

    marks = GuardedColumns(code(few), listed, anything, True, True)(pd.Series([2**40, *[1] * 9]))
    assert marks[0] == LARGE
    assert Told.unpacked(marks[9]).together == 10


def test_what_an_exception_hid_that_named_a_row_behind_it() -> None:
    """A function that checks one rule after the other, for all rows of a batch."""

    def checked(texts: Any) -> Any:
        for text in texts:
            if text == "a":
                raise ValueError(f"'{text}' is not allowed")
        if (texts == "b").sum() > 1:
            raise ValueError("b twice")
        if (texts == "c").any():
            raise ValueError("no c")
        return texts

    rules = {10: "c", 20: "c", 500: "a", 700: "b", 800: "b"}
    batch = pd.Series([rules.get(n, "1") for n in range(1_000)], dtype="object")
    marks = GuardedColumns(code(checked), listed, anything, False, True)(batch)
    assert {10, 20, 500} <= {n for n, mark in enumerate(marks) if mark is not None} <= set(rules)


@dataclass(frozen=True)
class FrozenError(Exception):
    """Of which nothing can be set."""

    text: str


def frozen(texts: Any) -> Any:
    try:
        return of_pandas(texts)
    except ValueError as problem:
        raise FrozenError(str(problem)) from problem


@pytest.mark.parametrize("function", [of_pandas, frozen])
def test_no_batch_is_held_for_what_crashed_in_it(function: Callable[..., Any]) -> None:
    guard = GuardedColumns(code(function), listed, anything, False, True)
    batches = [pd.Series(["1", f"x{number}"] * 3, dtype="object") for number in range(5)]
    held = [weakref.ref(batch) for batch in batches]
    while batches:
        assert sum(mark is not None for mark in guard(batches.pop())) == 3
    gc.collect()
    assert [known() for known in held] == [None] * 5
