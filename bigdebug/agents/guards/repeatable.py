"""Repeatable: functions that can be called on a record once more, and nothing is other than it was. It is seen from their code, before they are."""

from __future__ import annotations

import builtins
import dis
import operator
import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

from bigdebug.agents.guards.held import PLAIN

_MODULES = frozenset((
    "ast", "base64", "binascii", "builtins", "calendar", "collections", "csv", "dataclasses", "datetime", "decimal", "fractions", "functools", "hashlib", "html",
    "ipaddress", "itertools", "json", "math", "operator", "re", "statistics", "string", "struct", "time", "typing", "unicodedata", "urllib", "zlib",
))
"""Modules of Python's whose functions keep nothing that anybody sees."""

_ACTS = frozenset(("__import__", "breakpoint", "delattr", "eval", "exec", "globals", "input", "open", "print", "setattr", "vars"))
"""What is built in, and does more than to answer."""

_CONSTANT = (re.Pattern, operator.itemgetter, operator.attrgetter, operator.methodcaller, MethodDescriptorType, WrapperDescriptorType, range, type(NotImplemented))

_CHANGES = frozenset(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR"))

_MOST = 200
"""Values that are looked at."""

_LARGEST = 10_000
"""Bytes of what may change, for it is looked at each time that a thousand records have passed."""


class _Unknown(Exception):
    """A function may do what is not seen."""


class Repeatable:
    """Some functions, and what they can see that changes.

    ``certain`` says whether all of what they call is known, and nothing of it does anything but to answer. Lists, dictionaries and sets that
    they see may be changed by them: those that did not while they were called on a thousand records are taken for constant.
    """

    def __init__(self, functions: Iterable[Callable[..., Any]]) -> None:
        self._seen: dict[int, Any] = {}
        self._states: list[Any] = []
        self._before: bytes | None = None
        try:
            for function in functions:
                self._look(function)
            states = pickle.dumps(self._states)
            self._before = states if len(states) <= _LARGEST else None
        except Exception:  # what they see may be of any class
            return

    @property
    def certain(self) -> bool:
        return self._before is not None

    def changed(self) -> bool:
        """Whether something that they see is other than it was."""
        return pickle.dumps(self._states) != self._before

    def _look(self, value: Any) -> None:
        if type(value) in PLAIN or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if len(self._seen) > _MOST:
            raise _Unknown
        if isinstance(value, FunctionType):
            self._look_into(value)
        elif type(value) in (tuple, frozenset, list, set, dict):
            if type(value) not in (tuple, frozenset):
                self._states.append(value)
            for each in (*value, *value.values()) if isinstance(value, dict) else value:
                self._look(each)
        elif type(value) is partial:
            self._look((value.func, value.args, value.keywords))
        elif not _is_constant(value):
            raise _Unknown

    def _look_into(self, function: FunctionType) -> None:
        if _of_python(function.__module__):
            return
        for value in (function.__defaults__, function.__kwdefaults__, *_closed_over(function), *_named(function)):
            self._look(value)


def _closed_over(function: FunctionType) -> list[Any]:
    return [cell.cell_contents for cell in function.__closure__ or ()]


def _named(function: FunctionType) -> Iterator[Any]:
    """The global values that a function names."""
    for code in _codes(function.__code__):
        for step in dis.get_instructions(code):
            if step.opname in _CHANGES or (step.opname == "STORE_DEREF" and step.argval in function.__code__.co_freevars):
                raise _Unknown
            if step.opname == "IMPORT_NAME" and not _of_python(step.argval):
                raise _Unknown
            if step.opname == "LOAD_GLOBAL":
                name = step.argval
                if name in function.__globals__:
                    yield function.__globals__[name]
                elif name in _ACTS or not hasattr(builtins, name):
                    raise _Unknown


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_constant(value: Any) -> bool:
    """Whether it is known that a value does not change, nor anything else when it is called."""
    if isinstance(value, ModuleType):
        return _of_python(value.__name__)
    if isinstance(value, type):
        return _of_python(value.__module__) or issubclass(value, BaseException)
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        return value.__name__ not in _ACTS and (_is_constant(owner) if owner is not None and type(owner) not in PLAIN else _of_python(value.__module__))
    return isinstance(value, _CONSTANT)


def _of_python(module: str | None) -> bool:
    return module is not None and module.partition(".")[0].lstrip("_") in _MODULES
