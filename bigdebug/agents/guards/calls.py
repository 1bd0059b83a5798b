"""Calls: a function over an iterator called once more, on some of the records that it had read when it crashed, to see what it raises."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import get_ident
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.cell import Cell
from bigdebug.agents.guards.code import crash_of
from bigdebug.agents.guards.crash import raised_as, same_class, trail_of
from bigdebug.agents.guards.inflight import NO_RECORD, InFlight, crashes
from bigdebug.outside import Signal

_ASKED = 20
"""Records on each of which a function is called, to find out whether it crashes on any."""


class _AskedForMore(Signal):
    """A function reads on."""


def _asked_for_more(context: Iterable[Any], reader: int) -> Iterator[Any]:
    """The context, and then a stop. A function that reads in another thread than ``reader`` (``pipe``) would wait for that one for ever: there
    the records end.
    """
    yield from context
    if get_ident() == reader:
        raise _AskedForMore


def _alike(one: BaseException, other: BaseException) -> bool:
    """Whether two exceptions say the same, of the same line."""
    return raised_as(one)[:3] == raised_as(other)[:3]


def is_same(own: BaseException | None, problem: BaseException) -> bool:
    """Whether what a function raises on a record alone is what it had raised when that came, and of the same line."""
    return own is not None and same_class(own, problem) and trail_of(own) == trail_of(problem)


@dataclass(frozen=True)
class Calls:
    """What a function raises that is called on records of the partition ``split``; ``apart``, in a process of its own, where workers end in it.

    Within ``unheard`` nobody hears of what it adds to accumulators: such a call is no part of the job.
    """

    function: Callable[[int, Iterable[Any]], Iterable[Any]]
    split: int
    source: InFlight
    dumps: Dumps
    apart: bool
    unheard: Callable[[], AbstractContextManager[None]] = nullcontext

    def whatever(self, problem: BaseException) -> bool:
        """Whether the function raises the same when its records have ended, whatever they were: on none, and on each of some alone."""
        some = [[], *([place] for place in range(min(_ASKED, len(self.source.pulled)))), [len(self.source.pulled) - 1]]
        pulled = self.source.pulled.listed()
        found = (self.raised(self.source.context, pulled, places) for places in some)
        return all(own is not None and _alike(own, problem) for own in found)

    def alone(self, problem: BaseException) -> BaseException | None:
        """What the function raises on the record alone that it had read last, if that is what it raised."""
        own = self.raised(self.source.context, [self.source.pulled[-1]], [0])
        return own if is_same(own, problem) else None

    def reads_ahead(self, answered: int, problem: BaseException, ahead: int) -> bool:
        """Whether the function also crashes on some of the last records that it had read before it gave something: then it had not come to them.

        All that it has read in this call is suspect then, and it is called on that again; what it has given is not given twice.
        """
        own = self.raised_of(self.source.pulled.listed(), range(max(0, answered - ahead), answered))
        # What begins in the middle may crash of that.
        return own is not None and (answered <= ahead or same_class(own, problem))

    def gives_first(self, context: Iterable[Any]) -> int:
        """How much the function gives before it asks for more than the context."""
        given = 0
        try:
            with self.unheard():
                for _ in self.function(self.split, _asked_for_more(context, get_ident())):
                    given += 1
        except _AskedForMore:
            return given
        except crashes():  # it has been given too little, in a thread of its own
            pass
        return 0

    def needs_first(self, place: int, problem: BaseException) -> bool:
        """Whether the function crashes on a record if it has read the first one before, and not on that."""
        if self.source.context or self.source.first is NO_RECORD or self.source.held.alike(self.source.first, self.source.pulled[place]):
            return False
        both = [self.source.first, self.source.pulled[place]]
        return self.raised([], both, [0]) is None and same_class(self.raised([], both, [0, 1]), problem)

    def raised_of(self, pulled: Sequence[Any], places: Sequence[int]) -> BaseException | None:
        """As ``raised``, but for what the function raises on no record, too."""
        own = self.raised(self.source.context, pulled, places) if places else None
        nothing = None if own is None else self.raised(self.source.context, pulled, [])
        return None if own is None or (nothing is not None and _alike(nothing, own)) else own

    def raised(self, context: Sequence[Any], pulled: Sequence[Any], places: Sequence[int]) -> BaseException | None:
        """What the function raises on some records."""
        in_a_row = isinstance(places, range) and places.step == 1
        some = pulled[places[0] : places[-1] + 1] if in_a_row and places else [pulled[place] for place in places]

        def call() -> None:
            with self.unheard():
                deque(self.function(self.split, map(self.source.held.given, [*context, *some])), maxlen=0)

        cell = Cell(lambda: call, self.dumps) if self.apart else None
        try:
            return crash_of(call if cell is None else partial(cell.call, "__call__"))
        finally:
            if cell is not None:
                cell.close()
