"""In flight: which record a function over an iterator was at when it crashed, and how it goes on behind that one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Protocol

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.flight import Flight, WorkerEnded
from bigdebug.agents.guards.halving import alone, fewest

CRASHES = (Exception, SystemExit)
"""What a crash is. A KeyboardInterrupt is Spark's, or the user's, wish to end."""

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

    ``pulled`` are the last ones that the present call has pulled, as many as ``KEPT_BYTES`` hold.
    """

    def __init__(self, records: Iterable[Any], dumps: Dumps, flight: Flight | None = None) -> None:
        self._source = iter(records)
        self._flight = flight
        self._function = 0 if flight is None else flight.function()
        self._dumps = dumps
        self._waiting: deque[Any] = deque()
        self._heaviest = 1
        self._let_go = 0
        self.replaced = -1
        """The position of the record that came last in the place of another."""
        self.pulled: deque[Any] = deque()
        self.failed = False

    @property
    def position(self) -> int:
        """That of the record in flight; -1 if none has been pulled."""
        return self._let_go + len(self.pulled) - 1

    def has_more(self) -> bool:
        """Whether there are records for another call."""
        self._let_go += len(self.pulled)
        self.pulled.clear()
        self._waiting.extend(islice(self._source, 1 - len(self._waiting)))
        return bool(self._waiting)

    def records(self) -> Iterator[Any]:
        """What one call of the function pulls."""
        pulled, flight = self.pulled, self._flight
        coming = chain(self._taken_back(), self._source)
        look = 1
        try:
            while True:
                before = self.position
                for record in islice(coming, look):
                    pulled.append(record)
                    if flight is not None:
                        flight.begin(self._function, self.position, record)
                    yield record
                if self.position == before:
                    return
                look = min(2 * look, self._hold())
        except (GeneratorExit, WorkerEnded):
            raise
        except BaseException:
            self.failed = True
            raise

    def _taken_back(self) -> Iterator[Any]:
        while self._waiting:
            yield self._waiting.popleft()

    def _hold(self) -> int:
        """Let go of what is too much; gives how many records may be pulled before the next look."""
        self._heaviest = max(self._heaviest, self._weight(self.pulled[-1]))
        while len(self.pulled) > 1 and len(self.pulled) * self._heaviest > KEPT_BYTES:
            self.pulled.popleft()
            self._let_go += 1
        return max(1, min(_LOOK, KEPT_BYTES // self._heaviest))

    def go_on_with(self, record: Any) -> None:
        """The next record is this one, in the place of the one in flight."""
        self._waiting.appendleft(record)
        self.replaced = self.position
        self._let_go -= 1

    def _weight(self, record: Any) -> int:
        try:
            return len(self._dumps(record))
        except Exception:  # it need not be picklable
            return 1024


@dataclass(frozen=True)
class GuardedPartition:
    """A function over an iterator. When it crashes it is called anew for the records behind the one in flight.

    That one is the culprit if the function crashes on it alone. Else those are that it crashes on alone of all that the call had
    read, found by halving; or it is the last of the fewest in a row that the function crashes on, which it met.
    """

    function: Callable[[int, Iterable[Any]], Iterable[Any]]
    crashed: Note
    dumps: Dumps
    flight: Flight | None = None

    def __call__(self, split: int, records: Iterable[Any]) -> Iterator[Any]:
        source = InFlight(records, self.dumps, self.flight)
        while True:
            try:
                yield from self.function(split, source.records())
                if self.flight is not None:
                    self.flight.end()
                return
            except CRASHES as problem:
                if source.failed:
                    raise
                self._note(split, source, problem)
                if not source.pulled:
                    return  # it crashes whatever it is given
            if not source.has_more():
                return

    def _note(self, split: int, source: InFlight, problem: BaseException) -> None:
        pulled = list(source.pulled)
        crash = partial(self._crash, split, type(problem), pulled)
        first, last = source.position + 1 - len(pulled), len(pulled) - 1
        if not pulled:
            self.crashed(None, NO_RECORD, problem)
        elif isinstance(problem, WorkerEnded):
            self.crashed(source.position, pulled[last], problem)
        elif (own := crash(last, last + 1)) is not None:
            again = source.replaced == source.position
            for _, record in self.crashed(source.position, pulled[last], own, again=again, replaces=True):
                source.go_on_with(record)
        elif found := list(alone(crash, len(pulled))):
            for at, own in found:
                self.crashed(first + at, pulled[at], own)
        elif (number := fewest(crash, len(pulled))) is not None:
            met = pulled[-number:last]
            self.crashed(source.position, pulled[last], problem, met[0] if len(met) == 1 else met)
        else:
            self.crashed(None, NO_RECORD, problem)

    def _crash(self, split: int, kind: type[BaseException], pulled: list[Any], start: int, stop: int) -> BaseException | None:
        """What the function raises on some of these records alone, if that is of this kind."""
        try:
            deque(self.function(split, iter(pulled[start:stop])), maxlen=0)
        except CRASHES as own:
            return own if type(own) is kind else None
        return None
