"""Recipes: how a stage was compiled, so that it can be run again with the functions it ran."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark import RDD

from bigdebug.agents import emit
from bigdebug.agents.stage import StageFunction
from bigdebug.graph import FINE, Segment, Stage
from bigdebug.spark.rdd.chains import Chain, Functions
from bigdebug.spark.rdd.definition import Definition, Exchange, Narrow
from bigdebug.spark.rdd.fusion import Pieces, fuse, split, split_at


@dataclass(frozen=True)
class Built:
    """A plain RDD with agents, and the recipes of the stages that computing it involves, in order.

    ``adopted`` are those of them whose result was there already when capture began: Spark reads it and does not run them.
    ``quietly`` makes it anew for a question.
    """

    rdd: RDD[Any]
    recipes: tuple[Recipe, ...] = ()
    adopted: frozenset[str] = frozenset()
    quietly: Callable[[], RDD[Any]] | None = None

    @classmethod
    def of(cls, parts: Sequence[Built], arranged: Callable[[list[RDD[Any]]], RDD[Any]]) -> Built:
        """What Spark makes of several others in its JVM."""
        recipes = {recipe.stage.id: recipe for part in parts for recipe in part.recipes}
        # A stage that one part adopted and another one runs does run.
        runs = {recipe.stage.id for part in parts for recipe in part.recipes if recipe.stage.id not in part.adopted}
        return cls(
            arranged([part.rdd for part in parts]), tuple(recipes.values()), frozenset(recipes) - runs,
            lambda: arranged([part.quiet() for part in parts]),
        )

    def quiet(self) -> RDD[Any]:
        """The same records for a question: what tasks compute on the way to them, they compute with copies of the
        functions, whose accumulators nobody sees, and write no blocks."""
        return self.rdd if self.quietly is None else self.quietly()


@dataclass(frozen=True)
class Again:
    """A stage with copies of its functions: ``pieces`` pairs each segment with what executes it."""

    reads: Built
    function: StageFunction
    pieces: Pieces
    definitions: Mapping[int, Definition]

    @property
    def base(self) -> RDD[Any]:
        """What the function is to run on."""
        return self.reads.quiet()

    def fine(self) -> Again:
        """The same with an agent after each operator."""
        return self._of(split(self.pieces), self.function.stage + FINE)

    def showing(self, operator: int) -> tuple[Again, int]:
        """The same with the records of ``operator`` at a level of their own, and that level."""
        pieces = split_at(self.pieces, operator)
        level = next((n + 1 for n, (segment, _) in enumerate(pieces) if segment.operators[-1] == operator), 0)
        return self._of(pieces, self.function.stage), level

    def before(self, internal: Collection[int]) -> Again:
        """The same up to the records that the action was called on, without what it does with them."""
        pieces = tuple((segment, run) for segment, run in self.pieces if not set(internal).intersection(segment.operators))
        cut = self._of(pieces, self.function.stage)
        return replace(cut, function=replace(cut.function, emission=emit.Nothing(), internal=0))

    def _of(self, pieces: Pieces, stage: str) -> Again:
        segments, operators = tuple(run for _, run in pieces), tuple(segment.operators for segment, _ in pieces)
        return replace(self, pieces=pieces, function=replace(self.function, stage=stage, segments=segments, operators=operators))


@dataclass(eq=False)
class Recipe:
    """What a stage is made from. ``merges`` says that what its shuffle brings is merged first."""

    chain: Chain
    functions: Functions
    base: Built
    merges: bool
    memory: int
    emission: Callable[[Mapping[int, Definition]], emit.Emission]
    stage: Stage = field(init=False)
    function: StageFunction = field(init=False)
    rdd_id: int | None = None
    """Spark's id of the RDD that runs the stage."""
    _again: Again | None = None

    def runs_as(self, rdd_id: int) -> None:
        """Spark has made an RDD of the stage."""
        self.rdd_id = rdd_id

    def pieces(self, known: Mapping[int, Definition]) -> Pieces:
        """The segments, with the functions that ``known`` has for the operators."""
        merge: Pieces = ()
        begins = self.chain.begins._definition.operator
        if self.merges:
            lowering = known[begins.id].lowering
            assert isinstance(lowering, Exchange)
            assert lowering.merge is not None
            merge = ((Segment((begins.id,), begins.form), lowering.merge(self.memory)),)
        own: list[tuple[Segment, Any]] = []
        internal: list[tuple[Segment, Any]] = []
        for rdd in self.chain.steps:
            operator = rdd._definition.operator
            step = known[operator.id].lowering
            assert isinstance(step, Narrow)
            (internal if "internal" in operator.detail else own).append((Segment((operator.id,), operator.form), step.step))
        return (*merge, *fuse(own, ends=not internal), *fuse(internal))

    def running(self, pieces: Pieces, emission: emit.Emission) -> StageFunction:
        """The function of the stage with ``pieces`` in it."""
        action = {rdd._definition.operator.id for rdd in self.chain.steps if "internal" in rdd._definition.operator.detail}
        internal = sum(1 for segment, _ in pieces if action.intersection(segment.operators))
        ends = self.stage.ends if self.stage.feeds is None else self.stage.feeds
        return replace(
            self.function, segments=tuple(run for _, run in pieces), emission=emission, internal=internal,
            operators=tuple(segment.operators for segment, _ in pieces), ends=ends, branch=self.stage.branch,
        )

    def again(self) -> Again:
        """The stage with copies of the functions that it ran; nobody hears of what they add to accumulators."""
        if self._again is None:
            known = self.functions.thaw(quiet=True)
            pieces = self.pieces(known)
            self._again = Again(self.base, self.running(pieces, self.emission(known)), pieces, known)
        return self._again
