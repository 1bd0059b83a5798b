"""Repeatable: functions that can be called on a record once more, for all that they do is to answer. That is seen from their code, before they are.

What they see of others is nothing but functions of the same kind, Python's own that are known to be pure, and constants that cannot change.
What is called again are copies that see what the functions saw, whatever their names mean by then.
"""

from __future__ import annotations

import builtins
import operator
import re
from collections.abc import Callable, Iterable
from functools import partial
from types import CellType, FunctionType, ModuleType
from typing import Any

from bigdebug.agents.guards.pure import CONSTANT, is_pure, pure_attribute
from bigdebug.agents.guards.references import Reference, references


class _Unknown(Exception):
    """A function may do what is not seen."""


class Repeatable:
    """Copies of some functions; None if it is not certain that all that they do is to answer.

    ``names`` are those of the functions and constants of the user's that they see: how to look at what one means, and what it meant.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self.copies: list[Callable[..., Any]] | None = None
        self.names: list[tuple[Callable[[], Any], Any]] = []
        self._known: dict[int, tuple[Any, Any]] = {}
        try:
            self.copies = [self._copy(function) for function in functions]
        except Exception:  # what a function sees may be of any class
            return

    def _copy(self, value: Any) -> Any:
        if _is_constant(value) or is_pure(value):
            return value
        if not isinstance(value, FunctionType):
            raise _Unknown
        if id(value) not in self._known:
            self._function(value)
        return self._known[id(value)][1]

    def _function(self, function: FunctionType) -> None:
        if vars(function) or function.__globals__.get("__builtins__", builtins) not in (builtins, vars(builtins)):
            raise _Unknown
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        known = references(function.__code__)
        if known is None or not all(map(_is_constant, defaults)):
            raise _Unknown
        code, names, cells = function.__code__, dict[str, Any](), tuple(CellType() for _ in function.__closure__ or ())
        names["__builtins__"] = builtins
        made = FunctionType(code, names, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        self._known[id(function)] = (function, made)  # it may name itself
        free = dict(zip(code.co_freevars, zip(function.__closure__ or (), cells)))
        for reference in known:
            if reference.enclosed:
                cell, mine = free[reference.name]
                mine.cell_contents = self._referred(reference, partial(getattr, cell, "cell_contents"))
            elif reference.name in function.__globals__:
                names[reference.name] = self._referred(reference, partial(function.__globals__.get, reference.name))
            else:
                _check_built_in(getattr(builtins, reference.name), reference)

    def _referred(self, reference: Reference, look: Callable[[], Any]) -> Any:
        """What stands in a copy for what a function refers to."""
        value = look()
        if isinstance(value, ModuleType | type) and reference.attributes:
            if not pure_attribute(value, reference.attributes):
                raise _Unknown
            return value
        if reference.attributes and not _is_constant(value):
            raise _Unknown
        made = self._copy(value)
        if not is_pure(value):
            self.names.append((look, value))
        return made


def _check_built_in(value: Any, reference: Reference) -> None:
    if not (pure_attribute(value, reference.attributes) if reference.attributes else is_pure(value)):
        raise _Unknown


def _is_constant(value: Any) -> bool:
    """Whether nothing of a value changes, and its methods only answer."""
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, value))
    return type(value) in CONSTANT or isinstance(value, re.Pattern | operator.itemgetter)
