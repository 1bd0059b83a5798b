"""Origins: what quick steps make records of. Where these may change, and their origins may not, they are made again of that, and need not be pickled."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from time import perf_counter
from typing import Any

from bigdebug.agents.guards.held import AS_THEY_ARE, Held, Holding, given, holds_itself, is_plain, pickled
from bigdebug.agents.guards.repeatable import Repeatable
from bigdebug.agents.segments import Filter, Map, Step

_TRIAL, _COMPARED = 1_000, 100
"""Records that are pickled before any is made again, and how many of them are made again to see that they are the same."""

_QUICK = 3e-6
"""Seconds that it may take to make a record again and to pickle that, which takes a half of a microsecond alone."""


class Origins:
    """What the record is made of that a chain of steps gives, each of which gives one or none for each that it is given.

    The first step notes it as the ``latest``.
    """

    def __init__(self, steps: Sequence[Map | Filter]) -> None:
        self.latest: Any = None
        self._steps = steps

    @staticmethod
    def of(steps: Sequence[Step]) -> Origins | None:
        """Those of what such a chain gives; None where some steps may give more than one."""
        chain = [step for step in steps if isinstance(step, (Map, Filter))]
        return Origins(chain) if len(chain) == len(steps) else None

    def again(self, origin: Any) -> Any:
        """What the chain makes of a record that it gave something for."""
        record = origin
        for step in self._steps:
            if isinstance(step, Map):
                record = step.function(record)
            else:
                step.function(record)
        return record

    def repeatable(self) -> Repeatable:
        return Repeatable([step.function for step in self._steps])


class ByOrigin(Holding):
    """Holds the origins of records, if it is seen that these are made of them again, the same ones, and in less time than pickles take.

    The first ones are pickled, and no function is called once more before it is known that nothing would be other than it was.
    """

    def __init__(self, origins: Origins, forsake: Callable[[], None]) -> None:
        """``forsake`` is called where what was held is not made again after all, except of the record that was held last."""
        super().__init__()
        self._origins = origins
        self._forsake = forsake
        self._repeatable = origins.repeatable()
        self._tried: list[tuple[Any, Any]] = []
        self._left = _TRIAL if self._repeatable.certain else 0
        self._noted = False
        """Whether what is held and is no pickle is an origin, and not the record."""
        self._notes = False

    def __call__(self, record: Any) -> Any:
        if not (self._left or self._noted):
            return super().__call__(record)
        try:
            return pickled(record)
        except Exception:  # not as it is: that would be taken for an origin
            return Held((record, b""))

    def given(self, held: Any) -> Any:
        kind = type(held)
        return self._origins.again(held) if self._noted and kind is not bytes and kind is not Held else given(held)

    def confirm(self) -> None:
        if self._notes and self._repeatable.changed():
            self._notes = False
            self._forsake()

    def passing(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        if self._left:
            return self._trying(records, append)
        if self._notes:
            return self._noting(records, append)
        return self._pickling(records, append) if self._noted else super().passing(records, append)

    def _trying(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        for record in records:
            held = self(record)
            append(held)
            if self._left:
                self._tried.append((self._origins.latest, held))
                self._left -= 1
                if not self._left:
                    self._notes = self._noted = self._are_made_again()
                    self._tried = []
            yield record

    def _noting(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        origins, source = self._origins, iter(records)
        for record in islice(source, 1):
            held = self(record)
            append(held)
            self.confirm()
            if self._notes and holds_itself(origins.latest) and not self._is_made_again(origins.latest, held):
                self._notes = False
                self._forsake()
            yield record
        if not self._notes:
            yield from self._pickling(source, append)
        for record in source:
            origin = origins.latest
            append(origin if type(origin) in AS_THEY_ARE or holds_itself(origin) else self(record))
            yield record

    def _pickling(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        for record in records:
            append(self(record))
            yield record

    def _are_made_again(self) -> bool:
        tried = [(origin, held) for origin, held in self._tried[-_COMPARED:] if holds_itself(origin) and not is_plain(given(held))]
        if len(tried) < _COMPARED // 10 or self._repeatable.changed():
            return False
        began = perf_counter()
        same = all(self._is_made_again(origin, held) for origin, held in tried)
        return same and perf_counter() - began < _QUICK * len(tried)

    def _is_made_again(self, origin: Any, held: Any) -> bool:
        try:
            return _pickle_of(pickled(self._origins.again(origin))) == _pickle_of(held)
        except Exception:  # it raises what it did not raise before, or cannot be pickled
            return False


def _pickle_of(held: Any) -> bytes:
    return held[1] if type(held) is Held else held
