"""Rows: what a trace over a DataFrame's query names, as ids, as a DataFrame, with their origins, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, Row

from bigdebug.errors import TooLargeError, UnknownOperatorError
from bigdebug.model import Origin
from bigdebug.shown import counted, shown
from bigdebug.spark.process import answering
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.far import Far, together
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.given import number, width
from bigdebug.trace.names import NOTHING, Names
from bigdebug.trace.table import Table

RID = "__bigdebug_rid"


class Rows:
    """Rows at operators of a query. A row of a source is named by its rid.

    ``others`` are operators inside a segment at which the trace may stand besides. ``towards`` finds the rows at some operators
    alone, these or others on the way here. ``before`` is the trace before a condition that was declared, with what was declared.
    Sources have the columns that their names show; those that they are read with, if ``as_read``.
    """

    def __init__(
        self, run: FrameRun, operators: Iterable[int], standing: Callable[[], Found], others: frozenset[int] = frozenset(),
        whole_result: bool = False, towards: Callable[[frozenset[int]], Found] | None = None, before: Any = None, as_read: bool = False,
    ) -> None:
        self.run = run
        self.operators = tuple(sorted(operators))
        self._others = others
        self._whole = whole_result
        self._towards = towards
        self._before = before
        self._as_read = as_read
        self._find: Callable[[], Found] | None = standing
        self._standing: Found = {}

    # ---- where it stands --------------------------------------------------------------------------------------

    @property
    def standing(self) -> Found:
        """The names of the rows, by operator; None for all rows of one. Found on first use."""
        if self._find is not None:
            answering(self.run.frame.sparkSession.sparkContext)
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
        found = [self._rids(operator, names, "rids()") for operator, names in self._by_source().items()]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def count(self) -> int:
        """How many rows the trace names. A source that stands for several occurrences counts each row once."""
        return sum(self._counts().values())

    def _counts(self) -> dict[int, int]:
        """How many rows there are at each operator; equal rows that were made at once have one name."""
        found, steps, catalyst = self._by_source(), self._steps, self.run.questions.catalyst
        return {
            operator: unheard(catalyst.frame(steps.rows(operator, names)[0]), "count")
            if names is None or steps.crowded(operator) else len(names)
            for operator, names in found.items()
        }

    @property
    def distributed(self) -> bool:
        """Whether the trace names more rows than the driver would hold: their names stay in Spark, and so do further steps."""
        return any(isinstance(names, Far) for names in self.standing.values())

    def _by_source(self) -> dict[int, Names]:
        """The names at each operator, None for all; of a source that the query reads several times, together at the first."""
        occurrences: dict[Any, list[int]] = {}
        for operator in self.operators:
            occurrences.setdefault(self.run.questions.one_of(operator), []).append(operator)
        return {operators[0]: together([self._at(o) for o in operators]) for operators in occurrences.values()}

    def _rids(self, operator: int, names: Names, what: str) -> npt.NDArray[np.int64]:
        """Rids, ascending."""
        if names is None:
            names = self._steps.names(*self._steps.rows(operator, None))
        if isinstance(names, Far):
            raise TooLargeError(
                f"{what} would bring {len(names):,} rids to the driver, and they are more than it takes",
                remedy="They stay in Spark: count(), show(), toDF() and further steps work there.",
            )
        return ascending(names)

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

    # ---- rows -------------------------------------------------------------------------------------------------

    def toDF(self) -> DataFrame:
        """The rows as a DataFrame of the user's session, with the columns of the operator: SQL goes on from there (Smoke 2.1).

        Lazy itself, once the trace has been followed.
        """
        return self._frame(None)

    def _frame(self, columns: Collection[str] | None) -> DataFrame:
        """The rows, in some columns of the operator; in all, if None."""
        operator = self._one_source("toDF()")
        plan, _ = self._rows(operator)
        catalyst = self.run.questions.users
        chosen = [a for a in self._columns(operator) if columns is None or a.name() in columns]
        frame = catalyst.frame(plan).select(*map(catalyst.column, chosen))
        leaf = self.run.questions.leaves.get(operator)
        # Spark takes the numbers of counted rows for nondeterministic, and would not have them in some places.
        made: DataFrame = unheard(frame, "localCheckpoint", eager=False) if leaf is not None and leaf.counts else frame
        return made

    def createOrReplaceTempView(self, name: str) -> None:
        """``toDF()`` under a name for SQL."""
        self.toDF().createOrReplaceTempView(name)

    def collect(self) -> list[Row]:
        """The rows. Raises TooLargeError if they are more than Spark lets the driver take."""
        with bounded():
            found: list[Row] = unheard(self.toDF(), "collect")
            return found

    def take(self, num: int) -> list[Row]:
        found: list[Row] = unheard(self.toDF(), "take", number(num, "rows to take"))
        return found

    def toPandas(self) -> Any:
        """A pandas frame of the rows; at a source, with the rid and the origin of each in front: ``bigdebug_rid``, where rows have a ``rid`` of their own."""
        frame, origins = self._located(None)
        with bounded():
            found = unheard(frame, "toPandas")
        rids = found.pop(RID) if RID in found else None
        if rids is not None:
            own = {name: f"bigdebug_{name}" if name in found.columns else name for name in ("rid", "origin")}
            found.insert(0, own["rid"], rids)
            found.insert(1, own["origin"], [str(origin) for origin in origins(rids.to_numpy())])
        return found

    def origins(self) -> list[Origin]:
        """Where the traced rows came from, in the order of ``rids()``; for traces that stand at sources."""
        self._check_sources("origins()")
        questions = self.run.questions
        return [
            origin for operator, names in self._by_source().items()
            for origin in questions.leaves[operator].origins(questions.catalyst, self._rids(operator, names, "origins()"))
        ]

    def show(self, n: int = 20, truncate: int | bool = 100) -> None:
        """Print the first ``n`` rows with where they came from, cut to ``truncate`` characters (0 or False: not)."""
        print(self.table(n).text(width(truncate)))  # noqa: T201 (as PySpark's show does)

    def table(self, n: int = 20) -> Table:
        """The first ``n`` rows as a table that displays as text and as escaped HTML; at several inputs, how many rows of each."""
        n = number(n, "rows to show")
        if not self._at_one:
            return self._overview()
        frame, origins = self._located(n)
        rows = unheard(frame, "collect")
        total = self.count()
        where = " and ".join(str(self.run.graph[o]) for o in self.operators)
        notes: tuple[str, ...] = (f"{counted(total)} at {where}" + (f", the first {len(rows)} shown" if total > len(rows) else ""),)
        if self.distributed:
            notes = (*notes, "more than the driver takes: the names of these rows stay in Spark")
        header = list(frame.columns)
        if not header or header[0] != RID:
            return Table(header, [[shown(v) for v in row] for row in rows], notes)
        names = origins(np.array([row[0] for row in rows], dtype=np.int64))
        return Table(["origin", *header[1:]], [[str(o), *(shown(v) for v in row[1:])] for o, row in zip(names, rows)], notes)

    def _overview(self) -> Table:
        inputs, datasets = self.run.input_names(), self.run.datasets()
        found = self._counts()
        rows = [(datasets.get(operator, str(self.run.graph[operator])), f"{rows:,}") for operator, rows in found.items()]
        one = next((f"; trace[{datasets[o]!r}] shows those of one" for o in found if o in inputs), "")
        return Table(("at", "rows"), rows, (f"{counted(sum(found.values()))} at {len(rows)} places{one}",))

    def _located(self, n: int | None) -> tuple[DataFrame, Callable[[Any], list[Origin]]]:
        """The rows, at a source with their rids in front, and what gives the origins of rids."""
        operator = self._one_source("this")
        plan, name = self._rows(operator)
        questions = self.run.questions
        catalyst = questions.catalyst
        columns = [catalyst.column(a) for a in self._columns(operator)]
        leaf = questions.leaves.get(operator)
        frame = catalyst.frame(plan)
        if leaf is None:
            frame = frame.select(*columns)
            return (frame if n is None else frame.limit(n)), lambda rids: []
        frame = frame.select(catalyst.column(name).alias(RID), *columns).orderBy(RID)
        return (frame if n is None else frame.limit(n)), lambda rids: leaf.origins(catalyst, rids)

    def _rows(self, operator: int) -> tuple[Any, Any]:
        """The plan of the rows, and their names; of all occurrences of a source, if it stands at several."""
        return self._shown(operator, together([self._at(o) for o in self.operators]))

    def _shown(self, operator: int, names: Names) -> tuple[Any, Any]:
        """The plan of rows of an operator, and their names."""
        plan, name = self._steps.rows(operator, names)
        leaf = None if self._as_read else self.run.questions.leaves.get(operator)
        return (plan, name) if leaf is None else (leaf.shown(self.run.questions.catalyst, plan, name), name)

    def _plan(self, operator: int) -> Any:
        """All rows of an operator, in the columns that they have here."""
        return self.run.questions.operators[operator].node if self._as_read else self.run.questions.shown(operator)[0]

    def _columns(self, operator: int) -> list[Any]:
        questions = self.run.questions
        return questions.catalyst.items(self._plan(operator).output()) if self._as_read else questions.shown(operator)[1]

    def _check_sources(self, what: str) -> None:
        strange = [o for o in self.operators if o not in self.run.questions.leaves]
        if strange:
            raise UnknownOperatorError(
                f"{what} is for rows of sources, and this trace stands at {self.run.graph[strange[0]]}",
                remedy="Go back to the sources first: goBackAll().",
            )

    def _one_source(self, what: str) -> int:
        """The operator to read rows at: the only one, or any occurrence of the only source."""
        return self.operators[0] if self._at_one else self._only(what)

    @property
    def _at_one(self) -> bool:
        return len({self.run.questions.one_of(o) for o in self.operators}) == 1

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


def ascending(names: Names) -> npt.NDArray[np.int64]:
    """Ascending. Those of an index mostly are, and may be millions."""
    rids: npt.NDArray[np.int64] = names.to_numpy(zero_copy_only=False)
    return rids if np.all(rids[1:] > rids[:-1]) else np.sort(rids)
