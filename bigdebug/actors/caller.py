"""Caller: whoever called a step, in whose name pandas is called for him: what it warns of is said of his line, and filters by modules hold, as without the step."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

_CALL = (lambda function, args, options: function(*args, **options)).__code__


def called_for(function: Callable[..., Any], /, *args: Any, **options: Any) -> Any:
    """What a function gives. It is called from a frame with the file, the line and the globals of the first that is neither ours nor of pandas, which says its warnings of that."""
    code, scope = _of(sys._getframe(1))
    return FunctionType(code, scope)(function, args, options)


def _of(frame: FrameType | None) -> tuple[Any, dict[str, Any]]:
    while frame is not None and frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("bigdebug", "pandas"):
        frame = frame.f_back
    assert frame is not None
    known = frame.f_code
    return _CALL.replace(co_filename=known.co_filename, co_name=known.co_name, co_firstlineno=frame.f_lineno or known.co_firstlineno), frame.f_globals
