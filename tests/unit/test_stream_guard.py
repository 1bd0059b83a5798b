"""Guarded functions of iterators of batches: each row that crashes is told, whatever the function had read before."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.cloudpickle import dumps

from bigdebug.agents.guards.code import Code, Told
from bigdebug.agents.guards.columns import GuardedStream


def one_by_one(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield batch.astype(int)


def all_at_once(batches: Iterable[Any]) -> Iterator[Any]:
    held = list(batches)
    for batch in held:
        yield batch.astype(int)


def ahead(batches: Iterable[Any]) -> Iterator[Any]:
    source = iter(batches)
    while held := list(islice(source, 3)):
        for batch in held:
            yield batch.astype(int)


class OfNoTruth(ValueError):
    """Is asked for its truth by nobody who has no business to."""

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


def of_no_truth(batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        if any(batch.isin(["x", "y"])):
            raise OfNoTruth
        yield batch


def told(function: Callable[..., Any], batches: list[list[str]]) -> list[tuple[str, str, int]]:
    """The value that crashed, the exception, and how many crashed together; batches come through as they were."""
    stream = GuardedStream(Code((dumps((function, None)),)), pd.Series)
    found = list(stream.told(pd.Series(batch) for batch in batches))
    assert [batch.tolist() for batch, _ in found] == batches
    crashes = [(batch[at], Told.unpacked(known[at])) for batch, known in found for at in sorted(known)]
    return [(value, what.raised.exception, what.together) for value, what in crashes]


@pytest.mark.many
@pytest.mark.parametrize("function", [one_by_one, all_at_once, ahead])
@given(batches=st.lists(st.lists(st.sampled_from(["1", "2", "x", "y"]), min_size=1, max_size=4), max_size=8))
def test_every_row_that_crashes(function: Callable[..., Any], batches: list[list[str]]) -> None:
    assert told(function, batches) == [(value, "ValueError", 1) for batch in batches for value in batch if value in "xy"]


@given(batches=st.lists(st.lists(st.sampled_from(["1", "2", "x", "y"]), min_size=1, max_size=4), max_size=4))
def test_nobody_asks_whether_an_exception_is_true(batches: list[list[str]]) -> None:
    assert [(value, together) for value, _, together in told(of_no_truth, batches)] == [(value, 1) for batch in batches for value in batch if value in "xy"]


def test_it_can_be_shipped() -> None:
    stream = GuardedStream(Code((dumps((one_by_one, None)),)), pd.Series)
    assert pickle.loads(dumps(stream)) == stream
