"""Trials: what a test says of wrong rows on sets of the records that they were made of (DESIGN 4.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from pyroaring import BitMap
from pyspark.errors import AnalysisException, PySparkException

from bigdebug.errors import LocalizeError
from bigdebug.localize.oracle import Answer
from bigdebug.localize.ordered import Asked
from bigdebug.model import Outcome
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.failures import brief
from bigdebug.spark.sql.inquiry.judging import Test, TriedRow
from bigdebug.spark.sql.inquiry.tried import Tried, same, there_of
from bigdebug.spark.sql.inquiry.trying import Trying

CELLS = 1 << 20
"""Records that the sets of one query have in all, at most."""

RAISED = 32
"""Queries for a row that raise, after which it is not looked for any more on which of their sets they do."""

_BESIDE = 20
"""Rows of a set beside the one that is asked about, of which more are not brought to the driver."""


class Trials:
    """What a test says of each of the wrong rows that are tried. With ``raises``, a query that does is a failure."""

    def __init__(self, trying: Trying, subjects: Sequence[Tried], test: Test, raises: bool) -> None:
        self._trying, self._subjects, self._test, self._raises = trying, subjects, test, raises
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
            given = iter(self._trying.given([(subject, each) for subject, sets in batch.items() for each in sets], None, order))
        except PySparkException as problem:
            if isinstance(problem, AnalysisException) or is_cancelled(problem):
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
            given = self._trying.given([(subject, each) for each in sets], subject, order)
        except PySparkException as problem:
            if isinstance(problem, AnalysisException) or is_cancelled(problem):
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
            tried.wrong = [each.row for each in given[0] if self._trying.moves and self._is_wrong(each)]
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
        if not self._trying.moves or tried.row is None or not answer.passes or answer.gone:
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
