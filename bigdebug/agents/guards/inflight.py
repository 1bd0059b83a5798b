"""In flight: which record a function over an iterator was at when it crashed, and how it goes on behind that one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
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


class InFlight:
    """Records as a function over an iterator pulls them; the one at ``position`` is in flight.

    ``pulled`` are the last ones that the present call has pulled, as many as ``KEPT_BYTES`` hold.
    """

    def __init__(self, records: Iterable[Any], dumps: Dumps, flight: Flight | None = None) -> None:
        self._source = iter(records)
        self._flight = flight
        self._function = 0 if flight is None else flight.function()
        self._dumps = dumps
        self._waiting: deque[Any] = deque()
        self._heaviest = 1
        self.position = -1
        self.replaced = -1
        """The position of the record that came last in the place of another."""
        self.pulled: deque[Any] = deque()
        self.failed = False

    def has_more(self) -> bool:
        """Whether there are records for another call."""
        self.pulled.clear()
        self._waiting.extend(islice(self._source, 1 - len(self._waiting)))
        return bool(self._waiting)

    def __iter__(self) -> InFlight:
        return self

    def __next__(self) -> Any:
        try:
            record = self._waiting.popleft() if self._waiting else next(self._source)
        except StopIteration:
            raise
        except BaseException:
            self.failed = True
            raise
        self.position += 1
        self.pulled.append(record)
        if not self.position & 63:
            self._heaviest = max(self._heaviest, self._weight(record))
        while len(self.pulled) * self._heaviest > KEPT_BYTES:
            self.pulled.popleft()
        if self._flight is not None:
            self._flight.begin(self._function, self.position, record)
        return record

    def go_on_with(self, record: Any) -> None:
        """The next record is this one, in the place of the one in flight."""
        self._waiting.appendleft(record)
        self.replaced = self.position
        self.position -= 1

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
                yield from self.function(split, source)
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
