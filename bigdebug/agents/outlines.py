"""Outlines: which values of outputs are there, so that one which is lost on fewer records is never taken for one which is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from itertools import chain
from operator import ne
from typing import Any, NamedTuple

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
        return outlines([*known.values()], within)
    return tuple([(name, outline(each, within)) for name, each in known.items()])


def outlines(values: Collection[Any], deep: int = DEEP) -> Outline:
    """The outline of any number of values, whatever their order."""
    if len(values) == 1 and type(alone := next(iter(values))) not in _PLAIN:  # as most outputs are, for each test
        return _the_one(frozenset([(outline(alone, deep), 1)]))
    types = Counter(map(type, values))
    if types.keys() <= _PLAIN.keys():  # there may be a million, and a verdict for each test
        kinds, nulls = Counter[str](), sum(map(ne, values, values))
        for kind, many in types.items():
            kinds[_PLAIN[kind]] += many
        return _counted({**kinds, NUMBER: kinds[NUMBER] - nulls, NULL: kinds[NULL] + nulls})
    known = [outline(each, deep) for each in values]
    if len(set(known)) > WIDE:
        known = [_roughly(each) for each in known]
    return _the_one(frozenset(Counter(known).items()))


def outlines_if_any(outputs: Collection[Any]) -> Outline:
    """The outline of outputs; None where they do not let themselves be looked into."""
    try:
        return outlines(outputs)
    except Exception:  # of the user's classes
        return None


def outline_if_any(output: Any) -> Outline:
    """The outline of one output."""
    return outlines_if_any([output])


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
    if values.dtype.kind not in "iufcmM" or isinstance(values, np.ma.MaskedArray):  # whose list has None for what is masked
        return outlines(values.ravel().tolist(), deep)
    nulls = int(np.count_nonzero(values != values))
    return _counted({NULL: nulls, NUMBER if values.dtype.kind in "iuf" else OTHER: values.size - nulls})


def _unlabelled(value: Any) -> Any:
    """A Series or a DataFrame of pandas as a dict by its labels; a long Series, or one that has a label twice, as an array."""
    if value.ndim > 1:
        return {str(label): column for label, column in value.items()} if value.columns.is_unique else value.to_numpy()
    return value.to_dict() if len(value) <= WIDE and value.index.is_unique else value.to_numpy()


def _counted(kinds: Mapping[str, int]) -> Outline:
    return _the_one(frozenset((kind, many) for kind, many in kinds.items() if many))


class Right(NamedTuple):
    """What is known of what right outputs hold at a place: the outlines of ``others``, None if nobody has looked at them, and those of itself, on fewer records."""

    others: tuple[Outline, ...] | None = ()
    itself: tuple[Outline, ...] = ()

    def at(self, name: Any) -> Right:
        """The same of a field."""
        return self._of(lambda each: [known for field, known in each if field == name] if isinstance(each, tuple) else [])

    def within(self) -> Right:
        """The same of any number of values that are there."""
        return self._of(lambda each: [known for known, _ in each] if isinstance(each, frozenset) else [])

    def has(self, name: Any) -> bool:
        """Whether there is to be a field: one of them has it, or others are of another shape."""
        if self.others is None or (self.others and not any(isinstance(each, tuple) for each in self.others)):
            return True
        return any(name == field for each in self.every if isinstance(each, tuple) for field, _ in each)

    def has_some(self) -> bool:
        """Whether there is to be any value at all: of others there always is one."""
        if self.others is None:
            return True
        return any(isinstance(each, frozenset) and each for each in self.every) and not any(isinstance(each, frozenset) and not each for each in self.others)

    def holds_more(self, now: Outline) -> bool:
        """Whether there is to be more than this: one of them holds it, or there are no others."""
        return not self.others or any(loses(each, now) for each in self.every)

    @property
    def every(self) -> tuple[Outline, ...]:
        return (*(self.others or ()), *self.itself)

    def _of(self, part: Callable[[Outline], list[Outline]]) -> Right:
        return Right(None if self.others is None else tuple(chain.from_iterable(map(part, self.others))), tuple(chain.from_iterable(map(part, self.itself))))


NOTHING = Right()
"""Nobody has seen anything right."""


def loses(before: Outline, now: Outline, right: Right = NOTHING) -> bool:
    """Whether what had one outline has lost a value where it has another: it is null now, or a number that is none any more, or its place is gone, or there is nothing where there was something.

    Of any number of values, some may be gone: a group of fewer records has fewer. That is not to be seen where others come in their place.

    What nothing that is ``right`` holds is not lost. Where there is nothing right to look at, null is lost, and a place may be gone.
    """
    if before is None or now is None or before in (now, NULL):
        return False
    if isinstance(before, frozenset) and isinstance(now, frozenset):
        return right.has_some() if not now else _loses_some(Counter(dict(before)), Counter(dict(now)), right.within())
    if (now == NULL or (_holds_number(before) and not _holds_number(now))) and right.holds_more(now):
        return True
    if isinstance(before, tuple) and isinstance(now, tuple):
        are = dict(now)
        return any(was != are[name] and loses(was, are[name], right.at(name)) if name in are else was != NULL and right.has(name) for name, was in before)
    return False


def _loses_some(before: Counter[Outline], now: Counter[Outline], right: Right) -> bool:
    """The same of any number of values, whatever is ``right`` there."""
    left, come = before - now, now - before
    if right.others:
        held = right.every
        left = Counter({each: many for each, many in left.items() if not isinstance(each, str) or each in held})
    return bool(left) and any(all(loses(each, new, right) for each in left) for new in come)


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
    names = [name for kind in reversed(type(value).__mro__) for name in _slots(kind)]
    return {**{name: getattr(value, name, None) for name in names}, **getattr(value, "__dict__", {})} or None


def _slots(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    names = [slots] if isinstance(slots, str) else [*slots]
    return [name for name in names if name not in ("__dict__", "__weakref__") and hasattr(kind, name)]


def _kind(value: Any) -> str:
    try:
        return NULL if is_null(value) else NUMBER if is_number(value) else OTHER
    except Exception:  # of the user's classes
        return OTHER
