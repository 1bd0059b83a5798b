"""Tried: a wrong row of a query, and how it is known again among what the query gives on fewer records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import isclose, isnan
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from bigdebug.spark.sql.inquiry.judging import TriedRow
from bigdebug.spark.sql.plans.kinds import ABSOLUTE, RELATIVE

Key = tuple[Any, ...]
"""Which row of a set one is: numbers, and None where a side of a join is missing."""


@dataclass
class Tried:
    """A wrong row: the numbers of its candidates, and which columns of it are the same each time, by their places; None for all rows as a whole.

    ``key`` is the user's, of the row, if there is one. ``keys`` are those of the rows that are it when all its candidates are there, found at its first trial;
    ``beside`` says that many others came with it, ``wrong`` are all that are wrong then, and ``raised`` is how many queries raised. Of all rows as a whole, ``there`` is what there
    is of each when all candidates are.
    """

    numbers: npt.NDArray[np.int64]
    row: Row | None
    settled: Sequence[int]
    key: Callable[[Row], Any] | None = None
    keys: list[Key] | None = field(default=None, init=False)
    beside: bool = field(default=False, init=False)
    wrong: list[Row] = field(default_factory=list, init=False)
    raised: int = field(default=0, init=False)
    there: Counter[tuple[Key, int]] | None = field(default=None, init=False)

    def is_it(self, row: Row) -> bool:
        """Whether a row is this one, by its values that are the same each time."""
        return self.row is None or all(same(row[i], self.row[i]) for i in self.settled)

    def is_asked(self, given: TriedRow) -> bool:
        """Whether a row that a trial gives is the one that is asked about, as far as keys tell."""
        if self.row is None:
            return True
        if self.key is not None:
            return same(self.key(given.row), self.key(self.row))
        return any(all(a is None or b is None or a == b for a, b in zip(given.key, key)) for key in self.keys or ())


def there_of(given: Sequence[TriedRow]) -> Counter[tuple[Key, int]]:
    """What there is of rows: themselves, and values that are not NULL."""
    return Counter((each.key, place) for each in given for place, value in enumerate((True, *each.row)) if value is not None)


def alike(columns: Sequence[Column], key: Key) -> Column:
    """Whether a row has such a key; a side that is missing, in the one or in the other, tells nothing."""
    return reduce(and_, [column.isNull() | (column == F.lit(value)) for column, value in zip(columns, key) if value is not None], F.lit(True))


def same(one: Any, other: Any) -> bool:
    """Whether two values of a column are the same: sums of floating point come out a little otherwise in another order."""
    if isinstance(one, float) and isinstance(other, float):
        return (isnan(one) and isnan(other)) or one == other or isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(map(str, one)) == list(map(str, other)) and same(list(one.values()), list(other.values()))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
