"""Held: records as they were before a function was called on them, for it may change what it is given."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from bigdebug.agents.frames import Dumps

PLAIN = frozenset((str, bytes, int, float, bool, complex, type(None), date, datetime, time, timedelta, Decimal))
"""Types of which nothing changes."""

PICKLED = frozenset((bytes, list, dict))
"""Types of records that are held as their pickles: most of those that may change, and bytes, which would be taken for a pickle."""

AS_THEY_ARE = PLAIN - PICKLED

_CLASS = pickle.STACK_GLOBAL[0]
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
        except Exception:  # a class, or a function, that is no module's
            return self.others(record)


class HeldRecord(tuple[Any, bytes]):
    """A record whose pickle names classes, and that pickle."""

    __slots__ = ()

    def given(self) -> Any:
        """The record as it was; as it is now, if its pickle cannot be read."""
        try:
            return pickle.loads(self[1])
        except Exception:  # what an exception class is made of need not be what it is called with
            return self[0]


class Holding:
    """Holds records of a task. What may change is held as its pickle, in a third of the time that an object about it takes, and of what the garbage collector looks at.

    Those of kinds that cannot be pickled, or only with their classes, it gives as they are: it would take too long.
    """

    def __init__(self) -> None:
        self._never: set[type] = set()

    def __call__(self, record: Any) -> Any:
        """A record, to be ``given`` later as it is now."""
        kind = type(record)
        if kind in self._never or (kind not in PICKLED and is_plain(record)):
            return record
        try:
            return pickled(record)
        except Exception:  # it may have to be pickled with its class
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

    def confirm(self) -> None:
        """Called at a crash. Raises a Signal if what is held is not known any more as it was."""

    def alike(self, one: Any, other: Any) -> bool:
        """Whether two records that are held are known to be the same, or to be equal."""
        return one is other or (type(one) is type(other) and type(one) in PLAIN and bool(one == other))


def pickled(record: Any) -> Any:
    """A record to be ``given`` again, whatever it is. Raises what pickling it raises."""
    made = pickle.dumps(record)
    return HeldRecord((record, made)) if _CLASS in made else made


def given(held: Any) -> Any:
    """A record that was held, as a function is given it."""
    kind = type(held)
    return pickle.loads(held) if kind is bytes else held.given() if kind is HeldRecord else held


def weight(held: Any) -> int | None:
    """The bytes of a held record's pickle; None if it has none."""
    kind = type(held)
    return len(held) if kind is bytes else len(held[1]) or None if kind is HeldRecord else None
