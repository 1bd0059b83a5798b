"""Peers: the rows of its input that a row depends on besides its own, at a window and at a limit that skips rows.

A window's row depends on the rows of its partition that its frame reads. What the re-execution oracle demands decides how
many: a frame that counts rows needs all between itself and the row, or the counting would come out otherwise without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.extended import Extended, parts_of_name
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.limits import Limit
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.frames import PICKING, by_range
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.ties import UNIQUE
from bigdebug.trace.names import codes_of, distinct, places

Positions = npt.NDArray[np.int64]


class Peers(Protocol):
    """The input rows that rows of an operator depend on, and the other way around; both are named alike."""

    def back(self, names: Any) -> Any: ...

    def ahead(self, names: Any) -> Any: ...


def peers_of(catalyst: Catalyst, naming: Naming, operator: PlanOperator) -> Peers | None:
    """Those at an operator; None if a row of it depends on no others."""
    if operator.name == "Window":
        rows = naming.extend(operator.inputs[0], witnesses=False)
        return WindowPeers(catalyst, operator, rows, naming.identity(operator.inputs[0], rows.plan))
    if operator.name == "Limit" and (limit := Limit(catalyst, naming, operator)).cut.skip:
        return limit
    return None


class _Reach(NamedTuple):
    """Of a window function: for each row the first and last position that it reads, from 1; whether ties can move them.

    ``picks`` says that it gives the value of a row at one of them, ``anywhere`` of one somewhere between.
    """

    first: Positions
    last: Positions
    by_rows: bool
    picks: bool = False
    anywhere: bool = False


class WindowPeers:
    """The peers of rows of a window operator.

    ``rows`` is its input with names that tell its rows apart; ``identity`` is what rows have in common only if nothing else does.
    """

    def __init__(self, catalyst: Catalyst, operator: PlanOperator, rows: Extended, identity: Sequence[Expr]) -> None:
        self._catalyst = catalyst
        self._operator = operator
        self._rows = rows
        self._identity = identity
        node = operator.node
        self._partition: list[Expr] = [comparable(catalyst, key) for key in catalyst.items(node.partitionSpec())]
        self._order: list[Expr] = catalyst.items(node.orderSpec())
        self._functions = [alias.child() for alias in catalyst.items(node.windowExpressions())]

    def back(self, names: Any) -> Any:
        """All input rows that rows with these names read, themselves included."""
        found = []
        for block, known in self._partitions(names):
            asked = places(known, names)
            read = np.zeros(len(known) + 1, dtype=np.int64)
            for reach in self._reaches(block, asked):
                np.add.at(read, reach.first[asked] - 1, 1)
                np.add.at(read, np.maximum(reach.last, reach.first - 1)[asked], -1)
            mask = np.cumsum(read)[:-1] > 0
            mask[asked] = True
            found.append(known.filter(pa.array(mask)))
        return distinct(pa.chunked_array(found, type=names.type)) if found else names

    def ahead(self, names: Any) -> Any:
        """All rows that read one of these input rows."""
        found = []
        for block, known in self._partitions(names):
            touched = np.zeros(len(known), dtype=np.int64)
            touched[places(known, names)] = 1
            before = np.concatenate([[0], np.cumsum(touched)])
            mask = touched > 0
            for reach in self._reaches(block, np.arange(len(known))):
                last = np.maximum(reach.last, reach.first - 1)
                mask |= before[last] > before[reach.first - 1]
            found.append(known.filter(pa.array(mask)))
        return distinct(pa.chunked_array(found, type=names.type)) if found else names

    # ---- partitions -------------------------------------------------------------------------------------------

    def _partitions(self, names: Any) -> Iterator[tuple[pa.Table, Any]]:
        """The partitions that the named rows are in, each whole and in the window's order: positions, and names."""
        c = self._catalyst
        plan = self._rows.plan
        parts = parts_of_name(c, [name.column for name in self._rows.names])
        if self._partition:
            key = distinct(c.table(restricted(c, plan, parts, names.flatten()), {"key": c.struct(self._partition)})["key"])
            if not len(key):
                return
            plan = restricted(c, plan, self._partition, key.flatten())
        table = self._measured(plan, parts)
        whole = [f"p{i}" for i in range(len(self._partition))]
        for rows in _groups(table, whole):
            block = table.take(rows)
            block = block.take(pa.array(np.argsort(_column(block, "pos"), kind="stable"))) if self._order else block
            yield block, block["name"].combine_chunks()

    def _measured(self, plan: Node, parts: Sequence[Expr]) -> pa.Table:
        """The rows of a plan with their partition, their position in it, and the positions that frames begin and end at."""
        c, node = self._catalyst, self._operator.node
        columns: dict[str, Expr] = {f"p{i}": part for i, part in enumerate(self._partition)}
        columns["name"] = c.struct(parts)
        if self._order:
            order = [*self._order, *map(c.ascending, parts)]
            position = c.alias(c.window(c.row_number(), self._partition, order, c.rows_so_far()), "pos")
            alike = [c.alias(told, f"alike{i}") for i, told in enumerate(self._identity)]
            plan = c.extended(c.changed(node, {0: c.seq([position]), 2: c.seq(order), 3: plan}), alike)
            at = position.toAttribute()
            columns["pos"] = at
            frames = [function.windowSpec().frameSpecification() for function in self._functions]
            by_value = {"tie": (at, c.ties())} | {told.name(): (told.toAttribute(), c.ties()) for told in alike}
            by_value |= {f"{i}": (at, frame) for i, frame in enumerate(frames) if by_range(frame)}
            by_place = {f"{i}": (at, frame) for i, frame in enumerate(frames) if not by_range(frame)}
            for order, asked in ((self._order, by_value), ([c.ascending(at)], by_place)):
                ends = {
                    f"{end}{which}": c.alias(c.window(aggregate(value), self._partition, order, frame), end)
                    for which, (value, frame) in asked.items() for end, aggregate in (("first", c.minimum), ("last", c.maximum))
                }
                plan = c.changed(node, {0: c.seq(ends.values()), 2: c.seq(order), 3: plan}) if ends else plan
                columns |= {name: end.toAttribute() for name, end in ends.items()}
        return c.table(plan, columns)

    # ---- frames -----------------------------------------------------------------------------------------------

    def _reaches(self, block: pa.Table, asked: Positions) -> Iterator[_Reach]:
        """What each function reads for each row of a partition. Raises NondeterminismError if ``asked`` hangs on ties."""
        size = block.num_rows
        everything = _Reach(np.ones(size, np.int64), np.full(size, size), False)
        for i, function in enumerate(self._functions):
            if not self._order:
                yield everything
                continue
            reach = self._reach(function.windowFunction(), function, block, i, everything)
            if reach.by_rows or reach.picks or reach.anywhere:
                self._check_ties(block, reach, asked)
            yield reach

    def _reach(self, function: Expr, window: Expr, block: pa.Table, i: int, everything: _Reach) -> _Reach:
        name = function.nodeName()
        here = _column(block, "pos")
        if name in ("Rank", "DenseRank"):  # of equals, none counts for another
            return _Reach(everything.first, _column(block, "firsttie") - 1, False)
        if name in ("PercentRank", "CumeDist"):
            return everything
        if name == "NTile" or (name in ("Lead", "Lag") and function.ignoreNulls()):
            return everything._replace(by_rows=True)
        first, last = _column(block, f"first{i}"), _column(block, f"last{i}")
        none = np.isnan(first) | np.isnan(last)
        first, last = np.where(none, here, first).astype(np.int64), np.where(none, here - 1, last).astype(np.int64)
        frame = window.windowSpec().frameSpecification()
        picked = function.aggregateFunction() if name == "AggregateExpression" else function
        anywhere = picked.nodeName() == "NthValue" or (picked.nodeName() in PICKING and picked.ignoreNulls())
        if by_range(frame) or (np.all(first == 1) and np.all(last == block.num_rows)):
            return _Reach(first, last, False, picked.nodeName() in PICKING, anywhere)
        return _Reach(np.minimum(first, here).astype(np.int64), np.maximum(last, here).astype(np.int64), True, anywhere=anywhere)

    def _check_ties(self, block: pa.Table, reach: _Reach, asked: Positions) -> None:
        """Rows that the order does not tell apart, though something else does, may come in another order next time."""
        here, first, last = (_column(block, name) for name in ("pos", "firsttie", "lasttie"))
        if self._identity:
            ends = [(_column(block, f"firstalike{i}"), _column(block, f"lastalike{i}")) for i in range(len(self._identity))]
            others = np.logical_or.reduce([low != high for low, high in ends])
            first, last = np.where(others, first, here), np.where(others, last, here)
        at_start, at_end = reach.first[asked] - 1, reach.last[asked] - 1
        if reach.anywhere:
            tied = np.concatenate([[0], np.cumsum(first < last)])
            moved = tied[reach.last[asked]] > tied[at_start]
        elif reach.picks:
            moved = (first[at_start] < last[at_start]) | (first[at_end] < last[at_end])
        else:
            moved = (first[at_start] < at_start + 1) | (last[at_end] > at_end + 1) | (first[asked] < last[asked])
        if np.any(moved):
            raise NondeterminismError(
                f"{self._operator} counts rows in an order that does not tell all of them apart, so another execution "
                f"may count otherwise: {self._operator.node.simpleString(5)}", remedy=UNIQUE,
            )


def _column(block: pa.Table, name: str) -> Any:
    """Positions as integers; NaN where there is none."""
    column = block[name].combine_chunks()
    return column.to_numpy(zero_copy_only=False) if column.null_count else column.to_numpy(zero_copy_only=False).astype(np.int64)


def _groups(table: pa.Table, keys: Sequence[str]) -> list[pa.Array]:
    """The rows of a table by the values of some columns, as arrays of row numbers."""
    if not table.num_rows:
        return []
    if not keys:
        return [pa.array(range(table.num_rows), pa.int64())]
    codes, _ = codes_of(pa.StructArray.from_arrays([table[key].combine_chunks() for key in keys], list(keys)))
    order = np.argsort(codes, kind="stable")
    return [pa.array(rows) for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)]
