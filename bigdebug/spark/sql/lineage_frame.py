"""LineageFrame: a trace over the rows of a DataFrame's query, and a DataFrame of the rows it names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pyspark import RDD
from pyspark.sql import DataFrame, Row

from bigdebug.errors import UnknownOperatorError, UnknownRecordError
from bigdebug.graph import Operator
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.columns import column_origins
from bigdebug.spark.sql.far import together
from bigdebug.spark.sql.paged import PagedRows
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.provenance import polynomial
from bigdebug.spark.sql.recognized import check_whole
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.renaming import renamed
from bigdebug.spark.sql.replay import FrameReplay
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.walks import step, walk
from bigdebug.spark.sql.ways_back import WaysBack
from bigdebug.trace.given import whole
from bigdebug.trace.names import Names, array_of
from bigdebug.trace.operators import not_here, operator_here
from bigdebug.trace.polynomials import Polynomial, Variable


class LineageFrame(PagedRows):
    """Rows at operators of a query, and where they came from or went to (Smoke 2.1). Lazy: steps cost nothing."""

    def standing_at(self, found: Found) -> LineageFrame:
        """A trace over the same query that stands at these records."""
        return self._to(found, lambda: found)

    def union(self, others: Sequence[LineageFrame]) -> LineageFrame:
        """The rows of several traces over the same query."""
        operators = sorted({operator for other in others for operator in other.operators})
        return self._to(operators, lambda: {o: together([other._at(o) for other in others]) for o in operators})

    def __getitem__(self, name: str | Operator) -> LineageFrame:
        """The part of the trace that stands at one input, or at one operator. A source that the query reads several times is one name."""
        if isinstance(name, Operator):
            return self._part([operator_here(self, name)])
        names = self.run.input_names()
        every = [s for s, dataset in self.run.datasets().items() if dataset == name]
        if not every and name not in names.values():  # Spark takes names as they come
            fold = str if self.run.questions.users.minds_case else str.lower
            every = [s for s, dataset in self.run.datasets().items() if fold(dataset) == fold(str(name))]
        here = [s for s in every or [s for s, known in names.items() if known == name] if s in self.operators]
        if not here:
            raise not_here(name, names.values())
        return self._part(here)

    __iter__ = None

    # ---- steps ------------------------------------------------------------------------------------------------

    def goBackAll(self) -> LineageFrame:
        """All source rows that contributed."""
        questions = self.run.questions
        sources = frozenset(questions.leaves)
        if sources.issuperset(self.operators):
            return self._walk(sources, ahead=False)
        reached = self._reached(sources, ahead=False)

        towards = WaysBack(lambda goals: questions.sources(self.standing, self._others, goals), reached)
        return self._to(reached, lambda: towards(reached), towards)

    def goNextAll(self) -> LineageFrame:
        """All rows of the result that these had a part in."""
        return self._walk(frozenset([self.run.subject]), ahead=True)

    def goBack(self, n: int = 1) -> LineageFrame:
        """Back by ``n`` boundaries: aggregates, windows, limits, and sources."""
        return self._step(n, ahead=False)

    def goNext(self, n: int = 1) -> LineageFrame:
        """Ahead by ``n`` boundaries."""
        return self._step(n, ahead=True)

    def back_to(self, operator: Any) -> Any:
        """Back to one operator: a DataFrame that this query was made of, an operator of ``run.graph``, or its id.

        Or to a DataFrame behind a checkpoint; or to an RDD that its rows were made of, by createDataFrame(): then the trace is a
        LineageRDD.
        """
        if isinstance(operator, RDD):
            return self.run.crossing.rdd_behind(self, operator)
        if isinstance(operator, DataFrame) and not self.run.questions.made_of(operator):
            original = self.run.crossing.original(self, operator)
            if original is not None:
                return original
        return self._to_one(operator, ahead=False)

    def forward_to(self, operator: Any) -> Any:
        """Ahead to one operator: a DataFrame that this query was made of, an operator of ``run.graph``, or its id.

        Or to a DataFrame that was made of this one: the rows of its result. Or to an RDD that was made of the result by df.rdd: then the
        trace is a LineageRDD.
        """
        if isinstance(operator, RDD):
            return self.run.crossing.rdd_ahead(self, operator)
        if isinstance(operator, DataFrame) and not self.run.questions.made_of(operator):
            result = self.run.crossing.ahead(self, operator)
            if result is not None:
                return result
        return self._to_one(operator, ahead=True)

    def replay(self, exclude: bool = False, at: Any = None, edit: Callable[[Row], Any] | None = None) -> FrameReplay:
        """The query once more, on the lineage of these rows only (Newt 3.4, Titian example 3).

        With ``exclude``, on everything else instead: the traced rows are left out. ``at`` names where rows are chosen or left out: a DataFrame that the query
        was made of, an operator of ``run.graph``, or its id; the sources if None. With ``edit``, rows are passed through it there (a row, tuple or
        dictionary in place of each; up to 20,000); with both, the traced rows are changed and nothing is left out. Lazy.
        """
        if edit is not None and not callable(edit):
            raise TypeError(f"edit is a function that gives a row in place of another, not {shown(edit)}; edit=lambda row: ...")
        return FrameReplay(self, exclude, at, edit)

    def back_to_any(self, operators: frozenset[int]) -> LineageFrame:
        """Back to the first of some operators on each way."""
        return self._walk(operators, ahead=False, others=self._others | operators)

    def _to_one(self, operator: Any, ahead: bool) -> LineageFrame:
        goals = self.run.questions.occurrences(operator)
        return self._walk(goals, ahead, self._others | goals, as_read=True)

    def _walk(self, goals: frozenset[int], ahead: bool, others: frozenset[int] | None = None, as_read: bool = False) -> LineageFrame:
        reached = self._reached(goals, ahead)
        stops = self._others if others is None else others

        def walked() -> Found:
            steps = self.run.questions.steps(stops)
            return walk(steps, renamed(self.standing, self._steps, steps), goals, ahead)

        return LineageFrame(self.run, reached, walked, stops, as_read=as_read)

    def _reached(self, goals: frozenset[int], ahead: bool) -> frozenset[int]:
        """Those of ``goals`` to which a way leads. Raises UnknownOperatorError if there is none."""
        graph = self.run.graph
        ways = {u for o in self.operators for u in (graph.downstream(o) if ahead else graph.upstream(o))}
        reached = goals & ways
        if not goals:
            raise UnknownOperatorError("This query reads no source", remedy="There is nothing to trace back to.")
        if not reached:
            here = ", ".join(str(graph[o]) for o in self.operators)
            raise UnknownOperatorError(
                f"No way leads {'ahead' if ahead else 'back'} from {here} to {', '.join(str(graph[g]) for g in sorted(goals))}",
                remedy="Trace from an operator of the same branch of the query.",
            )
        return reached

    def _step(self, n: int, ahead: bool) -> LineageFrame:
        n = whole(n, "a trace goes by a whole number of steps")
        if n < 1:
            raise ValueError(f"a trace goes by at least one step, not {n}; goNext() is the way ahead and goBack() back")
        steps = self._steps
        reached = set(self.operators)
        for _ in range(n):
            reached = {other for level in reached for other in steps.next_to(level, ahead)}

        def find() -> Found:
            found = self.standing
            for _ in range(n):
                found = step(steps, found, ahead)
            return found

        return self._to(reached, find)

    def named(self, names: Names) -> LineageFrame:
        """The rows with these names."""
        operator = self._only("named()")
        return self._to([operator], lambda: {operator: names})

    def values(self, columns: Sequence[str]) -> tuple[Names, dict[str, Any], dict[str, Any]]:
        """The names of the rows, a name for each row, and Arrow arrays of some columns in the same order. One job.

        And arrays that tell the values of these columns apart: they are equal where Spark takes the values for equal.
        """
        operator = self._only("values()")
        plan, name = self._rows(operator)
        catalyst = self.run.questions.catalyst
        known = {attribute.name(): attribute for attribute in self._columns(operator)}
        compared = {column: comparable(catalyst, known[column]) for column in columns}
        asked = {f"c{i}": known[column] for i, column in enumerate(columns)}
        asked |= {f"k{i}": compared[column] for i, column in enumerate(columns) if compared[column] is not known[column]}
        table = catalyst.table(plan, {"name": name} | asked).combine_chunks()
        values = {column: array_of(table[f"c{i}"]) for i, column in enumerate(columns)}
        keys = {column: array_of(table[f"k{i}"]) for i, column in enumerate(columns) if f"k{i}" in asked}
        return array_of(table["name"]), values, values | keys

    # ---- provenance -------------------------------------------------------------------------------------------

    def how(self) -> Polynomial:
        """How this one row was made of source records: a polynomial, ways added and records used together multiplied.

        At a window, and behind an offset, the rows that it read besides its own are not a part of it. Raises
        UnknownRecordError if the trace names no row, or several.
        """
        operator = self._only("how()")
        names = self._names(operator)
        if len(names) != 1:
            raise UnknownRecordError(
                f"how() and why() are about one row, and this trace names {len(names):,}", remedy="Choose one first: where(row).",
            )
        return polynomial(self._steps, operator, names, self.run.datasets())

    def why(self) -> frozenset[frozenset[Variable]]:
        """The sets of source records that make this one row, each by itself (why-provenance)."""
        return self.how().witnesses()

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """For each column here, the columns of inputs that its value is computed from, as ``input.column``; no job.

        What only decides which rows there are, a condition or the key of a join, is not among them.
        """
        return {name: tuple(sorted(f"{source}.{column}" for source, column in origins)) for name, origins in self._column_origins().items()}

    def _column_origins(self) -> dict[str, set[tuple[str, str]]]:
        """By column inputs and their columns; of columns that are called alike, all."""
        operator = self._only("columns")
        inputs, questions = self.run.input_names(), self.run.questions
        made: dict[str, set[tuple[str, str]]] = {}
        for name, origins in column_origins(questions.catalyst, questions.operators[operator], questions.leaves):
            made.setdefault(name, set()).update((inputs[source], column) for source, column in origins)
        return made

    def cells(self, column: str) -> dict[str, DataFrame]:
        """The cells that a column's values in these rows are computed from: of each input the rows, in the columns that count."""
        known = self._column_origins()
        [meant] = called(self.run.questions.users, column, known)
        back = self.goBackAll()
        wanted: dict[str, set[str]] = {}
        for source, name in sorted(known[meant]):
            wanted.setdefault(source, set()).add(name)
        return {source: back._occurrence(source)._frame(names) for source, names in wanted.items()}

    def source_records(self) -> list[SourceRecord]:
        """The traced rows with rids and origins, in their order at each source; for traces that stand at sources."""
        self._check_sources("source_records()")
        found = []
        for operator in self._by_source():
            one = self.run.questions.one_of(operator)
            frame, origins = self._part([o for o in self.operators if self.run.questions.one_of(o) == one])._located(None)
            with bounded():
                rows = unheard(frame, "collect")
            places = origins(np.array([row[0] for row in rows], dtype=np.int64))
            columns = Row(*frame.columns[1:])
            found += [SourceRecord(columns(*row[1:]), row[0], origin) for row, origin in zip(rows, places, strict=True)]
        return found

    def _occurrence(self, name: str) -> LineageFrame:
        here = [source for source, known in self.run.input_names().items() if known == name]
        return self._part(here)

    def _part(self, here: Sequence[int]) -> LineageFrame:
        """The trace at some of the operators where it stands; the others need not be followed."""
        def find() -> Found:
            if self._find is None or self._towards is None:
                return {operator: self._at(operator) for operator in here}
            return self._towards(frozenset(here))

        return self._to(here, find, self._towards)


def lineage_of(run: FrameRun) -> LineageFrame:
    """The trace over all rows of a run's result."""
    def find() -> Found:
        run.questions.settle()
        check_whole(run)
        return {run.subject: None}

    return LineageFrame(run, [run.subject], find, whole_result=True)

