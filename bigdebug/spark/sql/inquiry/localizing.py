"""Localizing in queries: which source records make rows of a result wrong (BigSift; DESIGN 4.4).

Lineage first: a row is tried on the records that it was made of, and on no others. Which of the rows on fewer records is the same one, the groups and records
that it was made of say (``subsets.py``): some other row that is wrong on these would blame the innocent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pyroaring import BitMap
from pyspark.sql import Column, Row

from bigdebug.agents.outlines import Outline
from bigdebug.errors import LocalizeError, NondeterminismError, UntraceableError
from bigdebug.localize.causes import State
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import BESIDE, faults, gone_on
from bigdebug.localize.known import Faults
from bigdebug.localize.oracle import ENDS, Budget, Oracle, Spent, why
from bigdebug.localize.ordered import ORDERS, unordered
from bigdebug.localize.progress import Step
from bigdebug.localize.subject import Subject
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.spark.interruption import planning
from bigdebug.spark.jobs import ending
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.inquiry.candidates import CandidateRows
from bigdebug.spark.sql.inquiry.expecting import ByExpectation, Unexpected, unexpected
from bigdebug.spark.sql.inquiry.faulty import Found, faulty, of_expected, right
from bigdebug.spark.sql.inquiry.judging import Test, test_of
from bigdebug.spark.sql.inquiry.subsets import PROCEDURES
from bigdebug.spark.sql.inquiry.triable import Told, check_triable, in_batches
from bigdebug.spark.sql.inquiry.trials import Trials
from bigdebug.spark.sql.inquiry.tried import Tried
from bigdebug.spark.sql.inquiry.trying import Trying, trying_session
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.plans.reading import PlanOperator

EACH = 1_000
"""Up to so many candidates, each is left out once: that tries their square of records."""

_JOINING = ("Join", "AsOfJoin", "Except", "Intersect")
"""Operators whose rows may be there because others are not."""

_CHOOSING = ("Limit", "Window")
"""Operators that take the place of a row into account: without it, others move up."""

APART = 128
"""And up to so many, where each set takes a query of its own."""

_UNFOUND = (State.NOT_WRONG, State.UNREPAIRED, State.TOO_MANY)
"""How a search ends that found nothing without which a row is what was expected."""

AT_ONCE = 31
"""Sets that are asked about together: a query of one takes about as long."""


class FrameLocalizing:
    """One question: which records make rows of ``trace`` wrong, as ``asked`` has it: a test, or what differs from what was expected. ``key`` gives the user's key of a row."""

    def __init__(self, trace: LineageFrame, asked: Callable[[], Test | Unexpected], key: Callable[[Row], Any] | None, budget: Budget, raises: bool) -> None:
        self._trace, self._asked, self._key, self._budget, self._raises = trace, asked, key, budget, raises
        self._questions = trace.run.questions
        self._right: Sequence[Outline] | None = None

    @planning()
    def diagnosis(self) -> Diagnosis:
        """Search, and tell. Raises LocalizeError where there is nothing to look for, or nothing can be tried."""
        try:
            return self._diagnosis()
        except (NondeterminismError, UntraceableError) as problem:
            raise LocalizeError(f"This query cannot be tried on fewer records: {problem.what}", value=problem.value, remedy=problem.remedy) from problem

    def _diagnosis(self) -> Diagnosis:
        check_triable(self._questions.catalyst, self._questions.root, PROCEDURES)
        root = self._questions.steps().root
        try:
            self._budget.check()
            with ending(self._questions.catalyst.spark.sparkContext, self._budget.check):
                test, found = self._found()
                if not found.rows:
                    return diagnosis(Faults(), [], Seen([], left=found.left), _of_none, self._cost)
                self._budget.check()
                candidates = CandidateRows(self._questions, found.standings)
                rows, trials_by = self._trials(root, candidates, found)
        except Spent as spent:  # before anything was tried
            return diagnosis(Faults(ended=why(spent)), [], Seen([]), _of_none, self._cost)
        known, strange, tests = Faults(), set[int](), [test] * len(rows)
        batches = in_batches(self._questions.catalyst, self._questions.root)
        asked, again = list[Subject](), list(range(len(rows)))
        self._budget.course.outputs = len(rows)
        while again:
            trials = trials_by(tests[again[0]])
            subjects = [self._subject(trials, i, rows[i], bool(batches)) for i in range(len(rows))]
            asked = [subjects[i] if i in again else asked[i] for i in range(len(rows))]
            try:
                if not batches:
                    self._learn(trials, {i: asked[i] for i in again})
                self._look(known, test, {i: asked[i] for i in again}, APART if batches else EACH)
                strange |= unordered(known, asked, trials.together if not batches else trials.apart, again, ORDERS[:2])  # each is a query
            except ENDS as end:
                known.ended = why(end)
            again = _again(known, found.rows, tests)
        self._budget.course.step = Step.READING
        return diagnosis(known, asked, self._seen(found, root, tests, strange, _told(batches, known)), partial(candidates.sources, self._trace), self._cost)

    @property
    def _cost(self) -> Cost:
        return Cost(self._budget.tests, self._budget.took)

    def _found(self) -> tuple[Test, Found]:
        """What is wrong, and with which rows."""
        asked = self._asked()
        if isinstance(asked, Unexpected):
            return asked.test, of_expected(self._trace, asked, self._budget.check)
        return asked, faulty(self._trace, asked, self._budget.check)

    def _trials(self, root: PlanOperator, candidates: CandidateRows, found: Found) -> tuple[list[Tried], Callable[[Test], Trials]]:
        """The wrong rows as they are tried, and what tries them by a test."""
        catalyst, settled = trying_session(self._questions.catalyst), self._settled()
        told, held = Told(catalyst, root), candidates.held(catalyst)
        rows = [Tried(numbers, row, settled, self._key) for numbers, row in zip(candidates.numbers, found.rows)]

        def trials(test: Test) -> Trials:
            return Trials(Trying(catalyst, root, told, held, rows, test, self._budget.check, not self._budget.shown), rows, test, self._raises)

        return rows, trials

    def _seen(self, found: Found, root: PlanOperator, tests: Sequence[Test], strange: Collection[int], told: str | None) -> Seen:
        said = [test.said(row) if isinstance(test, ByExpectation) and row is not None else "" for test, row in zip(tests, found.rows)]
        left = "; ".join(filter(None, [found.left, told])) or None
        return Seen(found.rows, frozenset(strange), left, said, joined=_has(root, _JOINING), replaced=_has(root, _CHOOSING), wrong=found.wrong)

    def _look(self, known: Faults, test: Test, asked: Mapping[int, Subject], each_of: int) -> None:
        """Look for what makes rows wrong."""
        mine, subjects = Faults(), [*asked.values()]
        gone_on(partial(faults, subjects, self._budget, AT_ONCE, each_of, mine), mine, subjects, partial(self._right_outlines, test))
        known.take(mine, [*asked])

    def _right_outlines(self, test: Test) -> Sequence[Outline]:
        """What right rows hold."""
        with ending(self._questions.catalyst.spark.sparkContext, self._budget.check):
            self._right = right(self._trace, test)
        return self._right

    def _subject(self, trials: Trials, number: int, tried: Tried, apart: bool) -> Subject:
        """A row as it is searched for. Where sets may not share a batch, what many at once say is confirmed by queries of one."""
        many = partial(trials.ask, number)
        oracle = Oracle(partial(many, apart=True), self._budget, many, self._right) if apart else Oracle(many, self._budget, right=self._right)
        return Subject(tried.numbers, oracle, "" if tried.row is None else shown(tried.row))

    def _learn(self, trials: Trials, asked: Mapping[int, Subject]) -> None:
        """Ask of several rows at once what is asked of each first: all of its candidates, none, and all but each of them. Spent passes."""
        sets: dict[int, list[BitMap]] = {}
        for i, subject in asked.items():
            every = BitMap(range(len(subject.candidates)))
            if len(every) <= BESIDE:
                sets[i] = [every, BitMap(), *(every - BitMap([each]) for each in every)]
        if len(sets) > 1 and not self._budget.counts:
            for i, answers in trials.together(sets).items():
                asked[i].oracle.learn(sets[i], answers)

    def _settled(self) -> list[int]:
        """The places of the columns that are the same at each execution."""
        unsettled = self._questions.unsettled.columns
        columns = self._questions.catalyst.items(self._questions.root.node.output())
        return [i for i, column in enumerate(columns) if column.exprId().id() not in unsettled]


