"""Copies: a record for somebody who may change what he is given, so that the record stays as it is.

Who looks at a record beside the program, a guard or a step of one record through an operator, calls functions of the user's on it. They
are given a copy: what they change in it, others would find changed, and the program's result would hang on who looks.
"""

from __future__ import annotations

import io
import pickle
import threading
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from bigdebug.agents.guards.crash import of_library
from bigdebug.agents.guards.held import NAMED, PLAIN, is_plain
from bigdebug.errors import BigdebugError
from bigdebug.outside import from_outside


class UncopiedError(BigdebugError):
    """Something that may change, and of which no copy can be made that is like it."""


class TakenError(UncopiedError):
    """Something from which each look takes."""


def copied(record: Any) -> Any:
    """What is equal to a record and shares nothing with it that can change, but classes, functions and modules; the record itself, if nothing of it can.

    Raises TakenError for what is, or holds, an iterator; UncopiedError for what cannot be pickled, or whose class says itself what is pickled of it: it may leave something out that the program uses.
    Ten texts and numbers take 0.5 us in a row or a list, 1 us in a dictionary; ten lists 4 us; objects of classes are pickled in some 10 us.
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
    return copied_or_why(record)[0]


def copied_or_why(record: Any) -> tuple[Any, str]:
    """A copy; or the record itself, and why there is none."""
    try:
        return copied(record), ""
    except UncopiedError as why:
        return record, why.what


def _pickled(record: Any) -> Any:
    if type(record) in _BUILT_IN:
        try:
            pickled = pickle.dumps(record)
        except Exception as problem:  # of something within, which is kept as it is, or has no copy
            if from_outside(problem):
                raise
        else:
            if NAMED not in pickled:  # there are collections of Python's in it, and nothing else
                return pickle.loads(pickled)
    return _apart(record)


def _apart(record: Any) -> Any:
    kept: list[Any] = []
    before, _held.kept = getattr(_held, "kept", None), kept
    try:
        made = io.BytesIO()
        _Writing(made, kept).dump(record)
        return pickle.loads(made.getbuffer())
    except UncopiedError:
        raise
    except Exception as problem:
        if from_outside(problem):
            raise
        raise UncopiedError(f"It may change, and cannot be copied: {type(problem).__name__}: {problem}", value=type(record)) from problem
    finally:
        _held.kept = before


_BUILT_IN = frozenset((dict, list, tuple, set, frozenset))

_held = threading.local()
"""What the copy that is being made here has in common with its record."""


def _same(number: int) -> Any:
    return _held.kept[number]


class _Writing(pickle.Pickler):
    """Keeps classes, functions and modules as they are: those of a notebook have no module that pickle finds them in."""

    def __init__(self, into: io.BytesIO, kept: list[Any]) -> None:
        super().__init__(into, pickle.HIGHEST_PROTOCOL)
        self._kept = kept

    def reducer_override(self, value: Any) -> Any:
        """What is not written as pickle does."""
        if isinstance(value, _SAME):
            if value is _same:
                return NotImplemented
            self._kept.append(value)
            return _same, (len(self._kept) - 1,)
        if isinstance(value, Iterator):
            raise TakenError("An iterator cannot be looked at: each look takes from it what comes next", remedy="Look at what it gives, in a list.")
        if _says_itself(type(value)):
            raise UncopiedError(f"It may change, and {type(value).__name__} says itself what is copied of it", value=type(value))
        return NotImplemented


_SAME = (type, FunctionType, ModuleType)

_WAYS = ("__reduce__", "__reduce_ex__", "__getstate__")

_saying: WeakKeyDictionary[type[Any], bool] = WeakKeyDictionary()


def _says_itself(kind: type[Any]) -> bool:
    """Whether it is code of the user's that says what a pickle of it has in it. What Python's and installed packages say, is all."""
    known = _saying.get(kind)
    if known is None:
        ways = (way for each in kind.__mro__ for name in _WAYS if isinstance(way := vars(each).get(name), FunctionType))
        known = _saying[kind] = any(not of_library(way.__code__.co_filename) for way in ways)
    return known
