"""Localizing in queries: which source records make rows of a result wrong (BigSift; DESIGN 4.4).

Lineage first: a row is tried on the records that it was made of, and on no others. Which of the rows on fewer records is the same one, the groups and records
that it was made of say (``subsets.py``): some other row that is wrong on these would blame the innocent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyroaring import BitMap
from pyspark.sql import Column, Row

from bigdebug.agents.judges import Judge
from bigdebug.errors import LocalizeError, NondeterminismError, PredicateError, UntraceableError
from bigdebug.localize.causes import State
from bigdebug.localize.diagnosis import Cost, Diagnosis
from bigdebug.localize.faults import Faults, Subject, faults
from bigdebug.localize.oracle import Budget, Oracle
from bigdebug.localize.verdict import Seen, diagnosis
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.candidates import CandidateRows, Standing, standing_of
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.judging import ByCondition, ByFunction, Test
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.recognized import index
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.sql.subsets import Told, untried
from bigdebug.spark.sql.trying import Trials, Tried, trying_session
from bigdebug.trace.names import Names

OUTPUTS = 20
"""Of so many wrong rows the causes are looked for."""

INDEXED = 3
"""Of more wrong rows the lineage is indexed first: to trace each takes a job or several."""

EACH = 1_000
"""Up to so many candidates, each is left out once: that tries their square of records."""

AT_ONCE = 31
"""Sets that are asked about together: a query of one takes about as long."""


class FrameLocalizing:
    """One question: which records make rows of ``trace`` wrong. ``test`` is a function of a Row, or a condition; ``whole`` is a test of all of them."""

    def __init__(
        self, trace: LineageFrame, test: Callable[[Row], Any] | Column | str | None, key: Any, whole: Callable[[list[Row]], Any] | None, raises: bool, budget: Budget,
    ) -> None:
        self._trace, self._raises, self._budget = trace, raises, budget
        self._given, self._whole = test, whole
        self._run, self._questions = trace.run, trace.run.questions
        if trace.operators != (self._run.subject,):
            raise LocalizeError("Faults are localized in the rows of a result", value=trace, remedy="dbg.localize(df, ...), or dbg.lineage(df).where(...).")
        self._key = _key_of(trace, key)
        self._test = self._judged(key)

    def diagnosis(self) -> Diagnosis:
        """Search, and tell. Raises LocalizeError where there is nothing to look for, or nothing can be tried."""
        try:
            return self._diagnosis()
        except (NondeterminismError, UntraceableError) as problem:
            raise LocalizeError(f"This query cannot be tried on fewer records: {problem.what}", value=problem.value, remedy=problem.remedy) from problem

    def _diagnosis(self) -> Diagnosis:
        steps = self._questions.steps()
        catalyst = trying_session(self._questions.catalyst)
        told = Told(catalyst, steps.root)
        rows, standings, left = self._wrong(steps)
        candidates, settled = CandidateRows(self._questions, standings), self._settled()
        subjects = [Tried(numbers, row, settled, self._key) for numbers, row in zip(candidates.numbers, rows)]
        trials = Trials(catalyst, steps.root, told, candidates.held(catalyst), subjects, self._test, self._raises)
        asked, known = self._searched(trials, subjects)
        _check(known)
        seen = Seen(rows, _unordered(known, asked, trials), left)
        return diagnosis(known, asked, seen, partial(candidates.sources, self._trace), Cost(self._budget.tests, self._budget.took))

    def _searched(self, trials: Trials, tried: Sequence[Tried]) -> tuple[list[Subject], Faults]:
        """What is known of the causes: without them rows are there and right; or, where that cannot be had, not there."""
        def asked(there: bool) -> list[Subject]:
            return [Subject(each.numbers, Oracle(partial(trials.ask, i, there=there), self._budget)) for i, each in enumerate(tried)]

        known = faults(asked(there=True), self._budget, AT_ONCE, EACH)
        gone = [i for i, state in known.strange.items() if state is State.UNREPAIRED and tried[i].gone]
        for i in gone:
            del known.strange[i]
        subjects = asked(there=False)
        return subjects, faults(subjects, self._budget, AT_ONCE, EACH, known, gone) if gone and known.ended is None else known

    def _judged(self, key: Any) -> Test:
        if self._whole is not None:
            return ByFunction(Judge(self._whole, None, True, self._raises))
        if isinstance(self._given, Column | str):
            return ByCondition.of(self._questions.users, self._questions.root.node, self._given)
        assert self._given is not None
        return ByFunction(Judge(self._given, key if callable(key) else None, False, self._raises))

    # ---- which rows -------------------------------------------------------------------------------------------

    def _wrong(self, steps: Steps) -> tuple[list[Row | None], list[Standing], str | None]:
        """The wrong rows, where the records stand that each was made of, and what is left out."""
        if self._whole is not None:
            return [None], [self._made_of(self._trace)], None
        wrong = self._trace.where(self._test.judge.wrong if isinstance(self._test, ByFunction) else self._given)  # type: ignore[arg-type]
        try:
            names = wrong.standing[self._run.subject]
        except PredicateError as problem:
            raise PredicateError(problem.what.replace("The predicate of where()", "The test of localize()"), remedy=problem.remedy) from problem
        if names is None:
            names = steps.every(self._run.subject)
        if not len(names):
            raise LocalizeError(
                f"The test finds nothing wrong with any of the {self._trace.count():,} rows of the result",
                remedy="It is true of a row that is wrong: localize(df, 'total < 0').",
            )
        if isinstance(names, Far):
            raise untried(f"{len(names):,} rows are wrong", "Choose fewer: dbg.lineage(df).where(...).")
        few = names[:OUTPUTS]
        left = f"of {len(names):,} wrong rows, {len(few)} were looked at" if len(few) < len(names) else None
        if len(few) > INDEXED and not self._questions.built:
            index(self._run)
        ordered, rows = self._rows(steps, few)
        return rows, [self._made_of(wrong.named(ordered[i: i + 1])) for i in range(len(ordered))], left

    def _rows(self, steps: Steps, names: Names) -> tuple[Names, list[Row | None]]:
        """Names of rows, and the rows in the same order; of rows that have one name, the first."""
        c = self._questions.catalyst
        plan, name = steps.rows(self._run.subject, names)
        columns = c.items(self._questions.root.node.output())
        called = c.alias(name, "__bigdebug_name")
        chosen = c.project([*columns, called], plan)
        held = c.local(chosen, c.held(c.frame(chosen)))
        ordered = c.table(held, {"name": called.toAttribute()})["name"].combine_chunks()
        rows = unheard(c.frame(c.project([c.alias(column, f"c{i}") for i, column in enumerate(columns)], held)), "collect")
        made = Row(*(column.name() for column in columns))
        first = {repr(each): i for i, each in reversed(list(enumerate(ordered.to_pylist())))}
        return ordered.take(pa.array(sorted(first.values()))), [made(*rows[i]) for i in sorted(first.values())]

    def _made_of(self, rows: LineageFrame) -> Standing:
        return standing_of(self._questions, rows.goBackAll().standing if self._questions.leaves else {})

    def _settled(self) -> list[int]:
        """The places of the columns that are the same at each execution."""
        unsettled = self._questions.unsettled.columns
        columns = self._questions.catalyst.items(self._questions.root.node.output())
        return [i for i, column in enumerate(columns) if column.exprId().id() not in unsettled]


def _key_of(trace: LineageFrame, key: Any) -> Callable[[Row], Any] | None:
    """What gives the user's key of a row: columns, by their names, or a function."""
    if key is None or callable(key):
        return key  # type: ignore[no-any-return]
    names = [key] if isinstance(key, str) else list(key)
    known = called(trace.run.questions.users, names, trace.run.frame.columns)
    return lambda row: tuple(row[name] for name in known)


def _unordered(known: Faults, subjects: Sequence[Subject], trials: Trials) -> frozenset[int]:
    """The rows that are right, or stay wrong without their cause, if the records come in another order."""
    found = set()
    for fault in known.found if known.ended is None else ():
        number = fault.explains[0]
        every = BitMap(range(len(subjects[number].candidates)))
        whole, repaired = trials.ask(number, [every, every - subjects[number].places(fault.repair)], backwards=True)
        if not whole.fails or not repaired.passes:
            found.add(number)
    return frozenset(found)


def _check(known: Faults) -> None:
    """Raise LocalizeError if no records at all are the cause."""
    if not known.found and set(known.strange.values()) == {State.ALWAYS_WRONG}:
        raise LocalizeError(
            "The test fails on what the query gives of no records at all, so no records are the cause", remedy="See that it is false where there is nothing to be wrong.",
        )
