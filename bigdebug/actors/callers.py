"""Callers: what a step calls is called as if the line that calls the step called it itself. Python and pandas say of whose line they warn, and look for it among those that are running."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

_OURS = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def by_caller(call: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """What a call of the user's function gives. It may warn of who calls it (``stacklevel=2``): that is the first line that is none of ours. Takes some microseconds."""
    return _line(_OURS)(call, args, options)


def pandas_by_caller(call: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """What a call of pandas gives. It warns of the first line that is none of its own: that may have called it, to call the step."""
    import pandas as pd

    return _line(_OURS, os.path.join(os.path.dirname(pd.__file__), ""))(call, args, options)


def _line(*others: str) -> Callable[..., Any]:
    """What calls something from the innermost line that is in none of these directories: in its file and with its globals, where Python keeps what was told of it, and finds the module by which
    filters know it. (To catch warnings and to tell them once more would be seen by all threads.)
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(others):
        frame = frame.f_back
    if frame is None:
        return FunctionType(_CALL, globals())
    code = frame.f_code
    return FunctionType(_CALL.replace(co_filename=code.co_filename, co_firstlineno=frame.f_lineno or code.co_firstlineno, co_name=code.co_name), frame.f_globals)


def _call() -> CodeType:
    """The code of a call, all on one line, and nowhere on it: a traceback would underline that part of the user's."""
    tree = ast.parse("lambda call, args, options: call(*args, **options)", mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, (ast.expr, ast.arg, ast.keyword)):
            node.col_offset = node.end_col_offset = -1
    return next(each for each in compile(tree, __file__, "eval").co_consts if isinstance(each, CodeType))


_CALL = _call()
