"""What is wrong with items and triples, seen against the workflow: ids of no table, or of two, and steps that it does not have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.chunks import Column
from bigdebug.provgraph.codes import within
from bigdebug.provgraph.dictionary import Ids
from bigdebug.provgraph.edges import Rows
from bigdebug.provgraph.membership import NO_TABLE, Prefixes, Ranges
from bigdebug.provgraph.numbering import Merged
from bigdebug.provgraph.report import EXAMPLES, Findings, triple
from bigdebug.provgraph.stored import Folder
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import shown

_FLAGS = 1 << 24
"""Pairs of tables up to which there is a flag for each."""


class ItemTables:
    """Writes the table of each item while the dictionary of ids is written."""

    def __init__(self, workflow: Workflow, column: Column, folder: Folder, findings: Findings) -> None:
        self.workflow = workflow
        self.column = column
        self.folder = folder
        self.findings = findings
        folder.append("tables", np.zeros(0, np.uint16))

    def add(self, part: Merged) -> None:
        """The next items."""
        items = self.workflow.items
        if isinstance(items, (Ranges, Prefixes)):
            if isinstance(items, Ranges) != isinstance(part.values, np.ndarray):
                raise ProvenanceError(
                    "Items of tables are told by ranges of integers, or by beginnings of texts, and ids are not of that type",
                    value=part.values[0] if isinstance(part.values, np.ndarray) else part.values[0].as_py(),
                    remedy="Tell them by what ids are: Workflow.of(edges, items=...).",
                )
            tables = items.of(part.values)
        else:
            tables = self._told(part)
        lost = np.flatnonzero(tables == NO_TABLE)
        self.findings.add("no table", len(lost), (shown(_at(part.values, place)) for place in lost[:EXAMPLES].tolist()))
        self.folder.append("tables", tables)

    def _told(self, part: Merged) -> NDArray[np.uint16]:
        """The tables that rows told, or a list."""
        found = np.full(len(part.values), NO_TABLE, np.uint16)
        clash = np.zeros(len(part.values), bool)
        for number, start, codes in part.parts:
            told = self.column.tables_of(number, start, start + len(codes))
            if told is None:
                continue
            known = found[codes]
            other = np.flatnonzero((known != NO_TABLE) & (told != NO_TABLE) & (known != told) & ~clash[codes])
            clash[codes[other]] = True
            self.findings.add(
                "two tables", len(other),
                (
                    f"{shown(_at(part.values, int(codes[place])))} of {self._name(known[place])} and {self._name(told[place])}"
                    for place in other[:EXAMPLES].tolist()
                ),
            )
            found[codes] = np.where(known == NO_TABLE, told, known)
        return found

    def _name(self, place: Any) -> str:
        return shown(self.workflow.tables[int(place)])


class Steps:
    """Looks at triples, each seen once, for what the workflow does not have; and at whether ids alone show that there is no cycle."""

    def __init__(
        self, workflow: Workflow | None, tables: NDArray[Any] | None, ids: Ids, operations: Ids, findings: Findings
    ) -> None:
        self.workflow = workflow if tables is not None else None
        self.tables = tables
        self.ids = ids
        self.operations = operations
        self.findings = findings
        self._grows = self._shrinks = self._follows = True
        self._pairs = _Pairs.of(workflow, operations) if workflow is not None and tables is not None else None
        self._named = _named(workflow, operations) if workflow is not None and tables is None else None

    @property
    def acyclic(self) -> bool:
        """Whether the triples seen can have no cycle: ids grow along all of them, or shrink, or all follow the workflow."""
        return self._grows or self._shrinks or (self.workflow is not None and self._follows)

    def add(self, rows: Rows) -> None:
        """Further triples: dst, src, operation."""
        self._grows = self._grows and bool((rows.neighbours < rows.items).all())
        self._shrinks = self._shrinks and bool((rows.neighbours > rows.items).all())
        if self._named is not None:
            strange = np.flatnonzero(~np.isin(rows.ops, self._named))
            self.findings.add("unknown operations", len(strange), self._examples(rows, strange))
        if self.workflow is None or self.tables is None or self._pairs is None:
            return
        count = len(self.workflow.tables)
        sources, targets = self.tables[rows.neighbours], self.tables[rows.items]
        known = (sources != NO_TABLE) & (targets != NO_TABLE)
        pairs = np.where(known, sources.astype(np.int64) * count + targets, 0)
        made = known & self._pairs.made.has(pairs)
        self._follows = self._follows and bool(made.all())
        odd = np.flatnonzero(known & ~made)
        self.findings.add("unmade", len(odd), self._examples(rows, odd))
        strange = np.flatnonzero(made & ~self._pairs.allow(pairs, rows.ops))
        self.findings.add("unknown operations", len(strange), self._examples(rows, strange))

    def repeated(self, rows: Rows) -> None:
        """Triples that were there before."""
        self.findings.add("duplicates", len(rows.items), self._examples(rows, np.arange(min(len(rows.items), EXAMPLES))))

    def _examples(self, rows: Rows, places: NDArray[Any]) -> Iterable[str]:
        for place in places[:EXAMPLES].tolist():
            dst, src = self.ids.take(np.array([rows.items[place], rows.neighbours[place]], np.int64)).tolist()
            op = int(rows.ops[place])
            name = self.operations.take(np.array([op])).tolist()[0] if op < len(self.operations) else None
            yield triple(src, dst, name) + self._between(rows, place)

    def _between(self, rows: Rows, place: int) -> str:
        if self.workflow is None or self.tables is None:
            return ""
        names = [*self.workflow.tables, None]
        sides = [int(self.tables[int(side[place])]) for side in (rows.neighbours, rows.items)]
        src, dst = (names[side if side != NO_TABLE else -1] for side in sides)
        return f" ({shown(src) if src else 'no table'} -> {shown(dst) if dst else 'no table'})"


class _Numbers:
    """Some of the numbers below ``size``: told by a flag for each while there are few, for most are looked up millions of times."""

    def __init__(self, some: Iterable[int], size: int) -> None:
        self._ordered = np.array(sorted(some), np.int64)
        self._flags = np.zeros(max(size, 1), bool) if size <= _FLAGS else None
        if self._flags is not None:
            self._flags[self._ordered] = True

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each number is one of them."""
        return within(numbers, self._ordered) if self._flags is None else self._flags[numbers]


