"""Questions that only Spark can answer: records at an operator, and lineage inside a stage, by running it again.

What is computed again is compared with all that the run tells of it, see ``rerun``: what is shown is what the run saw,
or an error that names the operator which does not repeat itself.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import RDD
from pyspark.core.rdd import PipelinedRDD

from bigdebug.agents.picked import Held, Pick, Stamp, Without
from bigdebug.agents.recompute import Counted
from bigdebug.errors import IncompleteLineageError
from bigdebug.graph import Form, Stage
from bigdebug.spark.process import running
from bigdebug.spark.rdd.definition import Definition, Source, definitions
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.rdd.rerun import Rerun
from bigdebug.spark.rdd.sources import check_unchanged
from bigdebug.trace import structure
from bigdebug.trace.counts import whole
from bigdebug.trace.lineage import Hop
from bigdebug.trace.places import Places
from bigdebug.trace.run import Run
from bigdebug.trace.textlines import TextLines, local_path

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured

Test = Callable[[Any], Any]
Found = dict[int, dict[int, Any]]
"""Records by partition and position."""

READ_HERE = 200_000
"""Up to so many lines the driver reads from a local file itself; a Spark job costs more."""


class Questions:
    """Answers for one run, by jobs over the partitions that matter."""

    def __init__(self, recorder: Recorder, run: Run) -> None:
        self.recorder = recorder
        self._run = run
        self._rerun = Rerun(recorder, run)
        self._readers: dict[int, TextLines] = {}
        self._sizes: dict[tuple[int, int], int] = {}
        self._rdds = {known._definition.operator.id: known for known in definitions(*recorder.runs.targets(run))}

    def rdd(self, operator: int) -> Captured:
        return self._rdds[operator]

    def definition(self, operator: int) -> Definition:
        """How the run computed ``operator``: with its functions as they were then, not as they are now."""
        return self._definitions.get(operator, self._rdds[operator]._definition)

    @cached_property
    def _definitions(self) -> dict[int, Definition]:
        stages = sorted(self._run.graph.stages, key=lambda stage: stage.id in self._run.computed)
        return {o: known for stage in stages for o, known in self.recorder.compiler.again(stage.id).definitions.items()}

    # ---- records ----------------------------------------------------------------------------------------------

    def records(self, operator: int, places: Places, test: Test | None = None, shown: int = 0) -> Found:
        """Records by partition and position; with ``test``, only those that satisfy it, and None for each.

        Of those, the first ``shown`` of a partition may come along instead of None, where that costs no further job.
        """
        wanted = {p: at for p, at in places.items() if len(at)}
        if not wanted:
            return {}
        self.check_sources(operator)
        if test is None and (lines := self._lines(operator, wanted)) is not None:
            return lines
        if self._run.graph[operator].form.pieced:
            return self._pieced(operator, wanted, test)
        if (held := self._held(operator)) is not None:
            found: Found = {}
            for split, position, record in self._rerun.job("reading records", held, Pick(wanted, test), wanted):
                found.setdefault(split, {})[position] = record
            return found
        found = {}
        for stage, part in self._by_stage(operator, wanted).items():
            for split, position, pickled in self._rerun.records(stage, operator, part, test, shown):
                found.setdefault(split, {})[position] = pickle.loads(pickled) if pickled else None
        for split, at in wanted.items() if test is None else ():
            unseen = set(at.tolist()).difference(found.get(split, ()))
            if unseen:
                raise IncompleteLineageError(
                    f"The run stopped before position {min(unseen)} of partition {split} of {self._run.graph[operator]}",
                    remedy="Run an action that reads all of it under capture.",
                )
        return found

    def distributed(self, operator: int, places: Places, edit: Without | None = None) -> RDD[Any]:
        """The records as a plain RDD; other partitions stay empty without being computed.

        ``edit`` changes or drops some of them; it counts positions among all records of the operator, so it goes
        with places that are all of them.
        """
        wanted = {p: at for p, at in places.items() if len(at)}
        sc = running(self.recorder.sc)
        self.check_sources(operator)
        with self.recorder.plain():
            if wanted and (held := self._held(operator)) is not None:
                return PipelinedRDD(held, edit or Pick(wanted, placed=False, stamps=self._stamps(operator)))
            pieced = self._run.graph[operator].form.pieced
            stages = {} if pieced or not wanted else self._by_stage(operator, wanted)
            if len(stages) == 1:
                return self._rerun.distributed(next(iter(stages)), operator, wanted, edit)
            # Pieces of several stages, or none: they are gathered here, and keep their partitions.
            width = self._run.graph[operator].partitions
            empty = sc.parallelize([], width) if width else sc.emptyRDD()
            return PipelinedRDD(empty, Held(self.records(operator, wanted), edit))

    # ---- lineage ----------------------------------------------------------------------------------------------

    def derive(self, stage: Stage, partitions: Collection[int]) -> None:
        """Write the blocks of ``stage`` for ``partitions`` into this run's folder, checked against what the run tells."""
        self.check_sources(stage.ends)
        self._rerun.derive(stage, partitions)

    def sizes(self, operator: int, partitions: Collection[int]) -> dict[int, int]:
        """Records of an operator in partitions that the run did not read to their end; counted by a job, once."""
        facts = self._run.sources.get(operator)
        if facts is not None:
            told = {(operator, p): facts.size(p) for p in partitions}
            self._sizes.update({at: size for at, size in told.items() if size is not None})
        missing = [p for p in partitions if (operator, p) not in self._sizes]
        if missing:
            self.check_sources(operator)
            base = self._held(operator) or self.rdd(operator)
            counted = self._rerun.job("counting records", base, Counted(), dict.fromkeys(missing, ()))
            self._sizes.update({(operator, p): size for p, size in counted})
        return {p: self._sizes[operator, p] for p in partitions}

    def check_sources(self, operator: int) -> None:
        """See that the files which ``operator`` is computed from are those that the run read."""
        for known in definitions(self.rdd(operator)):
            if isinstance(known._definition.lowering, Source):
                check_unchanged(known, self._run.sources[known._definition.operator.id])

    # ---- where records are ------------------------------------------------------------------------------------

    def _held(self, operator: int) -> Any:
        """An RDD that gives the records as they were: unchanged files, collections, what Spark has held since; else None."""
        rdd = self.rdd(operator)
        if self._run.graph[operator].form is Form.SOURCE:
            return rdd if self._run.sources[operator].type != "rdd" else None
        built = rdd._compiled.records
        held = built is not None and built.recipes and built.recipes[-1].stage.id in built.adopted and rdd._stored()
        return built.rdd if held and built is not None else None

    def _pieced(self, operator: int, wanted: Places, test: Test | None) -> Found:
        """Records that the JVM only moved, or paired: found at the parents, where what is shown can be checked."""
        subject = self._run.graph[operator]
        found: Found = {p: {} for p in wanted}
        sides: list[Found] = []
        for branch, parent in enumerate(subject.parents):
            behind: dict[int, dict[int, tuple[int, int]]] = {}
            for partition, part, at, there in structure.moved(self._run.lineage, subject, Hop(parent, branch=branch), wanted):
                behind.setdefault(part, {}).update(zip(there.tolist(), ((partition, p) for p in at.tolist())))
            places = structure.back(self._run.lineage, subject, Hop(parent, branch=branch), wanted)
            side: Found = {}
            for part, records in self.records(parent, places).items():
                for position, record in records.items():
                    partition, at_ = behind[part][position]
                    side.setdefault(partition, {})[at_] = record
            sides.append(side)
        for partition, positions in wanted.items():
            for position in positions.tolist():
                if subject.form is Form.ZIP:
                    whole: Any = tuple(side[partition][position] for side in sides)
                else:
                    whole = next(side[partition][position] for side in sides if position in side.get(partition, {}))
                if test is None or test(whole):
                    found[partition][position] = None if test else whole
        return found

    def _by_stage(self, operator: int, wanted: Places) -> dict[Stage, dict[int, Any]]:
        """For each partition the stage of the run that saw most records of ``operator`` there."""
        lineage, form = self._run.lineage, self._run.graph[operator].form
        candidates = [
            s for s in self._run.graph.stages
            if operator in s.operators or (s.reads == operator and not (s.fetches and form.merges))
        ]
        if not candidates:
            subject = self._run.graph[operator]
            if subject.form is not Form.SOURCE:
                raise IncompleteLineageError(f"{subject} was not computed under capture", remedy="Run an action on it under capture.")
            candidates = [self._rerun.reading(self.rdd(operator))]
        found: dict[Stage, dict[int, Any]] = {}
        for partition, at in wanted.items():
            def went(stage: Stage, partition: int = partition) -> int:
                block = lineage.store.block(lineage.runs, stage.id, partition)
                return -1 if block is None else block.levels[0]

            found.setdefault(max(candidates, key=went), {})[partition] = at
        return found

    def _lines(self, operator: int, wanted: Places) -> Found | None:
        """Lines of local text files, read from the files if that gives exactly what Spark reads; else None."""
        facts = self._run.sources.get(operator)
        if facts is None or facts.type != "text" or not facts.plain or sum(map(len, wanted.values())) > READ_HERE:
            return None
        reader = self._readers.setdefault(operator, TextLines(facts.splits))
        known = whole(self._run.lineage, operator)
        found: Found = {}
        for partition, positions in wanted.items():
            lines = reader.read(partition, positions, known.get(partition))
            if lines is None:
                return None
            found[partition] = dict(zip(positions.tolist(), lines))
        return found

    def _stamps(self, operator: int) -> tuple[Stamp, ...]:
        """The local files that are read for records of a source; none for what Spark holds of another operator."""
        facts = self._run.sources.get(operator)
        stamps = () if facts is None else facts.stamps
        return tuple((path, s.size, s.modified, s.replaced) for s in stamps if (path := local_path(s.path)) is not None)
