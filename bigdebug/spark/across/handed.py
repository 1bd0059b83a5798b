"""Handed: the rows that an action gave to its program as a pandas frame, and that a step took from there: found again by what is in them."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.types import FractionalType

from bigdebug.actors.bare import bare
from bigdebug.actors.frames import FRAMES
from bigdebug.errors import BigdebugError, NondeterminismError, TooLargeError, UntraceableError
from bigdebug.outside import from_outside
from bigdebug.shown import counted
from bigdebug.spark.across.looseness import Numbers, numbers_in, unlike
from bigdebug.spark.across.rowkeys import Keys, keys_of
from bigdebug.spark.across.taken import Refusal, Taken, labels_of
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.failures import brief
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.lineage_frame import lineage_of
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.plans.fingerprints import fingerprint
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.across.located import Extent, Located, Unit, gives_path
from bigdebug.trace.names import Names, array_of, distinct, matched, places
from bigdebug.trace.positions import Positions

ACTION = "toPandas"
"""The action that hands rows on."""

EQUAL = "a row that {name!r} gave is equal to others: the answer is for all of these"
_UNSEEN = "whether {columns} of what {name!r} gave was changed in place cannot be seen: each execution may give it otherwise"

_MOVED = (
    "rows that {name!r} gave stand elsewhere than their index says: it was given anew, or what is in them was changed so that they are the same rows in other places, and that cannot be seen: "
    "the answer is for what is in them"
)
_IN_ORDER = frozenset(("LogicalRelation", "LocalRelation", "Range", "Project", "Filter", "SubqueryAlias", "View", "Generate"))
"""Nodes of plans whose rows come in the same order each time."""


class Handed:
    """The frame that a run's action gave, row by row. Nothing is kept of it, and nothing computed, until a step takes it.

    It may have been changed in place by then. Its rows are found by what is in them, so other orders do no harm, and what else was done is seen when somebody asks.
    """

    def __init__(self, run: FrameRun, step: str, frame: Any) -> None:
        """``step`` is what the run is called as a step. The frame is known by itself, and nobody but its user holds it."""
        self._run = run
        self._step = step
        self._taken: list[Taken] = []
        self._alone = threading.Lock()
        FRAMES.tell_given(frame, Extent(gives_path(step), Unit.ROW, "item"), self._take)

    @property
    def taken(self) -> tuple[Taken, ...]:
        """What steps took of it: once, however often, but if it was changed in place between two of them."""
        return tuple(self._taken)

    def at(self, path: str) -> Taken | None:
        """What is called so; None if that is another step's."""
        return next((each for each in self._taken if each.path == path), None)

    def _take(self, frame: Any) -> Extent:
        """A step takes the frame as it is now. A pass over it."""
        keys, numbers = self._now_in(frame)
        with self._alone:
            number = len(self._taken) + 1
            now = Taken(gives_path(self._step if number == 1 else f"{self._step}/{number}"), len(frame), keys, numbers, labels_of(frame.index))
            known = next((each for each in self._taken if each.same(now)), None)
            if known is None:
                self._taken.append(now)
            return (known or now).extent

    def _now_in(self, frame: Any) -> tuple[Keys | Refusal, Numbers]:
        try:
            if list(frame.columns) != self._run.frame.columns:
                return self._changed("columns")
            keys = keys_of(bare(frame).iloc[:, self._settled])
            try:
                return keys, numbers_in(bare(frame), self._numbers)
            except (TypeError, ValueError):
                return self._changed("values")
        except BigdebugError as refused:
            return Refusal.of(refused), {}
        except Exception as trouble:  # of what the cells are, or of Spark, which has ended
            if from_outside(trouble):
                raise
            what = f"What {self._run.name!r} gave to its program could not be looked at: {type(trouble).__name__}"
            return Refusal(UntraceableError, what, None, "Write it to a file, and read that."), {}

    def _changed(self, what: str) -> tuple[Refusal, Numbers]:
        return Refusal(UntraceableError, f"The frame that {self._run.name!r} gave was changed after that: it has other {what}", None, "Put that change into a step."), {}

    # ---- both ways --------------------------------------------------------------------------------------------

    def names(self, taken: Taken, positions: Positions) -> tuple[Names, str]:
        """The names of the records that rows of the frame are; and why they are more than that, where they are. Two jobs like the query itself.

        Raises NondeterminismError where the query does not give these rows now.
        """
        keys = taken.known()
        wanted = keys[positions]
        names, now, numbers = self._now()
        self._check_all(taken, now, numbers)
        among = np.isin(now, wanted)
        mine = np.isin(keys, wanted)
        self._compare(0, int(mine.sum()), int(among.sum()))
        found = distinct(names.take(pa.array(np.flatnonzero(among))))
        return found, self._why(int(mine.sum()) > len(positions) and len(found) > len(np.unique(wanted)), self._settled_order and taken.moved(now))

    def located(self, taken: Taken, names: Names) -> list[Located]:
        """Where records with these names stand in the frame, all records if None. Two jobs like the query itself."""
        keys = taken.known()
        if isinstance(names, Far):
            raise TooLargeError(f"{counted(len(names))} are more than are found in a frame", remedy="Ask about fewer.")
        every, now, numbers = self._now()
        self._check_all(taken, now, numbers)
        chosen = np.arange(len(now)) if names is None else places(every, names)
        wanted = now[chosen]
        there = np.isin(keys, wanted)
        among = int(np.isin(now, wanted).sum())
        self._compare(len(np.setdiff1d(wanted, keys)), int(there.sum()), among)
        found = np.flatnonzero(there)
        return [Located.of(taken.path, Unit.ROW, found, self._why(among > len(chosen), self._settled_order and taken.moved(now)))] if len(found) else []

    def _why(self, more: bool, moved: bool) -> str:
        unseen = [name for i, name in enumerate(self._run.frame.columns) if i in self._loose and i not in self._numbers]
        why = [EQUAL.format(name=self._run.name)] if more else []
        if unseen:
            why.append(_UNSEEN.format(columns=", ".join(unseen), name=self._run.name))
        if moved:
            why.append(_MOVED.format(name=self._run.name))
        return "; ".join(why)

    def _check_all(self, taken: Taken, now: Keys, numbers: Numbers) -> None:
        """All rows of the frame have to be among those of the query, be it that few are asked about: of 1, 2, 3 that were made 2, 3, 4 two look as if nothing was done to them."""
        keys = taken.known()
        each, times = np.unique(keys, return_counts=True)
        every, often = np.unique(now, return_counts=True)
        found = np.zeros(len(each), np.int64)
        _, mine, theirs = np.intersect1d(each, every, assume_unique=True, return_indices=True)
        found[mine] = often[theirs]
        self._compare(int(np.maximum(times - found, 0).sum()), 0, 0)
        for i, values in taken.numbers.items():
            self._compare(unlike(keys, values, now, numbers[i]), 0, 0)

    def _compare(self, lost: int, given: int, now: int) -> None:
        if lost or given != now:
            raise NondeterminismError(
                f"{counted(lost or abs(given - now))} of the frame the query does not give now, or the other way around. The frame was changed after the query gave it, or it is another "
                "one each time", value=self._run.name,
                remedy="Put what you change into a step. Where its order or its functions do not settle the result, or settings of toPandas() were others: write it to a file, and read that.",
            )

    def _now(self) -> _Now:
        """Raises UntraceableError where it fails now."""
        try:
            with bounded(), _unwarned():
                return self._computed()
        except (PySparkException, Py4JError) as trouble:
            if from_outside(trouble) or is_cancelled(trouble):
                raise
            raise UntraceableError(
                f"{self._run.name!r} gave a frame, and fails when it is computed once more: {brief(trouble).rstrip('.')}", remedy="Write it to a file, and read that.",
            ) from trouble

    def _computed(self) -> _Now:
        """How pandas has a column depends on all that is in it, so all rows are asked for; and names are no values of pandas', so hashes stand for them."""
        _ = lineage_of(self._run).standing  # raises where a limit is not settled
        catalyst = self._run.questions.catalyst
        plan, name = self._run.questions.steps().rows(self._run.subject, None)
        hashes = [catalyst.alias(each, f"__bigdebug_name_{i}") for i, each in enumerate(fingerprint(catalyst, plan, [name]))]
        plan = catalyst.extended(plan, hashes)
        marks = [each.toAttribute() for each in hashes]
        columns = catalyst.items(self._run.questions.root.node.output())
        known = catalyst.table(plan, {"name": name} | {f"h{i}": mark for i, mark in enumerate(marks)})
        asked = [*marks, *(columns[i] for i in (*self._settled, *self._numbers))]
        frame = unheard(catalyst.frame(plan).select(*(catalyst.column(each).alias(f"c{i}") for i, each in enumerate(asked))), ACTION)
        at = matched(_pairs(array_of(known["h0"]), array_of(known["h1"])), _pairs(*(pa.array(frame.iloc[:, i], pa.int64()) for i in range(len(marks)))))
        self._compare(int((at < 0).sum()), 0, 0)
        first = len(marks) + len(self._settled)
        numbers = numbers_in(frame.iloc[:, first:], range(len(self._numbers)))
        return _Now(array_of(known["name"]).take(pa.array(at)), keys_of(frame.iloc[:, len(marks) : first]), {column: numbers[i] for i, column in enumerate(self._numbers)})

    @cached_property
    def _settled_order(self) -> bool:
        """Whether each execution gives the rows in the same order, as far as that is seen at once: they are those of files, one by one."""
        return all(operator.node.getClass().getSimpleName() in _IN_ORDER for operator in self._run.questions.root)

    @cached_property
    def _settled(self) -> list[int]:
        """The positions of columns that each execution gives alike. Raises NondeterminismError if there are none."""
        found = [i for i in range(len(self._run.frame.columns)) if i not in self._loose]
        if not found:
            raise NondeterminismError("No value of the result is the same in each execution", value=self._run.name, remedy="Give a column that tells rows apart.")
        return found

    @cached_property
    def _numbers(self) -> list[int]:
        """The positions of columns of floats that each execution gives nearly alike."""
        return [i for i, field in enumerate(self._run.frame.schema.fields) if i in self._loose and isinstance(field.dataType, FractionalType)]

    @cached_property
    def _loose(self) -> frozenset[int]:
        return loose_in(self._run)


