"""Outlines: which values of outputs are there, so that one which is lost on fewer records is never taken for one which is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from operator import ne
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

LONG = 1_000
"""Longer tuples are as lists: rows have columns by their places, and few have more."""

DEEP = 16
"""What is within more than so many others is not looked into."""

_PLAIN = {type(None): NULL, bool: OTHER, int: NUMBER, float: NUMBER, str: OTHER, bytes: OTHER}
"""What most values are is known by their types, but for NaN."""


def outline(value: Any, deep: int = DEEP) -> Outline:
    """The outline of a value: of a tuple, a dict or an object by fields, of a list, a set or an array as of any number of values."""
    kind = _PLAIN.get(type(value))
    if kind is not None:
        return kind if value == value else NULL
    if not deep:
        return _kind(value)
    if isinstance(value, tuple) and len(value) <= LONG:
        return tuple([(place, outline(each, deep - 1)) for place, each in enumerate(value)])
    if isinstance(value, tuple | list | set | frozenset):
        return outlines(value, deep - 1)
    if isinstance(value, np.ndarray):
        return _of_array(value, deep - 1)
    if type(value).__module__.startswith("pandas.") and hasattr(value, "items"):
        return outline(_unlabelled(value), deep - 1)
    known = _fields(value)
    if known is None:
        return _kind(value)
    within = deep - 1 if isinstance(value, Mapping) else deep // 2  # objects may refer to each other without end
    if len(known) > WIDE or not all(type(name) is str for name in known):
        return outlines(known.values(), within)
    return tuple([(name, outline(each, within)) for name, each in known.items()])


def outlines(values: Collection[Any], deep: int = DEEP) -> Outline:
    """The outline of any number of values, whatever their order."""
    types = Counter(map(type, values))
    if types.keys() <= _PLAIN.keys():  # there may be a million, and a verdict for each test
        kinds, nulls = Counter[str](), sum(map(ne, values, values))
        for kind, many in types.items():
            kinds[_PLAIN[kind]] += many
        return _counted({**kinds, NUMBER: kinds[NUMBER] - nulls, NULL: kinds[NULL] + nulls})
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
    return _counted({NULL: nulls, NUMBER if values.dtype.kind in "iuf" else OTHER: values.size - nulls})


def _unlabelled(value: Any) -> Any:
    """A Series or a DataFrame of pandas as a dict by its labels; a Series of more than WIDE, or with a label twice, as an array."""
    if value.ndim > 1:
        return {str(label): column for label, column in value.items()}
    return value.to_dict() if len(value) <= WIDE and value.index.is_unique else value.to_numpy()


def _counted(kinds: Mapping[str, int]) -> Outline:
    return _the_one(frozenset((kind, many) for kind, many in kinds.items() if many))


def loses(before: Outline, now: Outline, usual: Iterable[Outline] | None = ()) -> bool:
    """Whether what had one outline has lost a value where it has another: it is null now, or a number that is none any more, or its place is gone.

    Of any number of values, some may be gone: a group of fewer records has fewer. That is not to be seen where others come in their place.

    ``usual`` are outlines of what is right: what none of these holds is not lost, and a place that one of them lacks may be gone. Where there are none, nothing is known of what
    holds values, and any place may be gone. None: nobody has looked for them yet.
    """
    if before is None or now is None or before in (now, NULL):
        return False
    known = None if usual is None else [each for each in usual if each is not None]
    if isinstance(before, frozenset) and isinstance(now, frozenset):
        were_many, are_many = Counter(dict(before)), Counter(dict(now))
        left, come = were_many - are_many, are_many - were_many
        within = None if known is None else [one for each in known if isinstance(each, frozenset) for one, _ in each]
        if within and any(isinstance(each, str) and each not in within for each in left):
            return False
        return bool(left) and any(all(loses(each, new, within) for each in left) for new in come)
    if (now == NULL or (_holds_number(before) and not _holds_number(now))) and (not known or any(loses(each, now) for each in known)):
        return True
    if isinstance(before, tuple) and isinstance(now, tuple):
        are, by_name = dict(now), None if known is None else [dict(each) for each in known if isinstance(each, tuple)]
        return any(_loses_place(name, was, are, by_name) for name, was in before)
    return False


def _loses_place(name: Any, was: Outline, now: Mapping[Any, Outline], known: Collection[Mapping[Any, Outline]] | None) -> bool:
    """The same of a place, beside all places of what is right, if somebody has looked for that."""
    if name in now:
        return loses(was, now[name], None if known is None else [each[name] for each in known if name in each])
    return was != NULL and (known is None or (bool(known) and all(name in each for each in known)))


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
