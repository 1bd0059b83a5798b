"""Guarded functions of a row: in the place of the user's they give what is told of its crash, or None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.guards.code import DOUBTFUL, LARGE, SMALL, Code, Fitting, Once, anything, told
from bigdebug.agents.guards.inflight import crashes, crashes_of_calls


@dataclass(frozen=True)
class GuardedCall:
    """A guarded function. In a worker it is a plain function, for Spark calls it a million times in a second."""

    code: Code
    fitting: Fitting = anything
    sized: bool = False
    """Whether it also tells, once, that the function gave a number that is not small."""
    named: bool = False
    """Whether it is given arguments by name."""
    alone: bool = False
    """Whether it is given a single one, by position: that takes a third of the time."""
    certain: Callable[[Any], type | None] | None = None
    """Gives, for a type of Spark's, the class whose values, if they are small, fit it, and None. It then tells, once, of a value of another one."""
    sparing: bool = False
    """Whether it is told before its arguments that it is to leave a row alone."""

    def __reduce__(self) -> tuple[Any, ...]:
        return guarded_call, (self.code, self.fitting, self.sized, self.named, self.alone, self.certain, self.sparing)


def guarded_call(
    code: Code, fitting: Fitting, sized: bool, named: bool, alone: bool, certain: Callable[[Any], type | None] | None, sparing: bool,
) -> Callable[..., bytes | None]:
    """The function that a ``GuardedCall`` is."""
    try:
        function = _fitted(code.function, fitting(code.returns))
        fine = None if certain is None else certain(code.returns)
    except crashes() as problem:  # what cannot be unpickled crashes on each row
        return _crashing(told(problem))
    if named:
        function = _of_both(function)
    doubting = fine is not None
    once = Once()
    least, most = (-SMALL, SMALL) if fine in (int, None) else (0, 0)

    def doubt(value: Any) -> bytes | None:
        nonlocal sized, doubting
        if doubting and value is not None and (fine is int or type(value) is not fine):
            doubting = False
            return DOUBTFUL
        if sized and value is not None:
            sized = False
            return LARGE
        return None

    def call(*given: Any) -> bytes | None:
        try:
            value = function(*given)
        except crashes_of_calls() as problem:
            return once(told(problem))
        return None if type(value) is int and least < value < most else doubt(value)

    def call_alone(given: Any) -> bytes | None:
        try:
            value = function(given)
        except crashes_of_calls() as problem:
            return once(told(problem))
        return None if type(value) is int and least < value < most else doubt(value)

    if sparing and named:
        return lambda spared, *given, **by_name: None if spared else call(given, by_name)
    if sparing:
        return lambda spared, *given: None if spared else call(*given)
    if named:
        return lambda *given, **by_name: call(given, by_name)
    return call_alone if alone else call


def _crashing(what: bytes) -> Callable[..., bytes]:
    return lambda *given, **by_name: what


def _fitted(function: Callable[..., Any], fits: Callable[[Any, int], None] | None) -> Callable[..., Any]:
    """The function, which also crashes if what it gives does not fit."""
    if fits is None:
        return function

    def fitted(*given: Any, **by_name: Any) -> Any:
        value = function(*given, **by_name)
        fits(value, 1)
        return value

    return fitted


def _of_both(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, of its arguments by position and by name."""
    return lambda given, by_name: function(*given, **by_name)


@dataclass(frozen=True)
class PickledCall:
    """A function of a row: what it gives, as the pickle that Spark would read, if ``pickled`` has doubts about that; else None."""

    code: Code
    pickled: Callable[[Any, Any], bytes | None]

    def __call__(self, *given: Any, **named: Any) -> bytes | None:
        return self.pickled(self.code.function(*given, **named), self.code.returns)
