"""Faulty: the rows of a result that a test finds wrong, and the source records that each was made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import repeat
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Row

from bigdebug.agents.check import Check
from bigdebug.agents.judges import truth
from bigdebug.agents.outlines import Outline
from bigdebug.errors import LocalizeError, PredicateError, TooLargeError
from bigdebug.localize.faults import OUTPUTS
from bigdebug.spark.predicate import PREDICATE, TEST, guarded, told
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.inquiry.candidates import Standing, standing_of
from bigdebug.spark.sql.inquiry.expecting import Unexpected
from bigdebug.spark.sql.inquiry.judging import ByFunction, Test, TriedRow
from bigdebug.spark.sql.inquiry.rows_by_name import rows_by_name
from bigdebug.spark.sql.inquiry.triable import untried
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.recognized import index
from bigdebug.trace.names import Names
from bigdebug.trace.places import count, evenly

MOST = 64
"""Of more wrong rows than these, those are chosen among the first ones that were made of the fewest records: to trace each takes some milliseconds."""

INDEXED = 3
"""Of more wrong rows the lineage is indexed first: to trace each takes a job or several."""

SOME = 256
"""Of so many rows of a result, those that are right say what a row holds where nothing is wrong."""


class Found(NamedTuple):
    """Wrong rows, None for all of them as a whole; where the records stand that each was made of; and what is left out of how many, if anything is."""

    rows: Sequence[Row | None]
    standings: Sequence[Standing]
    left: str | None = None
    wrong: int = 0


def faulty(trace: LineageFrame, test: Test, check: Callable[[], None]) -> Found:
    """The rows of a trace over a result that a test finds wrong. Raises LocalizeError if none is, PredicateError for a test that raises.

    ``check`` is called between its steps, and may raise.
    """
    if test.whole:
        return _as_a_whole(trace, test)
    wrong, run = trace.where(test.condition), trace.run
    try:
        names = wrong.standing[run.subject]
    except PredicateError as problem:
        raise PredicateError(problem.what.replace(PREDICATE, TEST), remedy=problem.remedy) from problem
    if names is None:
        names = run.questions.steps().every(run.subject)
    if not len(names):
        raise LocalizeError(
            f"The test finds nothing wrong with any of the {trace.count():,} rows of the result{_said(test)}", remedy="It is true of a row that is wrong: localize(df, 'total < 0').",
        )
    if isinstance(names, Far):
        raise untried(f"{len(names):,} rows are wrong", "Choose fewer: dbg.lineage(df).where(...).")
    check()
    ordered, rows, _ = rows_by_name(trace, names[:MOST])
    return _traced(trace, ordered, rows, len(names), check)


def of_expected(trace: LineageFrame, differing: Unexpected, check: Callable[[], None]) -> Found:
    """The rows that are not what was expected. ``check`` as above."""
    check()
    many = len(differing.rows)
    found = _traced(trace, differing.names[:MOST], differing.rows[:MOST], many, check) if many else Found([], [])
    return found._replace(left="; ".join(filter(None, [found.left, *differing.left])) or None)


def right(trace: LineageFrame, test: Test) -> list[Outline]:
    """Outlines of some rows of a trace over a result that a test finds nothing wrong with, by one job; none of all rows as a whole."""
    questions, subject = trace.run.questions, trace.run.subject
    names = trace.standing[subject]
    if names is None:
        names = questions.steps().every(subject)
    if test.whole or isinstance(names, Far) or not len(names):
        return []
    some = names.take(pa.array(evenly(len(names), SOME)))
    known = rows_by_name(trace, some, test.columns(questions.catalyst))
    more = zip(*known.more) if known.more else repeat(())
    answers = [test.answer([TriedRow((), row, values)], None) for row, values in zip(known.rows, more)]
    return list({answer.outline for answer in answers if answer.passes})


def _traced(trace: LineageFrame, names: Names, rows: list[Row], many: int, check: Callable[[], None]) -> Found:
    """Rows of a result that are wrong, with their names, in the same order, and what each was made of; there are so ``many``. ``check`` as above."""
    run = trace.run
    if len(names) > INDEXED and not run.questions.built:
        with suppress(TooLargeError):  # it takes longer without
            index(run)
    ordered, rows = _once(names, rows)
    made_of = []
    for i in range(len(ordered)):
        check()
        made_of.append(_made_of(trace.named(ordered[i: i + 1])))
    fewest = sorted(range(len(rows)), key=lambda i: _size(made_of[i]))[:OUTPUTS]
    among = f" of the first {MOST}" if many > MOST else ""
    left = f"of {many:,} wrong rows, {len(fewest)} were looked at, those{among} made of the fewest records" if len(fewest) < len(rows) else None
    return Found([rows[i] for i in fewest], [made_of[i] for i in fewest], left, max(many, len(rows)))


def _size(standing: Standing) -> int:
    return sum(map(count, standing.values()))


def _as_a_whole(trace: LineageFrame, test: Test) -> Found:
    rows = trace.collect()
    with told(TEST):
        if not guarded(test.condition, truth)(rows):
            if isinstance(check := getattr(test.condition, "__self__", None), Check):
                raise LocalizeError(f"The test finds nothing wrong with the {len(rows):,} rows of the result as a whole: {check} of none")
            raise LocalizeError(
                f"The test finds nothing wrong with the {len(rows):,} rows of the result as a whole",
                remedy="It is true of a list of Rows that is wrong: localize(df, whole=lambda rows: sum(row.n for row in rows) < 0).",
            )
    return Found([None], [_made_of(trace)])


def _once(ordered: Names, rows: list[Row]) -> tuple[Names, list[Row]]:
    """Of rows that have one name, the first."""
    first = sorted({repr(each): i for i, each in reversed(list(enumerate(ordered.to_pylist())))}.values())
    return ordered.take(pa.array(first)), [rows[i] for i in first]


def _made_of(rows: LineageFrame) -> Standing:
    questions = rows.run.questions
    return standing_of(questions, rows.goBackAll().standing if questions.leaves else {})


def _said(test: Test) -> str:
    judge = test.judge if isinstance(test, ByFunction) else None
    return f": {judge.test} of none" if judge is not None and isinstance(judge.test, Check) else ""
