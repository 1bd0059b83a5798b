"""Held: records as they were before a function was called on them, for it may change what it is given."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from bigdebug.agents.frames import Dumps

PLAIN = frozenset((str, bytes, int, float, bool, complex, type(None), date, datetime, time, timedelta, Decimal))
"""Types of which nothing changes."""


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


class Held:
    """A record that may change, and its pickle."""

    __slots__ = ("_record", "pickled")

    def __init__(self, record: Any, pickled: bytes) -> None:
        self._record = record
        self.pickled = pickled

    def given(self) -> Any:
        """The record as it was; as it is now, if its pickle cannot be read."""
        try:
            return pickle.loads(self.pickled)
        except Exception:  # what an exception class is made of need not be what it is called with
            return self._record


class Holding:
    """Holds records of a task. Those of kinds that cannot be pickled, or only with their classes, it gives as they are: it would take too long."""

    def __init__(self) -> None:
        self._never: set[type] = set()

    def __call__(self, record: Any) -> Any:
        """A record, to be given later as it is now."""
        if type(record) is Held or is_plain(record) or type(record) in self._never:
            return record
        try:
            return Held(record, pickle.dumps(record))
        except Exception:  # it may have to be pickled with its class
            self._never.add(type(record))
            return record


def given(record: Any) -> Any:
    """A record that was held, as a function is given it."""
    return record.given() if type(record) is Held else record
