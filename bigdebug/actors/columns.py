"""Columns: integers of an association table, as an array, as a file that is mapped when they are asked for, or as steps that take no room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bigdebug.store.arrays import Listed, StoredArray, narrowest, write_array
from bigdebug.trace.positions import Positions, members

_DENSE = 16
"""Bytes of a table of all integers that are in a column, for each of its values: up to there it is the quickest way to find some."""


class Steps(NamedTuple):
    """``length`` integers from ``start`` on, each ``step`` more than the one before; ``step`` is 0 or more."""

    start: int
    step: int
    length: int


class Column:
    """Integers that none is below 0. What is counted up, or is always the same, is kept as that."""

    def __init__(self, values: Positions | Steps | StoredArray) -> None:
        self._values = values

    @classmethod
    def of(cls, values: Positions) -> Column:
        """An array, or the steps that it takes. One pass, and for most arrays that take none much less."""
        if len(values) < 2:
            return cls(Steps(int(values[0]) if len(values) else 0, 0, len(values)))
        step = int(values[1]) - int(values[0])
        if step >= 0 and int(values[-1]) - int(values[0]) == step * (len(values) - 1) and bool((values[1:] - values[:-1] == step).all()):
            return cls(Steps(int(values[0]), step, len(values)))
        return cls(values)

    @classmethod
    def steps(cls, length: int, start: int = 0, step: int = 1) -> Column:
        """start, start + step, ..., so many."""
        return cls(Steps(start, step, length))

    def __len__(self) -> int:
        return self._values.length if isinstance(self._values, Steps) else len(self._values)

    @cached_property
    def array(self) -> Positions:
        """All of them. Of a file: read, and checked, once."""
        if isinstance(self._values, Steps):
            start, step, length = self._values
            return start + step * np.arange(length, dtype=np.int64)
        if isinstance(self._values, StoredArray):
            return self._values.part(0, len(self._values)).astype(np.int64)
        return self._values.astype(np.int64, copy=False)

    def take(self, places: Positions) -> Positions:
        """The integers at these places. Of a file, the pages that have them are read, and no more."""
        if isinstance(self._values, Steps):
            return self._values.start + self._values.step * places
        if isinstance(self._values, StoredArray) and len(places) < len(self._values) // 64:
            return self._values.take(places).astype(np.int64)
        return self.array[places]

    def below(self, wanted: Positions) -> Positions:
        """How many are less than each of ``wanted``, in a column that never falls."""
        if isinstance(self._values, Steps):
            start, step, length = self._values
            if not step:
                return np.where(wanted > start, length, 0)
            return np.clip(-((start - wanted) // step), 0, length)
        return np.searchsorted(self.array, wanted).astype(np.int64)

    def holding(self, wanted: Positions) -> Positions:
        """The places, ascending, of those that are among ``wanted``, which ascend."""
        if isinstance(self._values, Steps) and self._values.step == 1:
            places = wanted - self._values.start
            return places[(places >= 0) & (places < self._values.length)]
        values = self.array
        if not len(wanted) or not len(values):
            return np.zeros(0, np.int64)
        size = max(int(values.max()), int(wanted[-1])) + 1
        if size <= _DENSE * len(values):
            return np.flatnonzero(members(values, wanted, size))
        at = np.searchsorted(wanted, values)
        at[at == len(wanted)] = 0
        return np.flatnonzero(wanted[at] == values)

    def dump(self, home: Path, name: str) -> dict[str, Any]:
        """Write into a file of this name what takes one; what a catalog lists of it."""
        if isinstance(self._values, Steps):
            return {"steps": list(self._values)}
        values = self._values if isinstance(self._values, np.ndarray) else self.array  # not made wide first: what is narrow is written as it is
        return {"array": write_array(home, name, narrowest(values)).dump()}

    @classmethod
    def load(cls, data: Mapping[str, Any], find: Callable[[str], Path], most: int | None = None) -> Column:
        """``find`` gives the path of a file by its name. Raises ValueError for what is no column, and for more than ``most`` steps: a catalog makes room for none."""
        if "array" in data:
            return cls(StoredArray(Listed.load(data["array"]), find))
        start, step, length = (int(each) for each in data["steps"])
        if min(start, step, length) < 0 or (most is not None and length > most):
            raise ValueError(f"there are no steps {data['steps']}")
        return cls(Steps(start, step, length))


EMPTY = Column.steps(0)
