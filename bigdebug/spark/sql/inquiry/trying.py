"""Trying: a query run on sets of the records that wrong rows were made of, many sets by one query (DESIGN 4.4).

The records are held by the JVM, so no trial reads a source. Trials run in a session of their own: one partition, no adaptive planning, nothing to be seen by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial, reduce
from itertools import islice
from operator import or_

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from bigdebug.errors import LocalizeError
from bigdebug.localize.oracle import Answer
from bigdebug.localize.ordered import Asked
from bigdebug.model import Outcome
from bigdebug.spark.bars import counted
from bigdebug.spark.jobs import beside, tagged
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.failures import brief, is_cancelled
from bigdebug.spark.sql.inquiry.judging import Test, TriedRow
from bigdebug.spark.sql.inquiry.subsets import SET, WORDS, Marked, Subsets
from bigdebug.spark.sql.inquiry.triable import Told, moving
from bigdebug.spark.sql.inquiry.tried import Tried, alike, same, there_of
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.sessions import SHARING

CELLS = 1 << 20
"""Records that the sets of one query have in all, at most."""

RAISED = 32
"""Queries for a row that raise, after which it is not looked for any more on which of their sets they do."""

_LOOK, _GRACE = 0.05, 1.0
"""Seconds between two looks at whether a query is to go on, and those in which one that was cancelled may end."""

_BESIDE = 20
"""Rows of a set beside the one that is asked about, of which more are not brought to the driver."""

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


class Trials:
    """Tries the query of ``root`` for each wrong row. ``held`` are the candidates at each source, with their numbers as the last column; ``check`` is called
    before each query and while it runs, and raises where there is to be none any more; with ``bars``, queries that take long have one.
    """

    def __init__(
        self, catalyst: Catalyst, root: PlanOperator, told: Told, held: Mapping[int, Node], subjects: Sequence[Tried], test: Test, raises: bool, check: Callable[[], None], bars: bool = True,
    ) -> None:
        self._catalyst, self._root, self._told, self._held = catalyst, root, told, held
        self._subjects, self._test, self._raises, self._check, self._bars = subjects, test, raises, check, bars
        self._sets, self._moving = self._plan_of([]), moving(root)
        self._plans: dict[tuple[int | None, int], Subsets] = {}
        self._many = len(np.unique(np.concatenate([each.numbers for each in subjects]))) if subjects else 0

    def ask(self, subject: int, sets: Sequence[BitMap], order: int = 0, apart: bool = False) -> list[Answer]:
        """What the test says of a row on sets of its candidates; in an ``order`` of the records of a source (agents/orders.py); ``apart``: each set has a query of its
        own, so that functions which are given batches of rows see those of one set.

        Without the only record that it is joined with, or the one that it stands beside, a row is not right but gone; whether a value that is NULL is, the oracle says.
        """
        known = [*self._first(subject), *sets]
        step = 1 if apart else max(1, CELLS // max(1, len(self._subjects[subject].numbers)))
        answers: list[Answer] = []
        for at in range(0, len(known), step):
            answers += self._answers(subject, known[at: at + step], order)
        return answers[len(known) - len(sets):]

    def together(self, asked: Asked, order: int = 0) -> dict[int, list[Answer]]:
        """The same of several rows, by as few queries as hold their sets: each takes about as long as one for one row."""
        answers: dict[int, list[Answer]] = {}
        batch: dict[int, list[BitMap]] = {}
        for subject, sets in asked.items():
            known = [*self._first(subject), *sets]
            if (sum(map(len, batch.values())) + len(known)) * self._many > CELLS and batch:
                answers |= self._together(batch, order)
                batch = {}
            batch[subject] = known
        answers |= self._together(batch, order)
        return {subject: answers[subject][-len(sets):] for subject, sets in asked.items()}

    def apart(self, asked: Asked, order: int = 0) -> dict[int, list[Answer]]:
        """The same, each set by a query of its own."""
        return {subject: self.ask(subject, sets, order, apart=True) for subject, sets in asked.items()}

    def _together(self, batch: Mapping[int, Sequence[BitMap]], order: int) -> dict[int, list[Answer]]:
        if len(batch) == 1 or sum(map(len, batch.values())) * self._many > CELLS:
            return {subject: self.ask(subject, sets, order) for subject, sets in batch.items()}
        try:
            given = iter(self._rows_of([(subject, each) for subject, sets in batch.items() for each in sets], None, order))
        except PySparkException as problem:
            if isinstance(problem, AnalysisException) or is_cancelled(self._catalyst, problem):
                raise
            return {subject: self.ask(subject, sets, order) for subject, sets in batch.items()}  # who raises is seen there
        return {subject: self._judged(subject, sets, list(islice(given, len(sets)))) for subject, sets in batch.items()}

    # ---- one query --------------------------------------------------------------------------------------------

    def _first(self, subject: int) -> list[BitMap]:
        """What is asked of a row before all else: what there is of it when all its candidates are there."""
        tried = self._subjects[subject]
        return [BitMap(range(len(tried.numbers)))] if (tried.keys if tried.row is not None else tried.there) is None else []

    def _answers(self, subject: int, sets: Sequence[BitMap], order: int) -> list[Answer]:
        tried = self._subjects[subject]
        if tried.keys is not None and not tried.keys:  # its lineage alone does not make it
            return [Answer(Outcome.PASS)] * len(sets)
        try:
            given = self.given(subject, sets, order)
        except PySparkException as problem:
            if isinstance(problem, AnalysisException) or is_cancelled(self._catalyst, problem):
                raise
            tried.raised += 1
            return self._by_halves(subject, sets, order, problem)
        return self._judged(subject, sets, given)

    def _judged(self, subject: int, sets: Sequence[BitMap], given: Sequence[Sequence[TriedRow]]) -> list[Answer]:
        """What is said of the rows that are given of each set; of the first one ever, which of them the row is."""
        tried = self._subjects[subject]
        if tried.keys is None and tried.row is not None:
            tried.keys = list(dict.fromkeys(each.key for each in given[0] if tried.is_it(each.row)))
            tried.beside = len(given[0]) > _BESIDE
            tried.wrong = [each.row for each in given[0] if self._moving and self._is_wrong(each)]
        if tried.there is None and tried.row is None:
            tried.there = there_of(given[0])
        if tried.keys is not None and not tried.keys:
            return [Answer(Outcome.PASS)] * len(sets)
        return [self._said(rows, tried) if each else self._test.of_none(self._said(rows, tried)) for each, rows in zip(sets, given)]

    def _said(self, given: Sequence[TriedRow], tried: Tried) -> Answer:
        """A row is not right if another one is wrong in its place."""
        its = [each for each in given if tried.is_asked(each)]
        answer = self._test.answer(its, tried.row)
        if tried.there is not None:
            return replace(answer, outputs=(tried.there & there_of(given)).total())
        if not self._moving or tried.row is None or not answer.passes or answer.gone:
            return answer
        moved = any(self._is_wrong(each) and not any(same(each.row, row) for row in tried.wrong) for each in given if not tried.is_asked(each))
        return Answer(Outcome.UNRESOLVED, answer.value) if moved else answer

    def _is_wrong(self, given: TriedRow) -> bool:
        return self._test.answer([given], given.row).fails

    def _by_halves(self, subject: int, sets: Sequence[BitMap], order: int, problem: PySparkException) -> list[Answer]:
        """The program raises on one of the sets, or on several; where it did so too often, nothing is said of any of them."""
        if len(sets) > 1 and self._subjects[subject].raised > RAISED:
            return [Answer(Outcome.UNRESOLVED)] * len(sets)
        if len(sets) > 1:
            middle = len(sets) // 2
            return [answer for half in (sets[:middle], sets[middle:]) for answer in self._answers(subject, half, order)]
        if len(sets[0]) == len(self._subjects[subject].numbers):
            raise LocalizeError(
                f"This query cannot be tried: on the records alone that a wrong row was made of, it raises: {brief(problem)}",
                remedy="The records are dbg.lineage(df).where(...).goBackAll().",
            ) from problem
        return [Answer(Outcome.FAIL if self._raises else Outcome.UNRESOLVED)]

    def given(self, subject: int, sets: Sequence[BitMap], order: int) -> list[list[TriedRow]]:
        """What the query gives of each set: where they are many, those that are asked about, once these are known."""
        return self._rows_of([(subject, each) for each in sets], subject, order)

    def _rows_of(self, sets: Sequence[tuple[int, BitMap]], only: int | None, order: int) -> list[list[TriedRow]]:
        """The same of sets of the candidates of several rows, or of ``only`` one."""
        self._check()
        c = self._catalyst
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
        sc = self._catalyst.spark.sparkContext
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
        c = self._catalyst
        if not tried.keys or not tried.beside or not marked.keys or tried.key is not None or self._moving:
            return marked.plan
        columns = [c.column(key) for key in marked.keys]
        return c.plan(c.frame(marked.plan).filter(reduce(or_, [alike(columns, key) for key in tried.keys])))

    def _subsets(self, subject: int | None, order: int) -> Subsets:
        """The query over the candidates of a row, or of all."""
        if (subject, order) not in self._plans:
            own = {source: self._own(plan, subject, order) for source, plan in self._held.items()}
            self._plans[subject, order] = Subsets(self._catalyst, self._root, own, self._sets, self._told)
        return self._plans[subject, order]

    def _own(self, plan: Node, subject: int | None, order: int) -> Node:
        c = self._catalyst
        every = subject is None or len(self._subjects) == 1
        own = plan if every or subject is None else restricted(c, plan, [plan.output().last()], [pa.array(self._subjects[subject].numbers)])
        rows = plan.data() if own is plan else c.held(c.frame(own))
        if order > 1:  # as good as drawn, the same each time
            rows = c.held(c.frame(own).orderBy(F.xxhash64(F.lit(order), c.column(plan.output().last()))))
        return c.local(plan, rows.reverse() if order == 1 else rows)

    def _plan_of(self, sets: Sequence[npt.NDArray[np.int64]]) -> Node:
        """A plan of a row for each set, which the JVM holds."""
        numbers, words = pa.array(range(len(sets)), pa.int64()), pa.array([_words(each) for each in sets], pa.list_(pa.int64()))
        return self._catalyst.plan(self._catalyst.spark.createDataFrame(pa.table({SET: numbers, WORDS: words})))


def _words(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The bits of a set in words of 64, the lowest first."""
    bits = np.zeros((int(numbers.max()) // 64 + 1) * 64 if len(numbers) else 0, dtype=np.uint8)
    bits[numbers] = 1
    return np.packbits(bits, bitorder="little").view("<i8")
