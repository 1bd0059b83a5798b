"""Code: a function of the user as Spark ships it to workers, and what they tell of its crashes in a column of bytes."""

from __future__ import annotations

import hashlib
import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.cell import Cell, Confined, ConfinedStream
from bigdebug.agents.guards.crash import Line, Raised, raised_as
from bigdebug.agents.guards.inflight import crashes


@dataclass(frozen=True)
class Code:
    """Pickled functions, each of which is called on what the one before it gives, with the type that the last is to give.

    With ``confined`` they are called in a cell, and what crosses is pickled by that.
    """

    pickled: tuple[bytes, ...]
    confined: Dumps | None = None

    @cached_property
    def _unpickled(self) -> list[tuple[Callable[..., Any], Any]]:
        found = [pickle.loads(each) for each in self.pickled]
        # PySpark broadcasts what is large.
        return [each if isinstance(each, tuple) else pickle.loads(each.value) for each in found]

    @cached_property
    def function(self) -> Callable[..., Any]:
        return self._chain() if self.confined is None else Confined(Cell(self._chain, self.confined))

    @cached_property
    def stream(self) -> Callable[[Iterable[Any]], Iterable[Any]]:
        """As a function of an iterator of batches."""
        return self._chain() if self.confined is None else ConfinedStream(Cell(self._chain, self.confined))

    @property
    def arguments(self) -> int:
        """How many arguments by position the function takes."""
        return len(inspect.getfullargspec(self._unpickled[0][0]).args)

    def _chain(self) -> Callable[..., Any]:
        first, *others = [function for function, _ in self._unpickled]
        return reduce(_chained, others, first)

    @property
    def returns(self) -> Any:
        """Spark's type of what it gives."""
        return self._unpickled[-1][1]


def _chained(inner: Callable[..., Any], outer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: outer(inner(*given, **named))


SMALL = 2**31
"""Numbers nearer to 0 than this are small: more than four billion of them would have to be added before a bigint overflows."""

LARGE = b""
"""What is told, besides crashes, of a function that gave a number that is not small."""

DOUBTFUL = b"?"
"""What is told, besides crashes, of a function that gave something of which it has to be looked at whether it fits its type."""

Fitting = Callable[[Any], Callable[[Any, int], None] | None]
"""For a type of Spark's, what raises what Spark would if what a function gave does not fit that, or the number of rows; None if all does."""


def anything(returns: Any) -> None:
    """Takes what functions give for what Spark wants."""


class Told(NamedTuple):
    """What a task tells of a crash: the function crashed on ``together`` rows in a row, the one told of and those before it, and on no
    fewer; on 0, if it had read none.
    """

    raised: Raised
    together: int

    @classmethod
    def unpacked(cls, packed: bytes) -> Told:
        (exception, message, lines, *others), together = pickle.loads(packed)
        return cls(Raised(exception, message, tuple(Line(*line) for line in lines), *others), together)


def told(problem: BaseException, together: int = 1) -> bytes:
    """A crash as a value of a column, which needs nothing but Python to be read."""
    exception, message, lines, *others = raised_as(problem)
    return pickle.dumps(((exception, message, [tuple(line) for line in lines], *others), together))


_DIFFERENT = 1_000
"""Different crashes that a task keeps in mind."""


class Once:
    """What a task tells in a column: all of a crash once, and of the same on rows that come after it its digest. A crash is a thousand bytes, and most
    are the same. Whoever reads the column has to keep the first rows of each task, in their order.
    """

    def __init__(self) -> None:
        self._digests: dict[bytes, bytes] = {}

    def __call__(self, what: bytes) -> bytes:
        digest = self._digests.get(what)
        if digest is None and what not in (LARGE, DOUBTFUL) and len(self._digests) < _DIFFERENT:
            self._digests[what] = _digest(what)
        return digest or what


def _digest(what: bytes) -> bytes:
    return b"=" + hashlib.blake2b(what, digest_size=16).digest()


def unpacked(marks: Iterable[bytes]) -> Mapping[bytes, Told]:
    """The crashes that tasks told, by what is in the column; all that they told, or the first of each task."""
    marks = {*marks} - {LARGE, DOUBTFUL}
    whole = {mark: Told.unpacked(mark) for mark in marks if not mark.startswith(b"=")}
    known = whole | {_digest(mark): what for mark, what in whole.items()}
    return {mark: known[mark] for mark in marks}


def crash_of(call: Callable[..., Any], *given: Any, **named: Any) -> BaseException | None:
    """What a call raises."""
    try:
        call(*given, **named)
    except crashes() as own:
        return own
    return None
