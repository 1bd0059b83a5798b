"""Recorded queries as provenance: the rows of a captured DataFrame's query, or their values, and which was made of which, as triples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import NotCapturedError, TooLargeError, UntraceableError
from bigdebug.provgraph.recorded import ITEMS, TRIPLES, items_at, named, table_at
from bigdebug.spark.sql.columns import column_origins
from bigdebug.spark.sql.renaming import renamed
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.witnessed import Between, Witnessed, witnessed
from bigdebug.trace.names import Names
from bigdebug.trace.positions import Positions, distinct

_LONGEST = 80
"""Characters of a key by which a row is named; rows with longer ones have a number."""

_MOST = 50_000_000
"""Triples of values that are written."""


class QueryRows:
    """The rows of a query's run: of its sources, its aggregates, its result, and of operators ``stops`` besides.

    A row of a source is named by its rid, ``flights[17]``; others by the values that name their group, or by a number. Raises UntraceableError where lineage
    is more than which rows were made of which: windows, limits, subqueries, rows that are there because others are not.
    """

    def __init__(self, run: FrameRun, stops: frozenset[int] = frozenset(), names: Mapping[int, str] | None = None) -> None:
        self.run = run
        self._names = names or {}
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

    @cached_property
    def tables(self) -> dict[int, str]:
        """The table of each level; no two are called alike."""
        given = {**self.run.input_names(), **self._names}
        return named({level: given.get(level) or f"{self.run.graph[level].name}#{level}" for level in sorted(self._known.names)})

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        return [(self.tables[each.below], self.tables[each.level], self._operation(each)) for each in self._known.between]

    def _operation(self, between: Between) -> str:
        """The operators between two levels, in their order."""
        graph, above, names = self.run.graph, between.level, [self.run.graph[between.level].name]
        while between.below not in graph[above].parents:
            above = next(parent for parent in graph[above].parents if between.below in graph.upstream(parent))
            names.append(graph[above].name)
        return " > ".join(reversed(names))

    @cached_property
    def _items(self) -> dict[int, pa.Array]:
        """The items of each level, in the order of its names."""
        return {
            level: items_at(table, self._known.names[level].to_numpy(zero_copy_only=False)) if level in self._steps.sources else _spelled(table, self._known.names[level])
            for level, table in self.tables.items()
        }

    def items(self) -> Iterator[pa.RecordBatch]:
        for level, table in self.tables.items():
            items = self._items[level]
            yield pa.record_batch([items, pa.repeat(pa.scalar(table, pa.large_string()), len(items))], schema=ITEMS)

    def triples(self) -> Iterator[pa.RecordBatch]:
        for each in self._known.between:
            below, above = self._items[each.below].take(pa.array(each.of)), self._items[each.level].take(pa.array(each.made))
            yield pa.record_batch([below, above, pa.repeat(pa.scalar(self._operation(each), pa.large_string()), len(below))], schema=TRIPLES)

    def ids(self, trace: Any) -> list[str]:
        check_run(trace, self.run)
        found: list[str] = []
        for level, names in renamed(trace.standing, trace._steps, self._steps).items():
            table_at(self.tables, self.run.graph, level)
            found += self._items[level].take(pa.array(self._known.places(level, names))).to_pylist()
        return found

    def traces(self, items: Iterable[str]) -> dict[str, Any]:
        """By table, the names of the rows."""
        wanted = pa.array(list(dict.fromkeys(items)), pa.large_string())
        found = {}
        for level, table in self.tables.items():
            places = matched_texts(self._items[level], wanted)
            if len(places):
                found[table] = self.names_at(level, places)
        return found

    def names_at(self, level: int, places: Positions) -> Names:
        """The names of some rows of a level, by their places."""
        return self._known.names[level].take(pa.array(places))

    # ---- values -----------------------------------------------------------------------------------------------

    def behind(self) -> dict[int, tuple[Positions, Positions]]:
        """By source, the pairs of a row of the result and a row there that it was made of, by their places; each once."""
        root = self.run.subject
        whole = np.arange(len(self._known.names[root]))
        reached = {root: (whole, whole)}
        found: dict[int, tuple[Positions, Positions]] = {}
        for level in sorted(self.tables, reverse=True):
            if level not in reached:
                continue
            if level in self._steps.sources:
                found[level] = reached[level]
            for each in (between for between in self._known.between if between.level == level):
                more = _composed(*reached[level], each)
                known = reached.get(each.below)
                first, second = more if known is None else (np.concatenate([known[0], more[0]]), np.concatenate([known[1], more[1]]))
                reached[each.below] = _once(first, second, max(each.inputs, 1))
        return found


class QueryValues:
    """The values of a query's run: of its result, and of the rows of the sources that they were computed from, as ``trace.columns`` tells.

    An item is the value of a column in a row, ``flights[17].delay``.
    """

    def __init__(self, run: FrameRun) -> None:
        self.run = run
        self._rows = QueryRows(run)

    @property
    def tables(self) -> dict[int, str]:
        """The tables of the rows that have the values."""
        return self._rows.tables

    @cached_property
    def _origins(self) -> list[tuple[str, list[tuple[int, str]]]]:
        """For each column of the result the columns of sources."""
        questions = self.run.questions
        found = column_origins(questions.catalyst, questions.root, questions.leaves)
        names = named(dict(enumerate(name for name, _ in found)))
        return [(names[place], sorted(origins)) for place, (_, origins) in enumerate(found)]

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        sources = {source for _, origins in self._origins for source, _ in origins if source != self.run.subject}
        return [(self.tables[source], self.tables[self.run.subject], column) for source in sorted(sources) for column, _ in self._origins]

    @property
    def _columns(self) -> set[tuple[int, str]]:
        """The columns that have values here, with their levels."""
        return {(self.run.subject, name) for name, _ in self._origins} | {origin for _, origins in self._origins for origin in origins}

    def _of(self, level: int, column: str) -> pa.Array:
        """The values of a column at all rows of a level."""
        rows, dot = self._rows._items[level], pa.scalar(f".{column}", pa.large_string())
        return _joined(rows, dot)

    def items(self) -> Iterator[pa.RecordBatch]:
        for level, column in sorted(self._columns):
            items = self._of(level, column)
            yield pa.record_batch([items, pa.repeat(pa.scalar(self.tables[level], pa.large_string()), len(items))], schema=ITEMS)

    def triples(self) -> Iterator[pa.RecordBatch]:
        behind = self._rows.behind()
        count = sum(len(behind[source][0]) for _, origins in self._origins for source, _ in origins if source in behind)
        if count > _MOST:
            raise TooLargeError(f"The values of this run have {count:,} triples", remedy="Export its records: values=False.")
        for column, origins in self._origins:
            made = self._of(self.run.subject, column)
            for source, name in origins:
                # What a query reads and nothing else is its result: a value is not made of itself.
                if source in behind and source != self.run.subject:
                    above, below = behind[source]
                    values = [self._of(source, name).take(pa.array(below)), made.take(pa.array(above))]
                    yield pa.record_batch([*values, pa.repeat(pa.scalar(column, pa.large_string()), len(above))], schema=TRIPLES)

    def ids(self, trace: Any) -> list[str]:
        """The values of all columns of a trace's rows that values are known of."""
        level = trace._only("values")
        columns = sorted(column for at, column in self._columns if at == level)
        return [f"{row}.{column}" for row in self._rows.ids(trace) for column in columns]

    def traces(self, items: Iterable[str]) -> dict[str, Any]:
        """By table, the names of the rows that have these values."""
        wanted, places = pa.array(list(dict.fromkeys(items)), pa.large_string()), dict[int, list[Positions]]()
        for level, column in sorted(self._columns):
            places.setdefault(level, []).append(matched_texts(self._of(level, column), wanted))
        rows = {level: distinct(np.concatenate(some)) for level, some in places.items()}
        return {self.tables[level]: self._rows.names_at(level, some) for level, some in rows.items() if len(some)}


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


def _joined(rows: pa.Array, end: pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(rows, end, pa.scalar("", pa.large_string()))


def _composed(first: Positions, second: Positions, between: Between) -> tuple[Positions, Positions]:
    """Pairs of a row of the result and one of a level, followed to the level below."""
    order = np.argsort(between.made, kind="stable")
    made = between.made[order]
    starts, ends = np.searchsorted(made, second, "left"), np.searchsorted(made, second, "right")
    counts = ends - starts
    if int(counts.sum()) > _MOST:
        raise TooLargeError(f"Rows of the result were made of {int(counts.sum()):,} rows, counted each", remedy="Export records: values=False.")
    places = np.arange(int(counts.sum())) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return np.repeat(first, counts), between.of[order][places]


def _once(first: Positions, second: Positions, size: int) -> tuple[Positions, Positions]:
    pairs = distinct(first * size + second)
    return pairs // size, pairs % size

