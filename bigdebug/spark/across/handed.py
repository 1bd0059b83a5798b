"""Handed: the rows that an action gave to its program as a pandas frame, and that a step took from there: found again by what is in them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.actors.frames import FRAMES
from bigdebug.errors import BigdebugError, NondeterminismError, TooLargeError, UntraceableError
from bigdebug.outside import from_outside
from bigdebug.shown import counted
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.lineage_frame import lineage_of
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.plans.fingerprints import fingerprint
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.names import Names, array_of, distinct, matched, places
from bigdebug.trace.positions import Positions

Keys = npt.NDArray[np.uint64]
"""By row, what it is known by: equal for equal rows. Others that have an equal one by chance are taken for equal rows, and are told with these."""

ACTION = "toPandas"
"""The action that hands rows on."""

_PLAIN = frozenset((str, bytes, bool, int, Decimal, date, datetime, timedelta, type(None)))
"""Types of objects in frames whose equal values have equal hashes."""

EQUAL = "a row that {name!r} gave is equal to others: the answer is for all of these"


class Handed:
    """The frame that a run's action gave, row by row. Nothing is kept of it, and nothing computed, until a step takes it."""

    def __init__(self, run: FrameRun, path: str, frame: Any) -> None:
        """``path`` is what the step gives in no file. The frame is known by itself, as those of steps are, and nobody but its user holds it."""
        self.path = path
        self.count = len(frame)
        self._run = run
        self._keys: Keys | None = None
        self._refused: BigdebugError | None = None
        """Why that is not known of its rows, if it is not."""
        FRAMES.tell(frame, [self.extent], [self.count], self._take)

    @property
    def extent(self) -> Extent:
        return Extent(self.path, Unit.ROW, "item")

    @property
    def taken(self) -> bool:
        """Whether a step took it."""
        return self._keys is not None or self._refused is not None

    def _take(self, frame: Any) -> None:
        """A step takes the frame, which is what it was. A pass over it, the first time."""
        if self.taken:
            return
        try:
            self._keys = _keys_of(frame.iloc[:, self._settled])
        except BigdebugError as refused:
            self._refused = refused
        except Exception as trouble:  # of what the cells are, or of Spark, which has ended
            if from_outside(trouble):
                raise
            self._refused = UntraceableError(
                f"What {self._run.name!r} gave to its program could not be looked at: {type(trouble).__name__}", remedy="Write it to a file, and read that.",
            )

    # ---- both ways --------------------------------------------------------------------------------------------

    def names(self, positions: Positions) -> tuple[Names, str]:
        """The names of the records that rows of the frame are; and why they are more than that, where they are. Two jobs like the query itself.

        Raises NondeterminismError where the query does not give these rows now.
        """
        keys = self._known()
        wanted = keys[positions]
        names, now = self._now()
        among = np.isin(now, wanted)
        mine = np.isin(keys, wanted)
        self._compare(np.setdiff1d(wanted, now), int(mine.sum()), int(among.sum()))
        found = distinct(names.take(pa.array(np.flatnonzero(among))))
        return found, self._why(int(mine.sum()) > len(positions) and len(found) > len(np.unique(wanted)))

    def located(self, names: Names) -> list[Located]:
        """Where records with these names stand in the frame, all records if None. Two jobs like the query itself."""
        keys = self._known()
        if isinstance(names, Far):
            raise TooLargeError(f"{counted(len(names))} are more than are found in a frame", remedy="Ask about fewer.")
        every, now = self._now()
        chosen = np.arange(len(now)) if names is None else places(every, names)
        wanted = now[chosen]
        there = np.isin(keys, wanted)
        among = int(np.isin(now, wanted).sum())
        self._compare(np.setdiff1d(wanted, keys), int(there.sum()), among)
        found = np.flatnonzero(there)
        return [Located.of(self.path, Unit.ROW, found, self._why(among > len(chosen)))] if len(found) else []

    def _known(self) -> Keys:
        if self._refused is not None:
            raise self._refused
        assert self._keys is not None, self.path
        return self._keys

    def _why(self, more: bool) -> str:
        return EQUAL.format(name=self._run.name) if more else ""

    def _compare(self, lost: Keys, given: int, now: int) -> None:
        if len(lost) or given != now:
            raise NondeterminismError(
                f"{counted(len(lost) or abs(given - now))} that the query gave, or gives now, it does not give each time", value=self._run.name,
                remedy="Its order or its functions do not settle the result, or settings of toPandas() were others: write it to a file, and read that.",
            )

    def _now(self) -> tuple[Names, Keys]:
        """By row of the result, as it is computed now, the name of the record and what the row is known by.

        How pandas has a column depends on all that is in it, so all rows are asked for; and names are no values of pandas', so hashes stand for them.
        """
        _ = lineage_of(self._run).standing  # raises where a limit is not settled
        catalyst = self._run.questions.catalyst
        plan, name = self._run.questions.steps().rows(self._run.subject, None)
        hashes = [catalyst.alias(each, f"__bigdebug_name_{i}") for i, each in enumerate(fingerprint(catalyst, plan, [name]))]
        plan = catalyst.extended(plan, hashes)
        marks = [each.toAttribute() for each in hashes]
        columns = catalyst.items(self._run.questions.root.node.output())
        known = catalyst.table(plan, {"name": name} | {f"h{i}": mark for i, mark in enumerate(marks)})
        asked = [*marks, *(columns[i] for i in self._settled)]
        with bounded():
            frame = unheard(catalyst.frame(plan).select(*(catalyst.column(each).alias(f"c{i}") for i, each in enumerate(asked))), ACTION)
        at = matched(_pairs(array_of(known["h0"]), array_of(known["h1"])), _pairs(*(pa.array(frame.iloc[:, i], pa.int64()) for i in range(len(marks)))))
        self._compare(np.flatnonzero(at < 0).astype(np.uint64), 0, 0)
        return array_of(known["name"]).take(pa.array(at)), _keys_of(frame.iloc[:, len(marks):])

    @cached_property
    def _settled(self) -> list[int]:
        """The positions of columns that each execution gives alike. Raises NondeterminismError if there are none."""
        loose = loose_in(self._run)
        found = [i for i in range(len(self._run.frame.columns)) if i not in loose]
        if not found:
            raise NondeterminismError("No value of the result is the same in each execution", value=self._run.name, remedy="Give a column that tells rows apart.")
        return found


def loose_in(run: FrameRun) -> frozenset[int]:
    """The positions of columns of a run's result that another execution may give otherwise."""
    columns, loose = run.questions.catalyst.items(run.questions.root.node.output()), run.questions.loose
    return frozenset(i for i, column in enumerate(columns) if column.exprId().id() in loose)


def _pairs(one: Any, other: Any) -> Any:
    return pa.StructArray.from_arrays([one, other], ["h0", "h1"])


def _keys_of(frame: Any) -> Keys:
    """Of this process alone. Takes 10 ms for a million numbers, and 100 for as many texts."""
    from pandas.util import hash_array, hash_pandas_object

    made: Keys = np.zeros(len(frame), np.uint64)
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        each = hash_array(_hashes(column.to_numpy())) if column.dtype == object else hash_pandas_object(column, index=False).to_numpy(np.uint64)
        made = made * np.uint64(1_000_003) + each
    return made


def _hashes(objects: Any) -> npt.NDArray[np.int64]:
    """Python's own hashes, of texts of what has none, or has one that its place in memory decides."""
    plain = set(map(type, objects)) <= _PLAIN
    return np.fromiter(map(hash, objects) if plain else (hash(repr(each)) for each in objects), np.int64, len(objects))
