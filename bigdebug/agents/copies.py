"""Copies: a record for somebody who may change what he is given, so that the record stays as it is.

Who looks at a record beside the program, a guard or a step of one record through an operator, calls functions of the user's on it. They
are given a copy: what they change in it, others would find changed, and the program's result would hang on who looks.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from bigdebug.agents.guards.held import PLAIN, is_plain
from bigdebug.errors import BigdebugError


class UncopiedError(BigdebugError):
    """Something that may change, and of which no copy can be made."""


def copied(record: Any) -> Any:
    """What is equal to a record and shares nothing with it that can change, but classes, functions and modules; the record itself, if nothing of it can.

    Raises UncopiedError where there is no such thing: of an iterator, from which each look takes something, and of what cannot be pickled.
    A copy is what pickle makes: what a class leaves out of its pickles is not there. Ten texts and numbers take 0.5 us in a row or a list, 1 us in a dictionary; what else may change is pickled, which takes some microseconds.
    """
    kind = type(record)
    if kind in PLAIN or (isinstance(record, tuple) and is_plain(record)):
        return record
    if kind is dict:
        for key, each in record.items():
            if type(each) not in PLAIN or type(key) not in PLAIN:
                return _pickled(record)
        return record.copy()
    if kind is list:
        for each in record:
            if type(each) not in PLAIN:
                return _pickled(record)
        return record.copy()
    return _pickled(record)


def copied_or_same(record: Any) -> Any:
    """A copy, or the record itself where there is none."""
    try:
        return copied(record)
    except UncopiedError:
        return record


def _pickled(record: Any) -> Any:
    if isinstance(record, Iterator):
        raise UncopiedError("An iterator cannot be looked at: each look takes from it what comes next", remedy="Look at what it gives, in a list.")
    try:
        return pickle.loads(pickle.dumps(record))
    except Exception:  # it may be, or hold, a class or a function that is no module's
        pass
    try:
        return _apart(record)
    except Exception as problem:
        raise UncopiedError(f"It may change, and cannot be copied: {type(problem).__name__}: {problem}", value=type(record)) from problem


def _apart(record: Any) -> Any:
    """A copy that has the same classes, functions and modules."""
    kept: list[Any] = []
    made = io.BytesIO()
    _Writing(made, kept).dump(record)
    made.seek(0)
    return _Reading(made, kept).load()


class _Writing(pickle.Pickler):
    def __init__(self, into: io.BytesIO, kept: list[Any]) -> None:
        super().__init__(into, pickle.HIGHEST_PROTOCOL)
        self._kept = kept

    def persistent_id(self, value: Any) -> int | None:
        """What is kept as it is, and not copied."""
        if not isinstance(value, _SAME):
            return None
        self._kept.append(value)
        return len(self._kept) - 1


_SAME = (type, FunctionType, ModuleType)


class _Reading(pickle.Unpickler):
    def __init__(self, made: io.BytesIO, kept: list[Any]) -> None:
        super().__init__(made)
        self._kept = kept

    def persistent_load(self, value: int) -> Any:
        return self._kept[value]
