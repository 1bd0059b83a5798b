"""Given: numbers, names and ids that a user gave, checked before anything is done with them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from bigdebug.errors import UnknownRecordError
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


def rids_given(given: Iterable[int]) -> list[int]:
    """The ids that ``at()`` was given; TypeError or UnknownRecordError for what is none."""
    if not isinstance(given, Iterable):
        raise TypeError(f"at() takes several record ids, not {shown(given)}; for a single one say at([rid])")
    return [_rid(each) for each in given]


def _rid(given: Any) -> int:
    """``given`` as an id, if that is what it is."""
    try:
        found = whole(given, "")
    except TypeError:
        found = -1
    if not 0 <= found < 1 << 63:
        # An error's value of None would say that there is none to show.
        what = f"This is not a record id{' (got None)' if given is None else ''}"
        raise UnknownRecordError(what, value=given, remedy="rids() lists the ids that there are.")
    return found
