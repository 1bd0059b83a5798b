"""Placed: records as a shuffle hands them over, held by their places alone. What a function was given is read again from the frame that it came in.

A light function over lists takes less of a record than its pickle does. Nothing is held of what may change, then, and the records of a frame are read once more where a
function crashes on one of them: of those that share nothing which may change, each is what it was.
"""

from __future__ import annotations

import gc
import pickle
import sys
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.held import PLAIN, Holding, Pulled, is_plain
from bigdebug.agents.notes import Notes
from bigdebug.agents.readers import Shuffled, Spooled
from bigdebug.agents.segments import Tally
from bigdebug.agents.spool import Spool
from bigdebug.outside import Signal

if TYPE_CHECKING:
    from typing import Self

    from bigdebug.agents.guards.inflight import InFlight

_LOOKED_AT = 100
"""The first records, by which it is seen whether these are of kinds that are read again."""

_FEWEST, _MOST_BYTES = 2, 1 << 18
"""Frames that were read again which are there at a time: so many, and others as far as their bytes go."""

_SMALL = 1 << 13
"""Bytes of a frame that is read before a collector would look."""

_PLACE_BYTES = 5

_MADE_OF = (list, tuple, dict, set, bytearray)
"""Types of what records have in them besides plain values: of these it is known what they hold."""


class Shared(Signal):
    """A record may share something with another one, or is of a kind that may: what a function was given is not known."""


class Arrived:
    """Reads what a shuffle hands over to a guarded stage, and is what its first function's records are held by."""

    def __init__(self, reader: Shuffled) -> None:
        self._reader = reader
        self._spool: Spool | None = None
        self._first: list[Any] | None = None
        self._tally = Tally(())
        self.failed = False
        """Whether a frame could not be read."""
        self.is_shared = False
        """Whether it was found that records are not what they were when they are read again, or not where they were: what was told of them is not certain."""

    def read(self, incoming: Iterable[bytes], notes: Notes) -> Iterator[Any]:
        self._spool = self._reader.read(incoming, notes)
        self._tally = Tally(self._records(self._spool))
        return self._tally.records

    @property
    def taken(self) -> int:
        """How many records have been taken, by whoever had an iterator of them."""
        return self._tally.count()

    def again(self) -> Spooled:
        """Reads the same once more."""
        assert self._spool is not None
        return Spooled(self._spool)

    def holding(self) -> Holding:
        """By their places, if the first ones are such that they can be."""
        assert self._spool is not None
        try:
            self._first = self.batch(0) if len(self._spool) else []
        except Exception:  # whoever asks for it is told
            return Holding()
        return ByPlace(self._spool, self) if _are_alone(islice(self._first, _LOOKED_AT)) else Holding()

    def _records(self, spool: Spool) -> Iterator[Any]:
        """A generator: where two threads ask it at once, the second one is told. ``chain`` would let go of what the first one is in, and end the process."""
        for number in range(len(spool.starts)):
            batch, self._first = self._first, None
            if batch is None:
                try:
                    batch = self.batch(number)
                except BaseException:
                    self.failed = True
                    raise
            yield from batch

    def batch(self, number: int) -> list[Any]:
        """The records of a frame, without looking for garbage after every thousand of them: there is none yet."""
        assert self._spool is not None
        if self._spool.size(number) < _SMALL or not gc.isenabled():
            return self._spool.batch(number)
        gc.disable()
        try:
            return self._spool.batch(number)
        finally:
            gc.enable()


