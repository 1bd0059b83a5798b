"""Values of recorded queries as provenance: which value of a row was computed from which of the rows right below it, one triple for each step of the query."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import TooLargeError
from bigdebug.provgraph.recorded import ITEMS, TRIPLES, named
from bigdebug.spark.provgraph.queried import QueryRows, matched_texts
from bigdebug.spark.sql.columns import Origins, column_origins
from bigdebug.trace.positions import Positions, distinct

_MOST = 50_000_000
"""Triples of values that are written."""


class QueryValues:
    """The values in the rows of a query's run.

    An item is the value of a column in a row, ``flights[17].delay``; of sources those are items from which something is computed. From step to step, a value has a triple from each value right
    below that it is computed from: what ``trace.columns`` tells of a whole query, those triples tell together. Raises TooLargeError.
    """

    def __init__(self, rows: QueryRows) -> None:
        self.run = rows.run
        self._rows = rows

    @property
    def tables(self) -> dict[int, str]:
        """The tables of the rows that have the values."""
        return self._rows.tables

    @property
    def edges(self) -> list[tuple[str, str, str]]:
        return self._rows.edges

    @cached_property
    def _called(self) -> dict[int, list[str]]:
        """By level that is no source, what its columns are called, in their order; no two of a level alike."""
        questions = self.run.questions
        made = sorted(self.tables.keys() - self._rows.sources)
        return {level: list(named(dict(enumerate(a.name() for a in questions.shown(level)[1]))).values()) for level in made}

    @cached_property
    def _origins(self) -> dict[int, dict[str, Origins]]:
        """By level that is no source, by column: the columns of the levels right below that it is computed from."""
        questions, called = self.run.questions, self._called
        return {
            level: {name: origins for name, (_, origins) in zip(names, column_origins(questions.catalyst, questions.operators[level], questions.leaves, called), strict=True)}
            for level, names in called.items()
        }

    @cached_property
    def _columns(self) -> list[tuple[int, str]]:
        """The columns that have values here, with their levels."""
        own = {(level, name) for level, names in self._called.items() for name in names}
        read = {origin for columns in self._origins.values() for origins in columns.values() for origin in origins}
        if self.run.subject in self._rows.sources:
            own |= {(self.run.subject, a.name()) for a in self.run.questions.shown(self.run.subject)[1]}
        return sorted(own | {origin for origin in read if origin[0] in self.tables})

    def _of(self, level: int, column: str) -> pa.Array:
        """The values of a column at all rows of a level."""
        end, nothing = (pa.scalar(text, pa.large_string()) for text in (f".{column}", ""))
        return pc.binary_join_element_wise(self._rows.rows[level], end, nothing)

    def items(self) -> Iterator[pa.RecordBatch]:
        for level, column in self._columns:
            items = self._of(level, column)
            yield pa.record_batch([items, pa.repeat(pa.scalar(self.tables[level], pa.large_string()), len(items))], schema=ITEMS)

    def triples(self) -> Iterator[pa.RecordBatch]:
        steps = [
            (each, made, column) for each in self._rows.between for made, origins in self._origins[each.level].items()
            for level, column in sorted(origins) if level == each.below
        ]
        count = sum(len(each.made) for each, _, _ in steps)
        if count > _MOST:
            raise TooLargeError(f"The values of this run have {count:,} triples", remedy="Export its records: values=False.")
        for each, made, column in steps:
            below, above = self._of(each.below, column).take(pa.array(each.of)), self._of(each.level, made).take(pa.array(each.made))
            yield pa.record_batch([below, above, pa.repeat(pa.scalar(self._rows.operation(each), pa.large_string()), len(below))], schema=TRIPLES)

    def ids(self, trace: Any) -> list[str]:
        """The values of all columns of a trace's rows that values are known of."""
        level = trace._only("values")
        columns = [column for at, column in self._columns if at == level]
        return [f"{row}.{column}" for row in self._rows.ids(trace) for column in columns]

    def traces(self, items: Iterable[str]) -> dict[int, Any]:
        """By level, the names of the rows that have these values."""
        wanted, places = pa.array(list(dict.fromkeys(items)), pa.large_string()), dict[int, list[Positions]]()
        for level, column in self._columns:
            places.setdefault(level, []).append(matched_texts(self._of(level, column), wanted))
        rows = {level: distinct(np.concatenate(some)) for level, some in places.items()}
        return {level: self._rows.names_at(level, some) for level, some in rows.items() if len(some)}
