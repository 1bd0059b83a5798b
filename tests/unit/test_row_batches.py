"""A function of a row that is handed all rows of a batch: it tells what a guard of each row does, and of values what they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.cloudpickle import dumps
from pyspark.sql.types import BooleanType, DataType, DoubleType, IntegerType, LongType, StringType

from bigdebug.agents.guards.code import DOUBTFUL, LARGE, SMALL, Code, Told, unpacked
from bigdebug.agents.guards.row_batches import GuardedRows
from bigdebug.agents.guards.rows import guarded_call
from bigdebug.spark.sql.plans.fits import arrow_values, certain_value, certain_values
from bigdebug.spark.sql.plans.sent import array


def stopping(text: str | None) -> int:
    if text == "stop":
        raise StopIteration(text)
    return int(text)  # type: ignore[arg-type]


def both(text: str | None, more: int | None) -> int:
    return int(text) + more  # type: ignore[arg-type, operator]


def guards(function: Callable[..., Any], returns: DataType, sized: bool, doubting: bool) -> tuple[GuardedRows, Callable[..., bytes | None]]:
    code = Code((dumps((function, returns)),))
    return (
        GuardedRows(code, array(), arrow_values(), sized, certain_values() if doubting else None),
        guarded_call(code, lambda returns: None, sized, False, False, certain_value() if doubting else None, False),
    )


TEXTS = st.sampled_from(["1", "22", "x", "y z", "stop", None])


@pytest.mark.parametrize("columns", [1, 2])
@given(batches=st.lists(st.lists(st.tuples(TEXTS, st.sampled_from([None, 1])), min_size=1, max_size=20), max_size=4))
def test_rows_crash_in_a_batch_as_one_by_one(columns: int, batches: list[list[tuple[Any, ...]]]) -> None:
    rows, call = guards(stopping if columns == 1 else both, LongType(), False, False)
    told = []
    for batch in batches:
        marks = rows(*(pa.array(column, kind) for column, kind in zip([*zip(*batch)][:columns], [pa.string(), pa.int64()]))).to_pylist()
        assert len(marks) == len(batch)
        told += marks
    one_by_one = [call(*row[:columns]) for batch in batches for row in batch]
    assert told == one_by_one


VALUES = [None, 0, 1 - SMALL, SMALL, 2**62, 2**70, True, 1.5, "1", b"1", [1], object]


@pytest.mark.parametrize("returns", [LongType(), IntegerType(), DoubleType(), BooleanType(), StringType()])
@given(values=st.lists(st.sampled_from(range(len(VALUES))), min_size=1, max_size=4), sized=st.booleans(), doubting=st.booleans())
@example(values=[6, 7], sized=False, doubting=True)
@example(values=[1, 7], sized=False, doubting=True)
def test_values_of_which_it_is_not_certain_that_they_fit_or_are_small_are_told(returns: DataType, values: list[int], sized: bool, doubting: bool) -> None:
    rows, call = guards(VALUES.__getitem__, returns, sized, doubting)
    given = [VALUES[place] for place in values]
    (mark, *others) = rows(pa.array(values)).to_pylist()
    assert others == [None] * len(others)
    fits = {
        "long": lambda value: type(value) is int and abs(value) < 2**63, "integer": lambda value: type(value) is int and -SMALL <= value < SMALL,
        "double": lambda value: type(value) is float, "boolean": lambda value: type(value) is bool, "string": lambda value: True,
    }[returns.typeName()]
    fine = not doubting or all(value is None or fits(value) for value in given)
    small = not sized or all(value is None or (type(value) in (int, float) and abs(value) < SMALL) for value in given)
    if not fine:
        assert mark == DOUBTFUL
    elif not small:
        assert mark == LARGE
    assert mark is None or [call(place) for place in values] != [None] * len(values) or {type(value) for value in given} - {type(None)} != {int}


def test_code_that_cannot_be_unpickled_crashes_on_each_row() -> None:
    rows = GuardedRows(Code((b"cnothing_of_that_name\nf\n.",)), array(), arrow_values())
    marks = rows(pa.array([1, 2, 3])).to_pylist()
    told = unpacked(marks)
    assert [told[mark].raised.exception for mark in marks] == ["ModuleNotFoundError"] * 3
    assert isinstance(told[marks[0]], Told)
