"""LineageFrame: a trace over the rows of a DataFrame's query, and a DataFrame of the rows it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark import RDD
from pyspark.sql import Column, DataFrame, Row

from bigdebug.errors import UnknownColumnError, UnknownOperatorError, UnknownRecordError
from bigdebug.model import Origin
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.columns import column_origins
from bigdebug.spark.sql.matching import equal_rows, matching
from bigdebug.spark.sql.procedures import OPAQUE
from bigdebug.spark.sql.provenance import polynomial
from bigdebug.spark.sql.recognized import recognized
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.steps import Found, Steps
from bigdebug.trace.names import NOTHING, Names, array_of
from bigdebug.trace.polynomials import Polynomial, Variable
from bigdebug.trace.shown import counted, shown
from bigdebug.trace.table import Table
from bigdebug.trace.trace import whole

_RID = "__bigdebug_rid"


class LineageFrame:
    """Rows at operators of a query, and where they came from or went to (Smoke 2.1). Lazy: steps cost nothing.

    A row of a source is named by its rid. ``others`` are operators inside a segment at which this trace may stand.
    """

    def __init__(
        self, run: FrameRun, operators: Iterable[int], standing: Callable[[], Found], others: frozenset[int] = frozenset(),
        whole_result: bool = False,
    ) -> None:
        self.run = run
        self.operators = tuple(sorted(operators))
        self._others = others
        self._whole = whole_result
        self._find: Callable[[], Found] | None = standing
        self._standing: Found = {}

    # ---- where it stands --------------------------------------------------------------------------------------

    @property
    def standing(self) -> Found:
        """The names of the rows, by operator; None for all rows of one. Found on first use."""
        if self._find is not None:
            self._standing = self._find()
            self._find = None
        return self._standing

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the sources that a backward trace from here can reach."""
        graph = self.run.graph
        reachable = {u for operator in self.operators for u in graph.upstream(operator)}
        return tuple(dict.fromkeys(name for source, name in self.run.input_names().items() if source in reachable))

    def rids(self) -> npt.NDArray[np.int64]:
        """The record ids at the sources that the trace stands at, ascending; one source after the other."""
        self._check_sources("rids()")
        found = [_rids(names) for names in self._by_source()]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def count(self) -> int:
        """How many rows the trace names. A source that stands for several occurrences counts each row once."""
        if len(self.operators) == 1 and self.run.graph[self.operators[0]].name in OPAQUE:  # equal rows have one name there
            rows: int = unheard(self.toDF(), "count")
            return rows
        return sum(len(names) for names in self._by_source())

    def _by_source(self) -> list[Names]:
        """The names at each operator; of a source that the query reads several times, together."""
        together: dict[Any, list[Names]] = {}
        for operator in self.operators:
            together.setdefault(self.run.datasets().get(operator, operator), []).append(self._names(operator))
        return [Steps.union(names) for names in together.values()]

    def _at(self, operator: int) -> Names:
        return self.standing.get(operator, NOTHING)

    def _names(self, operator: int) -> Names:
        names = self._at(operator)
        if names is None:
            steps = self._steps
            names = steps.names(*steps.rows(operator, None))
        return names

    @property
    def _steps(self) -> Steps:
        return self.run.questions.steps(self._others)

    # ---- narrowing --------------------------------------------------------------------------------------------

    def where(self, condition: Column | str | Row | Mapping[str, Any] | Callable[[Row], Any]) -> LineageFrame:
        """The rows for which ``condition`` holds: a Column, SQL, a function of a Row, or a Row itself (those equal to it)."""
        operator = self._only("where()")

        def find() -> Found:
            steps, catalyst = self._steps, self.run.questions.catalyst
            if self._whole and (known := recognized(self.run, steps, condition)) is not None:
                return {operator: known}
            plan, name = steps.rows(operator, self._at(operator))
            return {operator: matching(catalyst, plan, name, self._columns(operator), condition, steps.names)}

        return self._to([operator], find)

    def equal_to(self, rows: Sequence[Row]) -> LineageFrame:
        """The rows of the whole result that are equal to one of ``rows``."""
        operator = self._only("equal_to()")

        def find() -> Found:
            steps, questions = self._steps, self.run.questions
            plan, name = steps.rows(operator, self._at(operator))
            matching = equal_rows(questions.catalyst, plan, self._columns(operator), rows, self.run.frame.schema)
            return {operator: steps.names(matching, name)}

        return self._to([operator], find)

    def starting(self, operator: int, rids: Sequence[int]) -> LineageFrame:
        """A trace that stands at these records of a source."""
        return self._to([operator], lambda: {operator: pa.array(rids, pa.int64())})

    def __getitem__(self, name: str) -> LineageFrame:
        """The part of the trace that stands at one input. A source that the query reads several times is one name."""
        names = self.run.input_names()
        every = [s for s, dataset in self.run.datasets().items() if dataset == name]
        if not every and name not in names.values():  # Spark takes names as they come
            every = [s for s, dataset in self.run.datasets().items() if dataset.lower() == str(name).lower()]
        here = [s for s in every or [s for s, known in names.items() if known == name] if s in self.operators]
        if not here:
            near = get_close_matches(str(name), names.values(), 3) or sorted(names.values())
            raise UnknownOperatorError(
                "The trace does not stand at an input of this name", value=name, remedy=f"It knows {', '.join(near)}.",
            )
        return self._to(here, lambda: {s: self._at(s) for s in here})

    __iter__ = None

    # ---- steps ------------------------------------------------------------------------------------------------

    def goBackAll(self) -> LineageFrame:
        """All source rows that contributed."""
        questions = self.run.questions
        return self._walk(frozenset(questions.leaves), False, find=lambda: questions.sources(self.standing, self._others))

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

        Or to an RDD that its rows were made of, by createDataFrame(): then the trace is a LineageRDD.
        """
        if isinstance(operator, RDD):
            return self.run.crossing.rdd_behind(self, operator)
        return self._to_one(operator, ahead=False)

    def forward_to(self, operator: Any) -> Any:
        """Ahead to one operator: a DataFrame that this query was made of, an operator of ``run.graph``, or its id.

        Or to an RDD that was made of the result by df.rdd: then the trace is a LineageRDD.
        """
        if isinstance(operator, RDD):
            return self.run.crossing.rdd_ahead(self, operator)
        return self._to_one(operator, ahead=True)

    def _to_one(self, operator: Any, ahead: bool) -> LineageFrame:
        goal = self.run.questions.operator(operator)
        return self._walk(frozenset([goal]), ahead, self._others | {goal})

    def _walk(
        self, goals: frozenset[int], ahead: bool, others: frozenset[int] | None = None, find: Callable[[], Found] | None = None,
    ) -> LineageFrame:
        graph = self.run.graph
        ways = {u for o in self.operators for u in (graph.downstream(o) if ahead else graph.upstream(o))}
        reached = sorted(goals & ways)
        if not goals:
            raise UnknownOperatorError("This query reads no source", remedy="There is nothing to trace back to.")
        if not reached:
            here = ", ".join(str(graph[o]) for o in self.operators)
            raise UnknownOperatorError(
                f"No way leads {'ahead' if ahead else 'back'} from {here} to {', '.join(str(graph[g]) for g in sorted(goals))}",
                remedy="Trace from an operator of the same branch of the query.",
            )
        stops = self._others if others is None else others

        def walked() -> Found:
            return self.run.questions.steps(stops).walk(self.standing, goals, ahead)

        return LineageFrame(self.run, reached, find or walked, stops)

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
                found = steps.step(found, ahead)
            return found

        return self._to(reached, find)

    def _to(self, operators: Iterable[int], find: Callable[[], Found]) -> LineageFrame:
        return LineageFrame(self.run, operators, find, self._others)

    def named(self, names: Names) -> LineageFrame:
        """The rows with these names."""
        operator = self._only("named()")
        return self._to([operator], lambda: {operator: names})

    def values(self, columns: Iterable[str]) -> tuple[Names, dict[str, Any]]:
        """The names of the rows, a name for each row, and Arrow arrays of some columns in the same order. One job."""
        operator = self._only("values()")
        plan, name = self._rows(operator)
        catalyst = self.run.questions.catalyst
        known = {attribute.name(): attribute for attribute in catalyst.items(self._columns(operator))}
        table = catalyst.table(plan, {"name": name} | {f"c{i}": known[column] for i, column in enumerate(columns)}).combine_chunks()
        arrays = {column: array_of(table[f"c{i}"]) for i, column in enumerate(columns)}
        return array_of(table["name"]), arrays

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
        inputs = self.run.input_names()
        return polynomial(self._steps, operator, names, {source: inputs[source] for source in self.run.questions.leaves})

    def why(self) -> frozenset[frozenset[Variable]]:
        """The sets of source records that make this one row, each by itself (why-provenance)."""
        return self.how().witnesses()

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """For each column here, the columns of inputs that its value is computed from, as ``input.column``; no job.

        What only decides which rows there are, a condition or the key of a join, is not among them.
        """
        operator = self._only("columns")
        inputs = self.run.input_names()
        found = column_origins(self.run.questions.catalyst, self.run.questions.operators[operator])
        return {name: tuple(sorted(f"{inputs[source]}.{column}" for source, column in origins)) for name, origins in found}

    def cells(self, column: str) -> dict[str, DataFrame]:
        """The cells that a column's values in these rows are computed from: of each input the rows, in the columns that count."""
        known = self.columns
        if column not in known:
            near = get_close_matches(column, known, 3) or list(known)
            raise UnknownColumnError("There is no such column here", value=column, remedy=f"It knows {', '.join(near)}.")
        back = self.goBackAll()
        wanted: dict[str, list[str]] = {}
        for origin in known[column]:
            source, _, name = origin.rpartition(".")
            wanted.setdefault(source, []).append(name)
        return {source: back._occurrence(source).toDF().select(*(f"`{name}`" for name in names)) for source, names in wanted.items()}

    def _occurrence(self, name: str) -> LineageFrame:
        here = [source for source, known in self.run.input_names().items() if known == name]
        return self._to(here, lambda: {source: self._at(source) for source in here})

    # ---- rows -------------------------------------------------------------------------------------------------

    def toDF(self) -> DataFrame:
        """The rows as a DataFrame of the user's session, with the columns of the operator: SQL goes on from there (Smoke 2.1).

        Lazy itself, once the trace has been followed.
        """
        operator = self._one_source("toDF()")
        plan, _ = self._rows(operator)
        catalyst = self.run.questions.users
        frame = catalyst.frame(plan).select(*(catalyst.column(a) for a in catalyst.items(self._columns(operator))))
        leaf = self.run.questions.leaves.get(operator)
        # Spark takes the numbers of counted rows for nondeterministic, and would not have them in some places.
        made: DataFrame = frame.localCheckpoint(eager=False) if leaf is not None and leaf.counts else frame
        return made

    def createOrReplaceTempView(self, name: str) -> None:
        """``toDF()`` under a name for SQL."""
        self.toDF().createOrReplaceTempView(name)

    def collect(self) -> list[Row]:
        """The rows."""
        found: list[Row] = unheard(self.toDF(), "collect")
        return found

    def take(self, num: int) -> list[Row]:
        found: list[Row] = unheard(self.toDF(), "take", whole(num, "the number of rows to take is a whole one"))
        return found

    def toPandas(self) -> Any:
        """A pandas frame of the rows; at a source, with the rid and the origin of each in front."""
        frame, origins = self._located(None)
        found = unheard(frame, "toPandas")
        rids = found.pop(_RID) if _RID in found else None
        if rids is not None:
            found.insert(0, "rid", rids)
            found.insert(1, "origin", [str(origin) for origin in origins(rids.to_numpy())])
        return found

    def origins(self) -> list[Origin]:
        """Where the traced rows came from, in the order of ``rids()``; for traces that stand at sources."""
        self._check_sources("origins()")
        questions, datasets = self.run.questions, self.run.datasets()
        sources = list({datasets[operator]: operator for operator in reversed(self.operators)}.values())[::-1]
        return [
            origin for operator, names in zip(sources, self._by_source())
            for origin in questions.leaves[operator].origins(questions.catalyst, _rids(names))
        ]

    def show(self, n: int = 20, truncate: int | bool = 100) -> None:
        """Print the first ``n`` rows with where they came from, cut to ``truncate`` characters (0 or False: not)."""
        print(self.table(n).text(100 if truncate is True else int(truncate)))  # noqa: T201 (as PySpark's show does)

    def table(self, n: int = 20) -> Table:
        """The first ``n`` rows as a table that displays as text and as escaped HTML."""
        frame, origins = self._located(n)
        rows = unheard(frame, "collect")
        total = self.count()
        where = " and ".join(str(self.run.graph[o]) for o in self.operators)
        notes = (f"{counted(total)} at {where}" + (f", the first {len(rows)} shown" if total > len(rows) else ""),)
        header = list(frame.columns)
        if not header or header[0] != _RID:
            return Table(header, [[shown(v) for v in row] for row in rows], notes)
        names = origins(np.array([row[0] for row in rows], dtype=np.int64))
        return Table(["origin", *header[1:]], [[str(o), *(shown(v) for v in row[1:])] for o, row in zip(names, rows)], notes)

    def _located(self, n: int | None) -> tuple[DataFrame, Callable[[Any], list[Origin]]]:
        """The rows, at a source with their rids in front, and what gives the origins of rids."""
        operator = self._one_source("this")
        plan, name = self._rows(operator)
        questions = self.run.questions
        catalyst = questions.catalyst
        columns = [catalyst.column(a) for a in catalyst.items(self._columns(operator))]
        leaf = questions.leaves.get(operator)
        frame = catalyst.frame(plan)
        if leaf is None:
            frame = frame.select(*columns)
            return (frame if n is None else frame.limit(n)), lambda rids: []
        frame = frame.select(catalyst.column(name).alias(_RID), *columns).orderBy(_RID)
        return (frame if n is None else frame.limit(n)), lambda rids: leaf.origins(catalyst, rids)

    def _rows(self, operator: int) -> tuple[Any, Any]:
        """The plan of the rows, and their names; of all occurrences of a source, if it stands at several."""
        return self._steps.rows(operator, self._steps.union([self._at(o) for o in self.operators]))

    def _columns(self, operator: int) -> Any:
        return self.run.questions.operators[operator].node.output()

    def _check_sources(self, what: str) -> None:
        strange = [o for o in self.operators if o not in self.run.questions.leaves]
        if strange:
            raise UnknownOperatorError(
                f"{what} is for rows of sources, and this trace stands at {self.run.graph[strange[0]]}",
                remedy="Go back to the sources first: goBackAll().",
            )

    def _one_source(self, what: str) -> int:
        """The operator to read rows at: the only one, or any occurrence of the only source."""
        datasets = {self.run.datasets().get(o, o) for o in self.operators}
        return self.operators[0] if len(datasets) == 1 else self._only(what)

    def _only(self, what: str) -> int:
        if len(self.operators) != 1:
            names = [n for s, n in self.run.input_names().items() if s in self.operators]
            raise UnknownOperatorError(
                f"{what} needs a trace at one operator and this one stands at {len(self.operators)}",
                remedy=f"Choose one first: trace[{names[0]!r}]." if names else "Choose one first.",
            )
        return self.operators[0]

    def __repr__(self) -> str:
        at = ", ".join(str(self.run.graph[o]) for o in self.operators)
        return f"<trace of run {self.run.name!r} at {at}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        table = self.table()
        return {"text/plain": table.text(), "text/html": table.html()}


def _rids(names: Names) -> npt.NDArray[np.int64]:
    """Ascending. Those of an index mostly are, and may be millions."""
    rids: npt.NDArray[np.int64] = names.to_numpy(zero_copy_only=False)
    return rids if np.all(rids[1:] > rids[:-1]) else np.sort(rids)


def lineage_of(run: FrameRun) -> LineageFrame:
    """The trace over all rows of a run's result."""
    def find() -> Found:
        run.questions.settle()
        return {run.subject: None}

    return LineageFrame(run, [run.subject], find, whole_result=True)

