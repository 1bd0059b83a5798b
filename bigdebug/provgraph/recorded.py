"""Recorded runs as provenance: the records that a captured RDD program saw, and which was made of which, as triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import IncompleteLineageError, NotCapturedError, UnknownOperatorError
from bigdebug.graph import OperatorGraph
from bigdebug.model import Rids, pack
from bigdebug.trace.places import Places, rids_of
from bigdebug.trace.run import Run
from bigdebug.trace.walk import all_of
from bigdebug.trace.ways import Way, ways_of

ITEMS = pa.schema([("item", pa.large_string()), ("table", pa.large_string())])
TRIPLES = pa.schema([("src", pa.large_string()), ("dst", pa.large_string()), ("op", pa.large_string())])

_ROWS = 1 << 20
"""Rows of a batch, at most."""


class Exported(Protocol):
    """A run's lineage in the words of a provenance graph: tables are operators, items are records (or values), operations what made them."""

    @property
    def tables(self) -> Mapping[int, str]:
        """The table of each operator that has one."""

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        """Which table is made from which, by which operation."""

    def items(self) -> Iterator[pa.RecordBatch]:
        """All items and their tables."""

    def triples(self) -> Iterator[pa.RecordBatch]:
        """All triples."""

    def ids(self, trace: Any) -> list[str]:
        """The items that the records of a trace over the run are. Raises UnknownOperatorError where it stands at an operator that is no table."""

    def traces(self, items: Iterable[str]) -> dict[int, Any]:
        """The records that some items are, by operator, as what a trace of the run stands at: rids, or names."""


@dataclass(frozen=True)
class RunRecords:
    """The records of an RDD program's run: its sources, the operators at which a trace steps (goBack()), its result, and ``stops`` besides.

    An item is named by its table and its rid, ``log.txt[17]``. What an operator gave that went no further is there as well.
    """

    run: Run
    stops: frozenset[int] = frozenset()
    names: Mapping[int, str] | None = None
    """What the tables of some operators are called."""

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """The steps from the result on back."""
        return ways_of(self.run, self.stops)

    @cached_property
    def tables(self) -> dict[int, str]:
        """The table of each operator that has one; no two are called alike."""
        given = {**self.run.input_names(), **(self.names or {})}
        here = sorted({self.run.subject, *(way.made for way in self.ways), *(way.hop.operator for way in self.ways)})
        return named({o: given.get(o) or f"{self.run.graph[o].name}#{o}" for o in here})

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        return [(self.tables[way.hop.operator], self.tables[way.made], _operation(self.run.graph, way)) for way in self.ways]

    def _places(self, operator: int) -> Places:
        """The records of an operator that the run saw: none where nothing was noted and nothing is above, for then nobody read it."""
        try:
            return all_of(self.run.lineage, operator)
        except IncompleteLineageError:
            above = [self._places(way.made) for way in self.ways if way.hop.operator == operator]
            if not above or any(len(each) for places in above for each in places.values()):
                raise
            return {}

    def items(self) -> Iterator[pa.RecordBatch]:
        for operator, table in self.tables.items():
            for rids in _parts(rids_of(self._places(operator))):
                yield pa.record_batch([items_at(table, rids), _repeated(table, len(rids))], schema=ITEMS)

    def triples(self) -> Iterator[pa.RecordBatch]:
        for way in self.ways:
            source, made = self.tables[way.hop.operator], self.tables[way.made]
            places, operation = self._places(way.made), _operation(self.run.graph, way)
            for partition, sender, which, there in self.run.lineage.pairs(way.made, way.hop, places):
                below, above = pack(sender, there), pack(partition, places[partition][which])
                for part in _parts(np.arange(len(below))):
                    yield pa.record_batch([items_at(source, below[part]), items_at(made, above[part]), _repeated(operation, len(part))], schema=TRIPLES)

    def ids(self, trace: Any) -> list[str]:
        if trace.run.id != self.run.id:
            raise NotCapturedError("This trace is over another run", value=trace.run.name, remedy="Ask the graph of that run.")
        found: list[str] = []
        for operator in trace.operators:
            table = table_at(self.tables, self.run.graph, operator)
            found += items_at(table, rids_of(trace.standing.get(operator, {}))).to_pylist()
        return found

    def traces(self, items: Iterable[str]) -> dict[int, Any]:
        operators = {table: operator for operator, table in self.tables.items()}
        found: dict[int, list[int]] = {}
        for item in items:
            table, _, rid = item[:-1].rpartition("[")
            found.setdefault(operators[table], []).append(int(rid))
        return {operator: np.array(sorted(rids), np.int64) for operator, rids in found.items()}


def named(tables: Mapping[int, str]) -> dict[int, str]:
    """Names of tables, those that are taken with a mark behind."""
    found: dict[int, str] = {}
    for operator, name in tables.items():
        while name in found.values():
            name += "'"
        found[operator] = name
    return found


def table_at(tables: Mapping[int, str], graph: OperatorGraph, operator: int) -> str:
    """The table of an operator. Raises UnknownOperatorError if it has none."""
    if operator in tables:
        return tables[operator]
    raise UnknownOperatorError(
        f"The graph has no records of {graph[operator]}", remedy=f"It has those of {', '.join(tables.values())}; dbg.provenance(run, tables=...) names more.",
    )


def items_at(table: str, rids: Rids) -> pa.Array:
    """The items of a table that records with these rids are."""
    numbers = pa.array(rids).cast(pa.large_string())
    return pc.binary_join_element_wise(pa.scalar(f"{table}[", pa.large_string()), numbers, pa.scalar("]", pa.large_string()), pa.scalar("", pa.large_string()))


def _operation(graph: OperatorGraph, way: Way) -> str:
    """What is between two tables: the operators of a segment that is fused, in their order; else the one that made the records."""
    if way.hop.stage is not None and graph[way.made].form.narrow:
        return " > ".join(graph[o].name for o in way.hop.stage.segments[way.hop.segment].operators)
    return graph[way.made].name


def _repeated(text: str, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(text, pa.large_string()), count)


def _parts(values: Any) -> Iterator[Any]:
    for start in range(0, len(values), _ROWS):
        yield values[start : start + _ROWS]

