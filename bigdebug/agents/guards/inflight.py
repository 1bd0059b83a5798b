"""In flight: which records a function over an iterator has read, and which one it was at when it crashed."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from inspect import GEN_CLOSED, getgeneratorstate
from itertools import chain, islice
from typing import Any, Protocol

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.expected import Expected
from bigdebug.agents.guards.flight import Flight, WorkerEnded
from bigdebug.agents.guards.held import Holding, Pulled
from bigdebug.agents.segments import Tally
from bigdebug.outside import Signal

_NO_CRASHES = (KeyboardInterrupt, GeneratorExit, Signal)


def crashes() -> tuple[type[BaseException], ...]:
    """For ``except crashes()``: the class of what is being raised, if that is a crash.

    Libraries raise what is no Exception (a panic in Rust, a function that timed out), and Spark takes all of it for a crash. A
    KeyboardInterrupt is Spark's, or the user's, wish to end, a GeneratorExit a reader's.
    """
    kind = sys.exc_info()[0]
    return () if kind is None or issubclass(kind, _NO_CRASHES) else (kind,)


def crashes_of_calls() -> tuple[type[BaseException], ...]:
    """The same of a function that is called on a record, or a row, and answers: nobody reads of it, so a GeneratorExit is one that it raised."""
    kind = sys.exc_info()[0]
    return (GeneratorExit,) if kind is not None and issubclass(kind, GeneratorExit) else crashes()


KEPT_BYTES = 64 << 20
"""Records that are kept to find the culprit of a function that had read further when it crashed."""

NO_RECORD: Any = object()


Instead = tuple[tuple[Callable[[Any], Any] | None, Any], ...]
"""What comes in the place of a record that crashed: nothing, or a record, and the function to call on it if not the same one."""


class Note(Protocol):
    """Notes a crash: the position of the record in flight (None: there was none), what the function was given, what it raised, and what the record met.

    ``again`` says that it is what came instead of another that crashed; ``replaces``, that the guard knows how to go on with something else.
    """

    def __call__(
        self, position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD, again: bool = False, replaces: bool = False,
    ) -> Instead: ...


_LOOK = 1024
"""How many records are pulled between two looks at what they weigh, at most: to pickle one takes as long as to pull a hundred."""


class InFlight:
    """Records as calls of a function over an iterator pull them, each call from an iterator of its own; the one pulled last is in flight.

    ``pulled`` are those that the present call has pulled, held as they were then, the last ones, as many as ``KEPT_BYTES`` hold; it has ``let_go`` of so many
    others. Each call is given ``context`` first.
    """

    def __init__(self, records: Iterable[Any], dumps: Dumps, flight: Flight | None = None, held: Holding | None = None) -> None:
        self._source = self._behind = iter(records)
        self._flight = flight
        self._function = 0 if flight is None else flight.function()
        self._dumps = dumps
        self.held = Holding() if held is None else held
        self._heaviest = self._look = 1
        self._fed: deque[tuple[int, Any]] = deque()
        self._positions: list[int] = []
        self._fresh = 0
        self._gaps: list[int] = []
        """How many records come before each of those that do not."""
        self.replaced: set[int] = set()
        """Positions of records that came instead of others."""
        self.first: Any = NO_RECORD
        self.first_at = -1
        """Its position: another record may be the same object."""
        self.context: list[Any] = []
        self.let_go = 0
        self._tally = Tally(())
        self.pulled: Pulled = self.held.row(self)
        self.ended = self._failed = self._whole = False
        self._batch: Generator[Any] | None = None
        self.keeping = False
        """Whether it lets go of nothing."""

    @property
    def coming(self) -> tuple[int, int]:
        """Before a call: how many records have come, and how many it is to pull again."""
        return self._fresh, len(self._fed)

    def position(self, place: int) -> int:
        """That of the record at a place of those pulled."""
        at = self.let_go + place
        return self._positions[at] if at < len(self._positions) else self._counted(self._fresh + at - len(self._positions))

    def positions(self, first: int, last: int) -> list[int]:
        """Those of the records from one place up to another, without that."""
        known, these = len(self._positions), range(self.let_go + first, self.let_go + last)
        fresh = range(self._fresh + max(these.start, known) - known, self._fresh + max(these.stop, known) - known)
        return [*self._positions[these.start : these.stop], *(map(self._counted, fresh) if self._gaps else fresh)]

    def read(self) -> list[tuple[int, Any]]:
        """What the present call has pulled, with positions."""
        return list(zip(self.positions(0, len(self.pulled)), self.pulled))

    def spare(self, expected: Expected, crashed: Note) -> None:
        """From here on the function is not given what it is expected to crash on, which is noted, but what comes instead.

        So a function that keeps something from record to record does not begin anew.
        """
        self._source = self._behind = self._sparing(self._source, expected, crashed)

    def _sparing(self, records: Iterator[Any], expected: Expected, crashed: Note) -> Iterator[Any]:
        for position, record in enumerate(records):
            problem = expected.problem(position, record, sure=True)
            if problem is None:
                yield record
                continue
            others = [new for _, new in crashed(position, record, problem, replaces=True)]
            for other in others:
                worse = expected.problem(position, other)
                if worse is None:
                    self.replaced.add(position)
                    yield other
                else:
                    crashed(position, other, worse, again=True)
            if position not in self.replaced:
                self._gaps.append(position - len(self._gaps))

    def _counted(self, number: int) -> int:
        """The position of the record that has come as this one, counted from 0."""
        return number + bisect_right(self._gaps, number)

    def begin(self) -> None:
        """The call begins, with no record yet."""
        if self._flight is not None:
            self._flight.begin(self._function, None)

    def land(self) -> None:
        """The call has ended, whether it gave all that it has to give or crashed."""
        if not self.held.sees:
            fresh = self.read_so_far - len(self._positions)
            self.held.count(self._fresh + fresh)
            if fresh > 1 or self.ended:  # it has asked for more than one
                self._hold()
        if self._flight is not None:
            self._flight.end(self._function)

    def go_on(self, fed: Sequence[tuple[int, Any]]) -> bool:
        """Have the next call pull these records, with their positions, and then those behind; False if there are none."""
        self._fresh += self.let_go + len(self.pulled) - len(self._positions)
        self._positions, self.let_go = [], 0
        self._tally = Tally(())
        self.pulled.clear()
        self._batch = None
        self._fed.extendleft(reversed(fed))
        if self._fed or not self.held.sees:
            return bool(self._fed) or self.held.has_more()
        for record in islice(self._source, 1):
            self._source = chain((record,), self._behind)  # itself, and no copy: another record may be the same object
            return True
        return False

    def records(self) -> Iterator[Any]:
        """What one call of the function pulls."""
        passing: Iterator[Any] = chain.from_iterable(self._batches())
        if not self.held.sees:
            self._tally = Tally(passing)
            passing = self._tally.records
        return chain(map(self.held.given, self.context), passing) if self.context else passing

    @property
    def left(self) -> Callable[[], int] | None:
        """What tells, in C, how much less than ``sys.maxsize`` the present call has pulled; None where these are in a row, which is as quick."""
        return None if self.held.sees else self._tally.left

    @property
    def read_so_far(self) -> int:
        """How many records the present call has pulled, its context apart."""
        return self.let_go + len(self.pulled) if self.held.sees else self._tally.count()

    @property
    def failed(self) -> bool:
        """Whether it is the source that has raised, not the function: then the batch that was being read has ended, and not with its last record."""
        return self._failed or self.held.failed or (self._batch is not None and not self._whole and getgeneratorstate(self._batch) == GEN_CLOSED)

    def _batches(self) -> Iterator[Iterator[Any]]:
        """A generator costs a record as much as half of what is done here: so what passes one by one, passes one at a time."""
        held, pulled = self.held, self.pulled
        yield self._again()
        if not held.sees:
            yield self._source
            self.ended = not held.failed
            return
        before = -1
        while before != len(pulled) + self.let_go:
            before = len(pulled) + self.let_go
            self._batch, self._whole = None, False
            fresh = chain(islice(self._source, self._look), self._end())
            self._batch = held.passing(fresh, pulled.append) if self._flight is None else self._flying(fresh, self._flight)
            yield self._batch
            if self.failed:  # and somebody has asked for more all the same
                self._failed = True
                return
            self._look = min(2 * self._look, self._hold())
        self._batch, self.ended = None, True
        if self._flight is not None and pulled:
            self._flight.goes_on(self._function)

    def _end(self) -> Iterator[Any]:
        self._whole = True
        yield from ()

    def _again(self) -> Iterator[Any]:
        """What was pulled before, and is to be again."""
        flight, function, given = self._flight, self._function, self.held.given
        while self._fed:
            position, record = self._fed.popleft()
            self._positions.append(position)
            self.pulled.append(record)
            again = given(record)
            if flight is None:
                yield again
            else:
                flight.begin(function, again)
                yield again
                flight.asks(function)

    def _flying(self, records: Iterator[Any], flight: Flight) -> Generator[Any]:
        function, append, held = self._function, self.pulled.append, self.held
        try:
            for record in records:
                append(held(record))
                flight.begin(function, record)
                yield record
                flight.asks(function)
        except WorkerEnded:  # in the function, on the record
            self._batch = None
            raise

    def _hold(self) -> int:
        """Let go of what is too much; gives how many records may be pulled before the next look."""
        if not self.pulled:
            return 1
        if self.first is NO_RECORD:
            self.first, self.first_at = self.pulled[0], self.position(0)
        self._heaviest = max(self._heaviest, self.held.weight(self.pulled[-1], self._dumps))
        too_many = len(self.pulled) - max(1, KEPT_BYTES // self._heaviest)
        if too_many > 0 and not self.keeping:
            self.pulled.drop(too_many)
            self.let_go += too_many
        return max(1, min(_LOOK, KEPT_BYTES // self._heaviest))
