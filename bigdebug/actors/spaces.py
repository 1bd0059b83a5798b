"""Spaces: globals of modules, in which what a function names is a copy."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from bigdebug.actors.aside import open_in_vain
from bigdebug.actors.codes import Untried, library
from bigdebug.actors.frames_apart import Copy
from bigdebug.actors.named import Named
from bigdebug.actors.reaching import check_given, check_imports, check_library, check_live, check_marks, checked
from bigdebug.actors.shared import defaults, filled


class Spaces:
    """For each module one, as a module. ``copy`` copies what is in them: it is not held, for what holds these spaces would hold itself by it, and all that is copied until Python looks for such circles."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[types.ModuleType, set[str]]] = {}
        self._held: list[dict[str, Any]] = []

    def of(self, scope: dict[str, Any], name: str = "") -> tuple[types.ModuleType, set[str]]:
        """The globals of a module, in which what is named is copied when it is met, and which of them are."""
        found = self._found.get(id(scope))
        if found is None:
            module = types.ModuleType(name or str(scope.get("__name__")))
            module.__dict__.update(scope)
            found = self._found[id(scope)] = module, set()
            self._held.append(scope)
        return found

    def forget(self) -> None:
        """Let go of all that is in them: a function in its own globals holds itself, and all others."""
        for module, _ in self._found.values():
            module.__dict__.clear()

    def names(self, function: types.FunctionType, cells: Callable[[types.CellType], types.CellType], copy: Copy) -> Named:
        """Copy what the code of a function names, which is given. Raises Untried."""
        scope, names = function.__globals__, checked(function)
        if "open" in names.globals and scope.get("open", open) is open:
            self.of(scope)[0].__dict__["open"] = open_in_vain
        for name in sorted(names.globals & scope.keys()):
            value = scope[name]
            check_marks(name, value, names)
            if isinstance(value, types.ModuleType):
                if name in names.whole and not library(value.__name__):
                    raise Untried(f"{function.__name__} hands the module {name!r} on")
                self.of(scope)[0].__dict__[name] = self._module(value, names.attributes, copy)
            elif value is not open:
                self._take(scope, name, copy)
        check_imports(names)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if filled(cell):
                check_live(name, cell.cell_contents)
                check_marks(name, cell.cell_contents, names)
            if filled(cell) and isinstance(cell.cell_contents, types.ModuleType):
                cells(cell).cell_contents = self._module(cell.cell_contents, names.attributes, copy)
        for name, value in defaults(function):
            check_given(name, value, names)
        return names

    def _take(self, scope: dict[str, Any], name: str, copy: Copy) -> None:
        module, taken = self.of(scope)
        if name not in taken:
            taken.add(name)
            try:
                module.__dict__[name] = copy(scope[name])
            except Untried as why:
                raise why.at(name) from None

    def _module(self, module: types.ModuleType, attributes: frozenset[str], copy: Copy) -> types.ModuleType:
        """A module of the user's with copies of what is named; one of a library as it is, but with random numbers of its own. Raises Untried."""
        check_live(module.__name__, module)
        if not library(module.__name__):
            for name in sorted((attributes | {"__getattr__"}) & vars(module).keys()):
                inner = vars(module)[name]
                if isinstance(inner, types.ModuleType):
                    self.of(vars(module))[0].__dict__[name] = self._module(inner, attributes, copy)
                else:
                    self._take(vars(module), name, copy)
            return self.of(vars(module))[0]
        if module is random or module is np.random:
            return self._drawing(module, attributes, copy)
        if module is np and ("random" in attributes or id(vars(np)) in self._found):
            made = self.of(vars(module))[0]
            made.__dict__["random"] = self._drawing(np.random, attributes, copy)
            return made
        check_library(module, attributes)
        return module

    def _drawing(self, module: types.ModuleType, attributes: frozenset[str], copy: Copy) -> types.ModuleType:
        """A module whose functions draw from a copy of its generator."""
        if attributes & {"set_bit_generator", "get_bit_generator"}:
            raise Untried("it changes the generator of random numbers")
        made, taken = self.of(vars(module))
        if not taken:
            taken.add("random")
            origin = np.random.rand.__self__ if module is np.random else random.random.__self__  # type: ignore[attr-defined]
            copied = copy(origin)
            for name, value in vars(module).items():
                if getattr(value, "__self__", None) is origin or name == "seed":
                    made.__dict__[name] = getattr(copied, name)
        return made
