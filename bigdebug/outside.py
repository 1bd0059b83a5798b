"""Outside: an exception that is meant for the program around a step. Nobody who handles the errors of the step, or of his own notes of it, keeps it."""

from __future__ import annotations

import builtins
import dis
import inspect
import signal
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from functools import partial, partialmethod
from types import CellType, FrameType, FunctionType, MethodType
from typing import Any

_GROUP: tuple[type[Any], ...] = (builtins.BaseExceptionGroup,) if sys.version_info >= (3, 11) else ()

_NOTHING = object()

_Handler = tuple[FunctionType, Any]
"""A function that a signal calls, and whose method it is; None: it is one by itself."""


def from_outside(error: BaseException, again: Callable[[], object] | None = None) -> bool:
    """Whether an exception that is handled is meant for the program, wherever it came: its user interrupts it, an alarm that he set is over, also in a group, or where a library raises another
    exception from that, or another thread throws it into this one.

    What is thrown looks like what C raises without a word: ``again`` does once more what raised it, and what is raised again is not from outside. Raises what interrupts that. Takes some
    microseconds, and 50 where it comes from a function that whoever handles it called.
    """
    if _meant(error):
        return True
    return _unraised(error, again is not None) and (again is None or not _raises(again))


def _meant(error: BaseException) -> bool:
    """Whether it, or what it was made of, interrupts the program, or comes out of a signal's handler."""
    todo, seen = [error], set[int]()
    handlers: list[_Handler] | None = None
    while todo:
        told = todo.pop()
        if id(told) in seen:
            continue
        seen.add(id(told))
        if isinstance(told, KeyboardInterrupt):
            return True
        frames = [frame for frame, _ in traceback.walk_tb(told.__traceback__)][told is error :]  # the first one handles it now
        if frames:
            handlers = list(_handlers()) if handlers is None else handlers
            if any(_runs(frame, *handler) for frame in frames for handler in handlers):
                return True
        todo += [told.__cause__] if told.__cause__ is not None else []
        todo += told.exceptions if isinstance(told, _GROUP) else ()
    return False


def _raises(again: Callable[[], object]) -> bool:
    try:
        again()
    except BaseException as error:
        if _meant(error):
            raise
        return True
    return False


def _handlers() -> Iterator[_Handler]:
    """The functions that signals call, and those that these were made of."""
    for number in range(1, signal.NSIG):  # ``valid_signals`` takes twice as long
        handler: Any = signal.getsignal(number)
        if callable(handler):
            yield from _functions(handler)


def _functions(called: Any) -> Iterator[_Handler]:
    """The functions of Python's that a call runs. What a handler's own code says of itself is not asked."""
    todo: list[tuple[Any, Any]] = [(called, None)]
    for each, owner in todo:
        if isinstance(each, _OF_C) or len(todo) > _MOST:
            continue
        if isinstance(each, FunctionType):
            yield each, owner
            todo.append((vars(each).get("__wrapped__"), owner))
        elif isinstance(each, (partial, partialmethod)):
            todo.append((each.func, None if each.args else owner))
        elif isinstance(each, MethodType):
            todo.append((each.__func__, each.__self__))
        elif isinstance(each, (staticmethod, classmethod)):
            todo.append((each.__func__, None))
        elif isinstance(each, type):
            todo += [(inspect.getattr_static(each, name), None) for name in ("__new__", "__init__")]
        else:
            todo += [(inspect.getattr_static(each, "__wrapped__", None), owner), (inspect.getattr_static(type(each), "__call__", None), each)]


_OF_C = (type(None), types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodDescriptorType, types.MethodWrapperType)

_MOST = 30
"""Functions that one handler is made of: mostly one, of decorated ones some."""


def _runs(frame: FrameType, function: FunctionType, owner: Any) -> bool:
    """Whether a frame runs this very function: others of the same code are of other objects, or in the place of other functions, as those are that a decorator gives."""
    code = frame.f_code
    if code is not function.__code__:
        return False
    first = code.co_varnames[:1] if owner is not None and code.co_argcount else ()
    if not first and not code.co_freevars:
        return True
    held = frame.f_locals  # of a handler's code alone: to a frame that holds its own exception, and to whatever called it, this is a cycle
    return all(held.get(name, _NOTHING) is owner for name in first) and all(
        held.get(name, _NOTHING) is _content(cell) for name, cell in zip(code.co_freevars, function.__closure__ or ())
    )


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NOTHING


def _unraised(error: BaseException, seen_again: bool) -> bool:
    """Whether no code raised it: what is thrown into a thread is mostly made of its class alone. What C raises has a text mostly; where it can be seen whether it is raised again, that of
    Python's own classes alone is believed to be C's.
    """
    kind, last, args = type(error), error.__traceback__, vars(BaseException)["args"].__get__(error)
    module = str(kind.__module__)
    of_python = module.partition(".")[0] in sys.stdlib_module_names and kind is not TimeoutError
    if (args and of_python) if seen_again else (of_python or module == "pyo3_runtime" or (args and isinstance(error, Exception))):
        return False
    if last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code.co_code
    of_cython = len(code) <= 6  # which has frames without code
    return not of_cython and 0 <= last.tb_lasti < len(code) and dis.opname[code[last.tb_lasti]] not in ("RAISE_VARARGS", "RERAISE")
