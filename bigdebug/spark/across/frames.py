"""Frames: a run of a DataFrame as a step. What it wrote stands in its files in whatever order, so rows are found by what is in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bigdebug.errors import NondeterminismError, SourceChangedError
from bigdebug.shown import counted
from bigdebug.spark.across.content import Keyed, Keys, of_result, of_written
from bigdebug.spark.across.elsewhere import Elsewhere
from bigdebug.spark.across.endings import Ending
from bigdebug.spark.across.folders import File
from bigdebug.spark.across.handed import Handed, loose_in
from bigdebug.spark.across.leaffiles import LeafFiles, Places
from bigdebug.spark.across.runstep import RunStep
from bigdebug.spark.across.sources import Sources
from bigdebug.spark.across.targets import Column, Target
from bigdebug.spark.across.written import check_form, cut_by, frame_of, place_of
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.store.ranges import spread
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.across.stamps import same_content, stamp_of
from bigdebug.trace.across.step import Step, all_taken, changed_since
from bigdebug.trace.names import NOTHING, distinct


class Written(NamedTuple):
    """The names of all rows of a result, and where all that was written stands; and the pairs of one of each that are the same row, by number.

    ``elsewhere`` has the files that have been changed since, with the rows that each may have had, by number. ``alike`` says that a row is equal to others; empty if none is.
    """

    names: Any
    rows: np.ndarray[Any, Any]
    places: Places
    chosen: np.ndarray[Any, Any]
    elsewhere: Elsewhere
    alike: str


class FrameStep(RunStep[FrameRun, LineageFrame]):
    """A captured action on a DataFrame, or a command of SQL. A question about what it wrote is a job over these files, and one like the query itself."""

    traces = LineageFrame

    def __init__(self, name: str, run: FrameRun, ending: Ending, sources: Sources, frames: FrameRuns) -> None:
        super().__init__(name, run, ending, sources)
        self._frames = frames
        self._read: dict[tuple[str, ...], FrameRun] = {}
        self._moved: Callable[[Step, str], Sequence[str]] = lambda step, path: ()

    @cached_property
    def reads(self) -> Sequence[Extent]:
        """Without what it wrote itself: of a table that is inserted into, Spark lists that, too."""
        own = {file.path for file in self._files}
        return tuple(extent for extent in self._sources.extents(self.run) if extent.path not in own)

    @property
    def incomplete(self) -> Sequence[str]:
        return (*self.run.incomplete, *self._trouble, *self._sources.incomplete(self.run))

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        self._check_listed(outputs)
        if self.reads and self._handed is not None:
            return self._of_handed(self._handed, outputs)
        if not self.reads or not self._files:
            return ()
        wanted = {one.path: one.positions for one in outputs if len(one)}
        here = [file for file in self._files if file.path in wanted]
        if not here:
            return ()
        _, keys = self._read_of(here, [Located(file.path, self._target.unit, wanted[file.path]) for file in here])
        if not len(keys):
            return ()
        names, found = self._result(None).read(keys)
        mine, theirs = keys.codes(found)
        if len(lost := np.setdiff1d(mine, theirs)):
            raise NondeterminismError(
                f"{counted(len(lost))} of what was written the query does not give now", value=self.name,
                remedy="Its order or its functions do not settle the result: write what does not change, df.localCheckpoint() before.",
            )
        alike = self._alike(theirs)
        return [replace(one, why=alike) for one in self._sources.back(lineage_of(self.run).standing_at({self.run.subject: distinct(names)}))]

    def follow(self, moved: Callable[[Step, str], Sequence[str]]) -> None:
        """A folder that was renamed to publish it has the rows still, under the names by which it was read."""
        self._moved = moved

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        found = self._sources.ahead(self.run, inputs)
        return () if found is None else self._located(found)

    def count(self, path: str) -> int:
        """How many records there are of what it gave, or took, without a file."""
        taken = None if self._handed is None else self._handed.at(path)
        return self._sources.count(self.run, path) if taken is None else taken.size

    # ---- records that people hold -----------------------------------------------------------------------------

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        trace = self._mine(records)
        if trace is None:
            return None
        return self._located(trace if trace.operators == (self.run.subject,) else trace.goNextAll())

    # ---- for those who keep it ----------------------------------------------------------------------------------

    @property
    def columns(self) -> Sequence[Column]:
        """The columns of what it wrote."""
        return self._target.columns

    def written(self, stops: frozenset[int] = frozenset(), standing: bool = False) -> Written:
        """All rows of the result and all that was written, by two jobs.

        Names are those that traces have which stop at operators ``stops`` besides. Raises NondeterminismError where a row is not among the others, and
        SourceChangedError where a file has been changed; if only what is ``standing`` is asked for, where all have.
        """
        gone = self._changed() if standing else {}
        names, keys = self._result(None, stops).read()
        at, found = self._read_of(self._standing(gone), None)
        mine, theirs = keys.codes(found)
        elsewhere = Elsewhere.of(keys.places, gone)
        if len(lost := np.union1d(np.setdiff1d(theirs, mine), np.setdiff1d(mine[elsewhere.certain(len(keys))], theirs))):
            raise NondeterminismError(
                f"{counted(len(lost))} of what was written the query does not give now, or the other way around", value=self.name,
                remedy="Its order or its functions do not settle the result: write what does not change, df.localCheckpoint() before.",
            )
        order = np.argsort(mine, kind="stable")
        first, last = np.searchsorted(mine[order], theirs, "left"), np.searchsorted(mine[order], theirs, "right")
        return Written(names, order[spread(first, last - first)], at, np.repeat(np.arange(len(theirs)), last - first), elsewhere, self._alike(theirs))

    # ---- between files and rows ---------------------------------------------------------------------------------

    def _options(self, target: Target) -> tuple[tuple[str, str], ...]:
        return cut_by(target)

    def _located(self, rows: LineageFrame) -> list[Located]:
        """Where rows of the result stand in the files, or in the frame that it gave; all of those that have been changed, if they may have had some, and the folder, if it may have others."""
        if not self.writes:
            return []
        names = rows.standing.get(self.run.subject, NOTHING)  # None are all: of rows that got lost on the way, none came through
        if names is not None and not len(names):
            return []
        if self._handed is not None:
            return [found for taken in self._handed.taken for found in self._handed.located(taken, names)]
        if not self._files:
            return self._elsewhere()
        _, keys = self._result(names).read()
        if not len(keys):
            return []
        gone = self._changed()
        at, found = self._read_of(self._standing(gone), None, keys)
        mine, theirs = keys.codes(found)
        elsewhere = Elsewhere.of(keys.places, gone)
        if len(lost := np.setdiff1d(mine[elsewhere.certain(len(keys))], theirs)):
            raise NondeterminismError(
                f"{counted(len(lost))} that the query gives now were not written", value=self.name,
                remedy="Its order or its functions do not settle the result: write what does not change, df.localCheckpoint() before.",
            )
        chosen = np.isin(theirs, mine)
        alike = self._alike(theirs[chosen])
        standing = (replace(one, why=alike) for one in at.of(chosen).located(self._target.unit))
        return [*standing, *(Located.of(path, Unit.WHOLE, [0], all_taken(path, self.name)) for path in elsewhere.files), *self._elsewhere()]

    def _of_handed(self, handed: Handed, outputs: Sequence[Located]) -> Sequence[Located]:
        """What rows of the frame that it gave were made of."""
        asked = [(taken, one.positions) for one in outputs if len(one) and (taken := handed.at(one.path)) is not None]
        found = [handed.names(taken, positions) for taken, positions in asked]
        return [
            replace(one, why=why or one.why)
            for names, why in found for one in self._sources.back(lineage_of(self.run).standing_at({self.run.subject: names}))
        ]

    @property
    def _handed(self) -> Handed | None:
        """The frame that it gave, if a step took it."""
        handed = self._ending.handed
        return handed if handed is not None and handed.taken else None

    def _changed(self) -> dict[str, str]:
        """The paths of those of its files that are not what it wrote, with the folders that they were written to. Raises SourceChangedError if none is."""
        gone = [file for file in self._files if self._now(file) is None]
        if gone and len(gone) == len(self._files):
            raise self._refusal(gone[0])
        return {file.path: place_of(self._target, file) for file in gone}

    def _standing(self, gone: Collection[str]) -> list[File]:
        """The others of its files."""
        return [file for file in self._files if file.path not in gone]

    def _now(self, file: File) -> File | None:
        """A file of its own where it stands now; None if nobody knows where it is as it was."""
        if self._sources.still(file.path, file.stamp):
            return file
        for path in self._moved(self, file.path):
            stamp = stamp_of(path, digest=bool(file.stamp.digest))
            if stamp is not None and same_content(stamp, file.stamp):
                return replace(file, path=path)
        return None

    def _refusal(self, file: File) -> SourceChangedError:
        return SourceChangedError(changed_since(file.path, self.name), remedy="Run the job again under capture.")

    def _result(self, names: Any, stops: frozenset[int] = frozenset()) -> Keyed:
        """Rows of the result as they were written; all, if None."""
        check_form(self._target)
        _ = lineage_of(self.run).standing  # raises where a limit is not settled
        steps, questions = self.run.questions.steps(stops), self.run.questions
        plan, name = steps.rows(self.run.subject, names)
        return of_result(questions.catalyst, self._target, plan, name, self._columns, self._loose)

    @property
    def _columns(self) -> list[Any]:
        return self.run.questions.catalyst.items(self.run.questions.root.node.output())

    @cached_property
    def _loose(self) -> frozenset[int]:
        """The positions of columns that another execution may give otherwise."""
        return loose_in(self.run)

    def _alike(self, codes: np.ndarray[Any, Any]) -> str:
        """Why an answer is for more rows than were asked about, where rows are not told apart; empty if they are. It is that answer's: others may be exact."""
        if len(codes) == len(np.unique(codes)):
            return ""
        alike = "" if not self._loose else ", but for values of which the last digits, or the order, vary"
        return f"a row that it wrote is equal to others{alike}: the answer is for all of these"

    def _read_of(self, files: Sequence[File], places: Sequence[Located] | None, limit: Keys | None = None) -> tuple[Places, Keys]:
        """Rows of files, those at ``places`` or those with keys of ``limit``: where they stand, one after the other, and what they are known by."""
        check_form(self._target)
        now: dict[str, File] = {}
        for file in files:
            here = self._now(file)
            if here is None:
                raise self._refusal(file)
            now[file.path] = here
        questions = self._reading(list(now.values())).questions
        [(operator, leaf)] = questions.leaves.items()
        known = LeafFiles(questions.catalyst, leaf)
        rids = None if places is None else pa.array(known.rids([replace(one, path=now[one.path].path) for one in places]), pa.int64())
        plan, name = questions.steps().rows(operator, rids)
        keyed = of_written(questions.catalyst, self._target, plan, name, leaf.columns(questions.catalyst), self._loose)
        found, keys = keyed.read(limit)
        stand = known.places(found.to_numpy(zero_copy_only=False))
        written = {here.path: path for path, here in now.items()}
        stand = replace(stand, paths=[written[path] for path in stand.paths])
        by_path = {file.path: place_of(self._target, file) for file in files}
        return stand, replace(keys, places=pa.array([by_path[stand.paths[number]] for number in stand.numbers.tolist()], pa.string()))

    def _reading(self, files: Sequence[File]) -> FrameRun:
        """What reads some of the files: a run of ours, of no action."""
        paths = tuple(file.path for file in files)
        if paths not in self._read:
            self._read.clear()
            self._read[paths] = self._frames.aside(frame_of(self._frames.spark, self._target, self.run.frame.schema, paths))
        return self._read[paths]

