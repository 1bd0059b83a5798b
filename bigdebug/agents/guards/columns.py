"""Guarded functions of columns: in the place of the user's they give, for each row, what is told of its crash, or None.

Rows are Spark's to hand over, in columns of pandas or Arrow, or in an iterator of those.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np

from bigdebug.agents.guards.batches import Batches, Column, copied, part, rows_of
from bigdebug.agents.guards.code import DOUBTFUL, LARGE, SMALL, Code, Fitting, Once, anything, crash_of, told
from bigdebug.agents.guards.inflight import crashes
from bigdebug.agents.guards.lookalikes import Lookalikes
from bigdebug.agents.guards.searching import found

Making = Callable[[Mapping[int, bytes], int], Column]
"""Makes a column of so many rows of what is told of some, by their places in ascending order."""


class Telling:
    """What guards that are given a batch tell of it, in a column: crashes, and one row of which the values may not be small, or may not fit."""

    code: Code
    column: Making
    sized: bool
    certain: Callable[[Any], Callable[[Column], bool] | None] | None

    @cached_property
    def _once(self) -> Once:
        return Once()

    @cached_property
    def _surely_fits(self) -> Callable[[Column], bool] | None:
        return None if self.certain is None else self.certain(self.code.returns)

    def _told(self, crashed: Mapping[int, bytes], rows: int, values: Column | None) -> Column:
        """``values`` are those of the rows that did not crash; None if they are not known."""
        return _column(self.column, self._once, {**crashed, **self._mark(crashed, rows, values)}, rows)

    def _mark(self, crashed: Mapping[int, bytes], rows: int, values: Column | None) -> dict[int, bytes]:
        other = next((row for row in range(rows) if row not in crashed), None)
        fits = self._surely_fits
        if other is None:
            return {}
        if fits is not None and not (values is not None and fits(values)):
            return {other: DOUBTFUL}
        return {other: LARGE} if self.sized and not (values is not None and _all_small(values)) else {}


@dataclass(frozen=True)
class GuardedColumns(Telling):
    """A function of columns. With ``sized`` it also tells, once in a batch, that the function gave a number that may not be small."""

    code: Code
    column: Making
    fitting: Fitting = anything
    sized: bool = False
    repeats: bool = False
    """Whether it gives the same for the same row."""
    certain: Callable[[Any], Callable[[Column], bool] | None] | None = None
    """Gives, for a type of Spark's, what knows of most columns that fit it that they do. It then tells, once in a batch, of another one."""

    def __call__(self, *given: Column, **named: Column) -> Column:
        columns = (*given, *named.values())
        rows = rows_of(columns)
        calls = _Calls(partial(self._of, given, named, rows))
        problem = calls(range(rows))
        known: dict[int, bytes] = {}
        if problem is not None:
            alike = self._lookalikes.among(columns) if self.repeats else None
            known = dict(found(calls, rows, problem, alike))
            if not np.array_equal(calls.places, np.delete(np.arange(rows), [*known])):
                calls.values = None
        return self._told(known, rows, calls.values)

    def _of(self, given: tuple[Column, ...], named: dict[str, Column], rows: int, places: Sequence[int]) -> Column:
        """What the function gives for some rows, of so many."""
        if len(places) == rows:  # a function may change what it is given, and is called on it again
            return self._called(tuple(map(copied, given)), {name: copied(column) for name, column in named.items()})
        return self._called(tuple(part(column, places) for column in given), {name: part(column, places) for name, column in named.items()})

    def _called(self, given: tuple[Column, ...], named: dict[str, Column]) -> Column:
        values = self.code.function(*given, **named)
        if self._fits is not None:
            self._fits(values, rows_of((*given, *named.values())))
        return values

    @cached_property
    def _lookalikes(self) -> Lookalikes:
        return Lookalikes()

    @cached_property
    def _fits(self) -> Callable[[Any, int], None] | None:
        return self.fitting(self.code.returns)


class _Calls:
    """Calls of a function on some rows. What it gave last is kept, and of which."""

    def __init__(self, of: Callable[[Sequence[int]], Column]) -> None:
        self._of = of
        self.values: Column | None = None
        self.places: Sequence[int] = ()

    def __call__(self, places: Sequence[int]) -> BaseException | None:
        """What it raises, if it does."""
        try:
            self.values, self.places = self._of(places), places
        except crashes() as own:
            return own
        return None


