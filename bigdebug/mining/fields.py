"""Records of any kind read as fields: where each value stands, what it is called, and a plain cell in its place."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from types import ModuleType
from typing import Any
from uuid import UUID

from bigdebug.shown import masked, plain, shown

Path = tuple[Any, ...]
"""Names and positions from the record inwards; () is the record itself, and COUNT at the end the number of fields."""

LONGEST = 20_000
"""Characters of a text that is looked into."""

_DEEPEST, _MOST, _LARGEST = 5, 300, 10**200
"""Levels of a record that are walked, its fields that are, and integers that are shown in full."""

DELIMITERS = (",", "\t", ";", "|", " ")


class Mark(Enum):
    """What stands for values that are not compared as they are. STRANGE ones are left out: nothing holds of them."""

    MISSING = "missing"
    NAN = "NaN"
    TRUE = "True"
    FALSE = "False"
    STRANGE = "strange"
    COUNT = "number of fields"


COUNT = Mark.COUNT


@dataclass(frozen=True)
class Long:
    """A text that is too long to look into."""

    length: int


Cell = Any
"""None, a number, a text, a Mark, a Long, a date or the like: hashable, and equal to itself."""

_NUMBERS = {int, float, bool, type(None)}
_AS_IS = {bytes, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, UUID}
_KEYS = {str, int, type(None), bytes}


def cell(value: Any) -> Cell:
    """The value in a form that can be hashed and compared without running code of the user's; never raises."""
    kind = type(value)
    if kind is str:
        return value if len(value) <= LONGEST else Long(len(value))
    if kind is int:
        return value if -_LARGEST < value < _LARGEST else Mark.STRANGE
    if value is None:
        return None
    if kind is float:
        return value if value == value else Mark.NAN
    if kind is bool:
        return Mark.TRUE if value else Mark.FALSE
    try:
        return _unusual(value, kind)
    except Exception:  # it is the user's code that runs here
        return Mark.STRANGE


def _unusual(value: Any, kind: type) -> Cell:
    if kind is Decimal:
        return Mark.NAN if value.is_nan() else value
    if kind in _AS_IS:
        hash(value)  # a time zone of the user's may raise
        return value if kind is not bytes or len(value) <= LONGEST else Mark.STRANGE
    for parent, plainly in ((str, str.__str__), (int, int.__index__), (float, float.__float__)):
        if issubclass(kind, parent) and not issubclass(kind, Enum):
            return cell(plainly(value))
    if kind.__module__ == "numpy" and hasattr(kind, "dtype") and not hasattr(kind, "__len__"):
        item = value.item()
        return Mark.STRANGE if type(item) is kind else cell(item)
    return None if kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas.") else Mark.STRANGE


def _parts(value: Any) -> tuple[int, Iterable[tuple[Any, Any]]] | None:
    """How many fields a container has, and these with their keys; None for what is no container."""
    kind = type(value)
    if issubclass(kind, dict):
        return dict.__len__(value), ((key, part) for key, part in dict.items(value) if type(key) in _KEYS)
    if issubclass(kind, tuple):
        names = getattr(kind, "_fields", None) or _attributes(value).get("__fields__")  # a named tuple's, a Row's
        size = tuple.__len__(value)
        if isinstance(names, (tuple, list)) and len({*names}) == size and all(type(name) is str for name in names):
            return size, zip(names, tuple.__iter__(value))
        return size, enumerate(tuple.__iter__(value))
    if issubclass(kind, list):
        return list.__len__(value), enumerate(list.__iter__(value))
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray" and value.ndim == 1:
        return len(value), enumerate(value[:_MOST].tolist())
    attributes = {} if issubclass(kind, (type, BaseException, ModuleType)) or callable(value) else _attributes(value)
    return (len(attributes), list(attributes.items())) if attributes else None


def _attributes(value: Any) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if type(found) is dict else {}


@lru_cache(maxsize=4096)
def _paths(path: Path, count: int) -> tuple[Path, ...]:
    return tuple((*path, number) for number in range(count))


