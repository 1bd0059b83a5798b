"""Saved: a run of an RDD as a step. What was saved of it, it saved partition by partition, in order: a place in a file is a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from bigdebug.spark.across.endings import Ending
from bigdebug.spark.across.folders import File
from bigdebug.spark.across.lines import Lines
from bigdebug.spark.across.runstep import RunStep
from bigdebug.spark.across.sources import Sources
from bigdebug.spark.across.targets import partition_of
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.counts import records
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.places import Places
from bigdebug.trace.positions import distinct, first
from bigdebug.trace.run import Run

_AS_TEXT = "saveAsTextFile"


class RDDStep(RunStep[Run, LineageRDD]):
    """A captured action on an RDD. Questions cost what traces of the run cost; what was written is looked at when it is asked."""

    traces = LineageRDD

    def __init__(self, name: str, run: Run, ending: Ending, sources: Sources) -> None:
        super().__init__(name, run, ending, sources)
        self._lines: dict[str, Lines] = {}

    @cached_property
    def reads(self) -> Sequence[Extent]:
        return self._sources.extents(self.run)

    @property
    def incomplete(self) -> Sequence[str]:
        opaque = sorted({str(operator) for operator in self.run.graph if operator.form.opaque})
        through = [f"through {', '.join(opaque)}: what it had read before each output"] if opaque else []
        return (*self.run.incomplete, *self._trouble, *through, *self._sources.incomplete(self.run))

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        self._check_listed(outputs)
        return self._sources.back(self._trace(self._records(outputs)))

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        found = self._sources.ahead(self.run, inputs)
        return () if found is None else self._located(found.places)

    def count(self, path: str) -> int:
        """How many records there are of what it took without a file."""
        return self._sources.count(self.run, path)

    # ---- records that people hold -----------------------------------------------------------------------------

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        trace = self._mine(records)
        return None if trace is None else self._located(trace.goNextAll().places)

    # ---- in parts (containment) ---------------------------------------------------------------------------------

    @property
    def lineage(self) -> Lineage:
        """What is known of the records of the run, or can be computed again."""
        return self._sources.lineage(self.run)

    def trace(self, standing: Mapping[int, Places]) -> LineageRDD:
        """The trace over records at operators of the run."""
        return self._sources.trace(self.run, standing)

    def results_at(self, outputs: Sequence[Located]) -> Mapping[int, Places]:
        """The records of the action's RDD that stand there; all, where nobody knows which files of a folder are its own."""
        if {one.path for one in outputs} & {extent.path for extent in self._unlisted}:
            return self.results()
        return {self.run.subject: self._records(outputs)}

    def results_of(self, inputs: Sequence[Located]) -> Mapping[int, Places]:
        """The records of the action's RDD that these had a part in."""
        found = self._sources.ahead(self.run, inputs)
        return {self.run.subject: {} if found is None else found.places}

    def results(self) -> Mapping[int, Places]:
        """All records of the action's RDD."""
        return {self.run.subject: {partition: np.arange(size, dtype=np.int64) for partition, size in self._sizes.items()}}

    # ---- for those who keep it ----------------------------------------------------------------------------------

    def result_sizes(self) -> Mapping[int, int]:
        """The records of the action's RDD, by partition."""
        return self._sizes

    def partitions(self) -> list[int]:
        """The partition that is in each file that was written."""
        return [partition_of(file) for file in self._files]

    def written(self) -> Iterator[tuple[int, Lines | None]]:
        """By file that was written, the partition in it, and its lines; None where it has a row for each record."""
        return ((partition_of(file), self._lines_of(file)) for file in self._files)

    # ---- between files and records ------------------------------------------------------------------------------

    def _trace(self, places: Places) -> LineageRDD:
        return self._sources.trace(self.run, {self.run.subject: places})

    def _records(self, outputs: Sequence[Located]) -> Places:
        """The records of the action's RDD that stand there."""
        wanted = {one.path: one for one in outputs}
        found = {}
        for file in self._files:
            if file.path not in wanted:
                continue
            partition, asked = partition_of(file), wanted[file.path]
            size = self._sizes.get(partition, 0)
            if asked.unit is Unit.WHOLE:
                found[partition] = np.arange(size, dtype=np.int64)
                continue
            lines = self._lines_of(file)
            found[partition] = first(asked.positions, size) if lines is None else lines.records(asked.positions)
        return found

    def _located(self, places: Places) -> list[Located]:
        """Where records of the action's RDD stand in the files; also the folder, if it may have others."""
        found = []
        for file in self._files:
            positions = places.get(partition_of(file), np.empty(0, dtype=np.int64))
            if len(positions):
                lines = self._lines_of(file)
                found.append(Located(file.path, self._unit, distinct(positions if lines is None else lines.lines(positions))))
        return [*found, *(self._elsewhere() if any(map(len, places.values())) else ())]

    @property
    def _unit(self) -> Unit:
        return self._target.unit

    @cached_property
    def _sizes(self) -> dict[int, int]:
        return records(self.lineage, self.run.subject)

    def _lines_of(self, file: File) -> Lines | None:
        """The lines of a file of text; None for others, which have a row for each record."""
        if self._unit is not Unit.LINE:
            return None
        if file.path not in self._lines:
            partition = partition_of(file)
            size = self._sizes.get(partition, 0)
            every = {partition: np.arange(size, dtype=np.int64)}
            as_text = self.run.action == _AS_TEXT
            there = self._sources.still(file.path, file.stamp)
            self._lines[file.path] = Lines(file.path, there, size, self._trace(every).collect if as_text else None)
        return self._lines[file.path]
