"""Rerun: a stage of a run computed once more, and compared with what the run tells of it.

A run tells, for each stage and partition, how many records stood at its levels, a digest of what left the stage, and the tables
that were kept. Where what is asked for is none of these (records inside a stage, or those that an action has used up), the
stage is run a second time, and both must agree. What no comparison can see: a function that repeats itself now, gives
other records than it gave in the run, and whose stage emitted the same nevertheless.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark import RDD
from pyspark.core.rdd import PipelinedRDD

from bigdebug.agents.picked import Without
from bigdebug.agents.recompute import Digested, Drained, Facts, Known, Recompute, Verified, agrees
from bigdebug.agents.stage import TOO_LARGE
from bigdebug.errors import IncompleteLineageError, NondeterminismError, StoreError
from bigdebug.graph import FINE, Stage
from bigdebug.spark.asking import answers, asking
from bigdebug.spark.interruption import planning
from bigdebug.spark.process import running
from bigdebug.spark.rdd.arranged import serializers
from bigdebug.spark.rdd.recipe import Again, Recipe
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.rdd.sent import under, working_for
from bigdebug.spark.rdd.told import Told
from bigdebug.store.blocks import Block, encode
from bigdebug.trace.agreement import same_lineage
from bigdebug.trace.places import Places
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured

AGAIN = ".again"
"""Ends the name of a stage while its blocks are not compared yet."""

_dumps = serializers.CPickleSerializer().dumps


class Rerun:
    """Runs stages of one run again."""

    def __init__(self, recorder: Recorder, run: Run) -> None:
        self._recorder = recorder
        self._run = run
        self._told = Told(run, self._held)
        self._reading: dict[int, Recipe] = {}
        self._deriving = threading.RLock()

    # ---- records ----------------------------------------------------------------------------------------------

    def records(self, stage: Stage, operator: int, wanted: Places, test: Any, shown: int = 0) -> list[tuple[int, int, bytes]]:
        """(partition, position, pickle) of records of an operator of a stage, compared; with a test, pickles of the first ``shown`` of a partition."""
        again, level = self._again(stage).showing(operator)
        expected = self._told.known(stage, wanted)
        recompute = Recompute(again.function, level, wanted, _dumps, test, self._told.limits(stage, wanted), shown=shown)
        answers, facts = self._computed(again, recompute)
        self._compare(stage, facts, expected)
        if not self._told.covers(stage, operator):
            self._compare(stage, facts, self._witnessed(stage, operator, recompute))
        return answers

    def distributed(self, stage: Stage, operator: int, wanted: Places, edit: Without | None) -> RDD[Any]:
        """The same as an RDD, whose tasks compare."""
        again, level = self._again(stage).showing(operator)
        expected = self._told.known(stage, wanted)
        recompute = Recompute(again.function, level, wanted, _dumps, limits=self._told.limits(stage, wanted))
        if not self._told.covers(stage, operator):
            expected = self._witnessed(stage, operator, recompute)
        names = self._names(stage)

        def complain(split: int) -> Exception:
            return RuntimeError(f"bigdebug: {names} gave other records in partition {split} than in the run")

        return PipelinedRDD(self._base(again), Verified(recompute, expected, complain, edit))

    def reading(self, rdd: Captured) -> Stage:
        """A stage that reads ``rdd``, where no stage of the run does."""
        operator = rdd._definition.operator.id
        if operator not in self._reading:
            with self._recorder.plain():
                self._reading[operator] = self._recorder.compiler.reading(rdd)
        return self._reading[operator].stage

    # ---- lineage ----------------------------------------------------------------------------------------------

    @planning()
    def derive(self, stage: Stage, partitions: Collection[int]) -> None:
        """Write the blocks of ``stage`` into this run's folder, where they agree with what the run tells."""
        store = self._run.lineage.store
        with self._deriving:
            try:
                self._derive(stage, partitions)
            finally:
                if store.is_removed(self._run.id):  # meanwhile
                    with suppress(StoreError):  # then the next sweep does
                        store.sweep()

    def _derive(self, stage: Stage, partitions: Collection[int]) -> None:
        origin = next(known for known in self._run.graph.stages if known.id == stage.id.removesuffix(FINE))
        expected = self._told.known(origin, partitions)
        derived = self._blocks(origin, stage, partitions)
        lineage = self._run.lineage
        again: dict[int, Block] = {}
        for partition, block in derived.items():
            if not agrees(Known(block.levels[0], block.levels[-1], block.digest), expected[partition]):
                self._refuse(origin, partition)
            coarse = lineage.store.block(lineage.runs, origin.id, partition) if stage.id != origin.id else None
            if coarse is not None and not coarse.stub:
                if not same_lineage(origin, coarse, stage, block):
                    self._refuse(origin, partition)
            elif partition not in again:
                again = self._blocks(origin, stage, partitions)
            if again and not _alike(block, again[partition]):
                self._refuse(origin, partition)
        for partition, block in derived.items():
            found = replace(block, stage=stage.id)
            # A stub of the run counts further, and its digest covers what is not run again.
            stub = lineage.store.block(lineage.runs, stage.id, partition)
            if stub is not None:
                found = replace(found, levels=stub.levels, digest=stub.digest, finished=stub.finished)
            lineage.store.keep(self._run.id, found.stage, partition, found.attempt, encode(found))
            lineage.store.count(self._run.id, [(found.stage, partition, found.attempt)])
        lineage.store.forget(self._run.id)

    def _blocks(self, origin: Stage, stage: Stage, partitions: Collection[int]) -> dict[int, Block]:
        """What deriving gives, not compared yet."""
        again = self._again(stage)
        again = again.fine() if stage.id.endswith(FINE) else again
        name = stage.id + AGAIN
        function = replace(again.function, stage=name, lazy=False, most=TOO_LARGE)
        drained = Drained(function, frozenset(partitions), self._told.limits(origin, partitions))
        with working_for(running(self._recorder.sc), self._run.id):
            self.job("deriving lineage", self._base(again), drained, dict.fromkeys(partitions, ()))
        trouble = [report.error for report in self._recorder.runs.reports_of(self._run.id) if report.stage == name and report.error]
        store = self._run.lineage.store
        store.forget(self._run.id)
        try:
            found = {p: store.block([self._run.id], name, p) for p in partitions}
        finally:
            store.discard(self._run.id, name)
        missing = [p for p, block in found.items() if block is None or block.stub]
        if missing:
            running(self._recorder.sc)  # of tasks that ended as it was stopped nothing was heard
            raise IncompleteLineageError(
                f"The lineage of partition {missing[0]} of {self._run.graph[stage.ends]} could not be written"
                + (f": {trouble[0]}" if trouble else ""), remedy="See that the store can be written and has room.",
            )
        return {p: block for p, block in found.items() if block is not None}

    def _again(self, stage: Stage) -> Again:
        again = self._recorder.compiler.again(stage.id.removesuffix(FINE))
        internal = self._told.internal(stage)
        return again.before(internal) if internal else again

    def _base(self, again: Again) -> RDD[Any]:
        with self._recorder.plain():
            return again.base

    # ---- comparing --------------------------------------------------------------------------------------------

    def _computed(self, again: Again, recompute: Recompute) -> tuple[list[Any], dict[int, Known]]:
        found = self.job("computing records again", self._base(again), recompute, recompute.wanted)
        facts = {seen.partition: seen.known for seen in found if isinstance(seen, Facts)}
        return [answer for answer in found if not isinstance(answer, Facts)], facts

    def _witnessed(self, stage: Stage, operator: int, recompute: Recompute) -> dict[int, Known]:
        """What another run says of the same records, with a table for each operator to compare with those of the run."""
        again = self._again(stage).fine()
        operators = [o for segment, _ in again.pieces for o in segment.operators]
        level = operators.index(operator) + 1 if operator in operators else 0
        witness = replace(recompute, stage=again.function, level=level, quiet=True, tables=True)
        fine = replace(stage, id=stage.id + FINE, segments=tuple(segment for segment, _ in again.pieces))
        lineage = self._run.lineage
        found = {}
        for seen in self.job("comparing with another run", self._base(again), witness, witness.wanted):
            kept = lineage.store.block(lineage.runs, stage.id, seen.partition)
            block = Block(fine.id, seen.partition, 0, seen.levels, 0, seen.columns)
            if kept is not None and not kept.stub and not same_lineage(stage, kept, fine, block):
                self._refuse(stage, seen.partition)
            # Tables are finer here, so the emission may cut its frames elsewhere: its digest is compared by the other run.
            found[seen.partition] = seen.known._replace(digest=None)
        return found

    def _compare(self, stage: Stage, facts: Mapping[int, Known], expected: Mapping[int, Known]) -> None:
        for partition, seen in facts.items():
            if not agrees(seen, expected[partition]):
                self._refuse(stage, partition)

    def _names(self, stage: Stage) -> str:
        return ", ".join(str(self._run.graph[o]) for o in stage.operators) or str(self._run.graph[stage.reads])

    def _refuse(self, stage: Stage, partition: int) -> None:
        """Run the stage twice more with a digest behind each operator, and name the first that differs."""
        again = self._again(stage).fine()
        watch = Recompute(again.function, -1, {partition: np.empty(0)}, _dumps, watched=True, limits=self._told.limits(stage, [partition]))
        first, second = (self.job("comparing operators", self._base(again), watch, {partition: ()})[-1] for _ in range(2))
        operators = [o for segment, _ in again.pieces for o in segment.operators]
        differing = [o for o, a, b in zip(operators, first.operators, second.operators) if a != b]
        if differing:
            subject = self._run.graph[differing[0]]
            raise NondeterminismError(
                f"{subject} gave other records when partition {partition} was computed again",
                remedy="Its function depends on something else than its input (random numbers, time, a global). "
                "Cache its result under capture before the action, or seed it by the record.",
            )
        if stage.adopted:
            raise IncompleteLineageError(
                f"{self._names(stage)}: partition {partition} was cached or checkpointed without capture, and computing it again "
                "gives other records, or another order", remedy="unpersist() it, or make it anew, and run under capture.",
            )
        raise NondeterminismError(
            f"{self._names(stage)}: partition {partition} now gives other records than in the run, though it repeats itself",
            remedy="A file, a global, the environment or the time that its functions read has changed since.",
        )

    def _held(self, stage: Stage, partitions: Collection[int]) -> Mapping[int, int]:
        """Digests of what Spark holds in place of a stage's result."""
        rdd = self._recorder.questions(self._run).rdd(stage.ends)
        frames: RDD[Any] = RDD(rdd._plain_jrdd(), self._recorder.sc, serializers.NoOpSerializer())
        return dict(self.job("reading what is cached", frames, Digested(), dict.fromkeys(partitions, ())))

    # ---- jobs -------------------------------------------------------------------------------------------------

    def job(self, what: str, base: Any, function: Any, partitions: Mapping[int, Any]) -> list[Any]:
        """Run ``function`` over partitions of a plain RDD, with a bar if it takes long."""
        sc = running(self._recorder.sc)
        governed = self._recorder.policies.get(self._run.id)
        with self._recorder.plain(), asking(sc, what, self._recorder.progress), under(sc, None) if governed is None else governed.jobs(sc):
            return answers(sc, base, function, partitions)


def _alike(left: Block, right: Block) -> bool:
    same = left.levels == right.levels and left.digest == right.digest and left.columns.keys() == right.columns.keys()
    return same and all(np.array_equal(values, right.columns[name]) for name, values in left.columns.items())
