"""Looks: what a function does with the records that it is given, besides going through them once, one by one. From then on it may know all of them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator
from mmap import mmap
from typing import Any

from bigdebug.actors.codes import library
from bigdebug.actors.handed import handed

ONLY_ITERATORS = frozenset(("builtins", "itertools"))
"""Modules whose iterators can do nothing else."""

ATOMS = (str, int, float, bool, type(None))
"""What an iterator has of these, such as the name of a file, is none of its records."""

WHOLE = (str, bytes, bytearray, memoryview, array, mmap)
"""What is mostly read as a whole, by what is written in C and takes nothing that stands for it: ``re``, ``open``, ``json``, ``struct``. It is handed as it is."""

_STANDS_IN = frozenset(("builtins", "collections"))
"""Modules in C of whose collections, but tuples, hardly anything asks whether they are such. Where it does not ask, numpy and Python take a tuple, or what lies in memory, for something else."""

_HEAP = 1 << 9
"""The flag of a type that is no static one of C's (``Py_TPFLAGS_HEAPTYPE``)."""

_TELLING: tuple[type[Any], ...] = (type(iter([])), type(iter(())))
_LET_GO = 2
"""Parts of what they are made of anew: no place in a collection among them."""


class Looks:
    """The records of one call. ``first`` gives those that are noted when they are read, ``given`` says how many outputs there have been."""

    def __init__(self, records: Any, first: Callable[[Any], Iterator[Any]], given: Callable[[], int], one_by_one: bool = True) -> None:
        """``one_by_one``: it is said of the function that it reads them so."""
        self._records = records
        self._first = first
        self._given = given
        self._begun = False
        self._only: Iterator[Any] = iter(())
        self._passes: list[int] = []
        self._latest: int | None = None
        self._size: int | None = None
        self._asked = False
        self.since: int | None = None
        """How many outputs there had been before it looked; None if it did not."""
        self.whole = False
        """Whether it asked for more than how many there are, or records one by one."""
        self.strays = False
        """Whether it read from an iterator in another way, so that nobody knows which records are next."""
        self.unseen = isinstance(records, WHOLE) or not (one_by_one or _stands_in(records))
        """Whether nobody sees what it reads of them."""

    def hand(self) -> Any:
        """What the function is given in the place of the records: what it can go through as often as them; themselves, if nobody can go through them."""
        records, kind = self._records, type(self._records)
        if isinstance(records, Generator):
            return self._first(records)
        if not is_iterable(records):
            return records
        if self.unseen:
            self._told("", None)
            return records
        if not isinstance(records, Iterator):
            return handed(records, self._through, self._told)
        only = self._first(records)
        return only if kind.__module__ in ONLY_ITERATORS else handed(records, lambda: only, self._strayed)

    def count(self, read: int) -> int | None:
        """How many records there were, of which so many were noted as read; None if nobody knows."""
        if self.strays or (self.whole and self._size is None):
            return None
        return max(read, *self._passes, self._size or 0)

    def last(self, read: int) -> int:
        """The place of the record that was read last, where so many were noted; -1 if there was none, or if nobody knows."""
        if self.whole or self.strays or (self._passes and self._latest is None):
            return -1
        return (read if self._latest is None else self._passes[self._latest]) - 1

    @property
    def again(self) -> bool:
        """Whether it went through them again, or saw them in another way."""
        return self.whole or self.strays or bool(self._passes)

    def _through(self) -> Iterator[Any]:
        records = iter(self._records)
        if self._begun:
            self._look()
            self._passes.append(0)
            return self._counted(records, len(self._passes) - 1)
        self._begun, self._only = True, records
        return self._first(records)

    def _counted(self, records: Iterator[Any], number: int) -> Iterator[Any]:
        """Another pass. While the first may go on, nobody knows which of them gave the last record."""
        for record in records:
            self._passes[number] += 1
            self._latest = number if _is_over(self._only) else None
            yield record

    def _told(self, name: str, value: Any) -> None:
        """Of a collection that is no code of the user's it is known how many are in it."""
        self._look()
        if not self._asked and hasattr(type(self._records), "__len__") and library(type(self._records).__module__):
            self._size = len(self._records)
        self._asked = True
        self.whole = self.whole or name != "__len__"

    def _look(self) -> None:
        if self.since is None:
            self.since = self._given()

    def _strayed(self, name: str, value: Any) -> None:
        self.strays = self.strays or not isinstance(value, ATOMS)


def _stands_in(records: Any) -> bool:
    """Whether a function may be handed what stands for these. Python's own and numpy's look whether something is a tuple, packages in C whether it is of their own types."""
    if isinstance(records, Iterator):
        return True
    kind = type(records)
    return not isinstance(records, tuple) and (bool(kind.__flags__ & _HEAP) or kind.__module__ in _STANDS_IN) and not hasattr(kind, "__array_interface__")


def _is_over(records: Iterator[Any]) -> bool:
    """Whether an iterator was asked for more when it had none. Those of lists and tuples have let go of them then; others do not say."""
    return isinstance(records, _TELLING) and len(records.__reduce__()) == _LET_GO


def is_iterable(value: Any) -> bool:
    """Whether one can go through it: it is not asked."""
    return hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")
