"""Told: what a run tells of its stages, against which their recomputation is compared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from bigdebug.agents.recompute import Known
from bigdebug.graph import Emission, Stage
from bigdebug.trace.run import Run

HeldDigests = Callable[[Stage, Collection[int]], Mapping[int, int]]
"""Gives the digests, by partition, of what Spark holds in place of a stage's result."""


class Told:
    """How far the stages of a run went, how many records were at their ends, and a digest of what left them."""

    def __init__(self, run: Run, held: HeldDigests) -> None:
        self._run = run
        self._held = held
        self._digests: dict[tuple[str, int], int] = {}

    def internal(self, stage: Stage) -> list[int]:
        """Operators of the stage in which the action used the records up: they are not run again."""
        return [o for o in stage.operators if o in self._run.graph and "internal" in self._run.graph[o].detail]

    def covers(self, stage: Stage, operator: int) -> bool:
        """Whether the digest of the stage tells the records of ``operator`` apart from any others."""
        known = stage.id in self._run.computed or _adopted(stage)
        return known and not self.internal(stage) and stage.ends == operator and stage.emission is not Emission.COMBINED

    def known(self, stage: Stage, partitions: Collection[int]) -> dict[int, Known]:
        """What is known of each partition, up to the records that the action used up."""
        lineage = self._run.lineage
        last = self._last(stage)
        digests: Mapping[int, int] = {} if last < len(stage.segments) else self._run.computed.get(stage.id, {})
        if _adopted(stage):
            digests = self._of_cache(stage, partitions)
        found = {}
        for partition in partitions:
            block = lineage.store.block(lineage.runs, stage.id, partition)
            entered, left = (None, None) if block is None else (block.levels[0], block.levels[last])
            found[partition] = Known(entered, left, digests.get(partition))
        return found

    def limits(self, stage: Stage, partitions: Collection[int]) -> dict[int, int]:
        """After how many records the action stopped, where it did not ask for all."""
        lineage = self._run.lineage
        blocks = {p: lineage.store.block(lineage.runs, stage.id, p) for p in partitions}
        last = self._last(stage)
        return {p: b.levels[last] for p, b in blocks.items() if b is not None and not b.finished}

    def _last(self, stage: Stage) -> int:
        """The level of the stage up to which it is run again."""
        internal = set(self.internal(stage))
        return sum(1 for segment in stage.segments if not internal.intersection(segment.operators))

    def _of_cache(self, stage: Stage, partitions: Collection[int]) -> dict[int, int]:
        missing = [p for p in partitions if (stage.id, p) not in self._digests]
        if missing:
            self._digests.update({(stage.id, p): digest for p, digest in self._held(stage, missing).items()})
        return {p: self._digests[stage.id, p] for p in partitions}


def _adopted(stage: Stage) -> bool:
    """Whether Spark holds what the stage would emit, from before capture."""
    return stage.adopted and stage.feeds is None