def localized(
    trace: LineageFrame, test: Callable[[Row], Any] | Column | str | None, key: Any, whole: Callable[[list[Row]], Any] | None, expected: Any, raises: bool, budget: Budget,
) -> Diagnosis:
    """The diagnosis of rows of a query: ``test`` is a function of a Row, a check, a Column or SQL, which is true of a wrong row, ``whole`` a function of all Rows, ``expected`` what
    they were to be.

    ``key`` are names of columns that say which row of the result one is, or a function of it, whose key a function that is a test is given then.
    """
    run = trace.run
    if trace.operators != (run.subject,):
        raise LocalizeError("Faults are localized in the rows of a result", value=trace, remedy="dbg.localize(df, ...), or dbg.lineage(df).where(...).")
    if run.status == "failed":
        raise LocalizeError(f"{run.name} failed, and which records crash a query is not looked for by trials", remedy="run.culprits names each of them, with its source records.")
    if test is None and whole is None and expected is None:
        raise LocalizeError(
            f"{run.name} {run.status}, and raises=True says of a query that exceptions on fewer records are failures, beside a test",
            remedy="Give a test of a row: localize(df, 'total < 0', raises=True); run.culprits has the records that crash a query.",
        )
    if expected is not None:  # its key says what belongs together, and may be that of several rows
        return FrameLocalizing(trace, partial(unexpected, trace, expected, key), None, budget, raises).diagnosis()
    return FrameLocalizing(trace, partial(test_of, trace, test, key, whole, raises), _key_of(trace, key), budget, raises).diagnosis()


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


def _again(known: Faults, rows: Sequence[Row | None], tests: list[Test]) -> list[int]:
    """The rows that no removal makes exactly what was expected, which are looked at once more by the test that takes their side: it is in ``tests`` then."""
    found = []
    for i, state in known.strange.items() if known.ended is None else ():
        test, row = tests[i], rows[i]
        if state in _UNFOUND and isinstance(test, ByExpectation) and row is not None and not test.near and test.is_near(row):
            tests[i] = test.nearly()
            found.append(i)
    for i in found:
        del known.strange[i]
    return found


def _of_none(numbers: Iterable[int]) -> dict[int, tuple[SourceRecord, ...]]:
    """The source records of no candidates."""
    return {}
