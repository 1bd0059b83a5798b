"""What an agent notes while records pass: integers, appended by the million, kept small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 1 << 15
"""How many records pass between two looks at memory: small enough to bound it, large enough to cost nothing."""


def smallest(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same non-negative integers in the smallest unsigned type that holds them."""
    if not len(values):
        return np.empty(0, dtype=np.uint8)
    return values.astype(np.min_scalar_type(int(values.max())), copy=False)


class Column:
    """A growing column of non-negative integers: ``append`` is a list's, packed away once per chunk by ``settle``."""

    def __init__(self) -> None:
        self._tail: list[int] = []
        self._packed: list[npt.NDArray[Any]] = []
        self._settled = 0
        self.append: Callable[[int], None] = self._tail.append

    def __len__(self) -> int:
        return self._settled + len(self._tail)

    def settle(self, shift: int = 0) -> None:
        """Pack what has been appended since, each value moved up by ``shift``."""
        if self._tail:
            self._packed.append(smallest(np.array(self._tail, dtype=np.int64) + shift))
            self._settled += len(self._tail)
            self._tail.clear()

    def array(self) -> npt.NDArray[Any]:
        self.settle()
        if not self._packed:
            return np.empty(0, dtype=np.uint8)
        return smallest(np.concatenate(self._packed))


Count = Callable[[], int]


@dataclass
class Notes:
    """The notes of one stage on one partition: how many records each level had, and the columns of its tables.

    Counts and columns are read when the task ends, which may be before a pipeline is exhausted: take() stops early.
    A level whose count is None has as many records as the next one.
    """

    levels: list[Count | None] = field(default_factory=list)
    columns: dict[str, Callable[[], npt.NDArray[Any]]] = field(default_factory=dict)
    _named: dict[str, Column] = field(default_factory=dict)
    ended: bool = False
    """Whether what the stage reads was read to its end: then the counts of its levels are sizes."""
    finished: bool = True
    """Whether an action that takes the records up itself asked for them to the last one."""
    progress: Count | None = None
    """How many records the emission has taken, if it counts them itself."""
    guard: Any = None
    """What went on from crashes, if anything did."""
    watching: Any = None
    """What told the driver of records as they passed, if anything did."""

    def column(self, name: str) -> Column:
        """A new column of this name."""
        column = Column()
        self.columns[name] = column.array
        self._named[name] = column
        return column

    def known(self, name: str) -> Column:
        """The column that was made under this name."""
        return self._named[name]

    def to_the_end(self, records: Iterable[Any]) -> Iterator[Any]:
        """The records, with a note when there are no more of them."""

        def end() -> Iterator[Any]:
            self.ended = True
            yield from ()

        return chain(records, end())

    def to_the_last(self, records: Iterable[Any]) -> Iterator[Any]:
        """The records, which are not finished before there are no more of them."""
        self.finished = False

        def end() -> Iterator[Any]:
            self.finished = True
            yield from ()

        return chain(records, end())

    def counts(self, emitted: int) -> tuple[int, ...]:
        """Records at every level, given how many left the last one."""
        known, counts = emitted, []
        for count in reversed(self.levels):
            known = known if count is None else count()
            counts.append(known)
        return tuple(counts[::-1])
