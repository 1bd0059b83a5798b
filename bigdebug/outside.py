"""Outside: an exception that is meant for the program around a step. Nobody who handles the errors of the step, or of his own notes of it, keeps it."""

from __future__ import annotations

import dis
import signal
import sys
import traceback
from typing import Any


def from_outside(error: BaseException) -> bool:
    """Whether an exception is meant for the program, wherever it came: its user interrupts it, an alarm that he set is over, or another thread throws it into this one."""
    if isinstance(error, KeyboardInterrupt) or _thrown(error):
        return True
    handlers = [signal.getsignal(each) for each in signal.valid_signals()]
    calls: list[Any] = [getattr(each, "__func__", each) for each in (*handlers, *(getattr(type(each), "__call__", None) for each in handlers))]  # noqa: B004  # whose code is asked for
    codes = [each.__code__ for each in calls if hasattr(each, "__code__")]
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


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
