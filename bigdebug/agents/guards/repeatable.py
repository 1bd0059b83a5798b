"""Repeatable: functions that can be called on a record once more, for all that they do is to answer. That is seen from their code, before they are.

What is called again are copies that see copies of all that may change: so nothing of the user's is touched, and they answer as the functions did
while what these saw was the same.
"""

from __future__ import annotations

import builtins
import copy
import operator
import pickle
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import CellType, FunctionType, ModuleType
from typing import Any

from bigdebug.agents.guards.held import PLAIN
from bigdebug.agents.guards.pure import is_pure
from bigdebug.agents.guards.references import Reference, references

_READING = frozenset((
    "copy", "count", "difference", "get", "index", "intersection", "isdisjoint", "issubset", "issuperset", "items", "keys", "symmetric_difference", "union", "values",
))
"""Methods of lists, dictionaries and sets that change nothing."""

_CONSTANT = (re.Pattern, operator.itemgetter, operator.attrgetter, operator.methodcaller)
_MUTABLE = (list, dict, set)

_MOST = 5_000
"""Values in what may change, for it is looked at each time that a thousand records have passed."""


class _Unknown(Exception):
    """A function may do what is not seen."""


class Repeatable:
    """Copies of some functions; None if it is not certain that all that they do is to answer."""

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self.copies: list[Callable[..., Any]] | None = None
        self._left = _MOST
        self._bound: list[tuple[Callable[[], Any], Any]] = []
        """How to look at what a name means, and what it meant."""
        self._states: list[Any] = []
        self._known: dict[int, tuple[Any, Any]] = {}
        try:
            copies = [self._copy(function) for function in functions]
            self._before = pickle.dumps(self._states)
        except Exception:  # what a function sees may be of any class
            return
        self.copies = copies

    def changed(self) -> bool:
        """Whether the functions see something else than they did."""
        try:
            return any(look() is not value for look, value in self._bound) or pickle.dumps(self._states) != self._before
        except Exception:  # a name means nothing any more, or a list holds what cannot be pickled
            return True

    def _copy(self, value: Any) -> Any:
        if type(value) in PLAIN or isinstance(value, _CONSTANT) or is_pure(value):
            return value
        if id(value) not in self._known:
            self._known[id(value)] = (value, None)
            if isinstance(value, FunctionType):
                made: Any = self._function(value)
            elif type(value) is partial:
                made = partial(self._copy(value.func), *self._copy(value.args), **self._copy(value.keywords))
            elif self._is_data(value):
                self._states.append(value)
                made = copy.deepcopy(value)
            else:
                raise _Unknown
            self._known[id(value)] = (value, made)
        return self._known[id(value)][1]

    def _function(self, function: FunctionType) -> FunctionType:
        code, names, cells = function.__code__, dict[str, Any](), tuple(CellType() for _ in function.__closure__ or ())
        names["__builtins__"] = builtins
        made = FunctionType(code, names, function.__name__, None, cells)
        self._known[id(function)] = (function, made)  # it may name itself
        made.__defaults__ = self._copy(function.__defaults__)
        made.__kwdefaults__ = self._copy(function.__kwdefaults__)
        free = dict(zip(code.co_freevars, zip(function.__closure__ or (), cells)))
        known = references(code)
        if known is None:
            raise _Unknown
        for reference in known:
            if reference.enclosed:
                cell, mine = free[reference.name]
                mine.cell_contents = self._referred(reference, partial(getattr, cell, "cell_contents"))
            elif reference.name in function.__globals__:
                names[reference.name] = self._referred(reference, partial(_named, function.__globals__, reference.name))
            else:
                self._bound.append((partial(function.__globals__.get, reference.name), None))
                self._referred(reference, partial(_named, vars(builtins), reference.name))
        return made

    def _referred(self, reference: Reference, look: Callable[[], Any]) -> Any:
        """What stands in a copy for what a function refers to."""
        value = look()
        self._bound.append((look, value))
        if isinstance(value, (ModuleType, type)) and reference.attributes:
            _check(value, reference.attributes)
            return value
        if isinstance(value, _MUTABLE):
            if reference.changes or (reference.attributes and reference.attributes[0] not in _READING):
                raise _Unknown
        elif reference.attributes and type(value) not in PLAIN and not isinstance(value, re.Pattern):
            raise _Unknown
        return self._copy(value)


    def _is_data(self, value: Any) -> bool:
        """Whether a value is made of plain ones alone, and of few of them."""
        self._left -= 1
        if type(value) in PLAIN or self._left < 0:
            return self._left >= 0
        if type(value) is dict:
            return all(map(self._is_data, value)) and all(map(self._is_data, value.values()))
        return type(value) in (list, tuple, set, frozenset) and all(map(self._is_data, value))


def _named(names: Mapping[str, Any], name: str) -> Any:
    return names[name]


def _check(value: Any, attributes: Iterable[str]) -> None:
    """Raises _Unknown unless it is known what an attribute of a module or class is, and does."""
    for name in attributes:
        value = getattr(value, name)
        if not isinstance(value, ModuleType):
            break
    if not (type(value) in PLAIN or isinstance(value, _CONSTANT) or is_pure(value)):
        raise _Unknown
