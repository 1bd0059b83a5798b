"""Localizing in queries: which source records make rows of a result wrong (BigSift; DESIGN 4.4).

Lineage first: a row is tried on the records that it was made of, and on no others. Which of the rows on fewer records is the same one, the groups and records
that it was made of say (``subsets.py``): some other row that is wrong on these would blame the innocent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from pyspark.sql import Column, Row

from bigdebug.errors import LocalizeError, NondeterminismError, UntraceableError
from bigdebug.localize.causes import State
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import Faults, Subject, faults, unordered
from bigdebug.localize.oracle import Budget, Oracle
from bigdebug.localize.progress import Step
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.shown import shown
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.candidates import CandidateRows
from bigdebug.spark.sql.faulty import faulty
from bigdebug.spark.sql.judging import Test, test_of
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.reading import PlanOperator
from bigdebug.spark.sql.subsets import PROCEDURES
from bigdebug.spark.sql.triable import Told, check_triable, in_batches
from bigdebug.spark.sql.trying import Trials, Tried, trying_session

EACH = 1_000
"""Up to so many candidates, each is left out once: that tries their square of records."""

_JOINING = ("Join", "AsOfJoin", "Except", "Intersect")
"""Operators whose rows may be there because others are not."""

_CHOOSING = ("Limit", "Window")
"""Operators that take the place of a row into account: without it, others move up."""

APART = 128
"""And up to so many, where each set takes a query of its own."""

AT_ONCE = 31
"""Sets that are asked about together: a query of one takes about as long."""


class FrameLocalizing:
    """One question: which records make rows of ``trace`` wrong, as ``test`` has it. ``key`` gives the user's key of a row."""

    def __init__(self, trace: LineageFrame, test: Test, key: Callable[[Row], Any] | None, budget: Budget, raises: bool) -> None:
        self._trace, self._test, self._key, self._budget, self._raises = trace, test, key, budget, raises
        self._questions = trace.run.questions

    def diagnosis(self) -> Diagnosis:
        """Search, and tell. Raises LocalizeError where there is nothing to look for, or nothing can be tried."""
        try:
            return self._diagnosis()
        except (NondeterminismError, UntraceableError) as problem:
            raise LocalizeError(f"This query cannot be tried on fewer records: {problem.what}", value=problem.value, remedy=problem.remedy) from problem

    def _diagnosis(self) -> Diagnosis:
        check_triable(self._questions.catalyst, self._questions.root, PROCEDURES)
        steps = self._questions.steps()
        catalyst = trying_session(self._questions.catalyst)
        told = Told(catalyst, steps.root)
        found = faulty(self._trace, self._test)
        candidates, settled = CandidateRows(self._questions, found.standings), self._settled()
        subjects = [Tried(numbers, row, settled, self._key) for numbers, row in zip(candidates.numbers, found.rows)]
        trials = Trials(catalyst, steps.root, told, candidates.held(catalyst), subjects, self._test, self._raises, self._budget.check, not self._budget.shown)
        batches = in_batches(self._questions.catalyst, self._questions.root)
        asked = [Subject(each.numbers, self._oracle(trials, i, bool(batches)), "" if each.row is None else shown(each.row)) for i, each in enumerate(subjects)]
        self._budget.course.outputs = len(asked)
        known = faults(asked, self._budget, AT_ONCE, APART if batches else EACH)
        strange = unordered(known, asked, partial(trials.ask, backwards=True, apart=bool(batches)))
        self._budget.course.step = Step.READING
        left = "; ".join(filter(None, [found.left, _told(batches, known)])) or None
        seen = Seen(found.rows, frozenset(strange), left, joined=_has(steps.root, _JOINING), replaced=_has(steps.root, _CHOOSING), wrong=found.wrong)
        return diagnosis(known, asked, seen, partial(candidates.sources, self._trace), Cost(self._budget.tests, self._budget.took))

    def _oracle(self, trials: Trials, number: int, apart: bool) -> Oracle:
        """What is asked about a row. Where sets may not share a batch, what many at once say is confirmed by queries of one."""
        many = partial(trials.ask, number)
        return Oracle(partial(many, apart=True), self._budget, many) if apart else Oracle(many, self._budget)

    def _settled(self) -> list[int]:
        """The places of the columns that are the same at each execution."""
        unsettled = self._questions.unsettled.columns
        columns = self._questions.catalyst.items(self._questions.root.node.output())
        return [i for i, column in enumerate(columns) if column.exprId().id() not in unsettled]


def localized(
    trace: LineageFrame, test: Callable[[Row], Any] | Column | str | None, key: Any, whole: Callable[[list[Row]], Any] | None, raises: bool, budget: Budget,
) -> Diagnosis:
    """The diagnosis of rows of a query: ``test`` is a function of a Row, a check, a Column or SQL, which is true of a wrong row, ``whole`` a function of all Rows.

    ``key`` are names of columns that say which row of the result one is, or a function of it, whose key a function that is a test is given then.
    """
    run = trace.run
    if trace.operators != (run.subject,):
        raise LocalizeError("Faults are localized in the rows of a result", value=trace, remedy="dbg.localize(df, ...), or dbg.lineage(df).where(...).")
    if run.status == "failed":
        raise LocalizeError(f"{run.name} failed, and which records crash a query is not looked for by trials", remedy="run.culprits names each of them, with its source records.")
    if test is None and whole is None:
        raise LocalizeError(
            f"{run.name} {run.status}, and raises=True says of a query that exceptions on fewer records are failures, beside a test",
            remedy="Give a test of a row: localize(df, 'total < 0', raises=True); run.culprits has the records that crash a query.",
        )
    return FrameLocalizing(trace, test_of(trace, test, key, whole, raises), _key_of(trace, key), budget, raises).diagnosis()


def _key_of(trace: LineageFrame, key: Any) -> Callable[[Row], Any] | None:
    """What gives the user's key of a row."""
    if key is None or callable(key):
        return key  # type: ignore[no-any-return]
    known = called(trace.run.questions.users, key, trace.run.frame.columns)
    return lambda row: tuple(row[name] for name in known)


def _told(batches: Sequence[str], known: Faults) -> str | None:
    """Why rows were not found to be wrong again, if functions may look at the rows around them."""
    strange = {State.NOT_WRONG, State.NOT_REPRODUCIBLE}.intersection(known.strange.values())
    return f"{', '.join(batches)} may look at all rows of a batch, and of fewer records there are others in it" if batches and strange else None


def _has(root: PlanOperator, names: Collection[str]) -> bool:
    return any(operator.name in names for operator in root)
