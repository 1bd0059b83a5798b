"""The stage compiler: from captured RDDs to PySpark RDDs whose partition functions carry agents.

Each stage becomes one partition function (Titian 4.2 puts agents between the functions; one function is faster). What
is compiled is kept with its RDD: like PySpark's own shuffles and caches it is computed once and used by later runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from pyspark import RDD
from pyspark.core.rdd import portable_hash

from bigdebug.agents import emit, hashing, readers
from bigdebug.agents.stage import StageFunction
from bigdebug.agents.watches.wanted import Link
from bigdebug.graph import Emission, Form, Stage
from bigdebug.spark.rdd import arranged
from bigdebug.spark.rdd.arranged import batch_of, serializers
from bigdebug.spark.rdd.chains import Chain, Functions, chain_into, chain_to, feeding, leading_to
from bigdebug.spark.rdd.definition import Definition, Exchange, Rearranged, Repartition, Source
from bigdebug.spark.rdd.frozen import Frozen
from bigdebug.spark.rdd.recipe import Again, Built, Recipe
from bigdebug.spark.rdd.sent import identifying, nobody, stopping, unheard

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.recorder import Recorder


@dataclass
class Compiled:
    """What was compiled for one captured RDD, each at most once."""

    records: Built | None = None
    raw: Built | None = None
    exchange: Built | None = None


class Compiler:
    """Compiles captured RDDs of one recorder. Every method runs with the recorder out of the way (``plain``)."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        sc = recorder.sc
        self._dumps, self._loads = (serializers.CPickleSerializer().dumps, serializers.CPickleSerializer().loads)
        limit = _megabytes(sc._conf.get("spark.python.worker.memory", "512m") or "512m") << 20
        # Objects take several times the bytes of their pickles.
        self._memory = limit // 8
        self._link = Link(recorder.watching.secret, self._dumps)
        self._recipes: WeakValueDictionary[str, Recipe] = WeakValueDictionary()
        self.alone = threading.RLock()
        """Held while anything is compiled: what several threads share is compiled, and cached, once."""

    # ---- what callers ask for ---------------------------------------------------------------------------------

    def action_jrdd(self, rdd: Captured) -> Any:
        """The Java RDD of ``rdd`` with agents in all its stages, in the serialization that PySpark expects of it."""
        return self._for_action(rdd).rdd._jrdd

    def action_deserializer(self, rdd: Captured) -> Any:
        """How to read what ``action_jrdd`` gives."""
        if getattr(rdd, "_bypass_serializer", False):
            return serializers.NoOpSerializer()
        compiled = rdd._compiled.records
        return rdd.__dict__["_jrdd_deserializer"] if compiled is None else compiled.rdd._jrdd_deserializer

    def recipes(self, rdd: Captured) -> list[tuple[Recipe, bool]]:
        """All stages that computing ``rdd`` for an action involves, and whether their result was there before capture."""
        built = self._for_action(rdd)
        return [(recipe, recipe.stage.id in built.adopted) for recipe in built.recipes]

    def has(self, stage: str) -> bool:
        """Whether a stage may run again, or be asked about: the RDD that it was compiled for is there, or a run of it."""
        return stage in self._recipes

    def again(self, stage: str) -> Again:
        """A compiled stage with the functions that it ran, to run it once more."""
        with self.alone:
            return self._recipes[stage].again()

    def rdd_id(self, stage: str) -> int | None:
        """Spark's id of the RDD that runs a stage; None if Spark runs it as a part of another, or not yet."""
        return self._recipes[stage].rdd_id

    def plain_id(self, stage: str) -> int:
        """Spark's id of the RDD that PySpark's own code reads where a stage begins."""
        begins = self._recipes[stage].chain.begins
        shuffled = None if self._recipes[stage].chain.read_back else begins.__dict__.get("_prev_jrdd")
        return int((begins._plain_jrdd() if shuffled is None else shuffled).id())

    def reading(self, rdd: Captured) -> Recipe:
        """A new stage that reads a source and hands its records on; it is there while its recipe is."""
        emission = emit.Records(self._dumps)
        with self.alone:
            built = self._stage(rdd, Chain((), rdd), Frozen({}), lambda known: emission)
        return built.recipes[-1]

    def records(self, rdd: Captured) -> Built:
        """A plain RDD of the records of ``rdd``, with agents; cached or checkpointed if ``rdd`` is.

        What was cached or checkpointed without capture is what PySpark would read, and so it is read: its stages are
        compiled to derive lineage from when it is asked for.
        """
        compiled = rdd._compiled
        if compiled.records is None:
            lowering = rdd._definition.lowering
            if isinstance(lowering, Source):
                source: Any = rdd
                return Built(source)
            if rdd._stored():
                behind = self._records(rdd, lowering)
                plain: RDD[Any] = RDD(rdd._plain_jrdd(), self._recorder.sc, rdd.__dict__["_jrdd_deserializer"])
                compiled.records = Built(plain, behind.recipes, adopted=frozenset(recipe.stage.id for recipe in behind.recipes))
            else:
                built = self._records(rdd, lowering)
                rdd._apply_storage(built.rdd)
                compiled.records = replace(built, quietly=lambda: built.rdd if rdd._kept() else built.quiet())
        return compiled.records

    def _records(self, rdd: Captured, lowering: Any) -> Built:
        if isinstance(lowering, Rearranged) and rdd._definition.operator.form is not Form.CARTESIAN:
            return self._rearranged(rdd, lowering)
        emission = emit.Records(self._dumps, batch_of(rdd.__dict__["_jrdd_deserializer"]))
        return Built.of([self._ending_at(rdd, emission)], arranged.readable)

    def _for_action(self, rdd: Captured) -> Built:
        if not getattr(rdd, "_bypass_serializer", False):
            return self.records(rdd)
        compiled = rdd._compiled
        if compiled.raw is None:
            compiled.raw = self._ending_at(rdd, emit.Raw())
        return compiled.raw

    # ---- stages -----------------------------------------------------------------------------------------------

    def _ending_at(self, rdd: Captured, emission: emit.Emission) -> Built:
        return self._stage(rdd, chain_to(rdd), leading_to(rdd), lambda known: emission)

    def _stage(
        self, rdd: Captured, chain: Chain, functions: Functions, emission: Callable[[Mapping[int, Definition]], emit.Emission],
        feeds: int | None = None, branch: int = 0,
    ) -> Built:
        """The frames of a stage that runs ``chain``, to compute ``rdd``."""
        self._recorder.check_agents()
        stage_id = self._recorder.next_stage_id()
        base, reader, merges = self._beginning(chain)
        recipe = Recipe(chain, functions, base, merges, self._memory, emission)
        live = functions.thaw()
        pieces, emitting = recipe.pieces(live), emission(live)
        kind = {emit.Shuffled: Emission.SHUFFLED, emit.Combined: Emission.COMBINED}.get(type(emitting), Emission.RECORDS)
        fetches = not isinstance(reader, readers.Direct)
        reads = chain.begins._definition.operator.id
        recipe.stage = Stage(stage_id, reads, tuple(s for s, _ in pieces), kind, feeds, branch, fetches)
        # The recipe keeps the functions frozen, and these only their RDD.
        recipe.function = StageFunction(
            stage=stage_id, reader=reader, segments=(), emission=emit.Nothing(),
            store=self._recorder.blocks_at, identify=identifying(), report=self._recorder.runs.reports.add,
            leaked=stopping(), lazy=bool(rdd._definition.operator.detail.get("skipped")), reads=reads, link=self._link,
            arrives=not merges and (not chain.read_back or _is_moved(chain.begins)), unheard=unheard(),
        )
        function = recipe.running(pieces, emitting)
        self._recipes[stage_id] = recipe
        moves = feeds is not None and not getattr(rdd._definition.lowering, "stays", False)
        keeps = rdd.partitioner is not None and not moves

        def quietly() -> RDD[Any]:
            again = self.again(stage_id)
            return arranged.piped(again.base, replace(again.function, identify=nobody()), keeps)

        piped = arranged.piped(base.rdd, function, keeps, recipe.runs_as)
        return Built(piped, (*base.recipes, recipe), base.adopted, quietly)

    def _beginning(self, chain: Chain) -> tuple[Built, readers.Reader, bool]:
        """What a chain reads, how, and whether a merge comes first."""
        begins = chain.begins
        lowering = begins._definition.lowering
        if chain.read_back:
            return self.records(begins), readers.Direct(), False
        if isinstance(lowering, Exchange | Repartition):
            merges = isinstance(lowering, Exchange) and lowering.merge is not None
            return self._exchange(begins), readers.Shuffled(self._loads, self._memory), merges
        if begins._definition.operator.form is Form.CARTESIAN:
            return self._product(begins), readers.Product(self._loads), False
        return self.records(begins), readers.Direct(), False

    def _frames(self, rdd: Captured, branch: int, size: int | None) -> Built:
        """The records of a parent as tagged frames of ``size`` records."""
        emission = emit.Records(self._dumps, size, branch)
        parent = rdd._definition.parents[branch]
        return self._stage(parent, chain_into(rdd, branch), feeding(rdd, branch), lambda known: emission)

    # ---- across partitions ------------------------------------------------------------------------------------

    def _exchange(self, rdd: Captured) -> Built:
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

    def _bucketed(self, rdd: Captured, lowering: Exchange) -> Built:
        operator = rdd._definition.operator.id
        sent = [
            self._stage(rdd, chain_into(rdd, branch), feeding(rdd, branch), self._bucketing(rdd, branch), operator, branch)
            for branch in range(len(rdd._definition.parents))
        ]
        if lowering.stays:
            if len(sent) == 1:
                return sent[0]  # PySpark runs both stages in one worker then, one behind the other
            return Built.of(sent, arranged.aligned(lowering.targets))
        return replace(Built.of(sent, arranged.shuffled(lowering.targets, lowering.partition)), quietly=None)

    def _bucketing(self, rdd: Captured, branch: int) -> Callable[[Mapping[int, Definition]], emit.Emission]:
        def emission(known: Mapping[int, Definition]) -> emit.Emission:
            lowering = known[rdd._definition.operator.id].lowering
            assert isinstance(lowering, Exchange)
            partition = hashing.portable_hash if lowering.partition is portable_hash else lowering.partition
            if lowering.create is None:
                return emit.Shuffled(self._dumps, partition, lowering.targets, branch, lowering.stays, lowering.pairs)
            assert lowering.combine is not None
            return emit.Combined(
                self._dumps, lowering.create, lowering.combine, partition, lowering.targets, self._memory, branch, lowering.stays
            )

        return emission

    def _dealt(self, rdd: Captured, lowering: Repartition) -> Built:
        emission = emit.Records(self._dumps, lowering.frame, 0)
        sent = self._stage(rdd, chain_into(rdd, 0), feeding(rdd, 0), lambda known: emission, rdd._definition.operator.id)
        return replace(Built.of([sent], arranged.dealt(lowering.targets)), quietly=None)

    def _rearranged(self, rdd: Captured, lowering: Rearranged) -> Built:
        definition = rdd._definition
        if definition.operator.form is Form.ZIP:
            sides = [self._frames(rdd, branch, lowering.frame) for branch in (0, 1)]
            return Built.of(sides, arranged.zipped(lowering.frame or 1))
        parents = [self.records(parent) for parent in definition.parents]
        if definition.operator.form is Form.COALESCE:
            return Built.of(parents, arranged.Coalesced(rdd.getNumPartitions()))
        if len({str(p.rdd._jrdd_deserializer) for p in parents}) > 1:
            parents = [Built.of([self._frames(rdd, branch, None)], arranged.readable) for branch in range(len(parents))]
        return Built.of(parents, arranged.united)

    def _product(self, rdd: Captured) -> Built:
        # As many records to a pickle as PySpark has there: the pairs of two pickles follow each other.
        sizes = [batch_of(parent.__dict__["_jrdd_deserializer"], 1) for parent in rdd._definition.parents]
        return Built.of([self._frames(rdd, branch, size) for branch, size in enumerate(sizes)], arranged.crossed)


def _is_moved(rdd: Captured) -> bool:
    """Whether records come to be those of an RDD in Spark's JVM alone, by being read or rearranged."""
    definition = rdd._definition
    return isinstance(definition.lowering, Source | Rearranged) and definition.operator.form is not Form.CARTESIAN


def _megabytes(text: str) -> int:
    from pyspark.util import _parse_memory

    return int(_parse_memory(text))