@dataclass(frozen=True)
class Reading:
    """How records are read: which texts are split, and at what; what the fields by position are called at ``named``."""

    splits: Mapping[Path, str] = field(default_factory=dict, hash=False)
    names: tuple[str, ...] = ()
    named: Path = ()

    def cells(self, record: Any) -> dict[Path, Cell]:
        """The cells of a record; never raises. Fields that it has too many or too deep are left out."""
        found: dict[Path, Cell] = {}
        self._walk((), record, found)
        return found

    def _walk(self, path: Path, value: Any, found: dict[Path, Cell]) -> None:
        if type(value) is str:
            texts = value.split(self.splits[path]) if path in self.splits and len(value) <= LONGEST else []
            if texts:
                found[(*path, COUNT)] = len(texts)
                found.update(zip(_paths(path, min(len(texts), _MOST)), texts))
            if len(texts) < 2:  # of others the fields say more than letters anywhere in them
                found[path] = cell(value)
            return
        try:
            parts = _parts(value)
        except Exception:  # it is the user's code that runs here
            parts = None
        if parts is None or len(path) == _DEEPEST:
            found[path] = cell(value)
            if path in self.splits and type(found[path]) is str:
                self._walk(path, found[path], found)
            return
        found[(*path, COUNT)], inner = parts
        for key, part in inner:
            if len(found) > _MOST:
                return
            if type(part) in _NUMBERS:  # most are, and this is half of the time
                found[(*path, key)] = cell(part)
            else:
                self._walk((*path, key), part, found)

    def name(self, path: Path) -> str:
        """What a reader calls the field."""
        if path[-1:] == (COUNT,):
            return "number of fields" + (f" of {self.name(path[:-1])}" if path[:-1] else "")
        end = len(self.named)
        start = end if path[:end] == self.named and path[end:] and self._named(path[end]) else 0
        return ".".join(self._step(path[:at], path[at]) for at in range(start, len(path))) or "the record"

    def _step(self, within: Path, key: Any) -> str:
        if type(key) is int:
            return plain(self.names[key]) if within == self.named and self._named(key) else f"field {key}"
        return plain(key) if type(key) is str and key and len(key) < 100 else plain(shown(key))

    def _named(self, key: Any) -> bool:
        return type(key) is int and 0 <= key < len(self.names) and self.names[key] != ""


def reading(records: Iterable[Any], names: Sequence[str] | str | None = None) -> Reading:
    """How such records are best read.

    Records that are lines of text are split at the delimiter that gives the same number of fields most often (as many as there are
    ``names``, if there are any) if half of the lines have it; texts in fields if four fifths have the same three fields or more.
    ``names`` (a header line, split likewise, or a sequence) name the fields of a line, or of a record without names.
    """
    if isinstance(names, str):
        delimiter = max(DELIMITERS, key=names.count)
        names = names.split(delimiter) if delimiter in names else [names]
    header = tuple(str(name).strip() for name in names or ())
    bare = Reading()
    texts: dict[Path, list[str]] = {}
    seen: Counter[Path] = Counter()
    for record in records:
        cells = bare.cells(record)
        seen.update(cells.keys())
        for path, value in cells.items():
            if type(value) is str:
                texts.setdefault(path, []).append(value)
    splits: dict[Path, str] = {}
    widths: dict[Path, int] = {}
    for path, lines in texts.items():
        _, share, place, width = max(_agreement(lines, each, len(header)) for each in range(len(DELIMITERS)))
        if len(lines) >= 0.8 * seen[path] and ((share >= 0.5) if path == () else (share >= 0.8 and width >= 3)):
            splits[path], widths[path] = DELIMITERS[-place], width
    width = 1 + max((path[0] for path in seen if path and type(path[0]) is int), default=-1)
    fitting = (path for path in splits if widths[path] == len(header))
    return Reading(splits, header, () if () in splits or width == len(header) else next(fitting, ()))


def _agreement(lines: list[str], number: int, wanted: int) -> tuple[bool, float, int, int]:
    """(whether most lines have the wanted fields, share with the most frequent number of fields, -number, that number): the largest is best."""
    counts = Counter(line.count(DELIMITERS[number]) + 1 for line in lines)
    del counts[1]
    width, times = max(counts.items(), key=lambda item: (item[1], -item[0]), default=(1, 0))
    as_wanted = 2 * counts[wanted] >= len(lines)
    if as_wanted:
        width, times = wanted, counts[wanted]
    return as_wanted, times / len(lines), -number, width


def number(value: Cell) -> float | None:
    """The number that a cell is, or reads as; finite, or None."""
    try:
        if type(value) is str:
            if len(value) > 100 or "_" in value:
                return None
            read = float(value)
        elif type(value) in (int, float, Decimal):
            read = float(value)
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return read if math.isfinite(read) else None


def text(value: Cell) -> str:
    """A cell as a reader sees it."""
    if isinstance(value, Mark):
        return value.value
    if type(value) is str:
        return plain(shown(value)) if len(value) <= 60 else plain(shown(masked(value)[:60]) + "...")
    return plain(shown(value))
