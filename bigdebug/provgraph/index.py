"""A provenance graph as arrays: what each item was derived from and what was derived from it, in memory or memory-mapped.

Items are numbered in the order of their ids (``dictionary``); these numbers, their codes, are what questions work with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.errors import UnknownItemError
from bigdebug.provgraph.adjacency import Adjacency, Edges, as_built
from bigdebug.provgraph.cycles import cycles
from bigdebug.provgraph.dictionary import ABSENT, Ids, column_of, ids_of
from bigdebug.provgraph.membership import NO_TABLE
from bigdebug.provgraph.numbering import together
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import shown
from bigdebug.store.arrays import Array, InMemory

__all__ = ["NO_TABLE", "Adjacency", "Edges", "Index"]


@dataclass(frozen=True)
class Index:
    """Items, operations, and the triples in both directions.

    ``backward`` leads from an item to those it was derived from (dst to src), ``forward`` to those derived from it. ``tables`` has the
    place in ``workflow.tables`` of each item's table, NO_TABLE where none is known; without a workflow that says which items tables have, both are None.
    """

    ids: Ids
    operations: Ids
    backward: Adjacency
    forward: Adjacency
    workflow: Workflow | None = None
    tables: Array | None = None
    acyclic: bool = True
    """Whether no item is derived from itself; it was looked at when the index was built."""
    left_out: str = ""
    """Why an item may not be there that was in the triples given."""

    @classmethod
    def of_arrays(
        cls, src: Iterable[Any], dst: Iterable[Any], op: Iterable[Any] | None = None, ids: Iterable[Any] | None = None
    ) -> Index:
        """Of triples in memory, column by column, as lists or arrays of numpy or Arrow; ``ids`` are of items that may have no triple.

        A triple that comes twice is kept once. Raises TypeError for ids that are not all integers or all texts.

        Nothing is checked: that is what building does (``building``), which also holds more than memory does.
        """
        columns = [column_of(column) for column in (src, dst, () if ids is None else ids)]
        edges = len(columns[0])
        # Columns of no values may be of a type: ids that are not there are still texts then.
        known, codes = ids_of(together(some) if (some := [column for column in columns if len(column)]) else columns[0])
        operations, ops = _operations([None] * edges if op is None else op)
        rows = np.stack([codes[edges : 2 * edges], codes[:edges], ops])
        order = np.lexsort(rows[::-1])
        rows = rows[:, order]
        rows = rows[:, np.append(True, (rows[:, 1:] != rows[:, :-1]).any(axis=0))[:edges]]
        turned = rows[:, np.lexsort((rows[2], rows[0], rows[1]))]
        backward = _adjacency(rows[0], rows[1], rows[2], len(known))
        forward = _adjacency(turned[1], turned[0], turned[2], len(known))
        return cls(known, operations, backward, forward, acyclic=not cycles(backward, forward).items)

    @property
    def items(self) -> int:
        return len(self.ids)

    @property
    def edges(self) -> int:
        return len(self.backward.neighbours)

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """The codes of these ids. Raises UnknownItemError, with ids that somebody may have meant, for one that is not there."""
        wanted = ids if isinstance(ids, np.ndarray) else list(ids)
        try:
            with as_built():
                codes = self.ids.codes(wanted)
        except TypeError as problem:
            raise UnknownItemError(f"An item is not there: {problem}", remedy=f"Ids here are like {self._some()}.") from problem
        missing = np.flatnonzero(codes == ABSENT)
        if len(missing):
            lost = wanted[missing[0]]
            lost = lost.item() if isinstance(lost, np.generic) else lost
            with as_built():
                near = ", ".join(map(shown, self.ids.near(lost)))
            others = f" (nor have {len(missing) - 1} of the others)" if len(missing) > 1 else ""
            raise UnknownItemError(
                f"No item has this id{others}{self.left_out}", value=lost, remedy=f"Near it are {near}." if near else "The graph has no items."
            )
        return codes

    def named(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The ids of these codes: int64, or Python's str."""
        with as_built():
            return self.ids.take(codes)

    def operations_of(self, ops: NDArray[Any]) -> NDArray[Any]:
        """The operations of these codes, as objects; None where a triple had none."""
        ops = np.asarray(ops, np.int64)
        found = np.full(len(ops), None, object)
        known = ops < len(self.operations)
        with as_built():
            found[known] = self.operations.take(ops[known])
        return found

    @cached_property
    def table_names(self) -> tuple[str, ...]:
        return self.workflow.tables if self.workflow is not None else ()

    def tables_of(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The names of the tables that these items are of, as objects; None where none is known."""
        if self.tables is None:
            return np.full(len(codes), None, object)
        codes = np.asarray(codes, np.int64)
        names = np.array([*self.table_names, None], object)
        with as_built():
            places = self.tables.take(codes)
            return names[np.where(places == NO_TABLE, len(self.table_names), places)]

    def _some(self) -> str:
        return ", ".join(shown(one) for one in self.ids.take(np.arange(min(3, self.items))).tolist()) or "none, for it is empty"


def _operations(given: Any) -> tuple[Ids, NDArray[np.int64]]:
    """The operations, and the code of each; that of None, or null, is behind the last one."""
    if isinstance(given, (pa.Array, pa.ChunkedArray)):
        there, some = np.array(given.is_valid(), bool), given.drop_null()
    else:
        held = given if isinstance(given, np.ndarray) else list(given)
        there = np.fromiter((one is not None for one in held), bool, len(held))
        some = [one for one in held if one is not None] if not there.all() else held
    operations, codes = ids_of(some)
    ops = np.full(len(there), len(operations), np.int64)
    ops[there] = codes
    return operations, ops


def _adjacency(items: NDArray[Any], neighbours: NDArray[Any], ops: NDArray[Any], count: int) -> Adjacency:
    """Of triples that are sorted by item and neighbour."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(items, minlength=count), out=offsets[1:])
    return Adjacency(InMemory(offsets), InMemory(neighbours.astype(np.uint32)), InMemory(smallest(int(ops.max(initial=0)), ops)))


def smallest(largest: int, values: NDArray[Any]) -> NDArray[Any]:
    """The values in the smallest unsigned type that holds the largest one."""
    return values.astype(np.min_scalar_type(largest))
