"""Straight: code that does nothing but with what it is given and what nobody can change, and goes its way whatever a frame holds. It may be called with stand-ins, and nothing stays of that."""

from __future__ import annotations

import builtins
import dis
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from bigdebug.actors.codes import codes_in
from bigdebug.actors.plain.standin import Constants, UnknownError, unchanging

_STEPS = re.compile(
    r"RESUME|NOP|CACHE|EXTENDED_ARG|PRECALL|KW_NAMES|PUSH_NULL|POP_TOP|SWAP|(ROT|DUP|COPY|MAKE|BUILD|CALL|BINARY|INPLACE|UNARY|RETURN|FORMAT|CONVERT)(_\w+)?"
    r"|(LOAD|STORE|DELETE)_(FAST\w*|DEREF|CLOSURE)|LOAD_(CONST|SMALL_INT|GLOBAL|ATTR|METHOD)|COMPARE_OP|CONTAINS_OP|TO_BOOL|STORE_SUBSCR|UNPACK_SEQUENCE"
    r"|LIST_(EXTEND|APPEND)|DICT_UPDATE|MAP_ADD|SET_(ADD|UPDATE|FUNCTION_ATTRIBUTE)|(POP_)?JUMP\w*|NOT_TAKEN|GET_ITER|FOR_ITER|END_FOR|POP_ITER"
)
"""What such code may do, as the versions of Python call it. It does not catch, import, or set anything but its own variables. It jumps by constants alone, for stand-ins cannot be asked; but whether
one is None, which none stands for. (What ``CALL`` covers of intrinsics makes no more than a tuple of a list.)"""

_NAMES: Mapping[str, Any] = {
    name: getattr(builtins, name)
    for name in ("abs", "round", "int", "float", "str", "bool", "tuple", "frozenset", "len", "min", "max", "sum", "sorted", "zip", "enumerate", "reversed", "any", "all", "slice")
}
"""What it may find of Python's: of stand-ins, these ask what those say, or raise."""

_HIDDEN = ("_", "gi_", "cr_", "tb_", "f_", "mro", "format", "encode", "decode")
"""By such attributes one comes from a value to all that Python has: a template has them in its text, and codecs call who handles their errors."""

_NOTHING = object()



class _Code(NamedTuple):
    """What code, and all within, has to do with, if it is straight."""

    attributes: frozenset[str]
    """The names of all attributes that it asks for."""
    globals: frozenset[str]
    loops: int


_KNOWN: WeakKeyDictionary[CodeType, _Code | None] = WeakKeyDictionary()


def watched() -> bool:
    """Whether somebody follows which lines of this thread are called, as debuggers do and who counts them: then none may be called that is not called without."""
    monitoring = getattr(sys, "monitoring", None)
    return sys.gettrace() is not None or sys.getprofile() is not None or (monitoring is not None and any(map(monitoring.get_tool, range(6))))


class Standing:
    """Copies of functions that may be called with stand-ins, and of those that they call."""

    def __init__(self, modules: Callable[[Any], Any]) -> None:
        """``modules`` gives the stand-in of what a global name is, or None."""
        self._modules = modules
        self._constants = Constants()
        self._made: dict[FunctionType, FunctionType | None] = {}
        self._loops = 0
        self.attributes = set[str]()
        """The names of all attributes that they ask for."""

    def of(self, function: Any) -> FunctionType:
        """The copy of a function. Raises UnknownError where its code does anything else, or calls itself."""
        if type(function) is not FunctionType or function.__dict__:
            raise UnknownError
        if type(function.__globals__) is not dict or type(getattr(function, "__builtins__", {})) is not dict:  # of another class, it answers as that likes
            raise UnknownError
        if function not in self._made:
            self._made[function] = None
            self._made[function] = self._copied(function)
        made = self._made[function]
        if made is None:
            raise UnknownError
        return made

    def _copied(self, function: FunctionType) -> FunctionType:
        constant, code = self._constants.of, function.__code__
        known = _straight(code)
        if known is None:
            raise UnknownError
        self.attributes |= known.attributes
        self._loops += known.loops
        if self._loops > 1:  # one may be within another, where each takes its time as often as the other goes round
            raise UnknownError
        names = {name: self._global(name, function) for name in known.globals}
        cells = tuple(CellType(constant(each.cell_contents)) for each in function.__closure__ or ())
        made = FunctionType(code, {**names, "__builtins__": {}}, function.__name__, constant(function.__defaults__ or ()), cells)
        made.__kwdefaults__ = {name: constant(value) for name, value in (function.__kwdefaults__ or {}).items()}
        return made

    def _global(self, name: str, function: FunctionType) -> Any:
        value = function.__globals__.get(name, getattr(function, "__builtins__", {}).get(name, _NOTHING))
        if type(value) is FunctionType:
            return self.of(value)
        if value is _NAMES.get(name):
            return value
        stands = self._modules(value)
        return self._constants.of(value) if stands is None else stands


def _straight(code: CodeType) -> _Code | None:
    """What is known of code that is such, and all within; None if it is not. (Tools may put any object among its constants, and code is told apart by these, too.)"""
    codes = [*codes_in(code)]
    if not all(isinstance(each, CodeType) or each is ... or type(each) is complex or unchanging(each) for one in codes for each in one.co_consts):
        return None
    if code not in _KNOWN:
        _KNOWN[code] = _looked_at(codes, code.co_freevars)
    return _KNOWN[code]


def _looked_at(codes: Sequence[CodeType], remembered: tuple[str, ...]) -> _Code | None:
    steps = [list(dis.get_instructions(each)) for each in codes]
    loops = [{step.argval for step in of_one if step.opcode in _JUMPS and step.argval < step.offset} for of_one in steps]
    if not all(_gives_what_it_returns(each) and _goes_on(of_one, back, remembered) for each, of_one, back in zip(codes, steps, loops)):
        return None
    every = [step for of_one in steps for step in of_one]
    asked = frozenset(step.argval for step in every if step.opname in _ASK)
    return _Code(asked, frozenset(step.argval for step in every if step.opname == "LOAD_GLOBAL"), sum(map(len, loops)))


def _gives_what_it_returns(code: CodeType) -> bool:
    return not code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR) and not getattr(code, "co_exceptiontable", b"")


def _goes_on(steps: Sequence[dis.Instruction], back: set[int], remembered: tuple[str, ...]) -> bool:
    """Whether all that code does is known. It sets no variable of the functions around, handles no exception, asks for nothing that is hidden, and goes back only to what is there once."""
    return not back.difference(step.offset for step in steps if step.opname == "FOR_ITER") and all(
        _STEPS.fullmatch(step.opname)
        and not (step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in remembered)
        and not (step.opname in _ASK and step.argval.startswith(_HIDDEN))
        for step in steps
    )


_ASK = ("LOAD_ATTR", "LOAD_METHOD")

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
