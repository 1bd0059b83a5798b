"""Questions that only Spark can answer: records at an operator, and lineage inside a stage, by running it again.

A stage is run again as a whole on the partitions that matter, and what it emits is compared with what it emitted in
the run: what is shown is what the run saw, or an error that names the operator which does not repeat itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import RDD
from pyspark.core.rdd import PipelinedRDD

from bigdebug.agents.recompute import Facts, Pick, Recompute, Verified, Without, agrees
from bigdebug.agents.stage import StageFunction
from bigdebug.errors import IncompleteLineageError, NondeterminismError
from bigdebug.graph import FINE, Form, Stage
from bigdebug.spark.jobs import progress, running
from bigdebug.spark.rdd.compiler import PARTIAL
from bigdebug.spark.rdd.definition import Definition, Source, definitions
from bigdebug.spark.rdd.fusion import split_at
from bigdebug.spark.rdd.recorder import RUN_PROPERTY, Recorder
from bigdebug.spark.rdd.sources import check_unchanged
from bigdebug.trace.places import Places
from bigdebug.trace.run import Run
from bigdebug.trace.textlines import TextLines

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured

Test = Callable[[Any], Any]

READ_HERE = 200_000
"""Up to so many lines the driver reads from a local file itself; a Spark job costs more."""


class Questions:
    """Answers for one run, by jobs over the partitions that matter."""

    def __init__(self, recorder: Recorder, run: Run) -> None:
        self.recorder = recorder
        self._run = run
        self._readers: dict[int, TextLines] = {}
        self._counted: dict[int, dict[int, int]] = {}
        self._rdds = {known._definition.operator.id: known for known in definitions(*recorder.targets[run.id])}

    def rdd(self, operator: int) -> Captured:
        return self._rdds[operator]

    def definition(self, operator: int) -> Definition:
        """How the run computed ``operator``: with its functions as they were then, not as they are now."""
        return self._definitions.get(operator, self._rdds[operator]._definition)

    @cached_property
    def _definitions(self) -> dict[int, Definition]:
        stages = sorted(self._run.graph.stages, key=lambda stage: stage.id in self._run.computed)
        return {o: known for stage in stages for o, known in self.recorder.compiler.definitions(stage.id).items()}

    # ---- records ----------------------------------------------------------------------------------------------

    def records(self, operator: int, places: Places, test: Test | None = None) -> dict[int, dict[int, Any]]:
        """Records by partition and position; with ``test``, only those that satisfy it, and None for each."""
        wanted = {p: at for p, at in places.items() if len(at)}
        if not wanted:
            return {}
        self.check_sources(operator)
        if test is None and (lines := self._lines(operator, wanted)) is not None:
            return lines
        direct = self._direct(operator)
        if direct is not None:
            found: dict[int, dict[int, Any]] = {}
            for split, position, record in self._job("reading records", direct, _Placed(Pick(wanted, test)), wanted):
                found.setdefault(split, {})[position] = record
            return found
        base, function, level, stage = self._tapped(operator, wanted)
        return self._checked(base, Recompute(function, level, wanted, test), stage)

    def distributed(self, operator: int, places: Places, edit: Without | None = None) -> RDD[Any]:
        """The records as a plain RDD; other partitions stay empty without being computed.

        ``edit`` changes or drops some of them; it counts positions among all records of the operator, so it goes
        with places that are all of them.
        """
        wanted = {p: at for p, at in places.items() if len(at)}
        running(self.recorder.sc)
        self.check_sources(operator)
        with self.recorder.plain():
            direct = self._direct(operator)
            if direct is not None:
                return PipelinedRDD(direct, edit or Pick(wanted, bare=True))
            base, function, level, stage = self._tapped(operator, wanted)
            expected = {}
            for partition in wanted:
                block = self._run.lineage.block(stage, partition, tables=False)
                expected[partition] = (block.levels, block.digest)
            names = ", ".join(str(self._run.graph[o]) for o in stage.operators) or str(self._run.graph[stage.reads])

            def complain(split: int) -> Exception:
                return RuntimeError(f"bigdebug: {names} gave other records in partition {split} than in the run")

            return PipelinedRDD(base, Verified(Recompute(function, level, wanted), expected, complain, edit))

    # ---- derivation -------------------------------------------------------------------------------------------

    def derive(self, stage: Stage, partitions: Collection[int]) -> None:
        """Write the blocks of ``stage`` for ``partitions`` into this run's folder, checked against the run's own."""
        fine = stage.id.endswith(FINE)
        origin = stage.id.removesuffix(FINE)
        self.check_sources(stage.ends)
        compiler = self.recorder.compiler
        base, function = compiler.fine(origin) if fine else _base_of(compiler, origin)
        with self.recorder.plain(), self._as_run():
            self._job("deriving lineage", base, _Drained(replace(function, lazy=False)), dict.fromkeys(partitions, ()))
        self.recorder.reports_of(self._run.id)
        store, runs = self._run.lineage.store, self._run.lineage.runs
        store.forget(self._run.id)
        original = next((s for s in self._run.graph.stages if s.id == origin), None)
        for partition in partitions:
            derived = store.block(runs, stage.id, partition)
            if derived is None or derived.stub:
                raise IncompleteLineageError(
                    f"The lineage of partition {partition} of {self._run.graph[stage.ends]} could not be written",
                    remedy="See the log; the disk of the store may be full.",
                )
            # What the run reported is compared, for its own block may be lost.
            if derived.digest != self._run.computed.get(origin, {}).get(partition, derived.digest):
                store.path(self._run.id, stage.id, partition, derived.attempt).unlink(missing_ok=True)
                store.forget(self._run.id)
                self._refuse(original or stage, partition)

    def count(self, source: int) -> dict[int, int]:
        """Records by partition of a source that only the JVM has read; counted by a job, once."""
        if source not in self._counted:
            self.check_sources(source)
            self._counted[source] = self.sizes(source, range(self._run.graph[source].partitions))
        return self._counted[source]

    def sizes(self, source: int, partitions: Iterable[int]) -> dict[int, int]:
        """Records of partitions of a source that the run did not read wholly: counted by a job."""
        rdd = self.rdd(source)
        wanted = dict.fromkeys(partitions, ())

        def count(split: int, records: Iterable[Any]) -> Iterable[Any]:
            return [(split, sum(1 for _ in records))]

        return dict(self._job("counting records", rdd, count, wanted))

    def check_sources(self, operator: int) -> None:
        """See that the files which ``operator`` is computed from are those that the run read."""
        for known in definitions(self.rdd(operator)):
            if isinstance(known._definition.lowering, Source):
                check_unchanged(known, self._run.sources[known._definition.operator.id])

    # ---- how --------------------------------------------------------------------------------------------------

    def _direct(self, operator: int) -> RDD[Any] | None:
        """The records as an RDD that needs no stage of ours: sources, and what the JVM makes of others' records."""
        rdd = self.rdd(operator)
        form = rdd._definition.operator.form
        if form is Form.SOURCE:
            # What somebody else computes may not repeat itself: then the stage that reads it is run and checked.
            somebodys = self._run.sources[operator].type == "rdd"
            return None if somebodys and any(s.reads == operator for s in self._run.graph.stages) else rdd  # type: ignore[return-value]
        if not form.narrow and not form.wide and form is not Form.CARTESIAN:
            with self.recorder.plain():
                return self.recorder.compiler.records(rdd)
        return None

    def _lines(self, operator: int, wanted: Places) -> dict[int, dict[int, Any]] | None:
        """Lines of local text files, read from the files if that gives exactly what Spark reads; else None."""
        facts = self._run.sources.get(operator)
        if facts is None or facts.type != "text" or not facts.plain or sum(map(len, wanted.values())) > READ_HERE:
            return None
        reader = self._readers.setdefault(operator, TextLines(facts.splits))
        known = self._run.lineage.records(operator) if self._run.action not in PARTIAL else {}
        found: dict[int, dict[int, Any]] = {}
        for partition, positions in wanted.items():
            lines = reader.read(partition, positions, known.get(partition))
            if lines is None:
                return None
            found[partition] = dict(zip(positions.tolist(), lines))
        return found

    def _tapped(self, operator: int, wanted: Mapping[int, Any]) -> tuple[RDD[Any], StageFunction, int, Stage]:
        """A stage of the run in which the records of ``operator`` stand at a level of their own."""
        compiler = self.recorder.compiler
        lineage, form = self._run.lineage, self._run.graph[operator].form
        candidates = [
            s for s in self._run.graph.stages
            if operator in s.operators or (s.reads == operator and not (s.fetches and form.merges))
        ]
        candidates.sort(key=lambda s: -sum(lineage.store.block(lineage.runs, s.id, p) is not None for p in wanted))
        if not candidates:
            raise IncompleteLineageError(
                f"{self._run.graph[operator]} was not computed under capture", remedy="Run an action on it under capture."
            )
        stage = candidates[0]
        pipeline, function = compiler.pipeline(stage.id)
        pieces = split_at(pipeline.pieces, operator)
        level = next((n + 1 for n, (s, _) in enumerate(pieces) if s.operators[-1] == operator), 0)
        return pipeline.base, replace(function, segments=tuple(run for _, run in pieces)), level, stage

    def _checked(self, base: RDD[Any], recompute: Recompute, stage: Stage) -> dict[int, dict[int, Any]]:
        found: dict[int, dict[int, Any]] = {p: {} for p in recompute.wanted}
        facts: dict[int, Facts] = {}
        for split, answer in self._job("computing records again", base, _Tagged(recompute), recompute.wanted):
            if isinstance(answer, Facts):
                facts[split] = answer
            else:
                found[split][answer[0]] = answer[1]
        for partition, seen in facts.items():
            block = self._run.lineage.block(stage, partition, tables=False)
            if not agrees(seen, (block.levels, block.digest)):
                self._refuse(stage, partition)
        return found

    def _refuse(self, stage: Stage, partition: int) -> None:
        """Run the stage twice more with a digest behind each operator, and name the first that differs."""
        base, function = self.recorder.compiler.fine(stage.id)
        pieces = function.segments
        watch = Recompute(replace(function, segments=pieces), -1, {partition: ()}, watched=True)
        first, second = (
            next(answer for _, answer in self._job("comparing operators", base, _Tagged(watch), {partition: ()}))
            for _ in range(2)
        )
        operators = [o for s in stage.segments for o in s.operators]
        differing = [o for o, a, b in zip(operators, first.operators, second.operators) if a != b]
        if differing:
            subject = self._run.graph[differing[0]]
            raise NondeterminismError(
                f"{subject} gave other records when partition {partition} was computed again",
                remedy="Its function depends on something else than its input (random numbers, time, a global). "
                "Cache its result before the action, or seed it by the record.",
            )
        names = ", ".join(str(self._run.graph[o]) for o in operators) or str(self._run.graph[stage.reads])
        raise NondeterminismError(
            f"{names}: partition {partition} now gives other records than in the run, though it repeats itself",
            remedy="A file, a global, the environment or the time that its functions read has changed since.",
        )

    def _job(self, what: str, base: Any, function: Any, partitions: Mapping[int, Any]) -> list[Any]:
        sc = running(self.recorder.sc)
        with self.recorder.plain(), progress(sc, what, self.recorder.progress):
            made: RDD[Any] = PipelinedRDD(base, function)
            return type(sc).runJob(sc, made, _all, sorted(partitions))

    @contextmanager
    def _as_run(self) -> Any:
        sc = self.recorder.sc
        before = sc.getLocalProperty(RUN_PROPERTY)
        sc.setLocalProperty(RUN_PROPERTY, self._run.id)
        try:
            yield
        finally:
            sc.setLocalProperty(RUN_PROPERTY, before)  # type: ignore[arg-type]


def _base_of(compiler: Any, stage: str) -> tuple[RDD[Any], StageFunction]:
    pipeline, function = compiler.pipeline(stage)
    return pipeline.base, function


def _all(records: Iterable[Any]) -> Iterable[Any]:
    return records


class _Placed:
    """(partition, position, record) of each pick."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        return ((split, position, record) for position, record in self.pick(split, incoming))


class _Tagged:
    """(partition, answer) of each answer of a recomputation."""

    def __init__(self, recompute: Recompute) -> None:
        self.recompute = recompute

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        return ((split, answer) for answer in self.recompute(split, incoming))


class _Drained:
    """Runs a stage for its block alone."""

    def __init__(self, stage: StageFunction) -> None:
        self.stage = stage

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        for _ in self.stage(split, incoming):
            pass
        return ()
