"""Times: dates, times and texts of them, which come one after the other, and the atom that tells those before a limit from the others."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from bigdebug.mining.atoms import Atom
from bigdebug.mining.fields import Cell, text

_WRITTEN = re.compile(r"\d{4}([-/])\d\d(?:\1\d\d)?(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?)?", re.ASCII)
"""A year, a month and what may follow, largest first: such texts come in the order of what they say."""

_ENDS = 4, 7, 10, 13, 16, 19
"""Where in such a text a part ends."""


def kind(value: Cell) -> Any:
    """The same of cells that can be compared; None for what is no time."""
    of = type(value)
    if of is str:
        return str if len(value) <= 40 and _WRITTEN.fullmatch(value) else None
    if of in (datetime.date, datetime.timedelta):
        return of
    return (of, value.tzinfo is None) if of in (datetime.datetime, datetime.time) else None


def ascending(cells: Iterable[Cell]) -> list[Cell]:
    """Cells of one kind in their order; none where a time zone of the user's does not say which."""
    try:
        return sorted(cells)
    except Exception:  # it is the user's code that runs here
        return []


@dataclass(frozen=True)
class Since(Atom):
    """A time that is before the limit; or not before it, if ``least``. Texts are compared as texts."""

    limit: Cell
    least: bool

    def _order(self) -> int:
        return 5

    def holds(self, value: Cell) -> bool:
        if kind(value) != (str if type(self.limit) is str else kind(self.limit)):  # the limit of texts may be the beginning of one
            return False
        try:
            return bool(value >= self.limit) is self.least
        except Exception:  # a time zone of the user's
            return False

    def text(self, name: str) -> str:
        return f"{name} {'>=' if self.least else '<'} {text(self.limit)}"


def roundest(low: Cell, high: Cell) -> Cell:
    """What is above ``low``, and not above ``high``, and is the shortest to write of what ``high`` begins with."""
    try:
        return next(each for each in _beginnings(high) if low < each <= high)
    except Exception:  # a time zone of the user's
        return high


def _beginnings(value: Cell) -> Iterator[Cell]:
    """What a time begins with: its year, its month and so on, and all of it at last."""
    if type(value) is str:
        yield from (value[:end] for end in _ENDS)
    elif isinstance(value, datetime.date):
        parts = {"month": 1, "day": 1, **({"hour": 0, "minute": 0, "second": 0, "microsecond": 0} if isinstance(value, datetime.datetime) else {})}
        names = list(parts)
        yield from (value.replace(**{name: parts[name] for name in names[at:]}) for at in range(len(names)))
    yield value
