"""Outside: an exception that is meant for the program around a step. Nobody who handles the errors of the step, or of his own notes of it, keeps it."""

from __future__ import annotations

import dis
import inspect
import signal
import sys
import traceback
import types
from collections.abc import Iterator, Mapping
from functools import partial, partialmethod
from importlib.machinery import EXTENSION_SUFFIXES
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Any, NamedTuple


class Signal(BaseException):
    """What our own code says to whoever runs a step, past the user's code, which may catch exceptions: no crash, and no Exception."""


def from_outside(error: BaseException, interrupted: bool = True) -> bool:
    """Whether an exception that is handled is meant for the program, wherever it came: its user interrupts it, an alarm that he set is over, also in a group, or where a library raises another
    exception from that, or another thread throws it into this one. Takes some microseconds, and 50 where it comes from a function that whoever handles it called.
    Not ``interrupted``: nobody interrupts this process, and who raises a KeyboardInterrupt here does so himself.
    """
    if issubclass(type(error), Signal) or _thrown(error):
        return True
    todo, seen = [error], set[int]()
    handlers: list[_Handler] | None = None
    while todo:
        told = todo.pop()
        if id(told) in seen:
            continue
        seen.add(id(told))
        if interrupted and issubclass(type(told), KeyboardInterrupt):
            return True
        frames = [frame for frame, _ in traceback.walk_tb(_held(told, "__traceback__"))][told is error :]  # the first one handles it now
        if frames:
            handlers = list(_handlers()) if handlers is None else handlers
            if any(_handles(frame, each) for frame in frames for each in handlers):
                return True
        cause = _held(told, "__cause__")
        todo += [cause] if cause is not None else []
        todo += told.exceptions if _is_group(type(told)) else ()  # type: ignore[attr-defined]
    return False


def said(error: BaseException) -> str:
    """What an exception says, whatever its ``__str__`` does; but what that raises from outside is raised."""
    try:
        return "".join([str(error)])  # no class derived from it, whose methods are the user's
    except BaseException as worse:  # it is the user's code that runs here
        if from_outside(worse):
            raise
        return f"<{type(error).__name__} whose str raised {type(worse).__name__}>"


def _held(error: BaseException, name: str) -> Any:
    """What an exception holds, whatever its class answers to who asks for it."""
    return vars(BaseException)[name].__get__(error)


def _is_group(kind: type) -> bool:
    """Of Python 3.11, or of the package that has them for 3.10."""
    return any(each.__module__ in ("builtins", "exceptiongroup", "exceptiongroup._exceptions") and each.__name__ == "BaseExceptionGroup" for each in kind.__mro__)


# ---- what signals call ----------------------------------------------------------------------------------------


class _Handler(NamedTuple):
    """A function that is called for a signal."""

    function: FunctionType
    owner: Any
    """Whose method it is; None: it is none."""
    bound: int
    """How many arguments come before those of the signal."""


def _handlers() -> Iterator[_Handler]:
    for number in range(1, signal.NSIG):  # ``valid_signals`` takes twice as long
        handler: Any = signal.getsignal(number)
        if callable(handler):
            yield from _functions(handler)


def _functions(called: Any) -> Iterator[_Handler]:
    """The functions of Python's that a call runs first. What an object says of itself is not asked."""
    todo: list[tuple[Any, Any, int]] = [(called, None, 0)]
    for each, owner, bound in todo:
        kind = type(each)
        if kind is FunctionType:
            yield _Handler(each, owner, bound)
        elif kind in _OF_C or len(todo) > _MOST:
            continue
        elif issubclass(kind, (partial, partialmethod)):
            todo.append((each.func, None if each.args else owner, bound + len(each.args)))
        elif kind is MethodType:
            todo.append((each.__func__, each.__self__, bound + 1))
        elif issubclass(kind, (staticmethod, classmethod)):
            todo.append((each.__func__, None, bound))
        elif issubclass(kind, type):
            todo += [(inspect.getattr_static(each, name), None, bound + 1) for name in ("__new__", "__init__")]
        else:
            todo += [(inspect.getattr_static(each, "__wrapped__", None), owner, bound), (inspect.getattr_static(kind, "__call__", None), each, bound + 1)]


_OF_C = (type(None), types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, types.MethodWrapperType)

_MOST = 30
"""Functions that one handler is made of: mostly one, of decorated ones some."""


_NOTHING = object()


def _handles(frame: FrameType, handler: _Handler) -> bool:
    """Whether a frame runs this very function for a signal. Others of the same code are of other objects, or in the place of other functions, as those are that a decorator gives; and the
    program may call it by itself.
    """
    function, owner, bound = handler
    code = frame.f_code
    if code is not function.__code__:
        return False
    held = frame.f_locals  # of a handler's code alone: to a frame that holds its own exception, and to whatever called it, this is a cycle
    first = code.co_varnames[:1] if owner is not None and code.co_argcount else ()
    return (
        all(held.get(name, owner) is owner for name in first)
        and all(held.get(name, _NOTHING) is _content(cell) for name, cell in zip(code.co_freevars, function.__closure__ or ()))
        and _has_frame(code, held, bound)
    )


def _has_frame(code: CodeType, held: Mapping[str, Any], bound: int) -> bool:
    """Whether a function was given a frame, behind the arguments ``bound`` before and the signal: it may have put something else in its place, or let go of it."""
    place = bound + 1
    if place < code.co_argcount:
        return held.get(code.co_varnames[place], _NOTHING) is not None
    if not code.co_flags & inspect.CO_VARARGS:
        return False
    rest = held.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], _NOTHING)
    return not (type(rest) is tuple and len(rest) <= place - code.co_argcount)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING


# ---- what another thread throws -------------------------------------------------------------------------------


def _thrown(error: BaseException) -> bool:
    """Whether no code raised it, and none of C's can have. (Python makes what is thrown into a thread of its class alone. What is raised in C has a text, and is Python's, or of a class of its own,
    mostly.)
    """
    kind, last, args = type(error), _held(error, "__traceback__"), _held(error, "args")
    module = str(kind.__module__)
    of_python = module.partition(".")[0] in sys.stdlib_module_names and kind is not TimeoutError
    if of_python or (args and isinstance(error, Exception)) or last is None or _is_of_c(module):
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code, place = last.tb_frame.f_code.co_code, last.tb_lasti
    of_cython = len(code) <= 6  # which has frames without code
    if of_cython or not 0 <= place < len(code) - 1:
        return False
    name, more = dis.opname[code[place]], code[place + 1]
    return name not in _RAISING and not (name == "RESUME" and more & 3)


_RAISING = {"RAISE_VARARGS", "RERAISE", "YIELD_VALUE", "YIELD_FROM", "SEND", "JUMP_BACKWARD_NO_INTERRUPT", "RETURN_GENERATOR"}
"""Where code raises, or where it waits for what comes next: what is thrown into a generator, or comes of what is awaited, comes from there. (From ``RESUME`` in Python 3.13.)"""


def _is_of_c(name: str) -> bool:
    """Whether a module is one of C's, or that which Rust names and which is nowhere."""
    file = inspect.getattr_static(sys.modules.get(name), "__file__", None)
    return name == "pyo3_runtime" or (isinstance(file, str) and file.endswith(tuple(EXTENSION_SUFFIXES)))
