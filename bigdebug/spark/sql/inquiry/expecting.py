"""Expecting: the rows of a result that differ from what was expected, by their keys, and what says of each whether it is right on fewer records."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Row

from bigdebug.agents.alike import alike, name
from bigdebug.agents.expected import side
from bigdebug.agents.judges import number
from bigdebug.agents.outlines import loses, outline
from bigdebug.agents.partners import beyond
from bigdebug.errors import LocalizeError
from bigdebug.localize.oracle import Answer
from bigdebug.model import Outcome
from bigdebug.shown import shown
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.inquiry.due import MOST, RowKey, Values, due_rows, too_many
from bigdebug.spark.sql.inquiry.judging import TriedRow
from bigdebug.spark.sql.inquiry.rows_by_name import rows_by_name
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.trace.names import Names

ELSEWHERE = 1_000
"""Rows of other keys, of those that are lacking, that a row which was not expected may be instead."""

TOLD = 3
"""Of several rows, so many are told."""


class Strange(NamedTuple):
    """What is known of a row that was not expected: the rows that it may be instead, which are lacking; if ``own``, those of its key, else of keys that are not there. Where it
    differs from the only one in a number alone, that is in ``place``.
    """

    due: tuple[Values, ...]
    own: bool
    place: int | None = None


@dataclass(frozen=True)
class ByExpectation:
    """A test of the rows that are ``wrong``, by the names of their values: right is what was expected in their place.

    That a row is not there, or NULL, says nothing, unless none was expected: then it is as it should be. If ``near``, a number is right when it is no longer
    more than expected, or less: other records may have their part in it.
    """

    wrong: Mapping[bytes, Strange]
    key_of: RowKey
    near: bool = False

    @property
    def whole(self) -> bool:
        return False

    @property
    def condition(self) -> None:
        """None: which rows are wrong was seen by comparing all."""

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """None."""
        return []

    def answer(self, given: Sequence[TriedRow], before: Row | None) -> Answer:
        known = self.wrong.get(name(tuple(before or ())))
        if known is None:  # a row beside: what is none of those that were there with all records has changed
            return Answer(Outcome.FAIL)
        if not given:
            return Answer(Outcome.UNRESOLVED, gone=True) if known.own else Answer(Outcome.PASS, 0.0)
        rows = [tuple(each.row) for each in given]
        value = math.nan if len(rows) > 1 else number(rows[0] if known.place is None else rows[0][known.place])
        right = not beyond(rows, known.due) or (self.near and len(rows) == 1 and _is_past(rows[0], tuple(before or ()), known))
        if not right and before is not None and all(_loses(before, each.row) for each in given):
            return Answer(Outcome.UNRESOLVED, value, gone=True)
        return Answer(Outcome.PASS if right else Outcome.FAIL, value)

    def of_none(self, answer: Answer) -> Answer:
        """That an aggregate of nothing is not what was expected of it says nothing."""
        return replace(answer, outcome=Outcome.UNRESOLVED) if answer.fails else answer

    def is_near(self, row: Row) -> bool:
        """Whether it can be said of a row that it is more than expected, or less."""
        return self.wrong[name(tuple(row))].place is not None

    def said(self, row: Row) -> str:
        """What is wrong with a row, in a sentence."""
        known = self.wrong[name(tuple(row))]
        if not known.own:
            return f"{shown(row)} was not expected."
        was = f"{shown(row)} was to be {_names(known.due, self.key_of)}"
        if not self.near or known.place is None:
            return f"{was}."
        more = side(row[known.place], known.due[0][known.place]) > 0
        return f"{was}; no records were found whose leaving out makes exactly that of it, so it counts as right when it is no longer {'more' if more else 'less'}."

    def nearly(self) -> ByExpectation:
        """The test of those rows of which no removal makes exactly what was expected."""
        return replace(self, near=True)


def _loses(before: Row, row: Row) -> bool:
    """Whether a value that a row had is NULL on fewer records, or no number any more."""
    return loses(outline(tuple(before)), outline(tuple(row)))


def _is_past(row: Values, before: Values, known: Strange) -> bool:
    """Whether a number is on the other side of what was expected than it was."""
    if known.place is None:
        return False
    due = known.due[0][known.place]
    was, now = side(before[known.place], due), side(row[known.place], due)
    return now == -was != 0


class Unexpected(NamedTuple):
    """The rows that differ, with their names in the same order, the test of these, and what is not looked for, in sentences."""

    names: Names
    rows: list[Row]
    test: ByExpectation
    left: tuple[str, ...]


def unexpected(trace: LineageFrame, expected: Any, key: Any) -> Unexpected:
    """The rows of a trace over a result that differ from what was ``expected``: rows, a DataFrame, or values by key. ``key`` are columns, or a function of a Row.

    One job that reads all rows. Raises LocalizeError if all is as expected, TypeError for what is no row of such columns, TooLargeError for more than MOST, PredicateError for a
    key that raises.
    """
    key_of = RowKey.of(trace, key)
    due = due_rows(trace, expected, key_of)
    standing, many = trace.standing[trace.run.subject], trace.count()
    if many > MOST or isinstance(standing, Far):
        raise too_many(f"The result has {many:,} rows, and the driver compares {MOST:,} with what was expected")
    found = rows_by_name(trace, standing)
    rows = [tuple(row) for row in found.rows]
    strange = beyond(rows, due)
    missing = [due[place] for place in beyond(due, rows)]
    if not strange and not missing:
        raise LocalizeError(f"The {many:,} rows of the result are what was expected", remedy="expected= has the rows as they should be, all of them.")
    keys = {place: name(key_of(rows[place])) for place in strange}
    if len(strange) == len(missing) == 1 and len(key_of.columns) == 1:  # no key says so, but there is no other one
        keys = {strange[0]: name(key_of(missing[0]))}
    here = frozenset(keys.values())
    lacking, there = _by_key(missing, key_of), _by_key(due, key_of, here)
    often = frozenset(place for place, named in keys.items() if any(alike(rows[place], row) for row in there.get(named, ())))
    wrong = [place for place in strange if place not in often]
    elsewhere = [row for named, of_key in lacking.items() if named not in here for row in of_key]
    known = {name(rows[place]): _strange(rows[place], lacking.get(keys[place], ()), elsewhere[:ELSEWHERE]) for place in wrong}
    left = (
        _told([rows[place] for place in sorted(often)], key_of, "of the rows of the result", "there more often than expected, and which of these is one too many nothing says"),
        _told(elsewhere, key_of, "of the rows that were expected", "lacking, and what keeps rows out of a result is not looked for in a query"),
    )
    return Unexpected(found.names.take(pa.array(wrong, pa.int64())), [found.rows[place] for place in wrong], ByExpectation(known, key_of), tuple(filter(None, left)))


def _strange(row: Values, own: Sequence[Values], elsewhere: Sequence[Values]) -> Strange:
    """What is known of a row that was not expected, where those of its own key are lacking, and those of others."""
    if not own:
        return Strange(tuple(elsewhere), False)
    differing = [place for place, (value, due) in enumerate(zip(row, own[0])) if not alike(value, due)]
    is_far = len(own) == len(differing) == 1 and side(row[differing[0]], own[0][differing[0]]) != 0
    return Strange(tuple(own), True, differing[0] if is_far else None)


# ---- side by side ---------------------------------------------------------------------------------------------------


def _by_key(rows: Iterable[Values], key_of: RowKey, wanted: Collection[bytes] | None = None) -> dict[bytes, list[Values]]:
    """Rows by the names of their keys, of those that are ``wanted``."""
    found: dict[bytes, list[Values]] = defaultdict(list)
    for row in rows:
        named = name(key_of(row))
        if wanted is None or named in wanted:
            found[named].append(row)
    return found


def _names(rows: Iterable[Values], key_of: RowKey) -> str:
    """The first of some rows."""
    some = [shown(key_of.made(row)) for row in islice(rows, TOLD + 1)]
    return " and ".join(some[:TOLD]) + (" ..." if len(some) > TOLD else "")


def _told(rows: Sequence[Values], key_of: RowKey, of: str, what: str) -> str:
    """How many rows are what is said of them, and which; nothing, if none is."""
    return f"{len(rows):,} {of} {'is' if len(rows) == 1 else 'are'} {what}: {_names(rows, key_of)}" if rows else ""
