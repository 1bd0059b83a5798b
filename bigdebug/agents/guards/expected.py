"""Expected: the crashes of a run that are known to whoever resumes it, and which of them it is that comes."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.crash import Place
from bigdebug.outside import from_outside
from bigdebug.shown import shown

_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")


def _anywhere(text: str | None) -> str:
    """A text without the addresses of objects, which are other ones in each process."""
    return _ADDRESS.sub("0x", text or "")


class Known(NamedTuple):
    """A crash: the pickle of the record, or its text if it could not be pickled; and what to raise instead of calling the function, if that is not to be called."""

    place: Place
    record: bytes | None
    text: str | None
    problem: BaseException | None


class Expected:
    """The crashes of an operator in a partition, by the positions of their records.

    Where something is repaired before, positions ``move``: there a crash is the first one of an equal record that has not come yet.
    """

    def __init__(self, known: Iterable[Known] = (), dumps: Dumps = bytes, moves: bool = False) -> None:
        self._dumps = dumps
        self._moves = moves
        self._same = lru_cache(1_024)(self._again)
        self._left: dict[Any, list[Known]] = {}
        self.spares = False
        """Whether there is something that the function is not to be called on."""
        for each in sorted(known, key=lambda known: (known.place.position or 0, known.place.nth)):
            self._left.setdefault(self._same(each.record, each.text) if moves else each.place.position, []).append(each)
            self.spares = self.spares or each.problem is not None

    def problem(self, position: int, record: Any, alone: bool = False, sure: bool = False) -> BaseException | None:
        """What to raise of a record instead of calling the function; None if that is to be called.

        ``alone``, if no other record has its position: then what could not be pickled is known by its text, whatever addresses are in that. ``sure``,
        if it is not to be compared at all.
        """
        here = self._left.get(self._key(record) if self._moves else position, ())
        return next((each.problem for each in here if each.problem is not None and (sure or self._moves or self._is_of(each, record, alone))), None)

    def check(self, position: int, record: Any, alone: bool = True) -> None:
        """Raise it."""
        problem = self.problem(position, record, alone)
        if problem is not None:
            raise problem

    def before(self, function: Callable[[Any], Any], at: Callable[[], int], alone: bool = False) -> Callable[[Any], Any]:
        """The function, which is not called on the record that is ``at`` a position if it is not to be; ``alone``, if no other has that."""
        if not self.spares:
            return function

        def checked(record: Any) -> Any:
            self.check(at(), record, alone)
            return function(record)

        return checked

    def take(self, position: int, nth: int, record: Any) -> Place | None:
        """Which crash it is that comes now, the ``nth`` of a position; None if it is not known."""
        if self._moves:
            here = self._left.get(self._key(record)) or next((left for left in self._left.values() if left and self._is_of(left[0], record)), [])
            return here.pop(0).place if here else None
        here = self._left.get(position, [])
        found = next((each for each in here if each.place.nth == nth), None)
        if found is None:
            return None
        here.remove(found)
        return found.place

    def _is_of(self, known: Known, record: Any, alone: bool = False) -> bool:
        """Whether a crash is of a record. Pickles of sets and of what has no ``__eq__`` are compared as this process makes them."""
        same, key = self._same(known.record, known.text), self._key(record)
        if same == key or (alone and known.record is None and key[0] is None and _anywhere(same[1]) == _anywhere(key[1])):
            return True
        try:
            return known.record is not None and bool(pickle.loads(known.record) == record)
        except BaseException as problem:  # it is the user's code that compares
            if from_outside(problem):
                raise
            return False

    def _key(self, record: Any) -> tuple[bytes | None, str | None]:
        try:
            return self._dumps(record), None
        except BaseException as problem:  # it need not be picklable
            if from_outside(problem):
                raise
            return None, shown(record)

    def _again(self, record: bytes | None, text: str | None) -> tuple[bytes | None, str | None]:
        try:
            return (None, text) if record is None else self._key(pickle.loads(record))
        except BaseException as problem:  # what can be pickled need not be readable
            if from_outside(problem):
                raise
            return record, None


NOTHING = Expected()