class _Now(NamedTuple):
    """By row of a result, as it is computed now: the name of the record, what the row is known by, and the values that it has besides."""

    names: Names
    keys: Keys
    numbers: Numbers


def loose_in(run: FrameRun) -> frozenset[int]:
    """The positions of columns of a run's result that another execution may give otherwise."""
    columns, loose = run.questions.catalyst.items(run.questions.root.node.output()), run.questions.loose
    return frozenset(i for i, column in enumerate(columns) if column.exprId().id() in loose)


def _pairs(one: Any, other: Any) -> Any:
    return pa.StructArray.from_arrays([one, other], ["h0", "h1"])


class _OfThread:
    """What a filter of warnings asks whether a text matches: whatever it says, if this thread says it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def match(self, text: str) -> bool:
        return threading.get_ident() == self._thread


@contextmanager
def _unwarned() -> Iterator[None]:
    """Within, this thread warns nobody: toPandas() warns of what is raised besides, and its user did not call it. Filters are those of all threads, so others are not asked."""
    entry: Any = ("ignore", _OfThread(), Warning, None, 0)
    there: Any = warnings.filters
    there.insert(0, entry)
    try:
        yield
    finally:
        now: Any = warnings.filters
        for filters in (there, now):  # who catches warnings meanwhile puts another one in its place
            filters[:] = [each for each in filters if each is not entry]
