"""The stage compiler: from captured RDDs to PySpark RDDs whose partition functions carry agents.

Each stage becomes one partition function (Titian 4.2 puts agents between the functions; one function is faster). What
is compiled is kept with its RDD: like PySpark's own shuffles and caches it is computed once and used by later runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark import RDD, TaskContext
from pyspark import serializers as _serializers
from pyspark.core.rdd import PipelinedRDD, portable_hash
from pyspark.errors import PySparkRuntimeError

from bigdebug.agents import emit, hashing, readers
from bigdebug.agents.stage import StageFunction, Task
from bigdebug.graph import FINE, Emission, Form, Segment, Stage
from bigdebug.spark.rdd.definition import Definition, Exchange, Narrow, Rearranged, Repartition, Source, definitions
from bigdebug.spark.rdd.fusion import Pieces, fuse, split
from bigdebug.spark.rdd.snapshot import snapshot

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.recorder import Recorder


serializers: Any = _serializers
"""PySpark's, which carry no types."""

PARTIAL = frozenset(("take", "first", "isEmpty", "takeSample", "runJob", "lookup", "toLocalIterator"))
"""Actions that may stop before the end of their input."""


@dataclass(frozen=True)
class Pipeline:
    """Where a stage begins and what it runs: ``pieces`` pairs each segment of the graph with what executes it."""

    base: RDD[Any]
    reader: readers.Reader
    reads: int
    pieces: Pieces


@dataclass
class Compiled:
    """What was compiled for one captured RDD, each at most once."""

    records: RDD[Any] | None = None
    raw: RDD[Any] | None = None
    exchange: RDD[Any] | None = None
    stages: dict[str, Stage] = field(default_factory=dict)


