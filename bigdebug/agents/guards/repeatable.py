"""Repeatable: functions that can be called on a record once more, for all that they do is to answer. That is seen from their code, before they are.

What they see of others is nothing but functions of the same kind, Python's own that are known to be pure, and constants that cannot change.
What is called again are copies that see what the functions saw, whatever their names mean by then.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import CellType, FunctionType, ModuleType
from typing import Any

from bigdebug.agents.guards.pure import is_constant, is_pure, pure_attribute
from bigdebug.agents.guards.references import Reference, references


class _Unknown(Exception):
    """A function may do what is not seen."""


class Repeatable:
    """Copies of some functions; None if it is not certain that all that they do is to answer.

    ``names`` tell how to look at what each name means that they see, and what it meant; ``sizes`` how many names there are where what is built in is
    seen, which another one may hide; ``themselves`` what they are made of.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self.copies: list[Callable[..., Any]] | None = None
        self.names: list[tuple[Callable[[], Any], Any]] = []
        self.sizes: list[tuple[Mapping[str, Any], int]] = []
        self.themselves: list[tuple[Callable[[], Any], Any]] = []
        self._known: dict[int, tuple[Any, Any]] = {}
        try:
            self.copies = [self._copy(function) for function in functions]
        except Exception:  # what a function sees may be of any class
            return

    def _copy(self, value: Any) -> Any:
        if is_constant(value) or is_pure(value):
            return value
        if not isinstance(value, FunctionType):
            raise _Unknown
        if id(value) not in self._known:
            self._function(value)
        return self._known[id(value)][1]

    def _function(self, function: FunctionType) -> None:
        known = references(function.__code__)
        if known is None or function.__kwdefaults__ or not all(map(is_constant, function.__defaults__ or ())):
            raise _Unknown
        if vars(function) or function.__globals__.get("__builtins__", builtins) not in (builtins, vars(builtins)):
            raise _Unknown
        self.themselves += [(partial(getattr, function, each), getattr(function, each)) for each in ("__code__", "__defaults__", "__kwdefaults__")]
        self.themselves.append((vars(function).__len__, 0))
        code, names, cells = function.__code__, dict[str, Any](), tuple(CellType() for _ in function.__closure__ or ())
        names["__builtins__"] = builtins
        made = FunctionType(code, names, function.__name__, function.__defaults__, cells)
        self._known[id(function)] = (function, made)  # it may name itself
        free = dict(zip(code.co_freevars, zip(function.__closure__ or (), cells)))
        for reference in known:
            if reference.enclosed:
                cell, mine = free[reference.name]
                mine.cell_contents = self._referred(reference, partial(getattr, cell, "cell_contents"))
            elif reference.name in function.__globals__:
                names[reference.name] = self._referred(reference, partial(function.__globals__.get, reference.name))
            else:
                self.sizes.append((function.__globals__, len(function.__globals__)))
                self._check(getattr(builtins, reference.name), reference.attributes)

    def _referred(self, reference: Reference, look: Callable[[], Any]) -> Any:
        """What stands in a copy for what a function refers to."""
        value = look()
        self.names.append((look, value))
        if isinstance(value, ModuleType | type) and reference.attributes:
            self._check(value, reference.attributes)
            return value
        if reference.attributes and not is_constant(value):
            raise _Unknown
        return self._copy(value)

    def _check(self, value: Any, attributes: Sequence[str]) -> None:
        """Raises _Unknown unless what is Python's own is pure, or leads to that."""
        if not (pure_attribute(value, attributes) if attributes else is_pure(value)):
            raise _Unknown
        for name in attributes:
            if isinstance(value, ModuleType):
                names, value = vars(value), getattr(value, name)
                self.names.append((partial(names.get, name), value))
