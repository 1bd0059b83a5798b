"""Outlines: which values of outputs are there, so that one which is lost on fewer records is never taken for one which is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.agents.fields import is_null, is_number

Outline = str | tuple[Any, ...] | frozenset[Any] | None
"""Of a value, whether it is null, a number, or something else; of one with fields, pairs of the field and its outline; of any number of values, how many there are of each outline.
None where nothing is known.
"""

NULL, NUMBER, OTHER = "null", "number", "other"

WIDE = 64
"""Of more fields, or of those that no text names, it is only known how many there are of each outline: these are data, as what a dict counts, and a name that is an object of the
user's might not be told to the driver.
"""

DEEP = 8
"""What is within more than so many others is not looked into."""

_AT_ONCE = {type(None): NULL, bool: OTHER, int: NUMBER, str: OTHER, bytes: OTHER}
"""What most values are is known by their types."""


def outline(value: Any, deep: int = DEEP) -> Outline:
    """The outline of a value: of a tuple, a dict or an object by fields, of a list, a set or an array as of any number of values."""
    at_once = _AT_ONCE.get(type(value))
    if at_once is not None:
        return at_once
    if type(value) is float:
        return NUMBER if value == value else NULL
    if not deep:
        return _kind(value)
    if isinstance(value, tuple) and len(value) <= WIDE:
        return tuple([(place, outline(each, deep - 1)) for place, each in enumerate(value)])
    if isinstance(value, tuple | list | set | frozenset):
        return outlines(value, deep - 1)
    if isinstance(value, np.ndarray):
        return _of_array(value, deep - 1)
    known = _fields(value)
    if known is None:
        return _kind(value)
    within = deep - 1 if isinstance(value, Mapping) else deep // 2  # objects may refer to each other without end
    if len(known) > WIDE or not all(type(name) is str for name in known):
        return outlines(known.values(), within)
    return tuple([(name, outline(each, within)) for name, each in known.items()])


def outlines(values: Collection[Any], deep: int = DEEP) -> Outline:
    """The outline of any number of values, whatever their order."""
    known = [outline(each, deep) for each in values]
    if len(set(known)) > WIDE:
        known = [_roughly(each) for each in known]
    return _the_one(frozenset(Counter(known).items() if len(known) > 1 else [(each, 1) for each in known]))


def _roughly(known: Outline) -> Outline:
    """Which kinds of values there are in an outline, for many that all differ: a verdict is kept for each test."""
    return known if known is None or isinstance(known, str) else frozenset((kind, 1) for kind in _kinds(known))


def _kinds(known: Outline) -> set[str | None]:
    if isinstance(known, tuple):
        return {kind for _, each in known for kind in _kinds(each)}
    return {kind for each, _ in known for kind in _kinds(each)} if isinstance(known, frozenset) else {known}


@lru_cache(maxsize=256)
def _the_one(known: frozenset[Any]) -> frozenset[Any]:
    """Of equal ones the same, which is pickled once with all verdicts of a message."""
    return known


def _of_array(values: npt.NDArray[Any], deep: int) -> Outline:
    if values.dtype.kind not in "iufcmM":
        return outlines(values.ravel().tolist(), deep)
    nulls = int(np.count_nonzero(values != values))
    kinds = {NULL: nulls, NUMBER if values.dtype.kind in "iuf" else OTHER: values.size - nulls}
    return frozenset((kind, many) for kind, many in kinds.items() if many)


def loses(before: Outline, now: Outline) -> bool:
    """Whether what had one outline has lost a value where it has another: it is null now, or a number that is none any more.

    Of any number of values, some may be gone: a group of fewer records has fewer. That is not to be seen where others come in their place, or a place is gone with its value.
    """
    if before is None or now is None or before in (now, NULL):
        return False
    if isinstance(before, frozenset) and isinstance(now, frozenset):
        were_many, are_many = Counter(dict(before)), Counter(dict(now))
        left, come = were_many - are_many, are_many - were_many
        return bool(left) and any(all(loses(each, new) for each in left) for new in come)
    if now == NULL or (_holds_number(before) and not _holds_number(now)):
        return True
    if isinstance(before, tuple) and isinstance(now, tuple):
        were = dict(before)
        return any(name in were and loses(were[name], each) for name, each in now)
    return False


def _holds_number(known: Outline) -> bool:
    if isinstance(known, tuple):
        return any(_holds_number(each) for _, each in known)
    return any(_holds_number(each) for each, _ in known) if isinstance(known, frozenset) else known == NUMBER


def _fields(value: Any) -> Mapping[Any, Any] | None:
    """The fields of a dict or an object by their names; None if it has none."""
    if isinstance(value, Mapping):
        return value
    if callable(value) or _kind(value) != OTHER:  # NaT is an object with fields, too
        return None
    if is_dataclass(value):  # one with slots has nothing else that names them
        return {each.name: getattr(value, each.name, None) for each in fields(value)}
    return getattr(value, "__dict__", None) or None


def _kind(value: Any) -> str:
    try:
        return NULL if is_null(value) else NUMBER if is_number(value) else OTHER
    except Exception:  # of the user's classes
        return OTHER
