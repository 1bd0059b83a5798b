"""Batches: rows as Spark hands them to functions of many, in columns of pandas or Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

Column = Any
"""A Series, a DataFrame, or an Array."""


class Batches:
    """Batches as a function pulls them. Those that it has gone on from are held until it has given something."""

    def __init__(self, batches: Iterable[Any]) -> None:
        self._source = iter(batches)
        self._waiting: list[Any] = []
        self._passed: list[Any] = []
        self.flying: Any = None
        self.failed = False

    def has_more(self) -> bool:
        """Whether there are batches for another call."""
        if not self._waiting:
            self._waiting = [*islice(self._source, 1)]
        return bool(self._waiting)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        try:
            batch = self._waiting.pop() if self._waiting else next(self._source)
        except StopIteration:
            raise
        except BaseException:
            self.failed = True
            raise
        finally:
            self.land()
        self.flying = batch
        return copied(batch)  # a function may change what it is given, and is called on it again

    def land(self) -> None:
        """The function has gone on from the batch in flight."""
        if self.flying is not None:
            self._passed.append(self.flying)
            self.flying = None

    def passed(self) -> list[Any]:
        """The batches that the function has gone on from, which are let go of."""
        batches, self._passed = self._passed, []
        return batches


def part(column: Column, places: Sequence[int]) -> Column:
    """Some rows, as if they were all; their places ascend. A function may change them: those of pandas are a copy."""
    start, count = (places[0], len(places)) if len(places) else (0, 0)
    together = not count or places[-1] - start == count - 1  # a slice takes half as long as to take each
    if not hasattr(column, "iloc"):
        return column.slice(start, count) if together else column.take(places)
    some = column.iloc[start:start + count].copy() if together else column.take(places)  # iloc would remember whose part it is, and warn
    some.index = range(count)  # to reset the index copies once more
    return some


def values_of(column: Column, places: Sequence[int]) -> list[Any]:
    """What some rows of a column have, as Python has it."""
    if hasattr(column, "to_pylist"):
        return list(part(column, places).to_pylist())
    if hasattr(column, "itertuples"):
        return list(part(column, places).itertuples(index=False, name=None))
    # Arrays of pandas give one value after the other, which takes twenty times as long.
    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "Oiufb"
    values = column.to_numpy() if plain else column.array
    # An array of a range of ten thousand takes eight times as long as their values.
    some = slice(places.start, places.stop) if isinstance(places, range) else np.asarray(places, dtype=np.intp)
    return list(values[some].tolist())


def copied(batch: Any) -> Any:
    """A batch of pandas again; what is Arrow's, nobody changes."""
    if isinstance(batch, tuple):
        return tuple(map(copied, batch))
    return batch.copy() if hasattr(batch, "iloc") else batch


def rows_of(batch: Any) -> int:
    """How many rows a batch has."""
    column = batch[0] if isinstance(batch, tuple) else batch
    return int(column.num_rows if hasattr(column, "num_rows") else len(column))
