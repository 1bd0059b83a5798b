"""Guarded functions over the iterator of a partition: they go on where the user's crashes, without the records that it crashes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.calls import Calls
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.flight import Flight
from bigdebug.agents.guards.held import Holding
from bigdebug.agents.guards.inflight import InFlight, Note
from bigdebug.agents.guards.rounds import Rounds
from bigdebug.agents.notes import Notes, smallest
from bigdebug.agents.pairing import Reads
from bigdebug.agents.segments import Leaked, Tally


class Before(Protocol):
    """What a function's records come from."""

    def holding(self) -> Holding:
        """What holds them while it is called."""


@dataclass(frozen=True)
class GuardedPartition:
    """A function over an iterator. Where it crashes, the culprits are among the records that it had read since it gave something.

    The one in flight is, if the function crashes on it alone, or with the first record before it, which may be a header. The others are
    that it crashes on alone, found by halving; if none is, the last of the fewest in a row that it crashes on.

    It is called anew for the others of these records and those behind. So that a function which reads many before it gives something is
    not called on them for each culprit, calls in between only look for more of these, as far as to the first thing that they give.
    """

    function: Callable[[int, Iterable[Any]], Iterable[Any]]
    crashed: Note
    dumps: Dumps
    flight: Flight | None = None
    exact: bool = False
    """Whether what it gives is what the job is to give: then it fails rather than to leave out records that it has let go of."""
    expected: Expected = NOTHING
    lost: Callable[[], None] = lambda: None
    """Called where there may be culprits among records that were let go of."""
    before: Before | None = None
    """What knows how to hold the records, if it need not be by their pickles."""
    unheard: Callable[[], AbstractContextManager[None]] = nullcontext
    """Within it, nobody hears of what is added to accumulators."""

    def __call__(self, split: int, records: Iterable[Any], reads: Reads | None = None) -> Iterator[Any]:
        """What the function gives of records. ``reads`` is told how many of these had been read when it gave something."""
        source = InFlight(records, self.dumps, self.flight, None if self.before is None else self.before.holding())
        if self.expected.spares:
            source.spare(self.expected, self.crashed)
        calls = Calls(self.function, split, source, self.dumps, self.flight is not None, self.unheard)
        return Rounds(calls, self.crashed, self.exact, self.lost, Reads() if reads is None else reads).outputs()


@dataclass(frozen=True)
class GuardedPaired:
    """As ``Paired``, whose function is guarded."""

    function: GuardedPartition

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        pulled, reads = Tally(records), Reads()
        given = Tally(self.function(split, pulled.records, reads))
        notes.columns[f"{name}.reads"] = lambda: smallest(reads.array())
        notes.levels[-1] = pulled.count
        notes.levels.append(given.count)
        return given.records