class ByPlace(Holding):
    """Holds records by where they stand among all that arrived. What is not certain of one that is ``given`` is said by ``confirm``: a function may ask for records in a thread of its own,
    or catch what these raise.
    """

    sees = False

    def __init__(self, spool: Spool, arrived: Arrived) -> None:
        super().__init__()
        self._spool = spool
        self._arrived = arrived
        self._alone = threading.Lock()
        """Held while a record is read again: functions ask for records in threads of theirs."""
        self._read: dict[int, list[Any]] = {}
        self._bytes = 0
        self._pickles: dict[int, bytes] = {}
        """Of records in these frames that were asked for."""
        self._start, self._batch = 0, list[Any]()
        """The frame that was asked for last, and what comes before it."""

    @property
    def failed(self) -> bool:
        return self._arrived.failed

    def row(self, source: InFlight) -> Pulled:
        return Places(source)

    def weight(self, held: Any, dumps: Dumps) -> int:
        """Nothing; but who wants to know where many are takes as much for a while as of small numbers."""
        return _PLACE_BYTES

    def has_more(self) -> bool:
        return self._arrived.taken < len(self._spool)

    def count(self, fresh: int) -> None:
        """So many records were pulled in all, as far as the calls know. If an iterator of a call that has ended took others, it is not known which are where."""
        if self._arrived.taken != fresh:
            self._arrived.is_shared = True

    def confirm(self) -> None:
        """Raises Shared where what was given may not be what a function was given."""
        if self._arrived.is_shared:
            raise Shared

    def given(self, held: int) -> Any:
        with self._alone:
            at = held - self._start
            if not 0 <= at < len(self._batch):
                at = self._turn_to(held)
            record = self._batch[at]
            if type(record) is list and sys.getrefcount(record) == _ONCE and PLAIN.issuperset(map(type, record)):
                return record.copy()
            if is_plain(record):
                return record
            del record  # which refers to it
            if held not in self._pickles:
                self._arrived.is_shared = self._arrived.is_shared or not _are_alone(map(self._batch.__getitem__, (at,)))
                self._pickles[held] = pickle.dumps(self._batch[at]) if not self._arrived.is_shared else b""
            made = self._pickles[held]
            return pickle.loads(made) if made else self._batch[at]

    def _turn_to(self, held: int) -> int:
        """Read the frame again that a place is in, if that is not there; gives where in it."""
        number = bisect_right(self._spool.starts, held) - 1
        if number not in self._read:
            size = self._spool.size(number)
            if len(self._read) >= _FEWEST and self._bytes + size > _MOST_BYTES:
                self._read.clear()
                self._pickles.clear()
                self._bytes = 0
            self._bytes += size
            self._read[number] = self._arrived.batch(number)
        self._start, self._batch = self._spool.starts[number], self._read[number]
        return held - self._start

    def alike(self, one: int, other: int) -> bool:
        """As of records that are pickled, or held as they are: of tuples it is known of the same one alone."""
        if one == other:
            return True
        first, second = self.given(one), self.given(other)
        if is_plain(first) or is_plain(second):
            return type(first) is type(second) and type(first) in PLAIN and bool(first == second)
        return pickle.dumps(first) == pickle.dumps(second)


class Places(Sequence[int]):
    """The places of the records that the present call has pulled, as far as it has not let go of them."""

    def __init__(self, source: InFlight) -> None:
        self._source = source

    def __len__(self) -> int:
        return self._source.read_so_far - self._source.let_go

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            first, last, _ = place.indices(len(self))
            return self._source.positions(first, last)
        return self._source.position(place if place >= 0 else place + len(self))

    def __iter__(self) -> Iterator[int]:
        return iter(self[:])

    def listed(self) -> Self:
        return self

    def append(self, held: Any) -> None:
        """Those that are pulled are counted."""

    def clear(self) -> None:
        """None are pulled before another call."""

    def drop(self, count: int) -> None:
        """None of them takes any room."""


def _are_alone(values: Iterable[Any]) -> bool:
    """Whether all that may change in values is of a known kind, and nothing refers to it but what it is in."""
    for each in values:
        if is_plain(each) or (type(each) is frozenset and all(map(is_plain, each))):
            continue
        if type(each) not in _MADE_OF or sys.getrefcount(each) != _ONCE:
            return False
        if isinstance(each, (dict, set)) and not all(map(is_plain, each)):
            return False
        if not isinstance(each, (bytearray, set)) and not _are_alone(each.values() if isinstance(each, dict) else each):
            return False
    return True


def _references(values: Iterable[Any]) -> int:
    """Those to the first value: of what it is in, and of whoever looks."""
    for each in values:
        return sys.getrefcount(each)
    return 0


_ONCE = _references([[]])
"""References to what is in one place alone, as they are counted here."""
