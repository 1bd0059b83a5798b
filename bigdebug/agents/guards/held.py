"""Held: records as they were before a function was called on them, for it may change what it is given."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from bigdebug.agents.frames import Dumps
from bigdebug.outside import from_outside

if TYPE_CHECKING:
    from bigdebug.agents.guards.inflight import InFlight

PLAIN = frozenset((str, bytes, int, float, bool, complex, type(None), date, datetime, time, timedelta, Decimal))
"""Types of which nothing changes."""

PICKLED = frozenset((bytes, list, dict))
"""Types of records that are held as their pickles: most of those that may change, and bytes, which would be taken for a pickle."""

AS_THEY_ARE = PLAIN - PICKLED

NAMED = pickle.STACK_GLOBAL[0]
"""In each pickle that names a class, and may need it to be read. Others may have it, too."""


def is_plain(record: Any) -> bool:
    """Whether nothing of a record can change: a plain value, or a tuple of such, as rows are."""
    if type(record) in PLAIN:
        return True
    if not isinstance(record, tuple):
        return False
    if len(record) == 2 and type(record[0]) in PLAIN and type(record[1]) in PLAIN:
        return True
    for each in record:  # noqa: SIM110 (a generator takes twice the time)
        if type(each) not in PLAIN and not (isinstance(each, tuple) and is_plain(each)):
            return False
    return True


@dataclass(frozen=True)
class Plainly:
    """Pickles a record; what Python's own pickles can do, in a fifth of the time that ``others`` takes, which can do more."""

    others: Dumps

    def __call__(self, record: Any) -> bytes:
        try:
            return pickle.dumps(record)
        except BaseException as problem:  # a class, or a function, that is no module's
            if from_outside(problem):
                raise
            return self.others(record)


class Pulled(Protocol):
    """Held records in the order in which they were pulled."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: Any, /) -> Any: ...

    def __iter__(self) -> Iterator[Any]: ...

    def listed(self) -> Sequence[Any]:
        """The same, to be looked up."""

    def append(self, held: Any, /) -> None: ...

    def clear(self) -> None: ...

    def drop(self, count: int) -> None:
        """Let go of the first ones."""


class Row(deque[Any]):
    """Held records in a row."""

    def listed(self) -> list[Any]:
        return list(self)

    def drop(self, count: int) -> None:
        for _ in range(count):
            self.popleft()


class HeldRecord(tuple[Any, bytes]):
    """A record whose pickle names classes, and that pickle."""

    __slots__ = ()

    def given(self) -> Any:
        """The record as it was; as it is now, if its pickle cannot be read."""
        try:
            return pickle.loads(self[1])
        except BaseException as problem:  # what an exception class is made of need not be what it is called with
            if from_outside(problem):
                raise
            return self[0]


class Holding:
    """Holds records of a task. What may change is held as its pickle, in a third of the time that an object about it takes, and of what the garbage collector looks at.

    Those of kinds that cannot be pickled, or only with their classes, it gives as they are: it would take too long.
    """

    sees = True
    """Whether records have to pass it, one by one."""

    def __init__(self) -> None:
        self._never: set[type] = set()

    @property
    def failed(self) -> bool:
        """Whether records have raised that it does not see pass."""
        return False

    def has_more(self) -> bool:
        """Whether more records come that it does not see pass."""
        return False

    def count(self, fresh: int) -> None:
        """Called when a call has ended, where it does not see records pass: so many have come in all."""

    def row(self, source: InFlight) -> Pulled:
        """Where a source is to put the records that it holds."""
        return Row()

    def __call__(self, record: Any) -> Any:
        """A record, to be ``given`` later as it is now."""
        kind = type(record)
        if kind in self._never or (kind not in PICKLED and is_plain(record)):
            return record
        try:
            return pickled(record)
        except BaseException as problem:  # it may have to be pickled with its class
            if from_outside(problem):
                raise
            self._never.add(kind)
            return record

    def passing(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        """The records, each of which is held before somebody gets it."""
        for record in records:
            kind = type(record)  # as in a call, which would take as long as this
            append(record if kind in AS_THEY_ARE or (kind not in PICKLED and is_plain(record)) else self(record))
            yield record

    def given(self, held: Any) -> Any:
        """A record that was held, as a function is given it."""
        return given(held)

    def weight(self, held: Any, dumps: Dumps) -> int:
        """How many bytes are held of a record."""
        known = weight(held)
        if known is not None:
            return known
        try:
            return len(dumps(held))
        except BaseException as problem:  # it need not be picklable
            if from_outside(problem):
                raise
            return 1024

    def confirm(self) -> None:
        """Called at a crash. Raises a Signal if what is held is not known any more as it was."""

    def alike(self, one: Any, other: Any) -> bool:
        """Whether two records that are held are known to be the same, or to be equal."""
        return one is other or (type(one) is type(other) and type(one) in PLAIN and bool(one == other))


def pickled(record: Any) -> Any:
    """A record to be ``given`` again, whatever it is. Raises what pickling it raises."""
    made = pickle.dumps(record)
    return HeldRecord((record, made)) if NAMED in made else made


def given(held: Any) -> Any:
    """A record that was held, as a function is given it."""
    kind = type(held)
    return pickle.loads(held) if kind is bytes else held.given() if kind is HeldRecord else held


def weight(held: Any) -> int | None:
    """The bytes of a held record's pickle; None if it has none."""
    kind = type(held)
    return len(held) if kind is bytes else len(held[1]) or None if kind is HeldRecord else None
