"""Reaching: that the code of a function reaches nothing which a copy of it shares with the user's. What does is not tried."""

from __future__ import annotations

import builtins
import sys
from collections import deque
from collections.abc import Collection
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeGuard

from bigdebug.actors.codes import REACHING, REACHING_ATTRIBUTES, UNHEARD, Untried, library, live
from bigdebug.actors.fixed import fixed
from bigdebug.actors.named import Named, imported, named

_STATEFUL = (dict, list, set, bytearray, deque)


def checked(function: FunctionType) -> Named:
    """What the code of a function names. Raises Untried where it reaches what no code names."""
    found = named(function.__code__)
    scope = function.__globals__
    hidden = {name for name in found.globals & REACHING if name not in scope or _of_library(scope[name])}
    hidden |= found.attributes & (REACHING_ATTRIBUTES | UNHEARD - {"write"}) | {_called(scope.get(name)) for name in found.globals} & (REACHING_ATTRIBUTES | UNHEARD)
    if hidden:
        raise Untried(f"{function.__name__} calls {min(hidden)}()")
    own = {name for name in found.imports if not library(name) or live(name)}
    if own:
        raise Untried(f"{function.__name__} imports {min(own)!r} when it is called")
    for name in sorted(found.globals & vars(builtins).keys() - scope.keys()):
        if not (isinstance(vars(builtins)[name], type) or fixed(vars(builtins)[name]) or _of_library(vars(builtins)[name])):
            raise Untried(f"{name!r} was put among Python's own names")
    for name in sorted(found.globals & scope.keys()):
        value = scope[name]
        if live(value.__name__ if isinstance(value, ModuleType) else value.__module__ if isinstance(value, (FunctionType, BuiltinFunctionType, type)) else ""):
            raise Untried(f"{function.__name__} uses {name!r}, which stands for something elsewhere")
    return found


def _called(value: Any) -> str:
    """What a function or a class of Python or a package is called; empty for what is none."""
    known = isinstance(value, (FunctionType, BuiltinFunctionType, type)) or type(value).__name__ == "cython_function_or_method"
    return str(value.__name__) if known and library(value.__module__) else ""


def _of_library(value: Any) -> TypeGuard[FunctionType | BuiltinFunctionType]:
    """Whether it is a function of Python or a package."""
    return isinstance(value, (FunctionType, BuiltinFunctionType)) and library(value.__module__)


def check_imports(names: Named) -> None:
    """The same of the modules that a code imports itself. Raises Untried; also for those that it gives something and that nobody has imported yet."""
    for name in sorted(names.imports):
        held = sys.modules.get(name)
        if held is not None:
            check_marks(imported(name), held, names)
            check_library(held, names.attributes)
        elif imported(name) in names.marked:
            raise _marked(name)


def check_library(module: ModuleType, attributes: Collection[str]) -> None:
    """Raises Untried if a module of a library has what may change, or is not its own, among what a code names."""
    named = vars(module).keys() & set(attributes)
    changing = sorted(name for name in named if isinstance(vars(module)[name], _STATEFUL) or name == "environ")
    if changing:
        raise Untried(f"{module.__name__}.{changing[0]} may change")
    for name in sorted(named):
        if isinstance(vars(module)[name], (FunctionType, type)) and not library(vars(module)[name].__module__):
            raise Untried(f"{module.__name__}.{name} is none of its own")


def check_marks(name: str, value: Any, names: Named) -> None:
    """Raises Untried if a code remembers something in a module or a class of a library, of which it names ``value``."""
    if not (isinstance(value, ModuleType) and library(value.__name__)) and not (isinstance(value, type) and library(value.__module__)):
        return
    inner = [vars(value)[each] for each in names.attributes & vars(value).keys()]
    held = {**vars(value), **{each: kept for kind in inner if isinstance(kind, type) for each, kept in vars(kind).items()}}
    kept = {each for each in names.sets & held.keys() if not hasattr(type(held[each]), "__get__")}
    if kept or name in names.marked or (name in names.whole and "setattr" in names.globals):
        raise _marked(name.removeprefix(imported("")))


def _marked(name: str) -> Untried:
    return Untried(f"it gives {name!r} another attribute, which is not the user's own")