_AHEAD = 16
"""Batches of which nothing is told yet when a function has gone on from them and given something."""


@dataclass(frozen=True)
class GuardedStream:
    """A function of an iterator of batches, each a column or a tuple of columns. When it crashes it is called anew for the batches behind."""

    code: Code
    column: Making
    fitting: Fitting = anything

    def __call__(self, batches: Iterable[Any]) -> Iterator[Column]:
        once = Once()
        for batch, known in self.told(batches):
            yield _column(self.column, once, known, rows_of(batch))

    def told(self, batches: Iterable[Any]) -> Iterator[tuple[Any, dict[int, bytes]]]:
        """Each batch, and what is told of its rows, by their places."""
        source = Batches(batches)
        behind: deque[Any] = deque()  # a function may have read them before it gave what it made of others
        while source.has_more():
            try:
                for _ in self._given(source):
                    behind += source.passed()
                    yield from _fine(behind.popleft() for _ in range(len(behind) - _AHEAD))
                break
            except crashes() as problem:
                if source.failed:
                    raise
                source.land()
                suspected = [*behind, *source.passed()]
                behind.clear()
                if not suspected:  # it had read nothing
                    yield from ((first, {0: told(problem, 0)}) for first in islice(source, 1))
                    source.flying = None
                    break
                yield from self._suspected(suspected, problem)
        yield from _fine(behind)
        for _ in source:
            yield from _fine(source.passed())
        source.land()
        yield from _fine(source.passed())

    def _suspected(self, batches: Sequence[Any], problem: BaseException) -> Iterator[tuple[Any, dict[int, bytes]]]:
        """What is told of batches that the function had read lately: it crashed on a row of one, or on all of them together."""
        *others, last = batches
        known = []
        for batch in others:
            own = self._crash(batch, range(rows_of(batch)))
            known.append({} if own is None else dict(found(partial(self._crash, batch), rows_of(batch), own)))
        own = self._crash(last, range(rows_of(last)))
        if own is not None or not any(known):
            rows = sum(map(rows_of, batches))
            known.append(dict(found(partial(self._crash, last), rows_of(last), problem if own is None else own)) if own is not None or not others else {rows_of(last) - 1: told(problem, rows)})
        yield from zip(batches, [*known, {}])

    def _crash(self, batch: Any, places: Sequence[int]) -> BaseException | None:
        some = tuple(part(column, places) for column in batch) if isinstance(batch, tuple) else part(batch, places)
        return crash_of(lambda: [None for _ in self._given(iter([some]))])

    def _given(self, batches: Iterable[Any]) -> Iterator[Any]:
        """What the function gives, each of which has to fit its type."""
        fits = self.fitting(self.code.returns)
        for given in self.code.stream(batches):
            if fits is not None:
                fits(given, 0)
            yield given


@dataclass(frozen=True)
class GuardedBatches:
    """A function of an iterator of Arrow's batches. It gives the batches themselves, with a column of what is told."""

    stream: GuardedStream

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        once = Once()
        for batch, known in self.stream.told(batches):
            column = _column(self.stream.column, once, known, batch.num_rows)
            yield batch.from_arrays([*batch.columns, column], [*batch.schema.names, "told"])


def _column(making: Making, once: Once, known: Mapping[int, bytes], rows: int) -> Column:
    """What is told of some of so many rows: a crash before anything was read has no row, if there is none."""
    return making({row: once(known[row]) for row in sorted(known)} if rows else {}, rows)


def _fine(batches: Iterable[Any]) -> Iterator[tuple[Any, dict[int, bytes]]]:
    """Nothing is told of these."""
    return ((batch, {}) for batch in batches)


def _all_small(numbers: Column) -> bool:
    """Whether a column is known to have small numbers alone, and None."""
    try:
        return _are_small(numbers)
    except Exception:  # it is whatever the user's function gave
        return False


def _are_small(numbers: Column) -> bool:
    if hasattr(numbers, "drop_null"):
        numbers = numbers.drop_null().to_numpy(zero_copy_only=False)
    elif not isinstance(getattr(numbers, "dtype", None), np.dtype) or numbers.dtype.kind not in "iu":
        numbers = numbers.dropna()
    if not len(numbers):
        return True
    numbers = np.asarray(numbers)
    return numbers.dtype.kind in "iuf" and bool(numbers.min() > -SMALL and numbers.max() < SMALL)
