"""Inputs: what quick steps make records of. Where these may change, and their inputs may not, they are made again of that, and need not be pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable, Sequence
from enum import Enum
from time import perf_counter
from typing import Any

from bigdebug.agents.guards.held import HeldRecord, Holding, given, is_plain, pickled
from bigdebug.agents.guards.pure import is_constant
from bigdebug.agents.guards.repeatable import Repeatable
from bigdebug.agents.segments import Filter, Map, Step
from bigdebug.outside import Signal, from_outside

_TRIAL = 1_000
"""Records that are pickled before any is made again."""

_QUICK = 4e-6
"""Seconds that it may take to make a record again, and to compare its pickle, which takes a microsecond alone."""

_HEAVIER, _HEAVIEST = 2, 16 << 20
"""How many times the bytes of its record an input may have, and how many the records may have that are pickled first, in all."""


class Inputs:
    """What the record is made of that a chain of steps gives, each of which gives one or none for each that it is given.

    The first step notes it as the ``latest``.
    """

    def __init__(self, steps: Sequence[Map | Filter]) -> None:
        self.latest: Any = None
        self._steps = steps

    @staticmethod
    def of(steps: Sequence[Step]) -> Inputs | None:
        """Those of what such a chain gives; None where some steps may give more than one."""
        chain = [step for step in steps if isinstance(step, (Map, Filter))]
        return Inputs(chain) if len(chain) == len(steps) else None

    def holding(self) -> Holding:
        return ByInput(self)

    def remade(self) -> Remade:
        return Remade(self._steps)


class NotMadeAgain(Signal):
    """A record could not be made again. It is nothing that a function of the user's raised in its job."""


class Remade:
    """Makes a record again of its input, with copies of the functions that made it, as they were when this was made."""

    def __init__(self, steps: Sequence[Map | Filter]) -> None:
        seen = self._seen = Repeatable([step.function for step in steps])
        self._steps = list(zip(seen.copies or (), [isinstance(step, Map) for step in steps]))
        self._names, self._sizes = tuple(seen.names), tuple({id(names): (names, size) for names, size in seen.sizes}.values())
        self.sees_names = bool(self._names or self._sizes)

    @property
    def is_possible(self) -> bool:
        return bool(self._steps)

    @property
    def holds(self) -> bool:
        """Whether names mean to the functions what they meant: if so behind a record, it is made of its input again."""
        try:
            for look, value in self._names:
                if look() is not value:
                    return False
            for names, size in self._sizes:
                if len(names) != size:
                    return False
        except Exception:  # a name means nothing any more
            return False
        return True

    def confirm(self) -> None:
        """Raises NotMadeAgain if the functions themselves are other ones by now."""
        if any(look() is not value for look, value in self._seen.themselves):
            raise NotMadeAgain("a function was changed")

    def __call__(self, taken: Any) -> Any:
        record = taken
        try:
            for function, maps in self._steps:
                if maps:
                    record = function(record)
                else:
                    function(record)
        except Exception as problem:
            raise NotMadeAgain from problem
        return record


class Phase(Enum):
    """What is held of a record: to begin with its pickle, to see whether it is made again; then its input; or, if it is not made again, the record as
    ``Holding`` has it.
    """

    TRYING = 0
    NOTING = 1
    PLAIN = 2


class ByInput(Holding):
    """Holds the inputs of records, if it is seen that these are made of them again, the same ones, and in less time than pickles take."""

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        self._inputs = inputs
        self._remade = inputs.remade()
        self._tried: list[tuple[Any, Any]] = []
        self._bytes = 0
        self._phase = Phase.TRYING if self._remade.is_possible else Phase.PLAIN

    def __call__(self, record: Any) -> Any:
        if self._phase is Phase.PLAIN:
            return super().__call__(record)
        try:
            return pickled(record)
        except BaseException as problem:  # not as it is: that would be taken for an input
            if from_outside(problem):
                raise
            return HeldRecord((record, b""))

    def given(self, held: Any) -> Any:
        kind = type(held)
        return self._remade(held) if self._phase is Phase.NOTING and kind is not bytes and kind is not HeldRecord else given(held)

    def confirm(self) -> None:
        if self._phase is Phase.NOTING:
            self._remade.confirm()

    def alike(self, one: Any, other: Any) -> bool:
        if self._phase is Phase.PLAIN:
            return super().alike(one, other)
        mine = _pickle_of(self(self.given(one)))
        return one is other or (mine != b"" and mine == _pickle_of(self(self.given(other))))

    def passing(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        if self._phase is Phase.PLAIN:
            return super().passing(records, append)
        return self._noting(records, append) if self._phase is Phase.NOTING else self._trying(records, append)

    def _trying(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        for record in records:
            held = self(record)
            append(held)
            if self._phase is Phase.TRYING:
                self._try(held)
            yield record

    def _noting(self, records: Iterable[Any], append: Callable[[Any], None]) -> Generator[Any]:
        inputs, remade, sees = self._inputs, self._remade, self._remade.sees_names
        for record in records:
            taken = inputs.latest
            kept = (type(taken) is str or _stays(taken)) and (not sees or remade.holds)
            append(taken if kept else self(record))
            yield record

    def _try(self, held: Any) -> None:
        """One more record is pickled, and is to be compared."""
        taken = self._inputs.latest
        if self._remade.holds and _stays(taken) and not is_plain(given(held)):
            self._tried.append((taken, held))
        else:
            self._tried.append((None, b""))
        self._bytes += len(_pickle_of(held))
        if self._bytes > _HEAVIEST or _is_heavy(taken):
            self._phase = Phase.PLAIN
        elif len(self._tried) == _TRIAL:
            self._phase = Phase.NOTING if self._are_made_again() else Phase.PLAIN
        if self._phase is not Phase.TRYING:
            self._tried.clear()

    def _are_made_again(self) -> bool:
        tried = [(taken, held) for taken, held in self._tried if held]
        if len(tried) < _TRIAL // 10:
            return False
        until = perf_counter() + _QUICK * len(tried)
        return all(self._is_made_again(taken, held) and perf_counter() < until for taken, held in tried)

    def _is_made_again(self, taken: Any, held: Any) -> bool:
        try:
            return _pickle_of(pickled(self._remade(taken))) == _pickle_of(held) and len(pickle.dumps(taken)) <= _HEAVIER * len(_pickle_of(held))
        except (Exception, NotMadeAgain):
            return False


def _is_heavy(taken: Any) -> bool:
    return isinstance(taken, str | bytes) and len(taken) > _HEAVIEST // _TRIAL


def _stays(record: Any) -> bool:
    """Whether nothing of a record changes, it has no methods of the user's, and it is not taken for a pickle."""
    return type(record) is not bytes and is_constant(record)


def _pickle_of(held: Any) -> bytes:
    return held[1] if type(held) is HeldRecord else held