class Compiler:
    """Compiles captured RDDs of one recorder. Every method runs with the recorder out of the way (``plain``)."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        sc = recorder.sc
        self._pickle: Any = sc._unbatched_serializer
        limit = _megabytes(sc._conf.get("spark.python.worker.memory", "512m") or "512m") << 20
        # Objects take several times the bytes of their pickles.
        self._memory = limit // 8
        self._compiled_stages: dict[str, tuple[Pipeline, StageFunction]] = {}
        self._definitions: dict[str, dict[int, Definition]] = {}

    # ---- what callers ask for ---------------------------------------------------------------------------------

    def action_jrdd(self, rdd: Captured) -> Any:
        """The Java RDD of ``rdd`` with agents in all its stages, in the serialization that PySpark expects of it."""
        if getattr(rdd, "_bypass_serializer", False):
            compiled = rdd._compiled
            if compiled.raw is None:
                compiled.raw = self._stage_rdd(rdd, self._pipeline(rdd), emit.Raw())
            return compiled.raw._jrdd
        return self.records(rdd)._jrdd

    def action_deserializer(self, rdd: Captured) -> Any:
        """How to read what ``action_jrdd`` gives."""
        if getattr(rdd, "_bypass_serializer", False):
            return serializers.NoOpSerializer()
        compiled = rdd._compiled.records
        return rdd.__dict__["_jrdd_deserializer"] if compiled is None else compiled._jrdd_deserializer

    def stages(self, rdd: Captured) -> Iterator[Stage]:
        """All stages that computing ``rdd`` involves."""
        for known in definitions(rdd):
            yield from known._compiled.stages.values()

    def records(self, rdd: Captured) -> RDD[Any]:
        """A plain RDD of the records of ``rdd``, with agents; cached or checkpointed if ``rdd`` is."""
        compiled = rdd._compiled
        if compiled.records is None:
            lowering = rdd._definition.lowering
            if isinstance(lowering, Source):
                source: Any = rdd
                return source  # type: ignore[no-any-return]
            if isinstance(lowering, Rearranged) and rdd._definition.operator.form is not Form.CARTESIAN:
                compiled.records = self._rearranged(rdd, lowering)
            else:
                emission = emit.Records(self._pickle.dumps, _batch(rdd))
                stage = self._stage_rdd(rdd, self._pipeline(rdd, self._drains(rdd)), emission)
                compiled.records = self._readable(stage)
            rdd._apply_storage(compiled.records)
        return compiled.records

    def fine(self, stage: str) -> tuple[RDD[Any], StageFunction]:
        """Base and function of a stage that was compiled before, with an agent after each operator."""
        pipeline, function = self._compiled_stages[stage]
        pieces = split(pipeline.pieces)
        return pipeline.base, replace(function, stage=stage + FINE, segments=tuple(run for _, run in pieces))

    def pipeline(self, stage: str) -> tuple[Pipeline, StageFunction]:
        """Where a compiled stage begins and its partition function, to run it once more."""
        return self._compiled_stages[stage]

    def definitions(self, stage: str) -> Mapping[int, Definition]:
        """The operators that a stage computes or feeds, with their functions as they were when it was compiled."""
        return self._definitions[stage]

    # ---- pipelines --------------------------------------------------------------------------------------------

    def _pipeline(self, rdd: Captured, to_the_end: bool = False) -> Pipeline:
        """The narrow operators that end at ``rdd``, back to where its stage begins."""
        fused = partial(fuse, to_the_end=to_the_end)
        steps: list[tuple[Segment, Any]] = []
        current = rdd
        while isinstance(lowering := current._definition.lowering, Narrow):
            definition = current._definition
            steps.append((Segment((definition.operator.id,), definition.operator.form), lowering.step))
            current = definition.parents[0]
            if not definition.fused[0]:
                return self._from_records(current, fused(steps[::-1]))
        definition = current._definition
        reads = definition.operator.id
        if isinstance(definition.lowering, Repartition) or (
            isinstance(definition.lowering, Exchange) and definition.lowering.merge is None
        ):
            return Pipeline(self._exchange(current), self._shuffled(), reads, fused(steps[::-1]))
        if isinstance(definition.lowering, Exchange):
            assert definition.lowering.merge is not None
            merge = (Segment((reads,), definition.operator.form), definition.lowering.merge(self._memory))
            return Pipeline(self._exchange(current), self._shuffled(), reads, (merge, *fused(steps[::-1])))
        if definition.operator.form is Form.CARTESIAN:
            return Pipeline(self._product(current), readers.Product(self._pickle.loads), reads, fused(steps[::-1]))
        return self._from_records(current, fused(steps[::-1]))

    def _from_records(self, rdd: Captured, pieces: Pieces) -> Pipeline:
        return Pipeline(self.records(rdd), readers.Direct(), rdd._definition.operator.id, pieces)

    def _drains(self, rdd: Captured) -> bool:
        """True for the last step of an action like count() that reads all there is."""
        action = self._recorder.current
        return action is not None and "internal" in rdd._definition.operator.detail and action.name not in PARTIAL

    def _shuffled(self) -> readers.Shuffled:
        return readers.Shuffled(self._pickle.loads, self._memory)

    def _branch(self, rdd: Captured, branch: int, to_the_end: bool = False) -> Pipeline:
        """The pipeline of the parent of ``rdd`` on ``branch``."""
        definition = rdd._definition
        parent = definition.parents[branch]
        return self._pipeline(parent, to_the_end) if definition.fused[branch] else self._from_records(parent, ())

    # ---- stages -----------------------------------------------------------------------------------------------

    def _stage_rdd(
        self, rdd: Captured, pipeline: Pipeline, emission: emit.Emission, feeds: int | None = None, branch: int = 0
    ) -> PipelinedRDD[Any, Any]:
        stage_id = self._recorder.next_stage_id()
        kind = {emit.Shuffled: Emission.SHUFFLED, emit.Combined: Emission.COMBINED}.get(type(emission), Emission.RECORDS)
        fetches = not isinstance(pipeline.reader, readers.Direct)
        stage = Stage(stage_id, pipeline.reads, tuple(s for s, _ in pipeline.pieces), kind, feeds, branch, fetches)
        rdd._compiled.stages[stage_id] = stage
        live = {o: rdd._definition for o, rdd in _known(rdd, {pipeline.reads, *stage.operators, feeds})}
        function = self._function(stage_id, pipeline.reader, pipeline.pieces, emission)
        if rdd._definition.operator.detail.get("skipped"):
            function = replace(function, lazy=True)
        # The job runs the user's own functions; what is asked afterwards is computed with these copies.
        pieces, emitting, defined = snapshot((pipeline.pieces, emission, live), self._recorder.waste)
        self._definitions[stage_id] = defined
        again = replace(function, segments=tuple(run for _, run in pieces), emission=emitting)
        self._compiled_stages[stage_id] = replace(pipeline, pieces=pieces), again
        keeps = feeds is None and rdd.partitioner is not None
        made: PipelinedRDD[Any, Any] = PipelinedRDD(pipeline.base, function, preservesPartitioning=keeps)
        made._bypass_serializer = True  # frames leave as they are
        return made

    def _function(self, stage: str, reader: Any, pieces: Pieces, emission: Any) -> StageFunction:
        return StageFunction(
            stage=stage, reader=reader, segments=tuple(run for _, run in pieces), emission=emission,
            store=str(self._recorder.store.root), identify=_identify(), report=self._recorder.reports.add,
            leaked=stopped,
        )

    def _readable(self, stage: RDD[Any]) -> RDD[Any]:
        """Frames are pickled batches, with a tag behind or without: PySpark reads them as what they are."""
        return RDD(stage._jrdd, self._recorder.sc, serializers.AutoBatchedSerializer(serializers.CPickleSerializer()))

    def _frames(self, rdd: Captured, branch: int, size: int | None) -> RDD[Any]:
        """The records of a parent as tagged frames of ``size`` records."""
        parent = rdd._definition.parents[branch]
        emission = emit.Records(self._pickle.dumps, size, branch)
        return self._stage_rdd(parent, self._branch(rdd, branch), emission)

    # ---- across partitions ------------------------------------------------------------------------------------

    def _exchange(self, rdd: Captured) -> RDD[Any]:
        """The frames that arrive after the shuffle of ``rdd``."""
        compiled = rdd._compiled
        if compiled.exchange is None:
            lowering = rdd._definition.lowering
            if isinstance(lowering, Repartition):
                compiled.exchange = self._dealt(rdd, lowering)
            else:
                assert isinstance(lowering, Exchange)
                compiled.exchange = self._bucketed(rdd, lowering)
        return compiled.exchange

    def _bucketed(self, rdd: Captured, lowering: Exchange) -> RDD[Any]:
        sc = self._recorder.sc
        partition = hashing.portable_hash if lowering.partition is portable_hash else lowering.partition
        jrdds = []
        for branch in range(len(rdd._definition.parents)):
            emission: Any
            if lowering.create is None:
                emission = emit.Shuffled(self._pickle.dumps, partition, lowering.targets, branch)
            else:
                assert lowering.combine is not None
                emission = emit.Combined(
                    self._pickle.dumps, lowering.create, lowering.combine, partition, lowering.targets, self._memory, branch,
                )
            stage = self._stage_rdd(
                rdd, self._branch(rdd, branch, to_the_end=True), emission, rdd._definition.operator.id, branch
            )
            jrdds.append(stage._jrdd)
        joined = jrdds[0]
        for other in jrdds[1:]:
            joined = joined.union(other)
        jvm = sc._jvm
        assert jvm is not None
        pairs = jvm.PairwiseRDD(joined.rdd()).asJavaPairRDD()
        partitioner = jvm.PythonPartitioner(lowering.targets, id(lowering.partition))
        return RDD(jvm.PythonRDD.valueOfPair(pairs.partitionBy(partitioner)), sc, serializers.NoOpSerializer())

    def _dealt(self, rdd: Captured, lowering: Repartition) -> RDD[Any]:
        emission = emit.Records(self._pickle.dumps, lowering.frame, 0)
        stage = self._stage_rdd(rdd, self._branch(rdd, 0), emission, rdd._definition.operator.id)
        return RDD(stage._jrdd.coalesce(lowering.targets, True), self._recorder.sc, serializers.NoOpSerializer())

    def _rearranged(self, rdd: Captured, lowering: Rearranged) -> RDD[Any]:
        sc, definition = self._recorder.sc, rdd._definition
        if definition.operator.form is Form.ZIP:
            left, right = (self._frames(rdd, branch, lowering.frame) for branch in (0, 1))
            batched = serializers.BatchedSerializer(serializers.CPickleSerializer(), lowering.frame or 1)
            return RDD(left._jrdd.zip(right._jrdd), sc, serializers.PairDeserializer(batched, batched))
        parents = [self.records(parent) for parent in definition.parents]
        if definition.operator.form is Form.COALESCE:
            return RDD(parents[0]._jrdd.coalesce(rdd.getNumPartitions()), sc, parents[0]._jrdd_deserializer)
        if len({str(p._jrdd_deserializer) for p in parents}) > 1:
            parents = [self._readable(self._frames(rdd, branch, None)) for branch in range(len(parents))]
        return RDD.union(*parents) if len(parents) == 2 else sc.union(parents)

    def _product(self, rdd: Captured) -> RDD[Any]:
        left, right = (self._frames(rdd, branch, None) for branch in (0, 1))
        deserializer = serializers.CartesianDeserializer(serializers.NoOpSerializer(), serializers.NoOpSerializer())
        return RDD(left._jrdd.cartesian(right._jrdd), self._recorder.sc, deserializer)


def _known(rdd: Captured, operators: Collection[int | None]) -> Iterator[tuple[int, Captured]]:
    """Those of ``operators`` that ``rdd`` was made from."""
    left = set(operators) - {None}
    for known in definitions(rdd):
        if not left:
            return
        if known._definition.operator.id in left:
            left.remove(known._definition.operator.id)
            yield known._definition.operator.id, known


def _batch(rdd: Captured) -> int | None:
    """How many records PySpark puts into a batch of ``rdd``; None if it goes by their size."""
    size: int = getattr(rdd.__dict__["_jrdd_deserializer"], "batchSize", 0)
    return size if size > 0 else None


def _identify() -> Any:
    def identify() -> Task:
        context = TaskContext.get()
        if context is None:
            return Task(None, 0)
        lazy = context.getLocalProperty("bigdebug.strategy") == "lazy"
        return Task(context.getLocalProperty("bigdebug.run"), context.taskAttemptId(), lazy)

    return identify


def stopped(message: str) -> Exception:
    """PySpark's own error for a StopIteration that escapes from a user's function."""
    return PySparkRuntimeError(errorClass="STOP_ITERATION_OCCURRED", messageParameters={"exc": message})


def _megabytes(text: str) -> int:
    from pyspark.util import _parse_memory

    return int(_parse_memory(text))
