"""Sources: traces followed to the files that were read, and files to what a run made of them; also where a DataFrame was made of an RDD, or an RDD of a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bigdebug.errors import BigdebugError, UntraceableError
from bigdebug.spark.across.folders import is_still
from bigdebug.spark.across.framerows import FrameRows
from bigdebug.spark.across.leaffiles import LeafFiles
from bigdebug.spark.crossing import Crossing
from bigdebug.spark.process import answering
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.across import facts as of_facts
from bigdebug.trace.across.located import Extent, FileStamp, Located, Unit
from bigdebug.trace.counts import records, sizes
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.origins import Stamp
from bigdebug.trace.places import Places
from bigdebug.trace.run import Run

_NO_NAMES = "Files were read by a data source of version 2, and which of their records rows were made of is not known"

_FORMS = {"textFile": "text", "pickleFile": "pickle", "sequenceFile": "sequence"}


class Sources:
    """What the runs of one session read. Thread-safe as its traces are."""

    def __init__(self, recorder: Recorder, frames: FrameRuns, crossing: Crossing) -> None:
        self._recorder = recorder
        self._frames = frames
        self._crossing = crossing

    def extents(self, run: Run) -> tuple[Extent, ...]:
        """The files that a run read, as they were then, each once for each way to count it. Reads the plan of a query; no job."""
        return tuple(dict.fromkeys(self._extents(run)))

    def own(self, run: Run) -> tuple[Extent, ...]:
        """Those of them that it read itself: not those that another run read, whose records it was given in memory."""
        if isinstance(run, FrameRun):
            known = _leaves(run)
            if known is None:
                return self.extents(run)
            whole = lineage_of(run)
            others = {**self._crossing.seams.records_in(whole), **self._crossing.seams.originals_in(whole)}
            leaves = [leaf for operator, leaf in known.items() if operator not in others and leaf.files]
            paths = {extent.path for leaf in leaves for extent in LeafFiles(run.questions.catalyst, leaf).extents({})} | {extent.path for extent in _unnamed(run)}
        else:
            frames = self._crossing.seams.rows_in(run)
            paths = {extent.path for source, facts in run.sources.items() if source not in frames for extent in of_facts.extents(facts, "")}
        return tuple(extent for extent in self.extents(run) if extent.path in paths)

    def given(self, run: Run) -> frozenset[str]:
        """The paths of those whose records frames of steps gave to it; it may have read one of these itself, too. None of a query that can tell of none of its rows what made them."""
        framed = self._crossing.seams.framed_in(lineage_of(run)) if isinstance(run, FrameRun) and _leaves(run) is not None else {}
        return frozenset(extent.path for known in framed.values() for extent in known.items.places.files)

    def count(self, run: Run, path: str) -> int:
        """How many records, at most, frames of steps gave to a run, or to those whose records it was given, of what a step gives without a file."""
        seams, behind = self._crossing.seams, list[Run]()
        found = [0]
        if isinstance(run, FrameRun):
            whole = lineage_of(run)
            found += [known.items.places.size_of(path) for known in seams.framed_in(whole).values()]
            behind += [self._crossing.whole(each).run for each in seams.records_in(whole).values()]
            behind += map(self._frames.asked, seams.originals_in(whole).values())
        else:
            behind += map(self._frames.asked, seams.rows_in(run).values())
        return max(found + [self.count(each, path) for each in behind])

    def incomplete(self, run: Run) -> tuple[str, ...]:
        """What is not known of where a run's records came from."""
        if isinstance(run, FrameRun):
            try:
                answering(run.frame.sparkSession.sparkContext)
                _ = run.questions.leaves
            except BigdebugError as refused:
                return (str(refused),)
            whole = lineage_of(run)
            unnamed = [f"{_NO_NAMES}: all of these is taken"] if _unnamed(run) else []
            return (*unnamed, *self._crossing.seams.unknown_in(whole), *dict.fromkeys(why for framed in self._crossing.seams.framed_in(whole).values() for why in framed.why))
        known = self._crossing.seams.rows_in(run)
        return tuple(
            f"{facts.dataset}: its records were made outside of bigdebug, and nothing is known behind them"
            for source, facts in run.sources.items() if facts.type == "rdd" and facts.stamps and source not in known
        )

    def still(self, path: str, stamp: FileStamp) -> bool:
        """Whether a file has the size and the time of a stamp."""
        return is_still(self._recorder.sc, path, stamp)

    def trace(self, run: Run, standing: Mapping[int, Places]) -> LineageRDD:
        """The trace over records of operators of a run of RDDs."""
        self.lineage(run)
        return LineageRDD(run, list(standing), lambda: standing, self._recorder)

    def lineage(self, run: Run) -> Lineage:
        """What is known of the records of a run of RDDs; what the run did not note, Spark is asked for."""
        self._recorder.questions(run)
        return run.lineage

    # ---- backward -------------------------------------------------------------------------------------------------

    def back(self, trace: LineageRDD | LineageFrame) -> list[Located]:
        """The records of files that traced ones were made of, one answer for each file."""
        return together(self._back_of_frame(trace) if isinstance(trace, LineageFrame) else self._back_of_rdd(trace))

    def _back_of_rdd(self, trace: LineageRDD) -> Iterable[Located]:
        run = trace.run
        frames = self._crossing.seams.rows_in(run)
        for source, places in trace.goBackAll().standing.items():
            if not any(map(len, places.values())):
                continue
            if source in frames:
                yield from self.back(self._crossing.frame_behind(self.trace(run, {source: places}), frames[source]))
            elif source in run.sources:
                yield from of_facts.located(run.sources[source], places, lambda ps, of=source: sizes(run.lineage, of, ps))  # type: ignore[misc]

    def _back_of_frame(self, trace: LineageFrame) -> Iterable[Located]:
        questions = trace.run.questions
        if not questions.leaves:
            return
        seams = self._crossing.seams
        made, originals, framed = seams.records_in(trace), seams.originals_in(trace), seams.framed_in(trace)
        found = trace.goBackAll()
        yield from (Located.of(extent.path, Unit.WHOLE, [0]) for extent in _unnamed(trace.run))
        for operator in found.operators:
            leaf, part = questions.leaves[operator], found[trace.run.graph[operator]]
            if operator in made:
                if part.count():
                    yield from self.back(self._crossing.rdd_behind(part, made[operator]))
            elif operator in originals:
                behind = self._crossing.original(part, originals[operator])
                yield from () if behind is None else self.back(behind)
            elif operator in framed:
                yield from FrameRows(questions.catalyst, leaf, framed[operator].items).located(part.rids())
            elif leaf.files:
                yield from LeafFiles(questions.catalyst, leaf).located(part.rids())

    # ---- forward --------------------------------------------------------------------------------------------------

    def ahead(self, run: Run, given: Sequence[Located]) -> Any:
        """The trace over the records of a run's result that records of files had a part in; None if the run read none of them."""
        return self._ahead_of_frame(run, given) if isinstance(run, FrameRun) else self._ahead_of_rdd(run, given)

    def _ahead_of_rdd(self, run: Run, given: Sequence[Located]) -> LineageRDD | None:
        found: dict[int, Places] = {}
        frames = self._crossing.seams.rows_in(run)
        for source, facts in run.sources.items():
            if source in frames:
                rows = self.ahead(self._frames.asked(frames[source]), given)
                found[source] = {} if rows is None else self._crossing.rows_ahead(rows, frames[source], source)
            elif set(map(_path, given)).intersection(extent.path for extent in of_facts.extents(facts, "")):
                known = records(self.lineage(run), source)
                found[source] = of_facts.standing(facts, given, known, lambda ps, of=source: sizes(run.lineage, of, ps))  # type: ignore[misc]
        found = {source: places for source, places in found.items() if any(map(len, places.values()))}
        return self.trace(run, found).goNextAll() if found else None

    def _ahead_of_frame(self, run: FrameRun, given: Sequence[Located]) -> LineageFrame | None:
        questions, whole = run.questions, lineage_of(run)
        if set(map(_path, given)) & {extent.path for extent in _unnamed(run)}:
            raise UntraceableError(_NO_NAMES, value=run.name, remedy="Read the files by Spark's own sources, as spark.sql.sources.useV1SourceList says.")
        starts: dict[int, Any] = {}
        seams = self._crossing.seams
        made, originals, framed = seams.records_in(whole), seams.originals_in(whole), seams.framed_in(whole)
        for operator, leaf in questions.leaves.items():
            if operator in made:
                read = self._crossing.whole(made[operator])
                behind = self.ahead(read.run, given)
                rids = np.empty(0, np.int64) if behind is None else behind.rids()
            elif operator in originals:
                if set(map(_path, given)) & {extent.path for extent in self.extents(self._frames.asked(originals[operator]))}:
                    raise UntraceableError("Forward, no trace passes a checkpoint", value=leaf.name, remedy="Ask backward, from the rows that were made behind it.")
                continue
            elif operator in framed:
                rids = FrameRows(questions.catalyst, leaf, framed[operator].items).rids(given)
            else:
                rids = LeafFiles(questions.catalyst, leaf).rids(given) if leaf.files else np.empty(0, np.int64)
            if len(rids):
                starts[operator] = pa.array(rids, pa.int64())
        return whole.standing_at(starts).goNextAll() if starts else None

    # ---- files ----------------------------------------------------------------------------------------------------

    def _extents(self, run: Run) -> Iterable[Extent]:
        if isinstance(run, FrameRun):
            yield from self._extents_of_frame(run)
            return
        frames = self._crossing.seams.rows_in(run)
        for source, facts in run.sources.items():
            if source in frames:
                yield from self._extents(self._frames.asked(frames[source]))
            else:
                name = run.graph[source].name.rsplit(".", 1)[-1]  # whoever called it is before
                yield from of_facts.extents(facts, _FORMS.get(name, "hadoop" if facts.type == "file" else ""))

    def _extents_of_frame(self, run: FrameRun) -> Iterable[Extent]:
        try:
            answering(run.frame.sparkSession.sparkContext)
        except BigdebugError:
            return  # incomplete() says so
        stamps = _by_path(run.questions.stamps)
        yield from _unnamed(run)
        leaves = _leaves(run)
        if leaves is None:  # a question takes all that it read, and says why
            yield from (Extent(path, Unit.WHOLE, stamp=stamp) for path, stamp in stamps.items())
            return
        whole = lineage_of(run)
        seams = self._crossing.seams
        made, originals, framed = seams.records_in(whole), seams.originals_in(whole), seams.framed_in(whole)
        for operator, leaf in leaves.items():
            if operator in made:
                yield from self._extents(self._crossing.whole(made[operator]).run)
            elif operator in originals:
                yield from self._extents(self._frames.asked(originals[operator]))
            elif operator in framed:
                yield from framed[operator].items.places.files
            elif leaf.files:
                yield from LeafFiles(run.questions.catalyst, leaf).extents(stamps)


def together(every: Iterable[Located]) -> list[Located]:
    """One answer for each file."""
    found: dict[str, list[Located]] = {}
    for one in every:
        found.setdefault(one.path, []).append(one)
    return [parts[0] if len(parts) == 1 else Located.of(path, parts[0].unit, np.concatenate([part.positions for part in parts])) for path, parts in found.items()]


def _leaves(run: FrameRun) -> Mapping[int, Leaf] | None:
    """The sources of a query, by operator; None if it can tell of none of its rows what made them."""
    try:
        return run.questions.leaves
    except UntraceableError:
        return None


def _by_path(stamps: Mapping[str, Stamp]) -> dict[str, FileStamp]:
    return {of_facts.path_of(path): of_facts.stamp_from(stamp) for path, stamp in stamps.items()}


def _unnamed(run: FrameRun) -> list[Extent]:
    """The files of which a query names no records; each as a whole."""
    return [Extent(path, Unit.WHOLE, stamp=stamp) for path, stamp in of_facts.digested(_by_path(run.questions.unnamed)).items()]


def _path(located: Located) -> str:
    return located.path


