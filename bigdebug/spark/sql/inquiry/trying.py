"""Trying: a query run on sets of the records that wrong rows were made of, many sets by one query (DESIGN 4.4).

The records are held by the JVM, so no trial reads a source. Trials run in a session of their own: one partition, no adaptive planning, nothing to be seen by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from functools import partial
from operator import or_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from bigdebug.spark.bars import counted
from bigdebug.spark.jobs import beside, tagged
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.inquiry.judging import Test, TriedRow
from bigdebug.spark.sql.inquiry.subsets import SET, WORDS, Marked, Subsets
from bigdebug.spark.sql.inquiry.triable import Told, moving
from bigdebug.spark.sql.inquiry.tried import Tried, alike
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.plans.balanced import balanced
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.sessions import SHARING

_LOOK, _GRACE = 0.05, 1.0
"""Seconds between two looks at whether a query is to go on, and those in which one that was cancelled may end."""

_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.adaptive.enabled": "false",
    SHARING: "false",  # what an expression shares with another is computed outside of TRY_EVAL
}

_EXCLUDED = "spark.sql.optimizer.excludedRules"

_FAILING = "org.apache.spark.sql.catalyst.optimizer.FoldablePropagation"
"""Spark 4.3 puts a constant in the place of a column that EXCEPT ALL generates, and fails, where one side is known to have no rows: that of a source
without candidates.
"""


def trying_session(catalyst: Catalyst) -> Catalyst:
    """A session of its own for trials, with the settings of another otherwise."""
    session = catalyst.jsession.cloneSession()
    for name, value in _SETTINGS.items():
        session.conf().set(name, value)
    excluded = session.conf().get(_EXCLUDED, "")
    session.conf().set(_EXCLUDED, f"{excluded},{_FAILING}" if excluded else _FAILING)
    return Catalyst(catalyst.spark, session)


class Trying:
    """Runs the query of ``root`` on sets of candidates of wrong rows. ``held`` are the candidates at each source, with their numbers as the last column; ``check`` is
    called before each query and while it runs, and raises where there is to be none any more; with ``bars``, queries that take long have one.
    """

    def __init__(
        self, catalyst: Catalyst, root: PlanOperator, told: Told, held: Mapping[int, Node], subjects: Sequence[Tried], test: Test, check: Callable[[], None], bars: bool = True,
    ) -> None:
        self.catalyst = catalyst
        self._root, self._told, self._held = root, told, held
        self._subjects, self._test, self._check, self._bars = subjects, test, check, bars
        self._sets = self._plan_of([])
        self.moves = moving(root)
        """Whether on fewer records what is wrong may be found in another group."""
        self._plans: dict[tuple[int | None, int], Subsets] = {}

    def given(self, sets: Sequence[tuple[int, BitMap]], only: int | None, order: int) -> list[list[TriedRow]]:
        """What the query gives of each set of a row's candidates, in an ``order`` of the records of a source. Where all sets are of ``only`` one row, many others beside it are
        left out, once it is known which it is.
        """
        self._check()
        c = self.catalyst
        numbers = [self._subjects[subject].numbers[np.array(each.to_array(), dtype=np.int64)] for subject, each in sets]
        marked = self._subsets(only, order).over(self._plan_of(numbers).data())
        columns = c.items(self._root.node.output())
        extra = self._test.columns(c)
        marks = [c.alias(mark, f"__bigdebug_{i}") for i, mark in enumerate((marked.set, *marked.keys, *extra))]
        frame = c.frame(c.project([*marks, *columns], marked.plan if only is None else self._restricted(marked, self._subjects[only])))
        rows = self._collected(frame)
        made, keys = Row(*(column.name() for column in columns)), 1 + len(marked.keys)
        found: list[list[TriedRow]] = [[] for _ in sets]
        for row in rows:
            found[row[0]].append(TriedRow(tuple(row[1:keys]), made(*row[len(marks):]), tuple(row[keys: len(marks)])))
        return found

    def _collected(self, frame: DataFrame) -> list[Row]:
        """The rows of a query, which is cancelled when there is to be none any more."""
        sc = self.catalyst.spark.sparkContext
        with tagged(sc) as tag, counted(sc, "localizing", self._bars):
            query = beside(partial(unheard, frame, "collect"))
            try:
                while not wait([query], _LOOK).done:
                    self._check()
            except BaseException:  # an interruption, too
                sc.cancelJobsWithTag(tag)
                wait([query], _GRACE)
                raise
        found: list[Row] = query.result()
        return found

    def _restricted(self, marked: Marked, tried: Tried) -> Node:
        """The rows that are asked about, once they are known, where there are many others: to leave these out takes a tenth of a query's time."""
        c = self.catalyst
        if not tried.keys or not tried.beside or not marked.keys or tried.key is not None or self.moves:
            return marked.plan
        columns = [c.column(key) for key in marked.keys]
        return c.plan(c.frame(marked.plan).filter(balanced(or_, [alike(columns, key) for key in tried.keys])))

    def _subsets(self, subject: int | None, order: int) -> Subsets:
        """The query over the candidates of a row, or of all."""
        if (subject, order) not in self._plans:
            own = {source: self._own(plan, subject, order) for source, plan in self._held.items()}
            self._plans[subject, order] = Subsets(self.catalyst, self._root, own, self._sets, self._told)
        return self._plans[subject, order]

    def _own(self, plan: Node, subject: int | None, order: int) -> Node:
        c = self.catalyst
        every = subject is None or len(self._subjects) == 1
        own = plan if every or subject is None else restricted(c, plan, [plan.output().last()], [pa.array(self._subjects[subject].numbers)])
        rows = plan.data() if own is plan else c.held(c.frame(own))
        if order > 1:  # as good as drawn, the same each time
            rows = c.held(c.frame(own).orderBy(F.xxhash64(F.lit(order), c.column(plan.output().last()))))
        return c.local(plan, rows.reverse() if order == 1 else rows)

    def _plan_of(self, sets: Sequence[npt.NDArray[np.int64]]) -> Node:
        """A plan of a row for each set, which the JVM holds."""
        numbers, words = pa.array(range(len(sets)), pa.int64()), pa.array([_words(each) for each in sets], pa.list_(pa.int64()))
        return self.catalyst.plan(self.catalyst.spark.createDataFrame(pa.table({SET: numbers, WORDS: words})))


def _words(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bits of a set in words of 64, the lowest first."""
    bits = np.zeros((int(numbers.max()) // 64 + 1) * 64 if len(numbers) else 0, dtype=np.uint8)
    bits[numbers] = 1
    return np.packbits(bits, bitorder="little").view("<i8")
