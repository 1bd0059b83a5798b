"""Outside: an exception that is meant for the program around a step. Nobody who handles the errors of the step, or of his own notes of it, keeps it."""

from __future__ import annotations

import dis
import inspect
import signal
import sys
import traceback
from functools import partial
from types import CodeType, FrameType
from typing import Any


def from_outside(error: BaseException) -> bool:
    """Whether an exception is meant for the program, wherever it came: its user interrupts it, an alarm that he set is over, also where a library raises another exception from that, or another
    thread throws it into this one. Takes 50 microseconds where a function was given two arguments, and some otherwise.
    """
    if _thrown(error):
        return True
    seen = set[int]()
    told: BaseException | None = error
    while told is not None and id(told) not in seen:
        able = [frame for frame, _ in traceback.walk_tb(told.__traceback__) if _takes_two(frame.f_code)]
        if isinstance(told, KeyboardInterrupt) or (able and _has_handler(able)):
            return True
        seen.add(id(told))
        told = told.__cause__
    return False


def _takes_two(code: CodeType) -> bool:
    """Whether a function can be given a signal and a frame, as handlers are."""
    return code.co_argcount >= 2 or bool(code.co_flags & inspect.CO_VARARGS)


def _has_handler(frames: list[FrameType]) -> bool:
    """Whether one of them runs a signal's handler. Others are not asked what they hold: to a frame that ends, and whatever called it, that is a cycle."""
    codes = _handlers()
    return any(frame.f_code in codes and _handles(frame) for frame in frames)


def _handlers() -> list[Any]:
    """The codes of the functions that signals call."""
    calls = []
    for number in range(1, signal.NSIG):  # ``valid_signals`` takes twice as long
        handler: Any = signal.getsignal(number)
        while isinstance(handler, partial):
            handler = handler.func
        if callable(handler):
            calls += [getattr(handler, "__func__", handler), getattr(type(handler), "__call__", None)]  # noqa: B004  # whose code is asked for
    return [call.__code__ for call in calls if hasattr(call, "__code__")]


def _handles(frame: FrameType) -> bool:
    """Whether a function was called for a signal, which gives it where the program was: what is wrapped by the same decorator has the same code."""
    held = [*frame.f_locals.values()]  # at once: those of a module are changed by other threads
    return FrameType in map(type, held) or any(FrameType in map(type, each) for each in held if issubclass(type(each), tuple))


def _thrown(error: BaseException) -> bool:
    """Whether no code raised it. (Python makes what is thrown into a thread of its class alone. What is raised in C has a text, and is Python's mostly.)"""
    kind, last = type(error), error.__traceback__
    of_python = kind.__module__.partition(".")[0] in sys.stdlib_module_names and kind is not TimeoutError
    if of_python or kind.__module__ == "pyo3_runtime" or (error.args and isinstance(error, Exception)) or last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    code = last.tb_frame.f_code.co_code
    of_cython = len(code) <= 6  # which has frames without code
    return not of_cython and 0 <= last.tb_lasti < len(code) and dis.opname[code[last.tb_lasti]] not in ("RAISE_VARARGS", "RERAISE")
