"""Given: numbers and names that a user gave, checked before anything is done with them."""

from __future__ import annotations

from operator import index
from typing import Any

from bigdebug.shown import shown
from bigdebug.trace.table import WIDTH


def whole(given: Any, promise: str) -> int:
    """``given`` as an int, if it is a whole number; else a TypeError that begins with ``promise``."""
    try:
        if not isinstance(given, bool):
            return index(given)
    except TypeError:
        pass
    raise TypeError(f"{promise}, not {shown(given)}")


def number(given: Any, things: str) -> int:
    """``given`` as a number of ``things``: TypeError if it is no whole number, ValueError if it is below 0."""
    promise = f"the number of {things} is a whole one"
    found = whole(given, promise)
    if found < 0:
        raise ValueError(f"{promise} from 0 on, not {found}")
    return found


def width(truncate: Any) -> int:
    """What ``show(truncate=...)`` takes: so many characters, 0 or False for all, True for as many as tables show by themselves."""
    if isinstance(truncate, bool):
        return WIDTH if truncate else 0
    return number(truncate, "characters that a cell is cut to")


def labels(given: Any) -> tuple[str, ...]:
    """One name or several; TypeError for what is none."""
    found = tuple(given) if isinstance(given, list | tuple | set | frozenset) else (given,)
    for name in found:
        if not isinstance(name, str):
            raise TypeError(f"relations and columns are given by their names, not {shown(name)}")
    return found
