"""Origins: what quick steps make records of. Where these may change, and their origins may not, they are made again of that, and need not be pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Sequence
from enum import Enum
from time import perf_counter
from typing import Any

from bigdebug.agents.guards.held import AS_THEY_ARE, Held, Holding, given, holds_itself, is_plain, pickled
from bigdebug.agents.guards.repeatable import Repeatable
from bigdebug.agents.segments import Filter, Map, Step

_TRIAL = 1_000
"""Records that are pickled before any is made again."""

_QUICK = 4e-6
"""Seconds that it may take to make a record again, and to compare its pickle, which takes a microsecond alone."""

_HEAVIER = 2
"""How many times the bytes of its record an origin may have."""


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

    def remade(self) -> Remade:
        return Remade(self._steps)


class Remade:
    """Makes a record again of its origin, with copies of the functions that made it, as they were when this was made."""

    def __init__(self, steps: Sequence[Map | Filter]) -> None:
        self._repeatable = Repeatable([step.function for step in steps])
        self._steps = list(zip(self._repeatable.copies or (), [isinstance(step, Map) for step in steps]))

    @property
    def is_possible(self) -> bool:
        return bool(self._steps)

    def differs(self) -> bool:
        """Whether the functions may answer otherwise by now than they did."""
        return self._repeatable.changed()

    def __call__(self, origin: Any) -> Any:
        record = origin
        for function, maps in self._steps:
            if maps:
                record = function(record)
            else:
                function(record)
        return record


class Phase(Enum):
    """What is held of a record: to begin with its pickle, to see whether it is made again; then its origin, or, if that shows otherwise later, its
    pickle; or, if it is not made again, the record as ``Holding`` has it.
    """

    TRYING = 0
    NOTING = 1
    PICKLING = 2
    PLAIN = 3


class ByOrigin(Holding):
    """Holds the origins of records, if it is seen that these are made of them again, the same ones, and in less time than pickles take."""

    def __init__(self, origins: Origins) -> None:
        super().__init__()
        self._origins = origins
        self._remade = origins.remade()
        self._tried: list[tuple[Any, Any]] = []
        self._phase = Phase.TRYING if self._remade.is_possible else Phase.PLAIN

    def __call__(self, record: Any) -> Any:
        if self._phase is Phase.PLAIN:
            return super().__call__(record)
        try:
            return pickled(record)
        except Exception:  # not as it is: that would be taken for an origin
            return Held((record, b""))

    def given(self, held: Any) -> Any:
        kind = type(held)
        is_origin = kind is not bytes and kind is not Held and self._phase is not Phase.PLAIN
        return self._remade(held) if is_origin else given(held)

    def is_doubtful(self) -> bool:
        if self._phase is not Phase.NOTING or not self._remade.differs():
            return False
        self._phase = Phase.PICKLING
        return True

    def passing(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        if self._phase is Phase.PLAIN:
            return super().passing(records, append)
        return self._noting(records, append) if self._phase is Phase.NOTING else self._pickling(records, append)

    def _pickling(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        for record in records:
            held = self(record)
            append(held)
            if self._phase is Phase.TRYING:
                self._tried.append((self._origins.latest, held))
                if len(self._tried) == _TRIAL:
                    self._phase = Phase.NOTING if self._are_made_again() else Phase.PLAIN
                    self._tried.clear()
            yield record

    def _noting(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        origins = self._origins
        for record in records:
            origin = origins.latest
            append(origin if type(origin) in AS_THEY_ARE or _is_origin(origin) else self(record))
            yield record

    def _are_made_again(self) -> bool:
        tried = [(origin, held) for origin, held in self._tried if _is_origin(origin) and not is_plain(given(held))]
        if len(tried) < _TRIAL // 10 or self._remade.differs():
            return False
        until = perf_counter() + _QUICK * len(tried)
        return all(self._is_made_again(origin, held) and perf_counter() < until for origin, held in tried)

    def _is_made_again(self, origin: Any, held: Any) -> bool:
        try:
            return _pickle_of(pickled(self._remade(origin))) == _pickle_of(held) and len(pickle.dumps(origin)) <= _HEAVIER * len(_pickle_of(held))
        except Exception:  # it raises what it did not raise before, or cannot be pickled
            return False


def _is_origin(record: Any) -> bool:
    """Whether nothing of a record changes, and it has no methods of the user's."""
    return holds_itself(record) and (type(record) is tuple or type(record) in AS_THEY_ARE or type(record).__module__ == "pyspark.sql.types")


def _pickle_of(held: Any) -> bytes:
    return held[1] if type(held) is Held else held
