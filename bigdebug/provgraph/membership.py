"""Which table of the workflow an item is of: told by ranges of ids, by how they begin, by columns of the triples, or by a list."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError

NO_TABLE = 0xFFFF
"""The table of an item that no table is known of."""

_REMEDY = (
    'Give {"orders": range(1, 100)}, {"orders": "orders/"}, the two columns of the triples that have the tables of src and dst, '
    "or a file or DataFrame with the columns item and table."
)


@dataclass(frozen=True)
class Ranges:
    """Integers from ``firsts[i]`` to ``lasts[i]``, both included, are of table ``tables[i]``; sorted, none overlaps another."""

    firsts: NDArray[np.int64]
    lasts: NDArray[np.int64]
    tables: NDArray[np.uint16]

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.uint16]:
        """The table of each id, NO_TABLE where no range has it."""
        places = np.searchsorted(self.firsts, ids, side="right") - 1
        within = (places >= 0) & (ids <= self.lasts[np.maximum(places, 0)])
        return np.where(within, self.tables[places], NO_TABLE).astype(np.uint16)


@dataclass(frozen=True)
class Prefixes:
    """Texts that begin with a prefix are of its table; of several prefixes the longest counts. Shortest first."""

    prefixes: tuple[str, ...]
    tables: tuple[int, ...]

    def of(self, ids: pa.Array) -> NDArray[np.uint16]:
        """The table of each id, NO_TABLE where no prefix fits."""
        found = np.full(len(ids), NO_TABLE, np.uint16)
        for prefix, table in zip(self.prefixes, self.tables):
            found[pc.starts_with(ids, prefix).to_numpy(zero_copy_only=False)] = table
        return found


@dataclass(frozen=True)
class Columns:
    """Columns of the triples that have the names of the tables of src and dst."""

    src: str
    dst: str


@dataclass(frozen=True)
class Listed:
    """A file, an Arrow table or a pandas DataFrame that lists items and their tables, in the columns of these names."""

    source: Any
    item: str = "item"
    table: str = "table"


Membership = Ranges | Prefixes | Columns | Listed


def membership(items: Any, place: Callable[[Any], int]) -> Membership | None:
    """What ``Workflow.of`` was told about items, read and checked; ``place`` knows the places of tables."""
    if items is None or isinstance(items, (Ranges, Prefixes, Columns, Listed)):
        return items
    if isinstance(items, Mapping):
        told = [(place(table), one) for table, some in items.items() for one in (some if isinstance(some, (list, tuple)) else [some])]
        if told and all(isinstance(one, range) for _, one in told):
            return _ranges(told)
        if told and all(isinstance(one, str) for _, one in told):
            return _prefixes(told)
        raise ProvenanceError("Which items a table has is told by ranges of integers, or by beginnings of texts", value=items, remedy=_REMEDY)
    if isinstance(items, tuple) and len(items) == 2 and all(isinstance(name, str) for name in items):
        return Columns(*items)
    if isinstance(items, (str, os.PathLike)) or hasattr(items, "columns") or hasattr(items, "column_names"):
        return Listed(items)
    raise ProvenanceError("This does not say which table an item is of", value=items, remedy=_REMEDY)


def _ranges(told: list[tuple[int, range]]) -> Ranges:
    for _, some in told:
        if some.step != 1 or some.stop <= some.start or some.start < -(2**63) or some.stop > 2**63:
            raise ProvenanceError(
                "A range of ids has no integers, leaves some out, or has more than 64 bits", value=some,
                remedy="Give range(first, last + 1).",
            )
    ordered = sorted(told, key=lambda pair: pair[1].start)
    for (_, before), (_, after) in pairwise(ordered):
        if after.start < before.stop:
            raise ProvenanceError(f"Two ranges of ids overlap: {before} and {after}", remedy="An item is of one table.")
    return Ranges(
        np.array([some.start for _, some in ordered], np.int64), np.array([some.stop - 1 for _, some in ordered], np.int64),
        np.array([table for table, _ in ordered], np.uint16),
    )


def _prefixes(told: list[tuple[int, str]]) -> Prefixes:
    ordered = sorted(told, key=lambda pair: (len(pair[1]), pair[1]))
    of: dict[str, int] = {}
    for table, prefix in ordered:
        if of.setdefault(prefix, table) != table:
            raise ProvenanceError("Two tables have ids that begin alike", value=prefix, remedy="An item is of one table.")
    return Prefixes(tuple(of), tuple(of.values()))
