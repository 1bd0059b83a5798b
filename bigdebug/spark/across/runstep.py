"""Run steps: what a captured run is as a step, whether it is one of an RDD or of a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Generic, TypeVar

from bigdebug.errors import UntraceableError
from bigdebug.spark.across.endings import Ending
from bigdebug.spark.across.folders import File
from bigdebug.spark.across.sources import Sources
from bigdebug.spark.across.targets import Target
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.trace.across.facts import path_of
from bigdebug.trace.across.located import FOLDER, Extent, Located, Unit
from bigdebug.trace.run import Run
from bigdebug.trace.sourced import Sourced

AnyRun = TypeVar("AnyRun", bound=Run)
AnyTrace = TypeVar("AnyTrace", LineageRDD, LineageFrame)


class RunStep(Generic[AnyRun, AnyTrace]):
    """A captured run with what was noted when its action ended."""

    kind = "Spark job"
    traces: type[AnyTrace]
    """What traces of such a run are."""

    def __init__(self, name: str, run: AnyRun, ending: Ending, sources: Sources) -> None:
        self.id = name
        self.run = run
        self._ending = ending
        self._sources = sources

    @property
    def name(self) -> str:
        return self.run.name

    @property
    def began(self) -> float | None:
        return self.run.began

    @property
    def ended(self) -> float | None:
        return self._ending.ended

    @property
    def writes(self) -> Sequence[Extent]:
        """What it wrote; and what it gave to its program in memory, where a step took that."""
        return (*self.stored, *self._ending.given)

    @cached_property
    def stored(self) -> Sequence[Extent]:
        """The files that it wrote; behind them the folder, where these may not be all that it wrote there."""
        return (*self.files, *self._unlisted)

    @cached_property
    def files(self) -> Sequence[Extent]:
        """The files that it wrote."""
        target = self._ending.target
        if target is None:
            return ()
        return tuple(Extent(file.path, target.unit, target.form, self._options(target), file.stamp) for file in self._files)

    @property
    def own_reads(self) -> Sequence[Extent]:
        """Of ``reads``, those that the run read itself; for those who keep it."""
        return self._sources.own(self.run)

    @property
    def given(self) -> frozenset[str]:
        """The paths of ``reads`` of which frames of steps gave it records; for those who keep it."""
        return self._sources.given(self.run)

    def inputs_of(self, records: object) -> Sequence[Located] | None:
        """The records of ``reads`` that those of a trace, or of a culprit, were made of; None if they are not this run's."""
        trace = self._mine(records)
        return None if trace is None else self._sources.back(trace)

    def _mine(self, records: object) -> AnyTrace | None:
        trace = records.trace if isinstance(records, Sourced) else records
        return trace if isinstance(trace, self.traces) and trace.run is self.run else None

    def _options(self, target: Target) -> tuple[tuple[str, str], ...]:
        """What decides where a record begins in what was written."""
        return ()

    @property
    def _files(self) -> Sequence[File]:
        return self._ending.files

    @property
    def _target(self) -> Target:
        assert self._ending.target is not None
        return self._ending.target

    @property
    def _trouble(self) -> list[str]:
        _ = self._files  # which are looked at beside, and what is wrong with them is known then
        return [self._ending.trouble] if self._ending.trouble else []

    @cached_property
    def _unlisted(self) -> tuple[Extent, ...]:
        """The folder that it wrote to, if it is not known which files there are its own: else who reads them would be told that no step wrote them."""
        target = self._ending.target
        return () if target is None or not self._trouble else (Extent(path_of(target.folder), Unit.WHOLE, FOLDER),)

    def _check_listed(self, outputs: Sequence[Located]) -> None:
        """Raise UntraceableError where the folder is asked about, and not files that are known to be this step's."""
        if {one.path for one in outputs} & {extent.path for extent in self._unlisted}:
            raise UntraceableError(self._ending.trouble.rstrip("."), remedy="So whatever it read may have been made into these files.")

    def _elsewhere(self) -> list[Located]:
        """The same folder, where records of the result may stand."""
        return [Located.of(extent.path, Unit.WHOLE, [0]) for extent in self._unlisted]
