"""Straight: code that does nothing but with what it is given and what nobody can change, and goes its way whatever a frame holds. It may be called with stand-ins, and nothing stays of that."""

from __future__ import annotations

import builtins
import dis
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from bigdebug.actors.plain.standin import StandIn, UnknownError, constant, unchanging

_STEPS = re.compile(
    r"RESUME|NOP|CACHE|EXTENDED_ARG|PRECALL|KW_NAMES|PUSH_NULL|POP_TOP|SWAP|(ROT|DUP|COPY|MAKE|BUILD|CALL|BINARY|INPLACE|UNARY|RETURN|FORMAT|CONVERT)(_\w+)?"
    r"|(LOAD|STORE|DELETE)_(FAST\w*|DEREF|CLOSURE)|LOAD_(CONST|SMALL_INT|GLOBAL|ATTR|METHOD)|COMPARE_OP|CONTAINS_OP|TO_BOOL|STORE_SUBSCR|UNPACK_SEQUENCE"
    r"|LIST_(EXTEND|APPEND)|DICT_UPDATE|MAP_ADD|SET_(ADD|UPDATE|FUNCTION_ATTRIBUTE)|(POP_)?JUMP\w*|NOT_TAKEN|GET_ITER|FOR_ITER|END_FOR|POP_ITER"
)
"""What such code may do, as the versions of Python call it. It does not catch, import, or set anything but its own variables. Stand-ins cannot be asked, so it jumps by constants alone."""

_NAMES: Mapping[str, Any] = {
    name: getattr(builtins, name)
    for name in (
        "abs", "round", "int", "float", "str", "bool", "tuple", "frozenset", "len", "min", "max", "sum", "sorted", "range", "zip", "enumerate", "reversed", "ord", "chr", "divmod", "any", "all",
        "slice", "ValueError", "TypeError", "KeyError", "IndexError",
    )
}
"""What it may find of Python's: of stand-ins, these ask what those say, or raise."""

_SETS = ("STORE_GLOBAL", "STORE_ATTR", "STORE_NAME", "DELETE_GLOBAL", "DELETE_ATTR", "IMPORT_", "LOAD_NAME", "LOAD_BUILD_CLASS")

_HIDDEN = ("_", "gi_", "cr_", "tb_", "f_", "mro")
"""By such attributes one comes from a value to all that Python has."""

_NOTHING = object()

_KNOWN: WeakKeyDictionary[CodeType, bool] = WeakKeyDictionary()


def watched() -> bool:
    """Whether somebody follows which lines of this thread are called, as debuggers do and who counts them: then none may be called that is not called without."""
    monitoring = getattr(sys, "monitoring", None)
    return sys.gettrace() is not None or sys.getprofile() is not None or (monitoring is not None and any(map(monitoring.get_tool, range(6))))


def standing(function: Any, modules: Callable[[Any], Any]) -> FunctionType:
    """A copy of a function that may be called with stand-ins. ``modules`` gives the stand-in of what a global name is, or None. Raises UnknownError where its code does anything else."""
    return _Standing(modules).of(function)


class _Standing:
    """Functions that call each other."""

    def __init__(self, modules: Callable[[Any], Any]) -> None:
        self._modules = modules
        self._on = set[CodeType]()

    def of(self, function: Any) -> FunctionType:
        if type(function) is not FunctionType or function.__dict__ or function.__code__ in self._on or not _straight(function.__code__):
            raise UnknownError
        code = function.__code__
        self._on.add(code)
        names = {name: self._global(name, function) for name in _globals_of(code)}
        made = FunctionType(
            code, {**names, "__builtins__": {}}, function.__name__, constant(function.__defaults__ or ()), tuple(CellType(constant(each.cell_contents)) for each in function.__closure__ or ()),
        )
        made.__kwdefaults__ = constant(function.__kwdefaults__ or {})
        self._on.discard(code)
        return made

    def _global(self, name: str, function: FunctionType) -> Any:
        value = _found(name, function)
        if type(value) is FunctionType:
            return OfCells(value) if of_a_cell(value) and not _straight(value.__code__) else self.of(value)
        if value is _NAMES.get(name):
            return value
        stands = self._modules(value)
        return constant(value) if stands is None else stands


class OfCells(StandIn):
    """Stands for a function of a cell."""

    __slots__ = ()

    def __init__(self, function: FunctionType) -> None:
        object.__setattr__(self, "_told", function)


def of_a_cell(function: Any) -> bool:
    """Whether what a function gives of the value of a cell, which nobody can change, hangs on that alone: it remembers nothing, sets nothing, and finds no names but some of Python's and of values
    that nobody can change. It may ask, loop, catch, and raise."""
    if type(function) is not FunctionType or function.__closure__ or function.__kwdefaults__ or function.__dict__ or not unchanging(function.__defaults__ or ()):
        return False
    codes = [*_codes(function.__code__)]
    return all(map(_keeps_to_itself, codes)) and all(_is_fixed(name, _found(name, function)) for code in codes for name in _globals_of(code))


def _is_fixed(name: str, value: Any) -> bool:
    return unchanging(value) or (value is not None and value is _NAMES.get(name))


def _found(name: str, function: FunctionType) -> Any:
    """What a global name is to a function."""
    return function.__globals__.get(name, getattr(function, "__builtins__", {}).get(name, _NOTHING))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _straight(code: CodeType) -> bool:
    """Whether code, and all within, is such."""
    known = _KNOWN.get(code)
    if known is None:
        known = _KNOWN[code] = all(
            _open(each) and not getattr(each, "co_exceptiontable", b"") and all(_goes_on(step, code.co_freevars) for step in dis.get_instructions(each)) for each in _codes(code)
        )
    return known


def _goes_on(step: dis.Instruction, remembered: tuple[str, ...]) -> bool:
    """Whether a step is one that is known, and sets no variable of the functions around."""
    return bool(_STEPS.fullmatch(step.opname)) and not (step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in remembered)


def _keeps_to_itself(code: CodeType) -> bool:
    """Whether it sets nothing but its own variables, and imports nothing."""
    return _open(code) and not any(step.opname.startswith(_SETS) for step in dis.get_instructions(code))


def _open(code: CodeType) -> bool:
    """Whether it is the code of a function that gives what it returns, and asks for nothing that is hidden."""
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR) and code.co_name != "<genexpr>":
        return False
    return not any(step.argval.startswith(_HIDDEN) for step in dis.get_instructions(code) if step.opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"))


def _globals_of(code: CodeType) -> Iterator[str]:
    """The names that code and all within looks for among globals."""
    return (step.argval for each in _codes(code) for step in dis.get_instructions(each) if step.opname == "LOAD_GLOBAL")
