"""Recorded queries as provenance: the rows of a captured DataFrame's query, and which was made of which, as triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import NotCapturedError, UntraceableError
from bigdebug.provgraph.recorded import ITEMS, TRIPLES, items_at, named, table_at
from bigdebug.spark.sql.renaming import renamed
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.witnessed import Between, Witnessed, witnessed
from bigdebug.trace.names import Names
from bigdebug.trace.positions import Positions

_LONGEST = 80
"""Characters of a key by which a row is named; rows with longer ones have a number."""


class QueryRows:
    """The rows of a query's run: of its sources, its aggregates, its result, and of operators ``stops`` besides.

    A row of a source is named by its rid, ``flights[17]``; others by the values that name their group, or by a number. Raises UntraceableError where lineage
    is more than which rows were made of which: windows, limits, subqueries, rows that are there because others are not.
    """

    def __init__(self, run: FrameRun, stops: frozenset[int] = frozenset(), names: Mapping[int, str] | None = None) -> None:
        self.run = run
        self.stops = stops
        self.chosen = names or {}
        self._steps = run.questions.steps(stops)
        run.questions.settle()
        if not run.questions.goes_by_steps(stops):
            raise UntraceableError(
                "Rows of this query are there because others are not, or need a group as a whole, which triples do not tell",
                value=run.name, remedy="Ask dbg.lineage(...) itself: its traces have what is needed besides.",
            )

    @cached_property
    def _known(self) -> Witnessed:
        found = witnessed(self._steps)
        for level, why in found.left_out.items():
            raise UntraceableError(f"The rows of {self.run.graph[level]} are not told by triples: {why}", remedy="Ask dbg.lineage(...) itself, or export a run behind it.")
        return found

    def known_as(self, tables: Mapping[int, str], items: Mapping[int, pa.Array]) -> QueryRows:
        """The same rows in a graph of several runs: what all their tables are called, and the items of some levels, in the order of ``names``."""
        other = copy(self)
        vars(other).update(tables=dict(tables), rows=self._rows({level: table for level, table in tables.items() if level not in items}) | dict(items))
        return other

    @property
    def told(self) -> dict[int, str]:
        """What tables of sources are called, and those that were given a name."""
        return {**self.run.input_names(), **self.chosen}

    @cached_property
    def tables(self) -> dict[int, str]:
        """The table of each level; no two are called alike."""
        return named({level: self.told.get(level) or f"{self.run.graph[level].name}#{level}" for level in sorted(self._known.names)})

    def names(self, level: int) -> Names:
        """The names of all rows of a level, as traces have them."""
        return self._known.names[level]

    @property
    def sources(self) -> frozenset[int]:
        """The levels that are sources."""
        return self._steps.sources

    @property
    def between(self) -> list[Between]:
        """By pair of a level and one right below it, which rows were made of which: places in ``rows``."""
        return self._known.between

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        return [(self.tables[each.below], self.tables[each.level], self.operation(each)) for each in self.between]

    def operation(self, between: Between) -> str:
        """The operators between two levels, in their order: one step of the workflow."""
        graph, above, names = self.run.graph, between.level, [self.run.graph[between.level].name]
        while between.below not in graph[above].parents:
            above = next(parent for parent in graph[above].parents if between.below in graph.upstream(parent))
            names.append(graph[above].name)
        return " > ".join(reversed(names))

    @cached_property
    def rows(self) -> dict[int, pa.Array]:
        """The items of each level, in the order of its ``names``."""
        return self._rows(self.tables)

    def _rows(self, tables: Mapping[int, str]) -> dict[int, pa.Array]:
        return {
            level: items_at(table, self._known.names[level].to_numpy(zero_copy_only=False)) if level in self._steps.sources else _spelled(table, self._known.names[level])
            for level, table in tables.items()
        }

    def items(self) -> Iterator[pa.RecordBatch]:
        for level, table in self.tables.items():
            items = self.rows[level]
            yield pa.record_batch([items, pa.repeat(pa.scalar(table, pa.large_string()), len(items))], schema=ITEMS)

    def triples(self) -> Iterator[pa.RecordBatch]:
        for each in self.between:
            below, above = self.rows[each.below].take(pa.array(each.of)), self.rows[each.level].take(pa.array(each.made))
            yield pa.record_batch([below, above, pa.repeat(pa.scalar(self.operation(each), pa.large_string()), len(below))], schema=TRIPLES)

    def ids(self, trace: Any) -> list[str]:
        check_run(trace, self.run)
        found: list[str] = []
        for level, names in renamed(trace.standing, trace._steps, self._steps).items():
            table_at(self.tables, self.run.graph, level)
            found += self.rows[level].take(pa.array(self._known.places(level, names))).to_pylist()
        return found

    def traces(self, items: Iterable[str]) -> dict[int, Any]:
        """By level, the names of the rows."""
        wanted = pa.array(list(dict.fromkeys(items)), pa.large_string())
        found = {}
        for level in self.tables:
            places = matched_texts(self.rows[level], wanted)
            if len(places):
                found[level] = self.names_at(level, places)
        return found

    def names_at(self, level: int, places: Positions) -> Names:
        """The names of some rows of a level, by their places."""
        return self._known.names[level].take(pa.array(places))


def check_run(trace: Any, run: FrameRun) -> None:
    """Raise NotCapturedError for a trace over another run."""
    if trace.run is not run:
        raise NotCapturedError("This trace is over another run", value=trace.run.name, remedy="Ask the graph of that run.")


def matched_texts(items: pa.Array, wanted: pa.Array) -> Positions:
    """Where in some items those stand that are wanted."""
    mask = pc.is_in(items, value_set=wanted)
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))


def _spelled(table: str, names: Names) -> pa.Array:
    """Items named by what their names say, if that is short and no two say the same; else by number."""
    texts = [", ".join(map(_text, row.values())) if isinstance(row, dict) else _text(row) for row in names.to_pylist()]
    if len(set(texts)) < len(texts) or any(len(text) > _LONGEST for text in texts):
        texts = [f"row {number}" for number in range(len(texts))]
    return pa.array([f"{table}[{text}]" for text in texts], pa.large_string())


def _text(value: Any) -> str:
    return ", ".join(map(_text, value.values())) if isinstance(value, dict) else str(value) if isinstance(value, str | int) and not isinstance(value, bool) else repr(value)
