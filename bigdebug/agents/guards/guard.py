"""Guards: what runs functions of the user on records some of which they may crash on.

A guard notes the record that was in flight, leaves it out, and goes on with the rest: so a single pass over a partition
finds every culprit in it (BigDebug 4.3). PySpark pulls records one at a time, so the record in flight is the one pulled last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Protocol

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.crash import Crash, raised_as
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.flight import Flight
from bigdebug.agents.guards.held import Plainly
from bigdebug.agents.guards.inflight import NO_RECORD, Instead, Note, crashes, crashes_of_calls
from bigdebug.agents.guards.inputs import Inputs
from bigdebug.agents.guards.noted import Noted
from bigdebug.agents.guards.partition import GuardedPartition
from bigdebug.agents.segments import Around, Filter, FlatMap, Map, Partitionwise, Step
from bigdebug.shown import shown

HELD = 10_000
"""Outputs of one record that are held back until it is known that it does not crash on its way to the next."""


class Guard:
    """The crashes of one task, in the order in which they came; the first ``most`` in full, all in ``total``."""

    decides = False
    """Whether what it gives is what the job is to give."""
    replaces = False
    """Whether something may come in the place of what crashes."""
    unheard: Callable[[], AbstractContextManager[None]] = nullcontext
    """Within it, nobody hears of what is added to accumulators: what functions are called on to see whether they crash, is no part of the job."""

    def __init__(self, dumps: Dumps, most: int, flight: Flight | None = None, first: Callable[[Noted], None] | None = None) -> None:
        """``first`` is called with the first crash, when it is noted."""
        self.crashes = Noted()
        self.total = 0
        self.lost = False
        self.dumps = Plainly(dumps)
        self._most = most
        self._first = first
        self.flight = flight

    def flown(self, function: Callable[..., Any], whole: Callable[[Any], Any] = lambda given: given) -> Callable[..., Any]:
        """The function; where workers end in it, each call is noted until the ``whole`` of what it gives is there."""
        return function if self.flight is None else self.flight.over(function, whole)

    def lose(self) -> None:
        """A function had read more than is kept, when it crashed."""
        self.lost = True

    def expected(self, operator: int) -> Expected:
        """What is known of the crashes of an operator before they come."""
        return NOTHING

    def note(self, operator: int, segment: int) -> Note:
        """What notes the crashes of an operator in a segment."""
        return partial(self._crashed, operator, segment)

    def _crashed(
        self, operator: int, segment: int, position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD,
        again: bool = False, replaces: bool = False,
    ) -> Instead:
        self._keep(operator, segment, position, given, problem, met, again)
        if self.total == 1 and self._first is not None:
            self._first(self.crashes)
        return ()

    def _keep(self, operator: int, segment: int, position: int | None, given: Any, problem: BaseException, met: Any, again: bool) -> None:
        self.total += 1
        if self.total > self._most:
            return
        self.crashes.iterators += _is_iterator(given) or (issubclass(type(given), tuple) and any(map(_is_iterator, tuple.__iter__(given))))
        record = None if given is NO_RECORD else self._pickled(given)
        text = shown(given) if record is None and given is not NO_RECORD else None
        self.crashes.add(Crash(operator, segment, position, record, text, None if met is NO_RECORD else shown(met), raised_as(problem), again))

    def _pickled(self, record: Any) -> bytes | None:
        try:
            return self.dumps(record)
        except crashes():  # a record that lives inside a stage need not be picklable
            return None


def _is_iterator(value: Any) -> bool:
    return issubclass(type(value), Iterator)


class Crashed(Protocol):
    """As ``Note``, of the record that is in flight."""

    def __call__(self, record: Any, problem: BaseException, again: bool = False) -> Instead: ...


def given_instead(
    function: Callable[[Any], Any], crashed: Crashed, record: Any, problem: BaseException, whole: Callable[[Any], Any] = lambda given: given,
) -> Iterator[tuple[Any, Any]]:
    """What comes in the place of a record that crashed, and the whole of what the function gives of it, if anything does."""
    for other, new in crashed(record, problem):
        try:
            given = whole((other or function)(new))
        except crashes_of_calls() as worse:
            crashed(new, worse, again=True)
        else:
            yield new, given


@dataclass(frozen=True)
class GuardedMap:
    function: Callable[[Any], Any]
    crashed: Crashed
    inputs: Inputs
    """What notes the records that it is given."""

    def apply(self, split: int, records: Iterable[Any]) -> Iterator[Any]:
        function, inputs = self.function, self.inputs
        for record in records:
            inputs.latest = record
            try:
                given = function(record)
            except crashes_of_calls() as problem:
                for _, given in given_instead(function, self.crashed, record, problem):
                    yield given
            else:
                yield given


@dataclass(frozen=True)
class GuardedFilter:
    function: Callable[[Any], Any]
    crashed: Crashed
    inputs: Inputs

    def apply(self, split: int, records: Iterable[Any]) -> Iterator[Any]:
        function, inputs = self.function, self.inputs
        for record in records:
            inputs.latest = record
            try:
                kept = bool(function(record))
            except crashes_of_calls() as problem:
                for new, kept in given_instead(function, self.crashed, record, problem):
                    if kept:
                        yield new
            else:
                if kept:
                    yield record


@dataclass(frozen=True)
class GuardedFlatMap:
    """A record that crashes half way gives nothing, unless it has given more than is held back: then what is ``exact`` fails."""

    function: Callable[[Any], Iterable[Any]]
    crashed: Crashed
    exact: bool = False

    def apply(self, split: int, records: Iterable[Any]) -> Iterator[Any]:
        for record in records:
            try:
                outputs = iter(self.function(record))
                given = list(islice(outputs, HELD))
            except crashes_of_calls() as problem:
                for _, all_of_it in given_instead(self.function, self.crashed, record, problem, list):
                    yield from all_of_it
                continue
            yield from given
            while len(given) == HELD:
                try:
                    given = list(islice(outputs, HELD))
                except crashes_of_calls() as problem:
                    if self.exact:
                        raise
                    self.crashed(record, problem)
                    break
                yield from given


def guarded(
    step: Step, note: Note, at: Callable[[], int], guard: Guard, expected: Expected, inputs: Inputs | None = None, alone: bool = False,
) -> Any:
    """A step that goes on where ``step`` crashes. ``at`` tells the position of the record in flight into the step's segment, ``alone`` whether it comes to the step alone.

    ``inputs`` are told of what it is given, if it is the first step of their chain.
    """
    noting = Inputs(()) if inputs is None else inputs

    def crashed(record: Any, problem: BaseException, again: bool = False) -> Instead:
        return note(at(), record, problem, again=again, replaces=True)

    match step:
        case Map(function):
            return GuardedMap(guard.flown(expected.before(function, at, alone)), crashed, noting)
        case Filter(function):
            return GuardedFilter(guard.flown(expected.before(function, at, alone)), crashed, noting)
        case FlatMap(function):
            return GuardedFlatMap(guard.flown(expected.before(function, at, alone), list), crashed, guard.decides)
        case Around(inner, behind):
            return Around(guarded(inner, note, at, guard, expected, alone=alone), behind)
        case Partitionwise(function):
            def within(
                position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD, again: bool = False, replaces: bool = False,
            ) -> Instead:
                return note(at(), given, problem, again=again, replaces=replaces)

            return Partitionwise(GuardedPartition(function, within, guard.dumps, guard.flight, guard.decides, lost=guard.lose, unheard=guard.unheard))
