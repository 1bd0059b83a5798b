"""Rows: what a trace over a DataFrame's query names, as a DataFrame, with their origins, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row

from bigdebug.model import Origin
from bigdebug.shown import counted, shown
from bigdebug.spark.interruption import planning
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.far import together
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.standing import Standing
from bigdebug.trace.given import number, width
from bigdebug.trace.names import Names
from bigdebug.trace.table import Table

RID = "__bigdebug_rid"


class Rows(Standing):
    """The rows that a trace names, as who looks at them has them."""

    def toDF(self) -> DataFrame:
        """The rows as a DataFrame of the user's session, with the columns of the operator: SQL goes on from there (Smoke 2.1).

        Lazy itself, once the trace has been followed.
        """
        return self._frame(None)

    @planning()
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

    @planning()
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

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        table = self.table()
        return {"text/plain": table.text(), "text/html": table.html()}