@dataclass(frozen=True)
class _Pairs:
    """Pairs of tables, as numbers: those of which the second is made from the first, those with operations that are named, and these with the
    code of each such operation.
    """

    made: _Numbers
    bound: _Numbers
    known: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, workflow: Workflow, operations: Ids) -> _Pairs:
        size, width = len(workflow.tables) ** 2, len(operations) + 1
        known = [
            workflow.pair(*pair) * width + code for pair, some in workflow.operations.items() for name in some if (code := _code(operations, name)) >= 0
        ]
        made, bound = ([workflow.pair(*pair) for pair in pairs] for pairs in (workflow.edges, workflow.operations))
        return cls(_Numbers(made, size), _Numbers(bound, size), np.array(known, np.int64), width)

    def allow(self, pairs: NDArray[np.int64], ops: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each operation is one that the workflow names for its pair of tables, or it names none there."""
        return ~self.bound.has(pairs) | np.isin(pairs * self.width + ops, self.known)


def _named(workflow: Workflow, operations: Ids) -> NDArray[np.int64] | None:
    """The codes of all operations that the workflow names, if it does for each of its edges: what can be known where tables are not."""
    if not workflow.edges or len(workflow.operations) < len(workflow.edges):
        return None
    return np.array([_code(operations, name) for some in workflow.operations.values() for name in some], np.int64)


def _code(operations: Ids, name: Any) -> int:
    if name is None:  # triples that name no operation have the code behind the last one
        return len(operations)
    try:
        return int(operations.codes([name])[0])
    except TypeError:
        return -1


def _at(values: Any, place: int) -> Any:
    return values[place].as_py() if isinstance(values, pa.Array) else int(values[place])
