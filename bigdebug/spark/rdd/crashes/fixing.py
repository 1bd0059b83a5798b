"""Fixing: which function of the user's an operator over single records calls, and how another one is put in its place.

PySpark makes the functions of ``mapValues``, ``flatMapValues``, ``keyBy``, ``groupBy`` and ``sortBy`` of the user's, which gets a part of the record and gives a
part of what comes of it. A fix is to what it was written for.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from pyspark.core import rdd

from bigdebug.agents.segments import Filter, FlatMap, Map, Step
from bigdebug.errors import ReplayError
from bigdebug.graph import Operator

_GIVEN = "f"
"""What PySpark calls the function that it was given."""


def of_one(step: Step | None) -> Callable[..., Any] | None:
    """What an operator calls on each record; None if it is called on more than one at a time, or on none."""
    return step.function if isinstance(step, Map | Filter | FlatMap) else None


def written(called: Callable[..., Any]) -> Callable[..., Any] | None:
    """The user's function, of what is called on records; None if that is PySpark's alone."""
    if not _is_pysparks(called):
        return called
    names = called.__code__.co_freevars
    given = called.__closure__[names.index(_GIVEN)].cell_contents if called.__closure__ and _GIVEN in names else None
    return None if given is None or getattr(given, "__module__", "").startswith("pyspark.") else given


def put(called: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """What is called on records, with another function in the place of the user's."""
    if not _is_pysparks(called):
        return function
    cells = tuple(CellType(function) if name == _GIVEN else cell for name, cell in zip(called.__code__.co_freevars, called.__closure__ or (), strict=True))
    return FunctionType(called.__code__, called.__globals__, called.__name__, called.__defaults__, cells)


def not_written(operator: Operator) -> ReplayError:
    return ReplayError(
        f"{operator} calls a function of PySpark's own, and none of yours that could be fixed", remedy="Fix the operator that crashed: culprit.operator.",
    )


def _is_pysparks(called: Callable[..., Any]) -> bool:
    return isinstance(called, FunctionType) and called.__module__ == rdd.__name__ and called.__qualname__.startswith("RDD.")
