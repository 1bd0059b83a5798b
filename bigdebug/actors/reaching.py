"""Reaching: that the code of a function reaches nothing which a copy of it shares with the user's. What does is not tried."""

from __future__ import annotations

import builtins
import sys
from collections import deque
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeGuard

from bigdebug.actors.codes import REACHING, REACHING_ATTRIBUTES, UNHEARD, Untried, is_value, library, live
from bigdebug.actors.fixed import fixed
from bigdebug.actors.named import Named, named

_STATEFUL = (dict, list, set, bytearray, deque)
_NOWHERE = object()


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
        check_live(name, scope[name])
    return found


def check_live(name: str, value: Any) -> None:
    """Raises Untried if a module, a function or a class that a code has by this name stands for something elsewhere."""
    of = value.__name__ if isinstance(value, ModuleType) else value.__module__ if isinstance(value, (FunctionType, BuiltinFunctionType, type)) else ""
    if live(of) and not (isinstance(value, type) and is_value(value)):
        raise Untried("it stands for something elsewhere", name)


def _called(value: Any) -> str:
    """What a function or a class of Python or a package is called; empty for what is none."""
    known = isinstance(value, (FunctionType, BuiltinFunctionType, type)) or type(value).__name__ == "cython_function_or_method"
    return str(value.__name__) if known and library(value.__module__) else ""


def _of_library(value: Any) -> TypeGuard[FunctionType | BuiltinFunctionType]:
    """Whether it is a function of Python or a package."""
    return isinstance(value, (FunctionType, BuiltinFunctionType)) and library(value.__module__)


def check_imports(names: Named) -> None:
    """The same of what a code imports itself. Raises Untried; also where it gives something to what nobody has imported yet."""
    for name, path in sorted(names.imported):
        value = _at(path)
        if name in names.marked or (value is _NOWHERE and _by_name(name, names)):
            raise _marked(path)
        if _changing(path.rpartition(".")[2], value) or are_options(value):
            raise Untried(f"{path} may change")
        check_given(name, value, names, path)


def check_given(name: str, value: Any, names: Named, of: str = "") -> None:
    """The same of what a code is given as it is: by a global, a function around it, or an argument that has a value. ``of``: where it takes that from."""
    check_live(of or name, value)
    check_marks(name, value, names, of)
    if isinstance(value, ModuleType) and library(value.__name__):
        check_library(value, names.attributes)


def check_library(module: ModuleType, attributes: frozenset[str]) -> None:
    """Raises Untried if a module of a library has what may change, or is not its own, among what a code names."""
    held = sorted(attributes & vars(module).keys())
    for name in held:
        if _changing(name, vars(module)[name]):
            raise Untried(f"{module.__name__}.{name} may change")
    for name in held:
        if isinstance(vars(module)[name], (FunctionType, type)) and not library(vars(module)[name].__module__):
            raise Untried(f"{module.__name__}.{name} is none of its own")


def check_marks(name: str, value: Any, names: Named, of: str = "") -> None:
    """Raises Untried if a code remembers something in a module or a class of a library, of which it names ``value``."""
    if not (isinstance(value, ModuleType) and library(value.__name__)) and not (isinstance(value, type) and library(value.__module__)):
        return
    inner = [vars(value)[each] for each in names.attributes & vars(value).keys()]
    held = {**vars(value), **{each: kept for kind in inner if isinstance(kind, type) for each, kept in vars(kind).items()}}
    kept = {each for each in names.sets & held.keys() if not hasattr(type(held[each]), "__get__")}
    kept |= {option for each in inner if are_options(each) for option in _options(vars(each)["d"])} & names.sets
    if kept or name in names.marked or _by_name(name, names):
        raise _marked(of or name)


def are_options(value: Any) -> bool:
    """Whether these are options of pandas, or some of them: whoever has them, or a copy, sets those of the whole process."""
    return type(value).__module__ == "pandas._config.config" and isinstance(vars(value).get("d"), dict)


def _options(held: dict[str, Any]) -> Iterator[str]:
    """The names of options and of what they stand in."""
    for name, value in held.items():
        yield name
        if isinstance(value, dict):
            yield from _options(value)


def _by_name(name: str, names: Named) -> bool:
    """Whether it may give it attributes whose names it need not name."""
    return name in names.whole and "setattr" in names.globals


def _marked(name: str) -> Untried:
    return Untried(f"it gives {name!r} another attribute, which is not the user's own")


def _changing(name: str, value: Any) -> bool:
    return isinstance(value, _STATEFUL) or name == "environ"


def _at(path: str) -> Any:
    """What is imported from there, if that is there: nothing is imported for the question."""
    owner, _, name = path.rpartition(".")
    held = getattr(sys.modules.get(owner), "__dict__", {})
    return held[name] if name in held else sys.modules.get(path, _NOWHERE)
