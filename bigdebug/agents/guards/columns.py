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

from bigdebug.agents.guards.code import LARGE, SMALL, Code, Fitting, anything, crash_of, told
from bigdebug.agents.guards.inflight import crashes
from bigdebug.agents.guards.lookalikes import Lookalikes
from bigdebug.agents.guards.searching import found

Column = Any
"""A Series, a DataFrame, or an Array."""

Making = Callable[[Any], Column]
"""Makes a column of what is told of rows: a list, or an array of objects, which takes pandas a tenth of the time."""


@dataclass(frozen=True)
class GuardedColumns:
    """A function of columns. With ``sized`` it also tells, once in a batch, that the function gave a number that may not be small."""

    code: Code
    column: Making
    fitting: Fitting = anything
    sized: bool = False
    repeats: bool = False
    """Whether it gives the same for the same row."""

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
        if self.sized and len(known) < rows and not (calls.values is not None and _all_small(calls.values)):
            known[next(row for row in range(rows) if row not in known)] = LARGE
        return self.column(_marks(known, rows))

    def _of(self, given: tuple[Column, ...], named: dict[str, Column], rows: int, places: Sequence[int]) -> Column:
        """What the function gives for some rows, of so many."""
        if len(places) == rows:
            return self._called(given, named)
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
        return batch

    def land(self) -> None:
        """The function has gone on from the batch in flight."""
        if self.flying is not None:
            self._passed.append(self.flying)
            self.flying = None

    def passed(self) -> list[Any]:
        """The batches that the function has gone on from, which are let go of."""
        batches, self._passed = self._passed, []
        return batches


_AHEAD = 16
"""Batches of which nothing is told yet when a function has gone on from them and given something."""


@dataclass(frozen=True)
class GuardedStream:
    """A function of an iterator of batches, each a column or a tuple of columns. When it crashes it is called anew for the batches behind."""

    code: Code
    column: Making

    def __call__(self, batches: Iterable[Any]) -> Iterator[Column]:
        for batch, known in self.told(batches):
            yield self.column(_marks(known, rows_of(batch)))

    def told(self, batches: Iterable[Any]) -> Iterator[tuple[Any, dict[int, bytes]]]:
        """Each batch, and what is told of its rows, by their places."""
        source = Batches(batches)
        behind: deque[Any] = deque()  # a function may have read them before it gave what it made of others
        while source.has_more():
            try:
                for _ in self.code.stream(source):
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
        return crash_of(lambda: [None for _ in self.code.stream(iter([some]))])


@dataclass(frozen=True)
class GuardedBatches:
    """A function of an iterator of Arrow's batches. It gives the batches themselves, with a column of what is told."""

    stream: GuardedStream

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch, known in self.stream.told(batches):
            column = self.stream.column(_marks(known, batch.num_rows))
            yield batch.from_arrays([*batch.columns, column], [*batch.schema.names, "told"])


def _marks(known: Mapping[int, bytes], rows: int) -> Any:
    """What is told of each row, or None."""
    marks = np.full(rows, None)
    for row, what in known.items() if rows else ():  # a crash before anything was read has no row, if there is none
        marks[row] = what
    return marks


def _fine(batches: Iterable[Any]) -> Iterator[tuple[Any, dict[int, bytes]]]:
    """Nothing is told of these."""
    return ((batch, {}) for batch in batches)


def part(column: Column, places: Sequence[int]) -> Column:
    """Some rows, as if they were all; their places ascend."""
    start, count = (places[0], len(places)) if len(places) else (0, 0)
    together = not count or places[-1] - start == count - 1  # a slice takes half as long as to take each
    if hasattr(column, "iloc"):
        some = column.iloc[start:start + count] if together else column.iloc[places]
        return some.reset_index(drop=True)
    return column.slice(start, count) if together else column.take(places)


def rows_of(batch: Any) -> int:
    """How many rows a batch has."""
    column = batch[0] if isinstance(batch, tuple) else batch
    return int(column.num_rows if hasattr(column, "num_rows") else len(column))


def _all_small(numbers: Column) -> bool:
    """Whether a column is known to have small numbers alone, and None."""
    try:
        return _are_small(numbers)
    except Exception:  # it is whatever the user's function gave
        return False


def _are_small(numbers: Column) -> bool:
    if hasattr(numbers, "drop_null"):
        numbers = numbers.drop_null().to_numpy(zero_copy_only=False)
    elif hasattr(numbers, "dropna"):
        numbers = numbers.dropna()
    if getattr(getattr(numbers, "dtype", None), "kind", "") not in ("i", "u", "f"):
        return False
    return not len(numbers) or bool(numbers.min() > -SMALL and numbers.max() < SMALL)
